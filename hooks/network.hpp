// SPDX-License-Identifier: Apache-2.0
// The link and the host's rules of a sealed or filtered run: made and held.
#pragma once

#include "hooks/net/netns.hpp"
#include "hooks/nft/inside_table.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold {

// What the table inside a run's namespace must let through.
nft::InsidePlan inside_plan(const Record& record);

// Before the table inside: technique veth makes the pair, both ends down, and the host's rules for
// it; in place looks at what the engine plugged in. Fills in what record.network lacks.
Status plug_in(const state::StateDir& state, Record& record, const net::Netns& netns,
               net::Conversations& inside, const state::Deadline& deadline);
// What engines and the host changed since: of a filtered run, the host's own addresses, and in
// place the container's links and addresses. True when record.network is another now.
Result<bool> look_again(Record& record, net::Conversations& inside,
                        const state::Deadline& deadline);
// After plug_in: addresses, links up, the route to the container asked of the kernel. The host's
// rules are read back and compared.
Status open_link(Record& record, net::Conversations& inside, const state::Deadline& deadline);

// Are both ends of the pair still what they were made? Network managers take every new link for
// theirs: other addresses, a MAC of their choice, down (C-41). A difference is an error; an address
// more at the host's end is only noted where there are notes, for it opens nothing.
Status check_link(const Record& record, net::Conversations& inside, const state::Deadline& deadline,
                  std::vector<std::string>* notes);

} // namespace anchorhold
