// SPDX-License-Identifier: Apache-2.0
// Errors and text of this room, which has no libstdc++: what was being done, to which thing of the
// command line, and why it did not work. All three are literals or point into argv, so a Failure
// is copied freely and owns nothing.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::relay {

struct [[nodiscard]] Failure {
    const char* doing = nullptr; // nullptr: nothing failed
    const char* subject = nullptr;
    int number = 0;            // errno, or 0
    const char* why = nullptr; // said where there is no errno

    explicit operator bool() const { return doing != nullptr; }
};

// One line of bounded length, built without stdio (which would be most of the binary).
class Line {
public:
    Line& add(const char* text);
    Line& add_number(long number);
    // From outside: at most 200 bytes; control characters, quotes and backslashes as \xNN.
    Line& add_printable(const char* text);
    Line& add_quoted(const char* text); // the same between quotes
    const char* text() const { return bytes_; }
    void print(int fd); // with a newline

private:
    static constexpr size_t limit = 1000;
    void put(char byte);
    char bytes_[limit + 2] = {};
    size_t size_ = 0;
};

// "listen on 127.0.0.1 for endpoint "8080=/dev/x/s": already in use (EADDRINUSE)"
void describe(const Failure& failure, Line& line);

// The whole of `text` as a decimal number of at most `most`, without sign, blank or leading zero.
bool parse_number(const char* text, size_t size, uint64_t most, uint64_t& number);

} // namespace anchorhold::relay
