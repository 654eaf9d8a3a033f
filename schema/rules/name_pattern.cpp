// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/name_pattern.hpp"

#include <algorithm>
#include <cstdlib>

namespace anchorhold::rules {
namespace {

constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_label(std::string_view label)
{
    return !label.empty() && label.size() <= longest_label &&
           std::ranges::all_of(label, [](char c) {
               return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
           });
}

bool is_name(std::string_view name)
{
    if (name.size() > longest_name)
        return false;
    while (true) {
        const std::size_t dot = name.find('.');
        if (!is_label(name.substr(0, dot)))
            return false;
        if (dot == std::string_view::npos)
            return true;
        name.remove_prefix(dot + 1);
    }
}

} // namespace

bool ends_in_number(std::string_view host)
{
    const std::string_view last = host.substr(host.rfind('.') + 1);
    return last.starts_with("0x") || (!last.empty() && std::ranges::all_of(last, is_digit));
}

Result<NamePattern> NamePattern::parse(std::string_view text, Code code)
{
    Depth depth = Depth::exact;
    std::string_view name = text;
    if (name.starts_with("**.")) {
        depth = Depth::any;
        name.remove_prefix(3);
    } else if (name.starts_with("*.")) {
        depth = Depth::one;
        name.remove_prefix(2);
    }
    if (!is_name(name) || ends_in_number(name)) {
        return fail(code, in_quotes(text) + " is not a host name: lower-case labels of "
                                            "[a-z0-9_-], other scripts as xn--, no final dot");
    }
    return NamePattern(depth, name);
}

bool NamePattern::covers(const NamePattern& other) const
{
    const std::string_view name = other.name_;
    const std::size_t dot = name.find('.');
    const bool is_child = dot != std::string_view::npos && name.substr(dot + 1) == name_;
    switch (depth_) {
    case Depth::exact: return *this == other;
    case Depth::one: return *this == other || (other.is_exact() && is_child);
    case Depth::any: return name.ends_with("." + name_) || (!other.is_exact() && name == name_);
    }
    std::abort(); // a byte that is no Depth: refuse to guess
}

std::string NamePattern::text() const
{
    switch (depth_) {
    case Depth::exact: return name_;
    case Depth::one: return "*." + name_;
    case Depth::any: return "**." + name_;
    }
    std::abort();
}

} // namespace anchorhold::rules
