// SPDX-License-Identifier: Apache-2.0
// Makes a container's network namespace hold nothing but loopback and the planned links, and says
// what was seen to be so.
#pragma once

#include "hooks/net/netns.hpp"
#include "hooks/nft/inside_table.hpp"
#include "schema/verified.hpp"

#include <string>
#include <vector>

namespace anchorhold {

enum class Moment : std::uint8_t {
    created,  // the namespace is new: anything in it is a mistake or an attack
    starting, // some engines plug a network in between create and start
    joining,  // as starting, but other containers of the pod run already and may listen
};

struct Confinement {
    std::vector<std::string> verified;     // the words for what was seen to hold
    std::vector<std::string> notes;        // what was found, and what was taken away
    bool loaded = false;                   // the table was loaded just now, and keeps nothing yet
    bool has(std::string_view word) const; // whether `verified` has the word
};

// Loads the table inside unless it stands as planned. With `must` any failure is an error, because
// the table stood before. Without `must` it is no error that the kernel has no nf_tables, or that
// we may not load one: the word is then not in `verified`.
Status ensure_table(net::Conversations& inside, const nft::InsidePlan& plan, Moment moment,
                    bool must, Confinement& confined);
// Brings loopback up, removes unplanned links and refuses listeners. ensure_table() is called
// first. Where an engine made the network (in place), links and listeners are only noted and stay:
// the table confines the run there.
Status empty_out(net::Conversations& inside, const nft::InsidePlan& plan, Moment moment,
                 const state::Deadline& deadline, Confinement& confined);

} // namespace anchorhold
