// SPDX-License-Identifier: Apache-2.0
// Makes the table `inet anchorhold` inside a container's namespace. It lets through what the
// posture allows, on every link. It is never deleted, and dies with the namespace. A flush of the
// host's tables does not touch it. Pure: it only makes messages and reads them.
#pragma once

#include "hooks/nft/ruleset_text.hpp"
#include "schema/posture.hpp"

#include <optional>
#include <vector>

namespace anchorhold::nft {

struct InsidePlan {
    Posture posture = Posture::severed; // never open
    rules::Network network;             // for sealed and filtered; it has no subnet in place
    std::uint32_t link = 0;             // for sealed: the index of the container's end
    // The addresses that mean names, of a filtered run that is served by a gate. Its `network` is
    // of gate_network().
    std::optional<rules::Prefix> handles = {};
    std::vector<std::uint16_t> listens = {}; // its endpoints' ports; no part of the table
};

enum class ExistingTable : std::uint8_t {
    none, // no table of ours may be there: it would be another run's
    ours, // our table is there; the transaction replaces it, so it is never absent
};

const nft::Table& inside_table();
// Loads the table in one nftables transaction, begin and end included.
std::vector<net::Step> load_inside_table(const InsidePlan& plan, ExistingTable standing);
// Makes what is in the table of a run that is served by a gate (gate_table.cpp).
std::vector<net::Step> fill_gate_table(const rules::Prefix& handles, const rules::Network& network);
// Returns the ruleset that must be read back afterwards.
Result<Ruleset> expected_inside(const InsidePlan& plan);

// list_denied() makes the requests that list the denied connections of a filtered run, for
// read_denied(). list_denied_count() asks for the number of denied packets, for count_packets().
std::vector<net::Step> list_denied();
net::Step list_denied_count();

} // namespace anchorhold::nft
