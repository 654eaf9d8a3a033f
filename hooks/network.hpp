// SPDX-License-Identifier: Apache-2.0
// Makes and checks the link and the host's rules of a sealed or filtered run.
#pragma once

#include "hooks/host_addresses.hpp"
#include "hooks/net/netns.hpp"
#include "hooks/nft/inside_table.hpp"
#include "hooks/state/state_dir.hpp"

#include <string>
#include <vector>

namespace anchorhold {

// Returns the plan for the table inside the run's namespace.
nft::InsidePlan inside_plan(const Record& record);

// Returns the ports at which the run's gate serves its endpoints, in the order of its rules.
std::vector<std::uint16_t> gate_ports(const Record& record);

// Keeps the run's namespace until unplug(), so that what was denied can be read when the container
// is gone.
Status keep_netns(const state::StateDir& state, const Record& record, const net::Netns& netns);

// Comes before the table inside. Technique veth makes the pair of links, both ends down. Technique
// in_place looks at what the engine plugged in. Both load the host's rules, and fill in what
// record.network lacks.
Status plug_in(const state::StateDir& state, Record& record, const net::Netns& netns,
               net::Conversations& inside, const state::Deadline& deadline);
// Looks for what the host and the engine changed since: the host's own addresses, and in place also
// the container's links and addresses. Only for a filtered run. Returns true when record.network
// has changed. Lists the host no more than once if `kept` is given.
Result<bool> look_again(Record& record, net::Conversations& inside, const state::Deadline& deadline,
                        KeptHost* kept);
// Comes after plug_in() and the table inside. Sets the addresses and brings both ends up, then asks
// the kernel for its route to the container and judges it.
Status open_link(Record& record, net::Conversations& inside, const state::Deadline& deadline);

// Checks that both ends of the pair still are as they were made. Network managers (udev, networkd,
// NetworkManager) match every new link: they may flush its addresses, give it others, change its
// MAC, or set it down. A difference is an error. One more address at the host's end is only noted
// if `notes` is given, because it opens nothing.
Status check_link(const Record& record, net::Conversations& inside, const state::Deadline& deadline,
                  std::vector<std::string>* notes);

} // namespace anchorhold
