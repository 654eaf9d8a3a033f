// SPDX-License-Identifier: Apache-2.0
// A host name, or all names that a wildcard stands for. Values are canonical, so equal means the
// same.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace anchorhold::rules {

// Returns whether inet_aton(3) and URL parsers would take the host for an address because it ends
// in a number.
bool ends_in_number(std::string_view host);

// A host name, or names by a wildcard. "github.com" is that name alone, "*.x.org" is exactly one
// label below x.org, and "**.x.org" is one label or more below it.
class NamePattern {
public:
    static Result<NamePattern> parse(std::string_view text, Code code);
    bool is_exact() const { return depth_ == Depth::exact; }
    bool covers(const NamePattern& other) const;
    std::string text() const;
    friend bool operator==(const NamePattern&, const NamePattern&) = default;

private:
    enum class Depth : std::uint8_t { exact, one, any };
    NamePattern(Depth depth, std::string_view name) : depth_(depth), name_(name) {}
    Depth depth_;
    std::string name_; // the part after the wildcard
};

} // namespace anchorhold::rules
