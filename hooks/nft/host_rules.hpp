// SPDX-License-Identifier: Apache-2.0
// Loads, checks and drops the rules of one run in the host's namespace.
#pragma once

#include "hooks/net/netlink.hpp"
#include "hooks/nft/host_table.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold::nft {

// Returns the part of a record that the host's rules are made of.
HostRun host_run(const Record& record);

// Loads the rules and reads them back. A difference is an error.
Status put_host_rules(const state::StateDir& state, const Record& record,
                      const state::Deadline& deadline);

enum class HostRulesFound : std::uint8_t {
    stood,    // the rules were there as planned
    restored, // the rules were missing or changed, and were loaded again
};
// Loads the host's rules again if they do not stand as planned, for example after `nft flush
// ruleset`. Returns what it found.
Result<HostRulesFound> restore_host_rules(const state::StateDir& state, const Record& record,
                                          const state::Deadline& deadline);

// Drops the rules for the addresses `gone`, which a run in place no longer has. The next container
// with such an address is not ours. Keeps the addresses that another run claims.
Status drop_guests(const state::StateDir& state, const Record& record,
                   std::vector<rules::Prefix> gone, const state::Deadline& deadline);

// Drops the run's own rules, and the tables that nobody needs after it. Engines give an address to
// one container after another, so the addresses that another run has by now stay. The caller keeps
// `nftables` and closes it when it suits: closing takes long.
Status drop_rules(const state::StateDir& state, HostRun run, net::Netlink& nftables,
                  const state::Deadline& deadline);

// Returns those of `guests` that no run's record claims. Ignores the record of the key `but_by`.
// Returns none when a record cannot be read, because that record might claim any of them.
Result<std::vector<rules::Prefix>> unclaimed_guests(const state::StateDir& state,
                                                    std::vector<rules::Prefix> guests,
                                                    std::string_view but_by);

} // namespace anchorhold::nft
