// SPDX-License-Identifier: Apache-2.0
#include "schema/json/comma_list.hpp"

namespace anchorhold::comma_list {

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool is_json(std::string_view text)
{
    text = trimmed(text);
    if (!text.starts_with('['))
        return false;
    const std::string_view inside = trimmed(text.substr(1));
    return inside.empty() ||
           std::string_view("{\"]").find(inside.front()) != std::string_view::npos;
}

Result<std::vector<std::string_view>> entries(std::string_view text)
{
    std::vector<std::string_view> found;
    text = trimmed(text);
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view entry = trimmed(text.substr(0, comma));
        if (entry.empty() || comma + 1 == text.size())
            return fail(Code::invalid_request, in_quotes(text) + " has an empty entry");
        found.push_back(entry);
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return found;
}

} // namespace anchorhold::comma_list
