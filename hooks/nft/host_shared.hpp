// SPDX-License-Identifier: Apache-2.0
// Makes the part of the host's rules that all runs share: the table `inet anchorhold`, which
// host_table.cpp shows, and a run's own elements in its sets. The functions return parts of
// transactions. Pure, but for ask_run_elements().
#pragma once

#include "hooks/nft/host_table.hpp"
#include "hooks/nft/ruleset_text.hpp"

#include <string>
#include <vector>

namespace anchorhold::nft {

const nft::Table& shared_table();
bool is_forwarded(const HostRun& run); // whether it is filtered, on a link of ours

// Makes, or makes again, what a run of this kind needs of the shared table, and the run's elements.
std::vector<net::Step> shared_part(const HostRun& run);
std::vector<net::Step> tracking_part(); // makes what a forwarded run needs more than a sealed one
std::vector<net::Step> add_own_elements(const HostRun& run);
std::vector<net::Step> remove_own_elements(const HostRun& run); // a missing one is no error

// Removes the chains that make the kernel track connections for runs of this kind. A missing chain
// is no error.
std::vector<net::Step> remove_tracking(const HostRun& run);

// Asks which runs have elements in the shared sets.
Result<RunRules> ask_run_elements(net::Netlink& nftables);

// The names of links in the set `switched`. A transaction that takes some out and puts others in.
Result<std::vector<std::string>> ask_switched(net::Netlink& nftables);
std::vector<net::Step> set_switched(const std::vector<std::string>& out,
                                    const std::vector<std::string>& in);

// list_shared() makes the requests that list what a run needs of the shared table. The answers come
// in its order: sets, chains, rules. sort_sets_first() brings planned lines into that order.
std::vector<net::Step> list_shared(const HostRun& run);
void sort_sets_first(std::vector<std::string>& lines);

} // namespace anchorhold::nft
