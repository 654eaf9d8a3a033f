// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/host_rules.hpp"

#include "hooks/state/process.hpp"

#include "hooks/nft/forwarding.hpp"
#include "hooks/nft/host_shared.hpp"
#include "hooks/nft/host_table.hpp"
#include "hooks/nft/ruleset_text.hpp"

#include <algorithm>
#include <cerrno>
#include <linux/netlink.h>

namespace anchorhold::nft {
namespace {

constexpr int most_tries = 100; // a try takes a millisecond or less

// Says whether the run's rules, and the shared ones that it needs, are there as planned.
Result<bool> stands(net::Netlink& nftables, const HostRun& run)
{
    AH_TRY(const auto planned, host_rules_lines(run));
    AH_TRY(const auto seen, ask_host_rules(nftables, run));
    return seen == planned;
}

Status load_and_compare(net::Netlink& nftables, const HostRun& run)
{
    AH_TRY(const SharedTable shared, ask_shared(nftables, run), "read the host's rules");
    auto loaded = nftables.send(add_host_rules(run, shared));
    const int number = loaded ? 0 : loaded.error().number;
    // EEXIST: a killed process left some of these rules. ENOENT: the last run of another state
    // directory took the shared table away meanwhile.
    if (number == EEXIST || number == ENOENT)
        loaded = nftables.send(load_host_rules(run));
    AH_CHECK(loaded, "load the host's rules");
    AH_TRY(bool good, stands(nftables, run), "read the host's rules back");
    if (!good) { // the last run of another state directory may have taken the shared rules away
        AH_CHECK(nftables.send(load_host_rules(run)), "load the host's rules");
        AH_TRY(good, stands(nftables, run), "read the host's rules back");
    }
    if (!good) {
        return fail(Code::network_setup_failed, "the host's rules for " +
                                                    rules::link_name(run.key) +
                                                    " read back differently than they were loaded");
    }
    return {};
}

// Takes the lock on the shared rules. It is held while rules are loaded that need them, and while
// they are removed because no run needs them any more.
Result<files::FileLock> lock_shared(const state::StateDir& state, const state::Deadline& deadline)
{
    return files::FileLock::take(state.path() + "/locks/network", deadline.left());
}

// Leaves out the guests whose rules were made in another pid namespace: a run over there has the
// address now.
Result<HostRun> without_others(net::Netlink& nftables, HostRun run)
{
    if (run.network.guest.empty() || run.owner.empty())
        return run;
    AH_TRY(const RunRules seen, ask_run_elements(nftables));
    for (const GuestRules& guest : seen.guests) {
        if (!guest.owner.empty() && guest.owner != run.owner)
            std::erase(run.network.guest, guest.address);
    }
    return run;
}

Status drop_once(const state::StateDir& state, net::Netlink& nftables, const HostRun& whole)
{
    AH_TRY(const std::uint32_t generation, ask_generation(nftables));
    AH_TRY(const HostRun run, without_others(nftables, whole));
    AH_TRY(const UnneededTables unused, ask_unneeded(nftables, run));
    const bool last = unused.shared_table || (unused.tracking && run.technique == Technique::veth);
    if (!last) // of those that are forwarded
        return nftables.send(drop_host_rules(run, unused, generation));
    AH_TRY(const auto ended, end_forwarding(state, nftables));
    auto dropped = nftables.send(drop_host_rules(run, unused, generation));
    if (dropped)
        return state::forget_links(state);
    // A run of another state directory may have come meanwhile.
    (void)state::switch_links(ended, state::Switch::on); // the next gc over there does it too
    return dropped;
}

// Drops the run's rules and the tables that nobody needs any more. The lock keeps out other
// processes of this state directory. If anybody else changed the ruleset after we looked, the
// kernel refuses, and we look again.
Status drop_with_unused(const state::StateDir& state, net::Netlink& nftables, const HostRun& run)
{
    for (int tries = 0; tries < most_tries; ++tries) {
        const auto dropped = drop_once(state, nftables, run);
        const int number = dropped ? 0 : dropped.error().number;
        if (number != ERESTART && number != EBUSY && number != EINTR)
            return dropped;
    }
    AH_TRY(const HostRun left, without_others(nftables, run));
    AH_CHECK(nftables.send(drop_host_rules(left)));
    return fail(Code::network_setup_failed, "somebody changes the host's ruleset all the time, so "
                                            "that tables which nobody needs are not removed");
}

} // namespace

HostRun host_run(const Record& record)
{
    return {record.key, record.posture, record.technique, record.network.value_or(rules::Network()),
            record.host_pidns.text()};
}

Status put_host_rules(const state::StateDir& state, const Record& record,
                      const state::Deadline& deadline)
{
    AH_TRY(auto nftables, net::Netlink::open(NETLINK_NETFILTER, deadline));
    AH_TRY(const files::FileLock lock, lock_shared(state, deadline));
    AH_CHECK(load_and_compare(nftables, host_run(record)));
    return hold_forwarding(state, record, nftables, deadline);
}

Result<HostRulesFound> restore_host_rules(const state::StateDir& state, const Record& record,
                                          const state::Deadline& deadline)
{
    const HostRun run = host_run(record);
    if (run.technique == Technique::in_place && run.network.guest.empty())
        return HostRulesFound::stood; // it has no address, so there are no rules for it
    AH_TRY(auto nftables, net::Netlink::open(NETLINK_NETFILTER, deadline));
    // Looking needs no lock, and most runs' rules stand: gc looks at several runs at once.
    AH_TRY(bool good, stands(nftables, run), "read the host's rules");
    if (good && !run.network.enable_forwarding)
        return HostRulesFound::stood;
    AH_TRY(const files::FileLock lock, lock_shared(state, deadline));
    AH_TRY(good, stands(nftables, run), "read the host's rules");
    if (!good)
        AH_CHECK(load_and_compare(nftables, run), "restore the host's rules");
    AH_CHECK(hold_forwarding(state, record, nftables, deadline));
    return good ? HostRulesFound::stood : HostRulesFound::restored;
}

Status drop_guests(const state::StateDir& state, const Record& record,
                   std::vector<rules::Prefix> gone, const state::Deadline& deadline)
{
    AH_TRY(auto nftables, net::Netlink::open(NETLINK_NETFILTER, deadline));
    AH_TRY(const files::FileLock lock, lock_shared(state, deadline));
    HostRun run = host_run(record);
    AH_TRY(run.network.guest, unclaimed_guests(state, std::move(gone), {}));
    AH_TRY(run, without_others(nftables, std::move(run)));
    return run.network.guest.empty() ? Status() : nftables.send(drop_host_rules(run));
}

Status drop_rules(const state::StateDir& state, HostRun run, net::Netlink& nftables,
                  const state::Deadline& deadline)
{
    AH_TRY(const files::FileLock lock, lock_shared(state, deadline));
    // The records are read under the lock: another run's record names its guests before its rules
    // are loaded.
    AH_TRY(run.network.guest, unclaimed_guests(state, std::move(run.network.guest), run.key));
    return drop_with_unused(state, nftables, run);
}

Result<std::vector<rules::Prefix>> unclaimed_guests(const state::StateDir& state,
                                                    std::vector<rules::Prefix> guests,
                                                    std::string_view but_by)
{
    if (guests.empty())
        return guests;
    AH_TRY(const auto keys, state.runs());
    for (const RunKey& key : keys) {
        if (key.text() == but_by)
            continue;
        const auto read = state.read(key);
        if (!read)
            guests.clear(); // that record may claim any of them
        const Record record = read ? read->value_or(Record()) : Record();
        // The run `but_by` may be a pod's sandbox. Another container of that pod has the same
        // addresses, and needs the rules as long as it lives.
        if (!but_by.empty() && record.pod.starts_with(std::string(but_by) + ".") &&
            record.technique == Technique::pod && state::is_alive(record.init))
            guests.clear();
        const std::vector<rules::Prefix> claimed = record.network.value_or(rules::Network()).guest;
        std::erase_if(
            guests, [&](const rules::Prefix& guest) { return rules::is_covered(guest, claimed); });
    }
    return guests;
}

} // namespace anchorhold::nft
