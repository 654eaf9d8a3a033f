// SPDX-License-Identifier: Apache-2.0
// Turns nf_tables' objects into text, a line each. So the whole plan can be compared with what the
// kernel has. The same code reads both, from the same kind of messages.
#pragma once

#include "hooks/nft/messages.hpp"
#include "schema/rules/network.hpp"

#include <string>
#include <vector>

namespace anchorhold::nft {

struct Ruleset {
    std::vector<std::string> ours;     // a line per table, chain, set and rule, in that order
    std::vector<std::string> elements; // of our sets without the denied ones, sorted
    std::vector<std::string> others;   // every other table, such as "ip nat"
    friend bool operator==(const Ruleset&, const Ruleset&) = default;
};

// Adds the one object in `message`. Leaves out an object in another table than ours.
Status read_into(Ruleset& ruleset, const nft::Table& ours, const net::Message& message);
// Returns what stands after these steps, if nothing stood before.
Result<Ruleset> describe(const nft::Table& ours, std::span<const net::Step> steps);
// Asks the kernel for these objects. Leaves out an object that is not there.
Result<Ruleset> ask(net::Netlink& nftables, const nft::Table& ours,
                    std::span<const net::Step> requests);
// Asks for the whole namespace: our table with all that is in it, other tables by their names.
Result<Ruleset> ask_all(net::Netlink& nftables, const nft::Table& ours);

struct TableUse {
    std::uint32_t family = 0; // NFPROTO_NETDEV
    std::string name;
    std::uint32_t use = 0; // how many chains, sets and the like are in it
};
Result<std::vector<TableUse>> ask_tables(net::Netlink& nftables);
struct ChainName {
    std::string table;
    std::string name;
};
Result<std::vector<ChainName>> ask_chains(net::Netlink& nftables, std::uint8_t family);
Result<std::uint32_t> ask_generation(net::Netlink& nftables); // for nft::begin()

// Adds up the packets that the counters of these rules have counted.
Result<std::uint64_t> count_packets(std::span<const net::Message> rules);
// Reads the elements of a denied set, oldest attempt first. `now` is in seconds since the
// epoch.
Result<std::vector<rules::Denied>> read_denied(std::span<const net::Message> listed,
                                               std::int64_t now);

} // namespace anchorhold::nft
