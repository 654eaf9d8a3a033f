// SPDX-License-Identifier: Apache-2.0
// Makes a container's network namespace hold nothing but loopback, and says what was seen to hold.
#pragma once

#include "hooks/inside_table.hpp"
#include "hooks/netns.hpp"

#include <string>
#include <vector>

namespace anchorhold {

enum class Moment : std::uint8_t {
    created,  // the namespace is new: whatever is in it is a mistake or an attack
    starting, // engines may have plugged a network in since (DESIGN 3.10)
};

// Words of Record::verified.
namespace verified {
constexpr std::string_view netns = "netns";           // not the host's, not another run's
constexpr std::string_view drop_table = "drop-table"; // read back as planned
constexpr std::string_view links = "links";           // loopback, and nothing else that is up
constexpr std::string_view sources = "sources";       // mounted is what was looked at
constexpr std::string_view listeners = "listeners";   // nobody waits at a port from outside
} // namespace verified

struct Confined {
    std::vector<std::string> verified;
    std::vector<std::string> notes; // what was found and taken away
    bool has(std::string_view word) const;
};

// `must`: a table that stood before has to stand again; else a kernel that has no nf_tables, and a
// caller who may not, are no failure, and the word is not in `verified`.
Status hold_table(Conversations& inside, const InsidePlan& plan, Moment moment, bool must,
                  Confined& confined);
// Links, loopback, listeners. hold_table comes first.
Status empty_out(Conversations& inside, Moment moment, const Deadline& deadline,
                 Confined& confined);

} // namespace anchorhold
