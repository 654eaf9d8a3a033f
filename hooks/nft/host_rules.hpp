// SPDX-License-Identifier: Apache-2.0
// The rules of one run in the host's namespace: loaded and read back, held, dropped.
#pragma once

#include "hooks/net/netlink.hpp"
#include "hooks/nft/host_table.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold::nft {

// Returns the part of a record that the host's rules are made of.
HostRun host_run(const Record& record);

// Loads and reads back; a difference is an error.
Status put_host_rules(const state::StateDir& state, const Record& record,
                      const state::Deadline& deadline);

// Do the host's rules stand as planned? If not (`nft flush ruleset`), they are loaded again.
enum class HostRulesFound : std::uint8_t { stood, restored };
Result<HostRulesFound> hold_host_rules(const state::StateDir& state, const Record& record,
                                       const state::Deadline& deadline);

// Of addresses that a run in place has no more: whoever has them next is no guest of ours.
Status drop_guests(const state::StateDir& state, const Record& record,
                   std::vector<rules::Prefix> gone, const state::Deadline& deadline);

// Removes the run's rules, and of the shared ones those that no other run needs. Addresses are used
// again: of a run in place, those that another run has by now keep their rules. `nftables` is the
// caller's to close, which takes long.
Status drop_rules(const state::StateDir& state, HostRun run, net::Netlink& nftables,
                  const state::Deadline& deadline);

// Of `guests` those that no run's record claims, that of the key `but_by` left out; none at all
// where a record cannot be read.
Result<std::vector<rules::Prefix>> unclaimed_guests(const state::StateDir& state,
                                                    std::vector<rules::Prefix> guests,
                                                    std::string_view but_by);

} // namespace anchorhold::nft
