// SPDX-License-Identifier: Apache-2.0
#include "tests/code.hpp"

#include <algorithm>

namespace anchorhold::layering_test {
namespace {

bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::size_t after_literal(std::string_view code, std::size_t at)
{
    const char quote = code[at];
    for (++at; at < code.size() && code[at] != quote; ++at)
        if (code[at] == '\\')
            ++at;
    return at + 1;
}

// Returns the place behind the comment or literal that begins at `at`; `at` when none does.
std::size_t after_text(std::string_view code, std::size_t at)
{
    if (code.substr(at).starts_with("//"))
        return std::min(code.find('\n', at), code.size());
    if (code.substr(at).starts_with("R\"")) {
        const std::size_t open = code.find('(', at);
        const std::string close = ")" + std::string(code.substr(at + 2, open - at - 2)) + "\"";
        return code.find(close, open) + close.size();
    }
    return code[at] == '"' || code[at] == '\'' ? after_literal(code, at) : at;
}

// Returns the place behind a word. A quote between digits belongs to it.
std::size_t after_word(std::string_view code, std::size_t at)
{
    const std::size_t begin = at;
    while (at < code.size() && (is_word(code[at]) || (code[at] == '\'' && code[begin] <= '9')))
        ++at;
    return at;
}

} // namespace

std::vector<std::string> lines_of(std::string_view text)
{
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

std::set<std::string> identifiers(std::string_view code)
{
    std::set<std::string> found;
    std::size_t at = 0;
    while (at < code.size()) {
        const std::size_t begin = at;
        at = after_text(code, begin);
        if (at != begin)
            continue;
        at = is_word(code[at]) ? after_word(code, at) : at + 1;
        if (is_word(code[begin]))
            found.emplace(code.substr(begin, at - begin));
    }
    return found;
}

std::string literals(std::string_view code)
{
    std::string found;
    std::size_t at = 0;
    while (at < code.size()) {
        const std::size_t end = after_text(code, at);
        if (end == at) {
            if (code[at] > ' ')
                found += '\n';
            at = is_word(code[at]) ? after_word(code, at) : at + 1;
            continue;
        }
        if (code[at] != '/')
            found += code.substr(at + 1, end - at - 2);
        at = end;
    }
    for (char& c : found)
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return found;
}

} // namespace anchorhold::layering_test
