// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/hosts_file.hpp"

#include <algorithm>

namespace anchorhold::rules {
namespace {

constexpr std::size_t longest_host_name = 253; // RFC 1035 2.3.4, without the dot of the root
constexpr std::size_t longest_host_label = 63;

bool is_host_label(std::string_view text)
{
    return !text.empty() && text.size() <= longest_host_label &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
           });
}

bool is_host_name(std::string_view text)
{
    if (text.size() > longest_host_name)
        return false;
    for (std::size_t dot = 0; (dot = text.find('.')) != std::string_view::npos;) {
        if (!is_host_label(text.substr(0, dot)))
            return false;
        text.remove_prefix(dot + 1);
    }
    return is_host_label(text);
}

// Takes the first word off a line; empty: there is none.
std::string_view take_word(std::string_view& line)
{
    constexpr std::string_view blanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

// Says whether the text of a hosts file has that name at that address.
bool has_entry(std::string_view text, std::string_view address, std::string_view name)
{
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = line.substr(0, line.find('#'));
        if (take_word(line) != address)
            continue;
        for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
            if (word == name)
                return true;
        }
    }
    return false;
}

} // namespace

std::string hosts_file(const Network& network, std::string_view hostname, std::string_view given)
{
    std::string text(given);
    if (!text.empty() && text.back() != '\n')
        text += '\n';
    if (given.empty())
        text = "127.0.0.1 localhost\n::1 localhost\n";
    const bool taken =
        hostname == "localhost" ||
        std::ranges::find(network.names, hostname, &PinnedName::name) != network.names.end();
    if (given.empty() && is_host_name(hostname) && !taken)
        text.append("127.0.1.1 ").append(hostname).append("\n");
    for (const PinnedName& pinned : network.names) {
        for (const std::string& address : pinned.addresses) {
            if (!has_entry(given, address, pinned.name))
                text.append(address).append(" ").append(pinned.name).append("\n");
        }
    }
    return text;
}

} // namespace anchorhold::rules
