// SPDX-License-Identifier: Apache-2.0
// Makes a container's network namespace hold nothing but loopback, and says what was seen to hold.
#pragma once

#include "hooks/net/netns.hpp"
#include "hooks/nft/inside_table.hpp"

#include <string>
#include <vector>

namespace anchorhold {

enum class Moment : std::uint8_t {
    created,  // the namespace is new: whatever is in it is a mistake or an attack
    starting, // engines may have plugged a network in since (DESIGN 3.10)
    joining,  // as starting, and others of the pod are at work: who listens there is theirs to say
};

// Words of Record::verified.
namespace verified {
constexpr std::string_view netns = "netns";           // not the host's, not another run's
constexpr std::string_view drop_table = "drop-table"; // read back as planned
constexpr std::string_view links = "links";           // loopback, what was planned, no more
constexpr std::string_view sources = "sources";       // mounted is what was looked at
constexpr std::string_view listeners = "listeners";   // nobody waits at a port from outside
constexpr std::string_view host_rules = "host-rules"; // read back as planned
constexpr std::string_view route = "route";           // packets to the container go there alone
} // namespace verified

struct Confined {
    std::vector<std::string> verified;
    std::vector<std::string> notes; // what was found and taken away
    bool loaded = false;            // the table that stands now, and remembers nothing yet
    bool has(std::string_view word) const;
};

// `must`: a table that stood before has to stand again; else a kernel that has no nf_tables, and a
// caller who may not, are no failure, and the word is not in `verified`.
Status hold_table(Conversations& inside, const InsidePlan& plan, Moment moment, bool must,
                  Confined& confined);
// Loopback, links but the planned ones, listeners. hold_table comes first. Where an engine made the
// network (in place), links and listeners are noted and stand: the table is what holds.
Status empty_out(Conversations& inside, const InsidePlan& plan, Moment moment,
                 const Deadline& deadline, Confined& confined);

} // namespace anchorhold
