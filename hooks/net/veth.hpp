// SPDX-License-Identifier: Apache-2.0
// The pair of links that joins a sealed or filtered run to the host, as requests. Pure. Each is
// sent in the namespace of the end it is about, in the order of this page.
#pragma once

#include "hooks/net/links.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::net {

enum class End : std::uint8_t { host, inside };

// Both ends down, with MACs of their own (a random one is what the host's network managers replace)
// and the host's without IPv6. `peer` is born in the namespace of which `netns` is a descriptor. A
// name that is taken is EEXIST.
std::vector<Step> make_veth(std::string_view name, std::string_view peer, int netns);
// The container's end, while it is down: a link that comes up without it gets a fe80:: address.
Step without_ipv6(unsigned link);
Step add_address(unsigned link, std::uint32_t address); // of a /30, host byte order
// Who has `address`: the given end of the pair called `name`. Permanent, for the kernel keeps no
// more than gc_thresh3 (1024) of those it found by asking, in all namespaces together, and then
// forgets packets (measured with 1000 runs).
Step add_neighbour(unsigned link, std::uint32_t address, std::string_view name, End end);
Step add_default_route(unsigned link, std::uint32_t gateway); // a filtered run's, inside

// From the digits of the run's key in `name`, so that one is never another's.
std::string mac_of(std::string_view name, End end); // "06:23:45:67:89:ab"

} // namespace anchorhold::net
