// SPDX-License-Identifier: Apache-2.0
// The environment variables that send a client to a proxy. In a run that reaches nothing but its
// endpoints a proxy is a dead end, even for calls to 127.0.0.1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

// Returns the part before the first "=" of an environment entry, or the whole entry if it has none.
std::string_view env_name(std::string_view entry);

// Returns whether the name is one of these, in any letter case:
// (http|https|all|ftp|ws|wss|grpc|no)_proxy,
// npm_config_(proxy|http_proxy|https_proxy|http-proxy|https-proxy|noproxy), node_use_env_proxy.
bool is_proxy_name(std::string_view name);

// The values that keep calls to the relay away from proxies, where proxies may stay (filtered).
// Clients disagree about the two spellings. Some read only one of them; where both are set, some
// prefer the one, some the other. So both must say the same. Only a literal address is understood
// by all clients (measured).
// Clients disagree about "*" too. Go and reqwest take it for everything when it stands among other
// entries, but it never matches an address there. curl, Python and undici honour it only as the
// whole value. So the upper value keeps "*" beside the addresses, and the lower one is "*" alone.
struct Exemption {
    std::string upper; // value of NO_PROXY
    std::string lower; // value of no_proxy
    friend bool operator==(const Exemption&, const Exemption&) = default;
};
// Returns the exemption for the environment ("NAME=VALUE") that a process will have. Returns
// nothing when it names no proxy: an exemption alone is not neutral, because it turns off Python's
// look-up of the proxies of the system.
std::optional<Exemption> exempt_relay(const std::vector<std::string>& environment);

} // namespace anchorhold
