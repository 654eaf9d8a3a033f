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

char small(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

std::string_view env_name(std::string_view entry)
{
    return entry.substr(0, entry.find('='));
}

bool is_proxy_name(std::string_view name)
{
    return std::ranges::any_of(proxy_names, [&](std::string_view proxy) {
        return std::ranges::equal(proxy, name, {}, {}, small);
    });
}

} // namespace anchorhold
