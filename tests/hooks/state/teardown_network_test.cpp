// SPDX-License-Identifier: Apache-2.0
// Teardown and the function that removes a run's network: what teardown asks of it, and what
// becomes of a run when it fails.
#include "hooks/nft/host_table.hpp"
#include "hooks/nft/inside_table.hpp"
#include "hooks/state/teardown.hpp"
#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

#include <set>

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

namespace anchorhold::teardown_network_test {

using namespace net;
using namespace nft;
using namespace rules;
using namespace state;
namespace {

constexpr std::array every_state = {RunState::planned, RunState::enforced, RunState::ended,
                                    RunState::failed};
constexpr std::array every_posture = {Posture::severed, Posture::relayed, Posture::sealed,
                                      Posture::filtered, Posture::open};

struct Case {
    RunState state;
    Posture posture;
    bool network, creator_lives, init_lives;
    bool owned() const
    {
        switch (state) {
        case RunState::planned:
        case RunState::failed: return creator_lives;
        case RunState::enforced: return init_lives;
        case RunState::ended: return false;
        }
        return true;
    }
};

std::vector<Case> every_case()
{
    std::vector<Case> cases;
    for (const RunState state : every_state)
        for (const Posture posture : every_posture)
            for (unsigned bits = 0; bits < 8; ++bits)
                cases.push_back(
                    {state, posture, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
    return cases;
}

Record put(const StateDir& state, const Case& one)
{
    Record record = a_record(one.state);
    record.posture = one.posture;
    record.technique = one.network ? Technique::veth : Technique::none;
    if (one.network)
        record.network = Network();
    record.creator = one.creator_lives ? ourselves() : somebody_gone();
    record.init = one.init_lives ? ourselves() : somebody_gone();
    REQUIRE(state.make_run(a_key()));
    REQUIRE(state.write(record));
    return record;
}

// The calls of fake_unplug, which is a plain function and has no memory of its own.
struct Asked {
    int times = 0;
    bool locked = true;   // at each call the run was locked
    bool finished = true; // at each call the record said that the run is over
    bool refuses = false;
};
Asked asked;

Status fake_unplug(const StateDir& state, Record& record)
{
    const auto lock = RunLock::try_take(state, a_key());
    ++asked.times;
    asked.locked = asked.locked && lock && !*lock;
    asked.finished =
        asked.finished && (record.state == RunState::ended || record.state == RunState::failed);
    return asked.refuses ? fail(Code::network_setup_failed, "the link will not go") : Status();
}

Record standing(const StateDir& state)
{
    const auto record = state.read(a_key());
    REQUIRE(record);
    REQUIRE(*record);
    return **record;
}

Record as_long_as_may_be(Record record)
{
    constexpr std::size_t largest = std::size_t{4} * 1024 * 1024;
    record.advice = {""};
    record.advice.front().resize(largest - to_json(record).size(), 'x');
    return record;
}

} // namespace

TEST_CASE("over all states, postures and owners: a network is taken away once its owner has gone, "
          "and not before")
{
    for (const Case& one : every_case())
        for (const bool by_gc : {false, true}) {
            const Scratch scratch;
            const StateDir state = open_state(scratch);
            const Record before = put(state, one);
            asked = {};
            CAPTURE(one.state);
            CAPTURE(one.posture);
            CAPTURE(one.network);
            REQUIRE(gc(state, Sweep::dry_run, 0, fake_unplug));
            CHECK(asked.times == 0);
            if (by_gc)
                REQUIRE(gc(state, Sweep::remove, 0, fake_unplug));
            else
                REQUIRE(teardown(state, a_key(), {}, fake_unplug));
            CHECK(asked.times == (one.network && !one.owned() ? 1 : 0));
            CHECK(asked.locked);
            CHECK(asked.finished);
            CHECK(state.has_run(a_key()) == one.owned());
            if (one.owned())
                CHECK(to_json(standing(state)) == to_json(before));
        }
}

TEST_CASE("a network that cannot be taken away keeps its record, with the reason, once")
{
    for (const Case& one : every_case()) {
        if (!one.network || one.owned())
            continue;
        const Scratch scratch;
        const StateDir state = open_state(scratch);
        put(state, one);
        asked = {.refuses = true};
        const auto torn = teardown(state, a_key(), {}, fake_unplug);
        REQUIRE(!torn);
        CHECK(torn.error().what.ends_with("the link will not go"));
        Record tombstone = standing(state);
        const bool held = one.state == RunState::enforced || one.state == RunState::ended;
        CHECK(tombstone.state == (held ? RunState::ended : RunState::failed));
        CHECK(tombstone.reason.ends_with("the link will not go"));
        CHECK(tombstone.ended > 0);
        tombstone.ended = 1000; // long ago
        REQUIRE(state.write(tombstone));
        const auto swept = gc(state, Sweep::remove, 0, fake_unplug);
        REQUIRE(swept);
        CHECK(swept->failed.size() == 1);
        CHECK(to_json(standing(state)) == to_json(tombstone));
        CHECK(names_in(state.path() + "/ended").empty());
        asked.refuses = false;
        REQUIRE(gc(state, Sweep::remove, 0, fake_unplug));
        CHECK(!state.has_run(a_key()));
        const auto ended = state.ended();
        REQUIRE(ended);
        REQUIRE(ended->size() == 1);
        CHECK(to_json(ended->front()) == to_json(tombstone));
    }
}

TEST_CASE("nor is it lost when its creator abandons it, or nobody here knows netlink")
{
    for (const Unplug unplug : {Unplug(fake_unplug), Unplug(nullptr)}) {
        const Scratch scratch;
        const StateDir state = open_state(scratch);
        put(state, {RunState::planned, Posture::sealed, true, true, false});
        asked = {.refuses = true};
        const Error reason{Code::delegate_failed, 0, "runc said no"};
        CHECK(!abandon(state, a_key(), a_generation, reason, unplug));
        const Record tombstone = standing(state);
        CHECK(tombstone.state == RunState::failed);
        CHECK(tombstone.code == "delegate_failed");
        CHECK(tombstone.reason == (unplug != nullptr
                                       ? "runc said no; the link will not go"
                                       : "runc said no; nobody here can take its network away"));
        CHECK(names_in(state.path() + "/ended").empty());
    }
}

TEST_CASE("a record that grows too long at the end loses what made it long, not the end")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Record record = a_record(RunState::enforced);
    record.denied = {{"192.0.2.9", 443, false, 1}};
    REQUIRE(state.make_run(a_key()));
    REQUIRE(state.write(as_long_as_may_be(record))); // the time of its end is still to be added
    REQUIRE(teardown(state, a_key()));
    CHECK(!state.has_run(a_key()));
    const auto ended = state.ended();
    REQUIRE(ended);
    REQUIRE(ended->size() == 1);
    CHECK(ended->front().state == RunState::ended);
    CHECK(ended->front().denied.empty());
    CHECK(ended->front().more_denied);
    CHECK(ended->front().advice ==
          std::vector<std::string>{"its advice, and what it was denied, grew too long to be kept"});
}

TEST_CASE("nor does it lose the reason why a network cannot be taken away")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Record record = a_record(RunState::enforced);
    record.network = Network();
    REQUIRE(state.make_run(a_key()));
    REQUIRE(state.write(as_long_as_may_be(record)));
    CHECK(!teardown(state, a_key()));
    CHECK(standing(state).reason == "nobody here can take its network away");
}

TEST_CASE("teardown asks inside a container's namespace and changes nothing there")
{
    for (const Step& step : list_denied())
        CHECK((header_of(step.message)->nlmsg_type & 0xff) == NFT_MSG_GETSETELEM);
}

TEST_CASE("teardown makes no rule at the host and no chain that stays, whatever the run")
{
    // Objects that are missing are made, so that they can be removed.
    const std::set<int> may = {NFNL_MSG_BATCH_BEGIN, NFNL_MSG_BATCH_END};
    const std::set<int> may_of_tables = {NFT_MSG_NEWTABLE,   NFT_MSG_DELTABLE,  NFT_MSG_NEWSET,
                                         NFT_MSG_DELSET,     NFT_MSG_NEWCHAIN,  NFT_MSG_DELCHAIN,
                                         NFT_MSG_NEWSETELEM, NFT_MSG_DELSETELEM};
    for (const Posture posture : {Posture::sealed, Posture::filtered})
        for (const Technique technique : {Technique::veth, Technique::in_place}) {
            HostRun run{a_key().text(), posture, technique, Network()};
            const auto guest = Prefix::parse("10.99.0.2", Code::network_setup_failed);
            REQUIRE(guest);
            run.network.guest = {*guest};
            std::string made; // the object that the step before made
            for (const Step& step : drop_host_rules(run, {true, true, true, true}, 1)) {
                const int type = header_of(step.message)->nlmsg_type;
                const bool of_tables = NFNL_SUBSYS_ID(type) == NFNL_SUBSYS_NFTABLES;
                CAPTURE(step.doing);
                CHECK(
                    (of_tables ? may_of_tables.contains(NFNL_MSG_TYPE(type)) : may.contains(type)));
                CHECK((made.empty() || step.doing == "remove chain " + made));
                made = step.doing.starts_with("add chain ") ? step.doing.substr(10) : "";
            }
        }
}

} // namespace anchorhold::teardown_network_test
