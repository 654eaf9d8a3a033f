// SPDX-License-Identifier: Apache-2.0
// nf_tables' objects as text, a line each, so that what was planned and what the kernel has are
// compared whole. Both are read from the same messages by the same code.
#pragma once

#include "hooks/nft/nft.hpp"
#include "schema/rules/network.hpp"

#include <string>
#include <vector>

namespace anchorhold::nft {

struct Ruleset {
    std::vector<std::string> ours;     // a line per table, chain, set and rule, in that order
    std::vector<std::string> elements; // of our sets but the remembered, sorted
    std::vector<std::string> others;   // "ip nat": every other table
    friend bool operator==(const Ruleset&, const Ruleset&) = default;
};

// Adds the one object of `message`; objects of other tables are none of ours.
Status read_into(Ruleset& ruleset, const nft::Table& ours, const net::Message& message);
// What stands after these steps, if nothing stood before.
Result<Ruleset> describe(const nft::Table& ours, std::span<const net::Step> steps);
// What the kernel has of all this; an object that is not there is not in it.
Result<Ruleset> ask(net::Netlink& nftables, const nft::Table& ours,
                    std::span<const net::Step> requests);
// The whole namespace's: others' tables by name, ours with all in it.
Result<Ruleset> ask_all(net::Netlink& nftables, const nft::Table& ours);

struct TableUse {
    std::uint32_t family = 0; // NFPROTO_NETDEV
    std::string name;
    std::uint32_t use = 0; // chains, sets and the like in it
};
Result<std::vector<TableUse>> ask_tables(net::Netlink& nftables);
struct ChainName {
    std::string table;
    std::string name;
};
Result<std::vector<ChainName>> ask_chains(net::Netlink& nftables, std::uint8_t family);
Result<std::uint32_t> ask_generation(net::Netlink& nftables); // for nft::begin()

// What the counters of these rules have counted, added up.
Result<std::uint64_t> count_packets(std::span<const net::Message> rules);
// What a remembered set holds, oldest attempt first. `now`: seconds since the epoch.
Result<std::vector<rules::Denied>> read_denied(std::span<const net::Message> listed,
                                               std::int64_t now);

} // namespace anchorhold::nft
