// SPDX-License-Identifier: Apache-2.0
// Lets the host forward the packets of filtered runs, and no others, where the policy says
// "forwarding": "enable" and nobody else has made the host a router.
//
// 1. The links are remembered in the state directory, then named in the set `switched` of the
//    shared table, then switched on (hooks/state/forwarding.hpp). The chain `toward` drops what
//    begins on such a link and is not for a run.
// 2. With the last run that is forwarded they are switched off, then the set goes, then the memory.
//    So a killed process leaves nothing that the next teardown does not find. The set names them
//    too, for a state directory that was emptied, or is another one.
// 3. When somebody has switched net.ipv4.ip_forward on meanwhile, the host is his router: the links
//    are left alone, and the set and the memory are emptied.
//
// The caller of each function holds the lock on the shared rules.
#pragma once

#include "hooks/net/netlink.hpp"
#include "hooks/state/forwarding.hpp"
#include "hooks/state/state_dir.hpp"
#include "schema/record.hpp"

namespace anchorhold::nft {

// To be called when the run's rules stand, at create and by each gc: routes change.
Status hold_forwarding(const state::StateDir& state, const Record& record, net::Netlink& nftables,
                       const state::Deadline& deadline);

// Switches off what was switched on, and returns it. To be called before the set is removed.
Result<state::LinkNames> end_forwarding(const state::StateDir& state, net::Netlink& nftables);

} // namespace anchorhold::nft
