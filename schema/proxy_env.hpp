// SPDX-License-Identifier: Apache-2.0
// Environment variables that send a client to a proxy, which in a severed cell is a dead end even
// for 127.0.0.1 (DESIGN 5, "Proxy variables").
#pragma once

#include <string_view>

namespace anchorhold {

// What stands before the first "=" of an environment entry; the whole of it when there is none.
std::string_view env_name(std::string_view entry);

// Ignoring case: (http|https|all|ftp|ws|wss|grpc|no)_proxy,
// npm_config_(proxy|http_proxy|https_proxy|http-proxy|https-proxy|noproxy), node_use_env_proxy.
bool is_proxy_name(std::string_view name);

} // namespace anchorhold
