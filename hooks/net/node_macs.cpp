// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/node_macs.hpp"

#include <algorithm>

namespace anchorhold::net {
namespace {

// Returns the MACs of a bridge, which another may have by then.
std::vector<std::string> macs_of_bridge(const Link& bridge, const std::vector<Link>& host)
{
    std::vector<std::string> macs = {bridge.mac};
    for (const Link& port : host) {
        if (port.master == bridge.index)
            macs.push_back(port.mac);
    }
    const bool borrowed = std::find(macs.begin() + 1, macs.end(), bridge.mac) != macs.end();
    macs.resize(borrowed ? macs.size() : 1);
    return macs;
}

} // namespace

std::vector<std::string> macs_of_node(const std::vector<Link>& inside,
                                      const std::vector<Link>& host)
{
    std::vector<std::string> macs;
    for (const Link& inner : inside) {
        if (inner.is_loopback())
            continue;
        const auto outer = std::ranges::find_if(host, [&inner](const Link& link) {
            return link.index == inner.peer && link.peer == inner.index && link.kind == "veth";
        });
        if (inner.kind != "veth" || outer == host.end())
            return {};
        const auto bridge = std::ranges::find(host, outer->master, &Link::index);
        if (outer->master != 0 && (bridge == host.end() || bridge->kind != "bridge"))
            return {};
        const auto more =
            outer->master == 0 ? std::vector{outer->mac} : macs_of_bridge(*bridge, host);
        macs.insert(macs.end(), more.begin(), more.end());
    }
    std::ranges::sort(macs);
    const auto repeated = std::ranges::unique(macs);
    macs.erase(repeated.begin(), repeated.end());
    return macs;
}

} // namespace anchorhold::net
