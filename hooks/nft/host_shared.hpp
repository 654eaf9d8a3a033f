// SPDX-License-Identifier: Apache-2.0
// The part of the host's rules that all runs share: the table `inet anchorhold` as host_table.cpp
// draws it, and a run's own elements in its sets. Parts of transactions; pure.
#pragma once

#include "hooks/nft/host_table.hpp"
#include "hooks/nft/ruleset.hpp"

#include <string>
#include <vector>

namespace anchorhold::nft {

const nft::Table& shared_table();
bool is_forwarded(const HostRun& run); // filtered, on a link of ours

// What a run of this kind needs of it, made or made again, and the run's elements.
std::vector<net::Step> shared_part(const HostRun& run);
std::vector<net::Step> tracking_part(); // what a forwarded run needs of it beside a sealed one
std::vector<net::Step> add_own_elements(const HostRun& run);
std::vector<net::Step> remove_own_elements(const HostRun& run); // what is not there is no error

// The chains by which runs of its kind have the kernel track connections; that they are not there
// is no error.
std::vector<net::Step> remove_tracking(const HostRun& run);

// The runs that have elements.
Result<RunRules> ask_run_elements(net::Netlink& nftables);

// Requests for just that, and the order in which they are answered: chains, then rules.
std::vector<net::Step> list_shared(const HostRun& run);
void sort_chains_first(std::vector<std::string>& lines);

} // namespace anchorhold::nft
