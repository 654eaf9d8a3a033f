// SPDX-License-Identifier: Apache-2.0
// Collects the addresses that the host delivers to itself. A filtered run must not reach them.
#pragma once

#include "hooks/net/netlink.hpp"
#include "schema/record.hpp"

#include <optional>
#include <vector>

namespace anchorhold {

struct HostAddresses {
    std::vector<rules::Prefix> own;       // its links' addresses
    std::vector<rules::Prefix> delivered; // what else it delivers to itself
};
// The host, as it was listed for a run with such a pool. Who looks at many runs in a row keeps it:
// the list is as long as there are runs.
struct ListedHost {
    rules::Prefix pool;
    HostAddresses host;
};
using KeptHost = std::optional<ListedHost>;

// Returns those of the addresses that the host delivers to itself which the table inside must name.
// On a link of ours these are the ones that the allow list lets through. A short allow list without
// ranges is asked about one address at a time, because the list of the host's addresses is as long
// as there are runs. Lists the host no more than once if `kept` is given.
Result<HostAddresses> host_addresses(net::Netlink& route, const Record& record, KeptHost* kept);

// Returns the addresses of a namespace, without the gateways of runs. Those need no rule: the whole
// pool is denied, and no container is probed from the gateway of another.
Result<std::vector<rules::Prefix>> addresses_in(net::Netlink& route, const rules::Prefix& pool);

} // namespace anchorhold
