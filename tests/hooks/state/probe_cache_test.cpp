// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/probe_cache.hpp"
#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

#include <cerrno>

namespace anchorhold::probe_cache_test {

using namespace state;
namespace {

const ProbeKey key{"boot", "1:2:3:4.5", "5:4:3:2.1", "6:7:8:9.0"};
const ProbeAnswer isolates{"can_isolate", true, "", 0, "", false};
const ProbeAnswer relays{"can_relay", true, "", 0, "", false};
const ProbeAnswer cannot_relay{"can_relay", false, "execute the relay", 8, "install it", false};

// A host that gives these answers, and counts how often it is asked.
struct Host {
    std::vector<ProbeAnswer> answers = {isolates, relays};
    int asked = 0;

    std::vector<ProbeAnswer> tell(const StateDir& state, std::int64_t now,
                                  const ProbeKey& about = key,
                                  Freshness freshness = Freshness::cached)
    {
        const auto told = answer(state,
                                 {about, now,
                                  [this] {
                                      ++asked;
                                      return answers;
                                  }},
                                 freshness);
        REQUIRE(told);
        return *told;
    }
};

std::vector<ProbeAnswer> cached(std::vector<ProbeAnswer> answers)
{
    for (ProbeAnswer& one : answers)
        one.from_cache = true;
    return answers;
}

} // namespace

TEST_CASE("answers are written and read whole")
{
    const ProbeAnswers answers{key, 77, {isolates, cannot_relay}};
    const auto read = parse_probe_answers(to_json(answers));
    REQUIRE_MESSAGE(read, (read ? "" : read.error().what));
    CHECK(*read == answers);
    CHECK(!parse_probe_answers("{}"));
    CHECK(!parse_probe_answers("["));
}

TEST_CASE("a yes is kept, a no for a minute")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Host host;
    CHECK(host.tell(state, 1000) == host.answers);
    CHECK(host.tell(state, 1000 + 1000000) == cached(host.answers));
    CHECK(host.asked == 1);

    host.answers = {isolates, cannot_relay};
    CHECK(host.tell(state, 2000, key, Freshness::again) == host.answers);
    CHECK(host.tell(state, 2059) == cached(host.answers));
    CHECK(host.asked == 2);
    host.answers = {isolates, relays};
    CHECK(host.tell(state, 2060) == host.answers);
    CHECK(host.asked == 3);
    CHECK(host.tell(state, 2061) == cached(host.answers));
    CHECK(host.asked == 3);
    CHECK(names_in(state.path() + "/locks").empty());
}

TEST_CASE("another boot, relay, hook or binary of ours makes old answers void")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Host host;
    host.tell(state, 1000);
    int asked = 1;
    for (const ProbeKey& other : {ProbeKey{"other", key.relay, key.hook, key.own},
                                  ProbeKey{key.boot, "other", key.hook, key.own},
                                  ProbeKey{key.boot, key.relay, "other", key.own},
                                  ProbeKey{key.boot, key.relay, key.hook, "other"}}) {
        host.tell(state, 1000, other);
        CHECK(host.asked == ++asked);
    }
}

TEST_CASE("a clock that went back and a broken file are no answers")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Host host;
    host.answers = {isolates, cannot_relay};
    host.tell(state, 1000);
    host.tell(state, 999);
    CHECK(host.asked == 2);
    std::ofstream(state.path() + "/probes.json") << "{";
    host.tell(state, 1000);
    CHECK(host.asked == 3);
}

TEST_CASE("what a circumstance answered is nobody's answer: it is unknown, and never kept")
{
    for (const int number : {EMFILE, ENFILE, ENOMEM, EAGAIN, ENOBUFS, EINTR, ETIMEDOUT}) {
        const Scratch scratch;
        const StateDir state = open_state(scratch);
        Host host;
        host.answers = {isolates, {"can_relay", false, "make a pipe", number, "", false}};
        host.answers[1].unknown = is_circumstance(number);
        CHECK(host.answers[1].unknown);
        CHECK(host.tell(state, 1000) == host.answers);
        host.answers = {isolates, relays};
        CHECK(host.tell(state, 1001) == host.answers);
        CHECK(host.asked == 2);
        CHECK(host.tell(state, 1002) == cached(host.answers));
    }
    CHECK(!is_circumstance(EPERM)); // the control: this the host says
    CHECK(!is_circumstance(0));
}

TEST_CASE("an answer that was read knows from its errno that it is none")
{
    const auto read = parse_probe_answers(
        to_json({key, 77, {{"can_seal", false, "fork", EAGAIN, "", false}, cannot_relay}}));
    REQUIRE(read);
    CHECK(read->answers[0].unknown);
    CHECK(!read->answers[1].unknown);
}

TEST_CASE("while one probes, the others take the standing answer however old")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Host host;
    host.answers = {isolates, cannot_relay};
    host.tell(state, 1000);
    const auto prober = files::FileLock::try_take(state.path() + "/locks/probes");
    REQUIRE(prober);
    REQUIRE(*prober);
    CHECK(host.tell(state, 5000) == cached(host.answers));
    CHECK(host.asked == 1);
}

TEST_CASE("a relay that is missing, no program, or anybody's to change is seen without asking it")
{
    const Scratch scratch;
    const auto step = [](const std::string& path) {
        const auto obstacle = obstacle_in_file(path);
        return obstacle ? obstacle->name + ": " + obstacle->step : "none";
    };
    CHECK(step(scratch / "none") == "can_relay: look at " + (scratch / "none"));
    CHECK(step(scratch.folder("folder")) ==
          "can_relay: " + (scratch / "folder") + " is no program");
    CHECK(step(scratch.file("text", 0644)) ==
          "can_relay: " + (scratch / "text") + " is no program");
    for (const mode_t mode : {0775U, 0757U})
        CHECK(step(scratch.file("open", mode)) ==
              "can_relay: " + (scratch / "open") + " can be changed by others");
    CHECK(step(scratch.file("relay", 0755)) == "none");
}

TEST_CASE("what the host can do is what it said yes to")
{
    CHECK(caps_of({}) == HostCaps{});
    CHECK(caps_of({isolates, cannot_relay}) == HostCaps{.can_isolate = true});
    CHECK(caps_of({isolates, relays}) == HostCaps{.can_isolate = true, .can_relay = true});
}

} // namespace anchorhold::probe_cache_test
