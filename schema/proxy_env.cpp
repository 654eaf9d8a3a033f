// SPDX-License-Identifier: Apache-2.0
#include "schema/proxy_env.hpp"

#include <algorithm>

namespace anchorhold {
namespace {

constexpr std::string_view proxy_names[] = {
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "ftp_proxy",
    "ws_proxy",
    "wss_proxy",
    "grpc_proxy",
    "no_proxy",
    "npm_config_proxy",
    "npm_config_http_proxy",
    "npm_config_https_proxy",
    "npm_config_http-proxy",
    "npm_config_https-proxy",
    "npm_config_noproxy",
    "node_use_env_proxy",
};

// Names that go with proxies, but name none themselves.
constexpr std::string_view companions[] = {"no_proxy", "npm_config_noproxy", "node_use_env_proxy"};

// The relay's addresses, and the name for them; its clients are told 127.0.0.1.
constexpr std::string_view relay_addresses[] = {"localhost", "127.0.0.1", "::1"};

char small(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_same(std::string_view small_name, std::string_view name)
{
    return std::ranges::equal(small_name, name, {}, {}, small);
}

bool names_proxy(std::string_view entry)
{
    const std::string_view name = env_name(entry);
    return is_proxy_name(name) && entry.size() > name.size() + 1 && // the value is not empty
           std::ranges::none_of(companions,
                                [&](auto companion) { return is_same(companion, name); });
}

std::string_view without_blanks(std::string_view text)
{
    constexpr std::string_view blanks = " \t";
    const std::size_t begin = text.find_first_not_of(blanks);
    return begin == std::string_view::npos
               ? std::string_view()
               : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Adds the entries of a comma-separated list that are not there yet.
void add_entries(std::vector<std::string_view>& entries, std::string_view list)
{
    while (!list.empty()) {
        const std::string_view part = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), part.size() + 1));
        const std::string_view entry = without_blanks(part);
        if (!entry.empty() && std::ranges::find(entries, entry) == entries.end())
            entries.push_back(entry);
    }
}

} // namespace

std::string_view env_name(std::string_view entry)
{
    return entry.substr(0, entry.find('='));
}

bool is_proxy_name(std::string_view name)
{
    return std::ranges::any_of(proxy_names, [&](auto proxy) { return is_same(proxy, name); });
}

std::optional<Exemption> exempt_relay(const std::vector<std::string>& environment)
{
    if (std::ranges::none_of(environment, names_proxy))
        return std::nullopt;
    std::vector<std::string_view> entries;
    for (const std::string& entry : environment) {
        const std::string_view name = env_name(entry);
        if (is_same("no_proxy", name) && entry.size() > name.size())
            add_entries(entries, std::string_view(entry).substr(name.size() + 1));
    }
    for (const std::string_view address : relay_addresses)
        add_entries(entries, address);
    Exemption exemption;
    for (const std::string_view entry : entries)
        exemption.upper.append(exemption.upper.empty() ? "" : ",").append(entry);
    const bool all = std::ranges::find(entries, "*") != entries.end();
    exemption.lower = all ? "*" : exemption.upper;
    return exemption;
}

} // namespace anchorhold
