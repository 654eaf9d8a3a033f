// SPDX-License-Identifier: Apache-2.0
// What the host's own namespace holds for sealed and filtered runs: a chain `ahKEY` on the run's
// own link, in one of 64 tables `netdev anchorhold-NN`, and `inet anchorhold`, shared by all and
// made with the first, to which a run adds an element or two, never a base chain that other packets
// cross. What it costs does not depend on how many there are.
#pragma once

#include "hooks/net/netlink.hpp"
#include "schema/posture.hpp"
#include "schema/rules/network.hpp"
#include "schema/run_key.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::nft {

struct HostRun {
    std::string key;
    Posture posture = Posture::sealed;     // or filtered
    Technique technique = Technique::veth; // or in_place, which is filtered
    rules::Network network;                // veth: its subnet; in place: its guest addresses
};

// What a run of this kind needs of the shared table, elements left out: nothing is there as it
// should be, all but what tracks connections, all.
enum class SharedTable : std::uint8_t { missing, untracked, stands };
Result<SharedTable> ask_shared(net::Netlink& nftables, const HostRun& run);

// For a run of which nothing stands yet (else EEXIST). Nothing that stands as it should is removed
// in this transaction: what is removed the kernel frees after a grace period, and whoever closes an
// nftables socket waits for that (10 to 25 ms, measured).
std::vector<net::Step> add_host_rules(const HostRun& run, SharedTable shared);
// One transaction each, begin and end included. Whatever of this run stands already is replaced,
// never added to; what is shared is made, or made again. Older kernels want the link to be there.
std::vector<net::Step> load_host_rules(const HostRun& run);
// What is not there is no error. Of a veth run the key is enough; its link is down or gone. In
// place: `guest` without the addresses that a later run has.
std::vector<net::Step> drop_host_rules(const HostRun& run);

// What nobody needs once the run is dropped.
struct UnneededTables {
    bool own_table = false;    // the one that its chain is in
    bool older_table = false;  // `netdev ahKEY`, as earlier builds made it
    bool shared_table = false; // of no run at all
    bool tracking = false;     // the shared chains that have the kernel track connections
};
Result<UnneededTables> ask_unneeded(net::Netlink& nftables, const HostRun& run);
// The run's rules and these, in the one transaction: each that removes something costs whoever
// closes the socket a grace period. Refused with ERESTART when anything has changed since the
// ruleset had that generation; with EBUSY when its table is not empty after all.
std::vector<net::Step> drop_host_rules(const HostRun& run, const UnneededTables& unused,
                                       std::uint32_t generation);

// Whatever runs there are, of whichever state directory.
struct RunRules {
    std::vector<std::string> links;    // that a chain or an element is named after
    std::vector<rules::Prefix> guests; // the addresses of those in place
};
Result<RunRules> ask_run_rules(net::Netlink& nftables);
std::optional<RunKey> key_of_link(std::string_view name); // the inverse of link_name()

// A line per table, chain, rule, set and element: the run's own and the shared ones that it needs.
Result<std::vector<std::string>> host_rules_lines(const HostRun& run);
// The same as the kernel has them; what is not there has no line.
Result<std::vector<std::string>> ask_host_rules(net::Netlink& nftables, const HostRun& run);

} // namespace anchorhold::nft
