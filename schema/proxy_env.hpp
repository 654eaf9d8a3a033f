// SPDX-License-Identifier: Apache-2.0
// Environment variables that send a client to a proxy, which in a severed cell is a dead end even
// for 127.0.0.1 (DESIGN 5, "Proxy variables").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

// What stands before the first "=" of an environment entry; the whole of it when there is none.
std::string_view env_name(std::string_view entry);

// Ignoring case: (http|https|all|ftp|ws|wss|grpc|no)_proxy,
// npm_config_(proxy|http_proxy|https_proxy|http-proxy|https-proxy|noproxy), node_use_env_proxy.
bool is_proxy_name(std::string_view name);

// Where proxies may stay (filtered), what keeps the calls to the relay away from them. Clients
// disagree: of the two spellings some read only one, and where both are set some the one, some the
// other, so both say the same. Only a literal address is understood by all (measured). A "*" means
// everything to Go and reqwest among other entries, but never an address; to curl, Python and
// undici only as the whole value. So it stays beside the addresses in the one, alone in the other.
struct Exemption {
    std::string upper; // value of NO_PROXY
    std::string lower; // value of no_proxy
    friend bool operator==(const Exemption&, const Exemption&) = default;
};
// For the environment ("NAME=VALUE") a process will have; nothing when no proxy is named there: an
// exemption alone is not neutral, it turns off Python's look-up of the system's own.
std::optional<Exemption> exempt_relay(const std::vector<std::string>& environment);

} // namespace anchorhold
