// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/verify.hpp"

#include "schema/json/json.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace anchorhold::verify_test {

using namespace engine;
namespace {

const std::string id(64, 'a');

Policy policy_of(const std::string& members)
{
    return *parse_policy(R"({"version": 1, )" + members + "}");
}

const Policy usual = policy_of(R"("profiles": {
    "off": {"cri": true}, "agent": {"cri": true},
    "ci": {"egress": "allowlist", "allow": ["192.0.2.1"]},
    "own": {"endpoints": [{"name": "model", "listen": 8080, "to": "unix:/run/b/{id}/s"}]},
    "shared": {"endpoints": [{"name": "model", "listen": 8080, "to": "unix:/run/b/all/s"}]}})");

// Returns a runtime that is right in everything, for each engine.
Handler right(const std::string& name)
{
    return {.name = name,
            .programs = {"/usr/local/bin/" + name},
            .pod_globs = {"dev.anchorhold.*"},
            .container_globs = {"dev.anchorhold.*"},
            .ours = true};
}

HandlerFacts facts(const std::string& profile)
{
    return {.standing = ProgramIs::same,
            .program = "/usr/local/bin/anchorhold" + (profile.empty() ? "" : "-" + profile),
            .policy_path = "/etc/anchorhold/policy.json",
            .policy_there = true,
            .policy = usual,
            .argv0 = profile.empty() ? std::nullopt : std::optional(profile)};
}

EngineSetup setup_of(Engine engine)
{
    EngineSetup setup;
    setup.engine = engine;
    return setup;
}

std::string told(const EngineSetup& setup)
{
    std::string text;
    for (const Fault& fault : setup.faults)
        text += std::string(word_for(fault.kind)) + ": " + fault.says + "; " + fault.remedy + "\n";
    return text;
}

std::string judged(Engine engine, const Handler& handler, const HandlerFacts& found)
{
    EngineSetup setup = setup_of(engine);
    judge_handler(handler, found, setup);
    return told(setup);
}

Record record_of(const std::string& profile)
{
    Record record;
    record.id = id;
    record.key = "0123456789ab";
    record.profile = profile;
    record.state = RunState::ended;
    return record;
}

struct Tried {
    std::string came;
    EngineSetup setup;
};
Tried tried(const std::string& profile, const Trial& trial)
{
    Tried result{{}, setup_of(Engine::podman)};
    const Handler handler = right("anchorhold-" + profile);
    result.came = judge_trial(handler, facts(profile), trial, result.setup).word;
    return result;
}

} // namespace

TEST_CASE("what is right has no fault below any engine")
{
    for (const Engine engine : {Engine::podman, Engine::docker, Engine::containerd, Engine::crio}) {
        CHECK(judged(engine, right("anchorhold"), facts("")) == "");
        CHECK(judged(engine, right("anchorhold-agent"), facts("agent")) == "");
        CHECK(judged(engine, right("sandboxed"), facts("agent")) == ""); // any name will do
    }
}

TEST_CASE("the program: none, another, missing, unsafe, not this one")
{
    Handler bare = right("anchorhold");
    bare.programs.clear();
    HandlerFacts found = facts("");
    found.standing = ProgramIs::missing;
    found.program = "";
    CHECK(judged(Engine::containerd, bare, found) ==
          "no_binary: runtime anchorhold has no BinaryName, so plain runc runs below it; give it "
          "BinaryName = the path of anchorhold\n");
    EngineSetup slip = setup_of(Engine::containerd);
    slip.faults.push_back({FaultKind::key_misspelt, "anchorhold", "", ""});
    judge_handler(bare, found, slip);
    CHECK(slip.faults.size() == 1); // the fault is told once

    found.program = "/usr/bin/runc";
    found.standing = ProgramIs::other;
    CHECK(judged(Engine::crio, right("anchorhold"), found) ==
          "other_program: runtime anchorhold runs /usr/bin/runc, not anchorhold; give it "
          "runtime_path = the path of anchorhold\n");
    found.program = "/usr/local/bin/anchorhold";
    CHECK(judged(Engine::docker, right("anchorhold"), found) ==
          "shim_other: runtime anchorhold runs /usr/local/bin/anchorhold, which is not this "
          "anchorhold; run its own: /usr/local/bin/anchorhold verify docker\n");
    found.standing = ProgramIs::missing;
    CHECK(judged(Engine::podman, right("anchorhold"), found) ==
          "shim_missing: runtime anchorhold runs /usr/local/bin/anchorhold, which is not there; "
          "install it there, or make the link that its name needs (ln -s anchorhold)\n");
    found.standing = ProgramIs::unsafe;
    found.why = "program: /usr/local can be written by others than root; chmod go-w it";
    CHECK(
        judged(Engine::podman, right("anchorhold"), found) ==
        "shim_unsafe: runtime anchorhold: program: /usr/local can be written by others than root; "
        "chmod go-w it\n");
}

TEST_CASE("the policy: missing, unreadable, or arguments that are none of ours")
{
    HandlerFacts found = facts("");
    found.policy = Policy();
    found.policy_there = false;
    for (const Engine engine : {Engine::podman, Engine::containerd}) {
        CHECK(judged(engine, right("anchorhold"), found) ==
              "policy_missing: runtime anchorhold: no policy at /etc/anchorhold/policy.json; no "
              "profile but the built-in off is known; write it, see contrib/policy.example.json\n");
    }
    found.policy = fail(Code::invalid_policy, "no policy at \"/x\"");
    CHECK(
        judged(Engine::docker, right("anchorhold"), found) ==
        "policy_missing: runtime anchorhold: no policy at \"/x\"; no profile but the built-in off "
        "is known; write it, see contrib/policy.example.json\n");
    found.policy_there = true;
    found.policy = fail(Code::invalid_policy, "policy /x: version: expected an integer");
    CHECK(judged(Engine::docker, right("anchorhold"), found) ==
          "policy_unreadable: runtime anchorhold: policy /x: version: expected an integer; every "
          "create below it is refused; correct it; anchorhold check 192.0.2.1 says when it is "
          "read\n");
    found.policy = fail(Code::invalid_request, "no option \"--ah-profil=x\"");
    CHECK(
        judged(Engine::docker, right("anchorhold"), found) ==
        "options_wrong: runtime anchorhold: no option \"--ah-profil=x\"; every create below it is "
        "refused; correct what it names\n");
}

TEST_CASE("the profile: unknown, not chosen, or the handler's name a slip away from it")
{
    HandlerFacts found = facts("agnt");
    CHECK(
        judged(Engine::podman, right("anchorhold-agnt"), found) ==
        "profile_unknown: runtime anchorhold-agnt chooses profile \"agnt\", the policy has agent, "
        "ci, off, own, shared; write agent, or add it to /etc/anchorhold/policy.json\n");
    found = facts("agent");
    found.option = "production";
    CHECK(
        judged(Engine::docker, right("anchorhold-production"), found) ==
        "profile_unknown: runtime anchorhold-production chooses profile \"production\", the policy "
        "has agent, ci, off, own, shared; add it to /etc/anchorhold/policy.json\n");
    CHECK(judged(Engine::docker, right("anchorhold-agent"), facts("")) ==
          "profile_not_chosen: runtime anchorhold-agent chooses no profile and gets the policy's "
          "default, off; give it \"runtimeArgs\": [\"--ah-profile=agent\"]\n");
    CHECK(judged(Engine::crio, right("anchorhold-agent"), facts("")) ==
          "profile_not_chosen: runtime anchorhold-agent chooses no profile and gets the policy's "
          "default, off; have it run a link named anchorhold-agent\n");
    CHECK(judged(Engine::crio, right("anchorhold-agnt"), facts("agent")) ==
          "handler_misspelt: runtime anchorhold-agnt gets profile agent; whoever asks for "
          "anchorhold-agent does not find it; call it anchorhold-agent\n");
    CHECK(judged(Engine::crio, right("anchorhold-production"), facts("agent")) == "");
}

TEST_CASE("engines that make pods need a profile that expects them")
{
    const std::string wanted =
        "pods_not_expected: runtime anchorhold-ci: profile ci does not say that its containers "
        "come "
        "in pods; give that profile \"cri\": true in /etc/anchorhold/policy.json\n";
    CHECK(judged(Engine::containerd, right("anchorhold-ci"), facts("ci")) == wanted);
    CHECK(judged(Engine::crio, right("anchorhold-ci"), facts("ci")) == wanted);
    CHECK(judged(Engine::docker, right("anchorhold-ci"), facts("ci")) == "");
}

TEST_CASE("globs that keep annotations from us")
{
    const auto with = [](std::vector<std::string> globs) {
        Handler handler = right("anchorhold");
        handler.pod_globs = std::move(globs);
        return judged(Engine::containerd, handler, facts(""));
    };
    for (const char* const glob : {"*", "dev.*", "dev.anchorhold.*", "d?v.*hold.[a-r]*"})
        CHECK(with({glob}) == "");
    CHECK(with({"x.*", "dev.anchorhold.egress", "dev.anchorhold.endpoints", "dev.anchorhold.allow",
                "dev.anchorhold.require", "dev.anchorhold.profile", "dev.anchorhold.relay"}) == "");
    const std::string remedy = " pass, so what is asked there is not heard; give it "
                               "pod_annotations = [\"dev.anchorhold.*\"]\n";
    const std::string none = "annotations_dropped: runtime anchorhold: its pod_annotations do not "
                             "let dev.anchorhold.";
    CHECK(with({}) == none + "*" + remedy);
    CHECK(with({"dev.anchorhold.e*", "dev.anchorhold.allow"}) ==
          none + "{require, profile, relay}" + remedy);
    for (const char* const glob :
         {"dev.anchorhold", "dev.anchorhold.", "anchorhold.*", "Dev.anchorhold.*"})
        CHECK(with({glob}) ==
              none + "{egress, endpoints, allow, require, profile, relay}" + remedy);
    Handler handler = right("anchorhold");
    handler.container_globs.clear();
    CHECK(judged(Engine::containerd, handler, facts("")).contains("container_annotations"));
    CHECK(judged(Engine::crio, handler, facts("")) == ""); // CRI-O passes all annotations on
    HandlerFacts deaf = facts("");
    deaf.policy->annotations = false;
    CHECK(judged(Engine::containerd, handler, deaf) == "");
}

TEST_CASE("no record is no alarm where the profile leaves none and off could not be heard")
{
    const auto came = [](Engine engine, const std::string& profile, bool annotations) {
        EngineSetup setup = setup_of(engine);
        HandlerFacts open = facts("open");
        open.policy = policy_of(R"("ceiling": "open", "profiles": {"open": )" + profile + "}");
        open.policy->annotations = annotations;
        (void)judge_trial(right("anchorhold-open"), open,
                          {.id = id, .ran = true, .asked_off = engine != Engine::docker}, setup);
        return told(setup);
    };
    const std::string open = R"({"egress": "open"})";
    const std::string said =
        "leaves_no_record: runtime anchorhold-open: profile open is open and adds nothing, so its "
        "containers leave no record and are as below the plain runtime; nothing is wrong with "
        "that; verify a runtime whose profile confines\n";
    CHECK(came(Engine::docker, open, true) == said);
    CHECK(came(Engine::podman, open, false) == said);
    for (const std::string& alarm :
         {came(Engine::podman, open, true), came(Engine::docker, R"({"egress": "off"})", true),
          came(Engine::docker, R"({"egress": "open", "env": {"A": "b"}})", true)})
        CHECK(alarm.starts_with("no_record: "));
}

TEST_CASE("a container that ran and left no record is an alarm")
{
    const auto [came, setup] = tried("agent", {.id = id, .ran = true});
    CHECK(came == "ALARM");
    CHECK(verdict_of(setup) == Verdict::alarm);
    CHECK(verify_text(setup, {}).starts_with(
        "ALARM: podman, a container ran below runtime anchorhold-agent and left no record of it: "
        "nothing confined it\n"));
}

TEST_CASE("a record that is there must be the right one")
{
    const auto right_one = tried("agent", {.id = id, .ran = true, .record = record_of("agent")});
    CHECK(right_one.came == "confined");
    CHECK(verdict_of(right_one.setup) == Verdict::verified);
    const auto other = tried("agent", {.id = id, .ran = true, .record = record_of("off")});
    CHECK(told(other.setup) ==
          "wrong_profile: runtime anchorhold-agent was to get profile agent, its record says off; "
          "restart the engine, so that it reads what is written now\n");
    for (const RunState state : {RunState::planned, RunState::failed, RunState::enforced}) {
        Record record = record_of("agent");
        record.state = state;
        record.reason = "some reason";
        const auto unsure = tried("agent", {.id = id, .ran = true, .record = record});
        CHECK(told(unsure.setup) ==
              (state == RunState::enforced
                   ? ""
                   : "wrong_state: runtime anchorhold-agent: its record says " +
                         std::string(word_for(state)) +
                         ": some reason; see anchorhold show 0123456789ab\n"));
    }
}

TEST_CASE("a container that did not run: our refusal is told from the engine's")
{
    const std::string ours =
        "Error response from daemon: OCI runtime create failed: anchorhold: create " + id +
        ": endpoint model: nothing at x (endpoint_unavailable): unknown\n"
        "Error: failed to start containers: x\n";
    CHECK(tried("own", {.id = id, .output = ours}).came == "answered");
    CHECK(told(tried("own", {.id = id, .output = ours}).setup) ==
          ""); // the throw-away container has no broker
    const auto shared = tried("shared", {.id = id, .output = ours});
    CHECK(shared.came == "refused");
    CHECK(told(shared.setup) == "run_refused: runtime anchorhold-shared: anchorhold: create " + id +
                                    ": endpoint model: nothing at x (endpoint_unavailable): "
                                    "unknown; correct what it names; "
                                    "anchorhold doctor says what this host lacks\n");
    const auto engines = tried("own", {.output = "WARN[0000] a\nError: no such runtime\nmore\n"});
    CHECK(engines.came == "not tried");
    CHECK(told(engines.setup) ==
          "run_failed: runtime anchorhold-own: Error: no such runtime; restart the engine if its "
          "configuration is newer than it; else see its log\n");
    CHECK(told(tried("own", {.output = "a\nb\n\n"}).setup).contains(": b; "));
    CHECK(told(tried("own", {}).setup).contains(": it says nothing; "));
}

TEST_CASE("a step of a build: what goes round us is an alarm, what the engine lacks is none")
{
    Handler build = right("anchorhold");
    build.called = "docker build with BuildKit";
    build.remedy = "build otherwise";
    CHECK(way_of(Engine::docker, build) == "docker build with BuildKit");
    CHECK(way_of(Engine::docker, right("x")) == "--runtime x");
    CHECK(way_of(Engine::containerd, right("x")) == "handler x");
    EngineSetup round = setup_of(Engine::docker);
    CHECK(judge_trial(build, facts(""), {.ran = true, .may_fail = true}, round).word == "ALARM");
    CHECK(told(round) == "no_record: a container ran below docker build with BuildKit and left no "
                         "record of it: nothing confined it; build otherwise\n");
    CHECK(verdict_of(round) == Verdict::alarm);
    EngineSetup lacking = setup_of(Engine::docker);
    const TrialOutcome none = judge_trial(
        build, facts(""), {.output = "ERROR: BuildKit is missing\n", .may_fail = true}, lacking);
    CHECK(none.word == "not tried");
    CHECK(none.sentence == "ERROR: BuildKit is missing");
    CHECK(told(lacking) == "");
    const Trial refusal{.output = "anchorhold: create x: no (bundle_voids_posture)\n",
                        .may_fail = true};
    CHECK(judge_trial(build, facts(""), refusal, lacking).word == "refused");
    CHECK(told(lacking).starts_with("run_refused: docker build with BuildKit: "));
}

TEST_CASE("what is already known to be wrong is not said again by its consequence")
{
    EngineSetup setup = setup_of(Engine::podman);
    setup.faults.push_back({FaultKind::shim_missing, "anchorhold-agent", "", ""});
    const TrialOutcome known =
        judge_trial(right("anchorhold-agent"), facts("agent"), {.output = "Error: x"}, setup);
    CHECK(known.word == "not tried");
    CHECK(known.sentence == "Error: x");
    CHECK(setup.faults.size() == 1);
    // An alarm is told in any case.
    CHECK(judge_trial(right("anchorhold-agent"), facts("agent"), {.id = id, .ran = true}, setup)
              .word == "ALARM");
    CHECK(verdict_of(setup) == Verdict::alarm);
}

TEST_CASE("C-11 a runtime that was asked for by a name one letter off")
{
    EngineSetup setup = setup_of(Engine::containerd);
    setup.handlers = {right("anchorhold"), right("anchorhold-agent")};
    judge_absence("anchorhold-agnt", setup);
    judge_absence("kata", setup);
    CHECK(told(setup) ==
          "handler_unknown: there is no runtime \"anchorhold-agnt\", the engine knows anchorhold, "
          "anchorhold-agent; write anchorhold-agent\n"
          "handler_unknown: there is no runtime \"kata\", the engine knows anchorhold, "
          "anchorhold-agent; add it, or ask for one of those\n");
}

TEST_CASE("what is told: for people the verdict first, for programs all of it")
{
    EngineSetup setup = setup_of(Engine::docker);
    setup.fallback = "runc";
    setup.notes = {"a note"};
    const std::vector<VerifyRow> rows{
        {"--runtime x", "x", "/usr/local/bin/anchorhold", "off", "confined", "S"},
        {"docker build", "", "", "", "not set up", ""}};
    CHECK(verify_text(setup, rows) == "verified: docker, 1 way leads to anchorhold\n"
                                      "WAY           TRIAL       PROFILE  SENTENCE\n"
                                      "--runtime x   confined    off      S\n"
                                      "docker build  not set up  -        -\n"
                                      "note: a note\n");
    setup.faults.push_back({FaultKind::wrong_profile, "anchorhold", "it \x1b[31m is", "do"});
    CHECK(verify_text(setup, {}) == "NOT VERIFIED: docker, 1 finding\n"
                                    "wrong_profile: it \\x1b[31m is\n"
                                    "  remedy: do\n"
                                    "note: a note\n");
    const auto document = json::Document::parse(verify_json(setup, rows));
    REQUIRE(document);
    CHECK(document->root().find("verdict")->string() == std::string("not_verified"));
    CHECK(document->root().find("ways")->items()[0].find("trial")->string() ==
          std::string("confined"));
    CHECK(document->root().find("findings")->items()[0].find("name")->string() ==
          std::string("wrong_profile"));
}

} // namespace anchorhold::verify_test
