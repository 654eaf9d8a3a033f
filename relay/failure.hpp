// SPDX-License-Identifier: Apache-2.0
// Errors and text for this folder, which has no libstdc++. A Failure says what was being done, to
// which thing of the command line, and why it did not work. All three are literals or point into
// argv. So a Failure owns nothing and may be copied.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::relay {

struct [[nodiscard]] Failure {
    const char* doing = nullptr; // nullptr: nothing failed
    const char* subject = nullptr;
    int number = 0;            // errno, or 0
    const char* why = nullptr; // used where there is no errno

    explicit operator bool() const { return doing != nullptr; }
};

// A line of bounded length, built without stdio, which would be most of the binary.
class Line {
public:
    Line& add(const char* text);
    Line& add_number(long number);
    // Adds text from outside: at most 200 bytes of it; control characters, quotes and backslashes
    // as \xNN.
    Line& add_printable(const char* text);
    Line& add_quoted(const char* text); // the same, between double quotes
    const char* text() const { return bytes_; }
    void print(int fd); // adds a newline

private:
    static constexpr size_t limit = 1000;
    void put(char byte);
    char bytes_[limit + 2] = {};
    size_t size_ = 0;
};

// Writes a failure: "listen on 127.0.0.1 for endpoint "8080=/dev/x/s": already in use
// (EADDRINUSE)".
void describe(const Failure& failure, Line& line);

// Reads the whole of `text` as a decimal number from 0 to `most`. Returns false for anything else,
// as a sign, a blank or a leading zero.
bool parse_number(const char* text, size_t size, uint64_t most, uint64_t& number);

} // namespace anchorhold::relay
