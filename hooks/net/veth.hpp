// SPDX-License-Identifier: Apache-2.0
// Makes the requests for the pair of links that joins a sealed or filtered run to the host. Each
// request is sent in the namespace of the end that it is about, in the order of this file. Pure: it
// only makes messages.
#pragma once

#include "hooks/net/links.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::net {

enum class End : std::uint8_t { host, inside };

// Makes the pair, with both ends down. Each end gets a MAC of ours, because the host's network
// managers replace a random one. The host's end gets no IPv6. `peer` is made directly in the
// namespace of the descriptor `netns`. The error is EEXIST when the name is taken.
// The host's end bears the text `alias`, unless that is empty.
std::vector<Step> make_veth(std::string_view name, std::string_view peer, int netns,
                            const std::string& alias = {});
// Takes IPv6 from the container's end, while that is down. A link that comes up without this gets a
// fe80:: address.
Step without_ipv6(unsigned link);
Step add_address(unsigned link, std::uint32_t address); // of a /30, host byte order
// Tells the kernel which MAC `address` (host byte order) has: that of the end `end` of the pair
// `name`. The entry is permanent. The kernel keeps at most gc_thresh3 (1024) entries that it found
// by asking, in all namespaces together, and drops packets beyond that (measured with 1000 runs).
Step add_neighbour(unsigned link, std::uint32_t address, std::string_view name, End end);
// Adds the default route inside a filtered run. `gateway` is in host byte order.
Step add_default_route(unsigned link, std::uint32_t gateway);

// Returns the MAC of an end. It is made from the digits of the run's key in `name`, so that two
// runs never have the same.
std::string mac_of(std::string_view name, End end); // "06:23:45:67:89:ab"

} // namespace anchorhold::net
