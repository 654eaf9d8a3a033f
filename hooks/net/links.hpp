// SPDX-License-Identifier: Apache-2.0
// The links of one network namespace: what is there, and the requests that change it. Pure.
#pragma once

#include "hooks/net/netlink.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::net {

struct Link {
    unsigned index = 0;
    std::string name;
    std::string kind;       // "veth", "sit"; empty for lo and hardware
    std::uint16_t type = 0; // ARPHRD_*
    std::string mac;        // "06:23:45:67:89:ab"; empty for a link without
    bool up = false;
    bool is_loopback() const; // lo is the first link of every namespace
    friend bool operator==(const Link&, const Link&) = default;
};

enum class Flag : std::uint8_t { down, up };

Step list_links();
Result<Link> read_link(const Message& message);
Step find_link_named(std::string_view name); // with Netlink::list; none: ENODEV
Step remove_link(const Link& link);
Step remove_link_named(std::string_view name);
Step set_link(const Link& link, Flag flag);

// Some kernels give every new namespace fallback tunnels (sit0, tunl0:
// net.core.fb_tunnels_only_for_init_net), which cannot be removed. `born` is what this kernel gave
// to a fresh one just now; which names that are is nobody's list.
bool is_inborn(const Link& link, const std::vector<Link>& born);
// Those that somebody put there or brought up: lo and the inborn ones that are down left out.
std::vector<Link> strays_among(const std::vector<Link>& links, const std::vector<Link>& born);

// "eth0 (veth)"; "eth0" for hardware.
std::string text_of(const Link& link);
std::string text_of_mac(std::span<const std::uint8_t> bytes); // "06:23:45:67:89:ab"

} // namespace anchorhold::net
