// SPDX-License-Identifier: Apache-2.0
// `verify`: does an engine's configuration lead to us? An engine that is told of us wrongly runs
// plain runc, and nobody notices. So its configuration is read as it reads it, and
// below each runtime that should be ours a throw-away container is run, whose record must be there.
#include "shim/inspect/inspection.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/tools/handler_program.hpp"
#include "shim/tools/tool_list.hpp"
#include "shim/tools/verify_config.hpp"
#include "shim/tools/verify_trial.hpp"

#include <unistd.h>

namespace anchorhold::tools {
namespace {

struct Called { // as the engine will call us
    engine::HandlerFacts facts;
    std::string state_path;
};

// Opens a session with the arguments that the engine will give us, and notes what comes of it.
Called look_at(const engine::Handler& handler)
{
    Called called;
    called.facts = facts_of_program(handler);
    std::vector<const char*> argv{called.facts.program.c_str()};
    for (const std::string& word : handler.arguments)
        argv.push_back(word.c_str());
    argv.push_back("create");
    Session session = open_session(argv);
    called.facts.policy_path = session.policy_path;
    called.facts.policy_there = ::access(session.policy_path.c_str(), F_OK) == 0;
    // An option of ours that is wrong keeps us from creating anything, as a broken policy does.
    called.facts.policy = session.creation_obstacle
                              ? Result<Policy>(std::unexpected(*session.creation_obstacle))
                              : std::move(session.policy);
    called.facts.option = session.own.profile;
    called.facts.argv0 = session.argv0_profile;
    called.state_path = session.state_path;
    return called;
}

// The verification of one engine. `trials_` is made for the first container that is needed.
class Verification {
public:
    Verification(engine::EngineSetup& setup, const std::string& relay,
                 const runtime::DeferredSignals& held)
        : setup_(setup), relay_(relay), held_(held)
    {
    }

    void look_at_all(const std::string& only)
    {
        if (!only.empty() && setup_.find(only) == nullptr)
            engine::judge_absence(only, setup_);
        for (const engine::Handler& handler : setup_.handlers) {
            if (!held_.came() && (only.empty() ? handler.ours : handler.name == only))
                look_at_one(handler);
        }
        if (trials_)
            trials_->put_away(setup_);
    }
    const std::vector<engine::VerifyRow>& rows() const { return rows_; }

private:
    void look_at_one(const engine::Handler& handler)
    {
        const Called called = look_at(handler);
        engine::judge_handler(handler, called.facts, setup_);
        const engine::Trial trial = try_out(handler.name, called.state_path);
        engine::TrialOutcome came{"not run", {}};
        if (trials_)
            came = engine::judge_trial(handler, called.facts, trial, setup_);
        const bool ours = called.facts.standing == engine::ProgramIs::same;
        rows_.push_back({.handler = handler.name,
                         .program = called.facts.program,
                         .profile = ours ? engine::profile_of(called.facts).value_or("") : "",
                         .trial = std::string(came.word),
                         .sentence = std::move(came.sentence)});
    }

    engine::Trial try_out(const std::string& handler, const std::string& state_path)
    {
        if (!trials_ && !no_trials_) {
            auto trials = trials_of(setup_.engine, relay_, held_);
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
        return trials_ ? trials_->run(handler, state_path) : engine::Trial();
    }

    engine::EngineSetup& setup_;
    const std::string& relay_;
    const runtime::DeferredSignals& held_;
    std::unique_ptr<Trials> trials_;
    bool no_trials_ = false;
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
    Verification verification(setup, helpers.relay, held);
    verification.look_at_all(call.operands.size() > 1 ? call.operands[1] : std::string());
    // The signal ends us when `held` is destroyed.
    if (held.came())
        return fail(Code::invalid_request, "interrupted; nothing is said of " + call.operands[0]);
    output.text = call.json ? engine::verify_json(setup, verification.rows())
                            : engine::verify_text(setup, verification.rows());
    return engine::verdict_of(setup) == engine::Verdict::verified ? 0 : 1;
}

} // namespace anchorhold::tools
