// SPDX-License-Identifier: Apache-2.0
// The table `inet anchorhold` inside a severed or relayed container's namespace: nothing but
// loopback. What is plugged in later gets nothing. Pure: messages out, messages read.
#pragma once

#include "hooks/netlink.hpp"

#include <string>
#include <vector>

namespace anchorhold {

enum class Standing : std::uint8_t {
    none, // no table of ours may be there: one that is belongs to another run
    ours, // replaced within the transaction, never absent in between
};

// One nftables transaction, its begin and end included.
std::vector<Step> load_drop_table(Standing standing);
// The three requests that list all there is in this namespace: tables, chains, rules.
std::vector<Step> list_ruleset();

struct Ruleset {
    std::vector<std::string> ours;   // a line per table, chain and rule of `inet anchorhold`
    std::vector<std::string> others; // "ip nat": every other table
    friend bool operator==(const Ruleset&, const Ruleset&) = default;
};
Status read_into(Ruleset& ruleset, const Message& message);
// What the lines must be after load_drop_table.
Result<std::vector<std::string>> drop_table_lines();

} // namespace anchorhold
