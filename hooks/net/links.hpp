// SPDX-License-Identifier: Apache-2.0
// Reads the links of a network namespace, and makes the requests that change them. Pure: it only
// makes and reads messages.
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
    std::string mac;        // "06:23:45:67:89:ab"; empty for a link that has none
    bool up = false;        // IFF_UP
    // The text that an administrator, or we, gave it. Designated initializers may leave it out.
    std::string alias = {};   // NOLINT(readability-redundant-member-init)
    unsigned peer = 0;        // of a veth: the index of the other end, in that end's namespace
    unsigned master = 0;      // the index of the bridge, or the like, that it is a port of
    bool is_loopback() const; // lo is the first link of every namespace
    friend bool operator==(const Link&, const Link&) = default;
};

enum class Flag : std::uint8_t { down, up };

Step list_links();
Result<Link> read_link(const Message& message);
Step find_link_named(std::string_view name); // for Netlink::list; ENODEV without such a link
Step remove_link(const Link& link);
Step remove_link_named(std::string_view name);
Step set_link(const Link& link, Flag flag);

// Says whether the kernel itself put the link there. Some kernels give every new namespace fallback
// tunnels (sit0, tunl0: net.core.fb_tunnels_only_for_init_net), which cannot be removed. No fixed
// list of their names exists. So `born` has the links that this kernel just gave a new namespace.
bool is_inborn(const Link& link, const std::vector<Link>& born);
// Returns the links that somebody put there or brought up. Leaves out lo, and the inborn links that
// are down.
std::vector<Link> strays_among(const std::vector<Link>& links, const std::vector<Link>& born);

// Returns "eth0 (veth)", or "eth0" for hardware.
std::string text_of(const Link& link);
std::string text_of_mac(std::span<const std::uint8_t> bytes); // "06:23:45:67:89:ab"

} // namespace anchorhold::net
