// SPDX-License-Identifier: Apache-2.0
// The table `inet anchorhold` inside a container's namespace: what its posture lets through, on
// whatever link. It is never deleted, dies with the namespace, and a flush of the host's tables
// does not touch it. Pure: messages out, messages read.
#pragma once

#include "hooks/nft/ruleset.hpp"
#include "schema/posture.hpp"

#include <vector>

namespace anchorhold::nft {

struct InsidePlan {
    Posture posture = Posture::severed; // not open
    rules::Network network;             // of sealed and filtered; without a subnet: in place
    std::uint32_t link = 0;             // sealed: index of the container's end
};

enum class ExistingTable : std::uint8_t {
    none, // no table of ours may be there: one that is belongs to another run
    ours, // replaced within the transaction, never absent in between
};

const nft::Table& inside_table();
// One nftables transaction, its begin and end included.
std::vector<net::Step> load_inside_table(const InsidePlan& plan, ExistingTable standing);
// What must be read back after it.
Result<Ruleset> expected_inside(const InsidePlan& plan);

// The requests that list what a filtered run was refused, for read_denied.
std::vector<net::Step> list_denied();
net::Step list_denied_count(); // for count_packets: the packets that were

} // namespace anchorhold::nft
