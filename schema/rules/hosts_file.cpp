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
        for (const std::string& address : pinned.addresses)
            text.append(address).append(" ").append(pinned.name).append("\n");
    }
    return text;
}

} // namespace anchorhold::rules
