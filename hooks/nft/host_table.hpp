// SPDX-License-Identifier: Apache-2.0
// Makes and reads the rules in the host's own namespace for sealed and filtered runs. They are:
//
// 1. A chain `ahKEY` on the run's own link, in one of 64 tables `netdev anchorhold-NN`.
// 2. The table `inet anchorhold`, which all runs share and which the first run makes. A run adds an
//    element or two to it, but never a base chain that other packets would cross.
//
// So the cost does not depend on the number of runs.
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
    Posture posture = Posture::sealed;     // sealed or filtered
    Technique technique = Technique::veth; // veth or in_place; an in_place run is filtered
    rules::Network network;                // veth: its subnet; in_place: its guest addresses
    std::string owner = {}; // the pid namespace that it was made in; empty: any, see GuestRules
};

// The part of the shared table that stands, of all that a run of this kind needs. Elements are left
// out.
enum class SharedTable : std::uint8_t {
    missing,   // not even the part that a sealed run needs
    untracked, // all but the chains that track connections
    stands,    // all of it
};
Result<SharedTable> ask_shared(net::Netlink& nftables, const HostRun& run);

// Adds the rules of a run that has none yet (else the error is EEXIST). It is one transaction,
// begin and end included, and so are the next two. It removes nothing that stands as it should: the
// kernel frees what is removed after a grace period, and closing an nftables socket waits for that
// (10 to 25 ms, measured).
std::vector<net::Step> add_host_rules(const HostRun& run, SharedTable shared);
// Replaces the run's rules, whatever of them stands already. Makes the shared part, or makes it
// again. Older kernels refuse this when the link is not there.
std::vector<net::Step> load_host_rules(const HostRun& run);
// Drops the run's rules. A missing rule is no error. The key of a veth run is enough; its link must
// be down or gone. The `guest` of an in_place run must not have addresses that a later run has.
std::vector<net::Step> drop_host_rules(const HostRun& run);

// The tables and chains that nobody needs once the run is dropped.
struct UnneededTables {
    bool own_table = false;    // the table that holds the run's chain
    bool older_table = false;  // `netdev ahKEY`, which earlier builds made
    bool shared_table = false; // `inet anchorhold`, when no other run is left
    bool tracking = false;     // the shared chains that make the kernel track connections
};
Result<UnneededTables> ask_unneeded(net::Netlink& nftables, const HostRun& run);
// Drops the run's rules and these tables in one transaction, because each transaction that removes
// something makes the closing of the socket wait for a grace period. The kernel refuses it with
// ERESTART when the ruleset has changed since it had that generation, and with EBUSY when the table
// is not empty after all.
std::vector<net::Step> drop_host_rules(const HostRun& run, const UnneededTables& unused,
                                       std::uint32_t generation);

// The runs that have rules here, of any state directory.
struct GuestRules {
    rules::Prefix address;
    std::string owner; // HostRun::owner; empty: an earlier build made the element
};
struct RunRules {
    std::vector<std::string> links; // the links that a chain or an element is named after
    std::vector<GuestRules> guests; // of the runs in place
};
Result<RunRules> ask_run_rules(net::Netlink& nftables);
std::optional<RunKey> key_of_link(std::string_view name); // the inverse of link_name()

// Returns the plan as text: a line per table, chain, rule, set and element. It has the run's own
// and the shared ones that the run needs.
Result<std::vector<std::string>> host_rules_lines(const HostRun& run);
// Returns the same lines from what the kernel has. A missing object has no line.
Result<std::vector<std::string>> ask_host_rules(net::Netlink& nftables, const HostRun& run);

} // namespace anchorhold::nft
