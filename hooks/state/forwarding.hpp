// SPDX-License-Identifier: Apache-2.0
// The switches that make the host forward, and which of them we switched on.
//
// `net.ipv4.ip_forward` makes the host a router for everybody, so it is never written. A packet is
// forwarded when the link on which it came in has `conf/LINK/forwarding`, and these are switched on
// instead: that of a run's own link, which ends with it, and those over which its answers come.
//
// The state directory remembers the latter, for the network namespace and boot that we are in. Only
// links whose switch was off are remembered. So what somebody else has switched on stays on. When
// somebody switches `ip_forward` on, the kernel switches every link on, and they are his.
#pragma once

#include "hooks/state/state_dir.hpp"

#include <string>
#include <vector>

namespace anchorhold::state {

using LinkNames = std::vector<std::string>;

bool is_router(); // whether net.ipv4.ip_forward is 1

// Says whether links are remembered, of whatever boot.
bool has_claimed_links(const StateDir& state);

// The caller of these holds the lock on the shared rules.
Result<LinkNames> claimed_links(const StateDir& state);
// Remembers those of `links` whose switch is off. Returns all that are remembered. To be called
// before they are switched on: a process may be killed in between.
Result<LinkNames> claim_links(const StateDir& state, const LinkNames& links);
Status forget_links(const StateDir& state);

enum class Switch : std::uint8_t { off, on };
// A link that is not there any more is left out.
Status switch_links(const LinkNames& links, Switch to);

} // namespace anchorhold::state
