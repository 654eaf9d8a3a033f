// SPDX-License-Identifier: Apache-2.0
// Makes a container's network namespace hold nothing but loopback, and says what was seen to hold.
#pragma once

#include "hooks/net/netns.hpp"
#include "hooks/nft/inside_table.hpp"
#include "schema/verified.hpp"

#include <string>
#include <vector>

namespace anchorhold {

enum class Moment : std::uint8_t {
    created,  // the namespace is new: whatever is in it is a mistake or an attack
    starting, // engines may have plugged a network in since (DESIGN 3.10)
    joining,  // as starting, and others of the pod are at work: who listens there is theirs to say
};

struct Confinement {
    std::vector<std::string> verified;
    std::vector<std::string> notes; // what was found and taken away
    bool loaded = false;            // the table that stands now, and remembers nothing yet
    bool has(std::string_view word) const;
};

// `must`: a table that stood before has to stand again; else a kernel that has no nf_tables, and a
// caller who may not, are no failure, and the word is not in `verified`.
Status hold_table(net::Conversations& inside, const nft::InsidePlan& plan, Moment moment, bool must,
                  Confinement& confined);
// Loopback, links but the planned ones, listeners. hold_table comes first. Where an engine made the
// network (in place), links and listeners are noted and stand: the table is what holds.
Status empty_out(net::Conversations& inside, const nft::InsidePlan& plan, Moment moment,
                 const state::Deadline& deadline, Confinement& confined);

} // namespace anchorhold
