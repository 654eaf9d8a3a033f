// SPDX-License-Identifier: Apache-2.0
// `verify`: does an engine's configuration lead to us? An engine that is told of us wrongly runs
// plain runc, and nobody notices. So its configuration is read as it reads it, and
// below each runtime that should be ours a throw-away container is run, whose record must be there.
#include "shim/inspect/inspection.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/tools/ctr_trial.hpp"
#include "shim/tools/handler_program.hpp"
#include "shim/tools/tool_list.hpp"
#include "shim/tools/verify_config.hpp"
#include "shim/tools/verify_trial.hpp"

#include <algorithm>
#include <set>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

std::string or_plain(const std::string& runtime)
{
    return runtime.empty() ? "the engine's own runtime" : runtime;
}

// Returns a runtime that podman knows without being told.
std::string plain_one()
{
    return runtime::find_on_path("crun") ? "crun" : "runc";
}

struct Called { // as the engine will call us
    engine::HandlerFacts facts;
    std::string state_path;
};

// Opens a session with the arguments that the engine will give us, and notes what comes of it.
Called look_at(const engine::Handler& handler)
{
    Called called;
    called.facts = facts_of_program(handler);
    const std::string& argv0 = handler.argv0.empty() ? called.facts.program : handler.argv0;
    std::vector<const char*> argv{argv0.c_str()};
    for (const std::string& word : handler.arguments)
        argv.push_back(word.c_str());
    argv.push_back("create");
    Session session = open_session(argv);
    called.facts.policy_path = session.policy_path;
    called.facts.policy_there =
        !session.policy_files.empty() || ::access(session.policy_path.c_str(), F_OK) == 0;
    // An option of ours that is wrong keeps us from creating anything, as a broken policy does.
    called.facts.policy = session.creation_obstacle
                              ? Result<Policy>(std::unexpected(*session.creation_obstacle))
                              : std::move(session.policy);
    called.facts.option = session.own.profile;
    called.facts.argv0 = session.argv0_profile;
    called.state_path = session.state_path;
    return called;
}

// The verification of one engine, way by way. `trials_` is made for the first container that is
// needed.
class Verification {
public:
    Verification(engine::EngineSetup& setup, const runtime::Helpers& helpers,
                 const runtime::DeferredSignals& held)
        : setup_(setup), helpers_(helpers), held_(held)
    {
    }

    void look_at_all(const std::string& only)
    {
        if (!only.empty() && setup_.find(only) == nullptr)
            engine::judge_absence(only, setup_);
        for (const engine::Handler& handler : setup_.handlers) {
            if (only.empty() ? handler.ours : handler.name == only)
                look_at_one(handler, {.runtime = handler.name, .annotated = setup_.hooks.empty()});
        }
        if (only.empty())
            look_at_other_ways();
        if (trials_)
            trials_->put_away(setup_);
    }
    const std::vector<engine::VerifyRow>& rows() const { return rows_; }

private:
    void look_at_other_ways()
    {
        const engine::Handler* const found = setup_.find(setup_.fallback);
        const engine::Handler* const fallback = found != nullptr && found->ours ? found : nullptr;
        go("no runtime named", fallback != nullptr ? fallback : hook_for_all(),
           {.annotated = setup_.hooks.empty()},
           "such a container runs below " + or_plain(setup_.fallback));
        switch (setup_.engine) {
        case engine::Engine::podman:
            look_at_hooks(fallback);
            return look_at_podmans_build(fallback);
        case engine::Engine::docker: return look_at_dockers_build(fallback);
        case engine::Engine::containerd:
            judged_.insert("ctr"); // it has no configuration
            return look_at_one({.name = "ctr",
                                .programs = {helpers_.self},
                                .called = "ctr run --runc-binary",
                                .ours = true},
                               {.start = Start::ctr});
        case engine::Engine::crio: return;
        }
    }

    // Returns podman's hook that is called for every container.
    const engine::Handler* hook_for_all() const
    {
        const auto hook = std::ranges::find(setup_.hooks, true, &engine::Handler::always);
        return hook == setup_.hooks.end() ? nullptr : &*hook;
    }

    // A hook and a runtime of ours are not for one container.
    void look_at_hooks(const engine::Handler* fallback)
    {
        if (setup_.hooks.empty() && !setup_.has_kind(engine::FaultKind::hook_not_read))
            return add("precreate hook", "not set up", "");
        const TrialAsk ask{.runtime = fallback == nullptr ? "" : plain_one()};
        for (const engine::Handler& hook : setup_.hooks)
            look_at_one(hook, ask);
        if (setup_.hooks.empty()) {
            look_at_one({.name = "hook", .programs = {helpers_.self}, .called = "precreate hook"},
                        ask);
        }
    }

    void look_at_podmans_build(const engine::Handler* fallback)
    {
        go("podman build", fallback != nullptr ? fallback : hook_for_all(), {.start = Start::build},
           "its steps run below " + or_plain(setup_.fallback));
        const auto ours = std::ranges::find(setup_.handlers, true, &engine::Handler::ours);
        if (fallback == nullptr && ours != setup_.handlers.end()) {
            go("podman --runtime " + ours->name + " build", &*ours,
               {.start = Start::build, .runtime = ours->name}, "");
        }
    }

    void look_at_dockers_build(const engine::Handler* fallback)
    {
        const std::string build_kit = "docker build, BuildKit";
        go("docker build, classic", fallback, {.start = Start::build},
           "its steps run below " + or_plain(setup_.fallback));
        if (fallback == nullptr)
            return add(build_kit, "not set up", "its steps run below the runc on dockerd's PATH");
        // It takes the first runc on dockerd's PATH, which may be a link to us.
        look_at_one({.name = fallback->name,
                     .programs = fallback->programs,
                     .called = build_kit,
                     .argv0 = "runc",
                     .remedy = "BuildKit asks for no runtime: see contrib/docker/README.md, or let "
                               "nobody build there whom you do not trust",
                     .ours = true},
                    {.start = Start::build_kit});
    }

    // Tries a way that should lead to `handler`; nullptr: to none of ours.
    void go(const std::string& way, const engine::Handler* handler, const TrialAsk& ask,
            const std::string& otherwise)
    {
        if (handler == nullptr)
            return add(way, "not set up", otherwise);
        engine::Handler named = *handler;
        named.called = way;
        look_at_one(named, ask);
    }

    void add(const std::string& way, const std::string& word, const std::string& sentence)
    {
        rows_.push_back({.way = way,
                         .handler = {},
                         .program = {},
                         .profile = {},
                         .trial = word,
                         .sentence = sentence});
    }

    void look_at_one(const engine::Handler& handler, const TrialAsk& ask)
    {
        if (held_.came())
            return;
        const Called called = look_at(handler);
        if (judged_.insert(handler.name).second)
            engine::judge_handler(handler, called.facts, setup_);
        const engine::Trial trial = try_out(ask, called.state_path);
        engine::TrialOutcome came{"not tried", {}};
        if (trials_ || ask.start == Start::ctr)
            came = engine::judge_trial(handler, called.facts, trial, setup_);
        const bool ours = called.facts.standing == engine::ProgramIs::same;
        rows_.push_back({.way = engine::way_of(setup_.engine, handler),
                         .handler = handler.name,
                         .program = called.facts.program,
                         .profile = ours ? engine::profile_of(called.facts).value_or("") : "",
                         .trial = std::string(came.word),
                         .sentence = std::move(came.sentence)});
    }

    engine::Trial try_out(const TrialAsk& ask, const std::string& state_path)
    {
        if (ask.start == Start::ctr)
            return try_ctr(helpers_.self, helpers_.relay, state_path, held_, setup_);
        if (!trials_ && !no_trials_) {
            auto trials = trials_of(setup_.engine, helpers_.relay, held_);
            if (trials) {
                trials_ = *std::move(trials);
            } else {
                no_trials_ = true;
                setup_.faults.push_back({engine::FaultKind::not_run,
                                         {},
                                         trials.error().what,
                                         "until one was run, nothing says that we are called"});
            }
        }
        return trials_ ? trials_->run(ask, state_path) : engine::Trial();
    }

    engine::EngineSetup& setup_;
    const runtime::Helpers& helpers_;
    const runtime::DeferredSignals& held_;
    std::unique_ptr<Trials> trials_;
    bool no_trials_ = false;
    std::set<std::string> judged_; // runtimes whose faults are told
    std::vector<engine::VerifyRow> rows_;
};

} // namespace

Result<int> tool_verify(const Session& session, const ToolCall& call, ToolOutput& output)
{
    const auto engine = engine::engine_from(call.operands[0]);
    if (!engine) {
        return fail(Code::invalid_request,
                    in_quotes(call.operands[0]) + " is not podman, docker, containerd or crio");
    }
    if (session.own != words::OwnOptions()) {
        return fail(Code::invalid_request,
                    "what counts is how the engine calls us; leave the --ah- options away");
    }
    if (*engine != engine::Engine::podman && ::geteuid() != 0) {
        return fail(Code::invalid_request,
                    "the records of its containers are root's; run it as root");
    }
    if (*engine == engine::Engine::podman && !call.config.empty()) {
        return fail(Code::invalid_request,
                    "name that file in CONTAINERS_CONF, so that podman reads it");
    }
    AH_TRY(const runtime::Helpers helpers, runtime::find_helpers());
    AH_TRY(const runtime::DeferredSignals held, runtime::DeferredSignals::hold());
    engine::EngineSetup setup = gather_setup(*engine, call.config, held);
    Verification verification(setup, helpers, held);
    verification.look_at_all(call.operands.size() > 1 ? call.operands[1] : std::string());
    // The signal ends us when `held` is destroyed.
    if (held.came())
        return fail(Code::invalid_request, "interrupted; nothing is said of " + call.operands[0]);
    output.text = call.json ? engine::verify_json(setup, verification.rows())
                            : engine::verify_text(setup, verification.rows());
    return engine::verdict_of(setup) == engine::Verdict::verified ? 0 : 1;
}

} // namespace anchorhold::tools
