// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/verify.hpp"

#include "schema/decide.hpp"
#include "schema/path_words.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace anchorhold::engine {
namespace {

std::string program_key(Engine engine)
{
    switch (engine) {
    case Engine::podman:
    case Engine::docker: return "path";
    case Engine::containerd: return "BinaryName";
    case Engine::crio: return "runtime_path";
    }
    std::abort(); // a byte that is no Engine
}

class Judge {
public:
    Judge(const Handler& handler, EngineSetup& setup) : handler_(handler), setup_(setup) {}

    void say(FaultKind kind, std::string says, std::string remedy) const
    {
        setup_.faults.push_back({kind, handler_.name, std::move(says), std::move(remedy)});
    }
    std::string subject() const
    {
        return handler_.called.empty() ? "runtime " + printable(handler_.name) : handler_.called;
    }
    bool has(FaultKind kind) const { return setup_.has_fault(kind, handler_.name); }
    const Handler& handler() const { return handler_; }
    Engine engine() const { return setup_.engine; }

private:
    const Handler& handler_;
    EngineSetup& setup_;
};

// Returns the profile that a name suggests: "ci" of anchorhold-ci.
std::string profile_in(std::string_view name)
{
    constexpr std::string_view prefix = "anchorhold-";
    return std::string(name.starts_with(prefix) ? name.substr(prefix.size()) : std::string_view());
}

void judge_program(const Judge& judge, const HandlerFacts& facts)
{
    const std::string key = program_key(judge.engine());
    if (judge.handler().programs.empty()) {
        if (!judge.has(FaultKind::key_misspelt)) {
            judge.say(FaultKind::no_binary,
                      judge.subject() + " has no " + key + ", so plain runc runs below it",
                      "give it " + key + " = the path of anchorhold");
        }
        return;
    }
    const std::string program = printable(facts.program);
    if (!names_us(facts.program) && facts.standing != ProgramIs::same) {
        judge.say(FaultKind::other_program,
                  judge.subject() + " runs " + program + ", not anchorhold",
                  "give it " + key + " = the path of anchorhold");
        return;
    }
    switch (facts.standing) {
    case ProgramIs::missing:
        judge.say(FaultKind::shim_missing,
                  judge.subject() + " runs " + program + ", which is not there",
                  "install it there, or make the link that its name needs (ln -s anchorhold)");
        return;
    case ProgramIs::unsafe: {
        const std::size_t end = std::min(facts.why.rfind("; "), facts.why.size());
        judge.say(FaultKind::shim_unsafe, judge.subject() + ": " + facts.why.substr(0, end),
                  end < facts.why.size() ? facts.why.substr(end + 2) : "look at that path");
        return;
    }
    case ProgramIs::other:
        judge.say(FaultKind::shim_other,
                  judge.subject() + " runs " + program + ", which is not this anchorhold",
                  "run its own: " + program + " verify " + std::string(word_for(judge.engine())));
        return;
    case ProgramIs::same: return;
    }
}

// Judges the choice of a profile, in the words of create, and says what to do.
void judge_profile(const Judge& judge, const HandlerFacts& facts)
{
    const std::string wanted = facts.option ? *facts.option : facts.argv0.value_or("");
    const std::string meant = profile_in(judge.handler().name);
    if (wanted.empty()) {
        if (!meant.empty()) {
            judge.say(FaultKind::profile_not_chosen,
                      judge.subject() + " chooses no profile and gets the policy's default, " +
                          printable(facts.policy->fallback),
                      judge.engine() == Engine::docker
                          ? "give it \"runtimeArgs\": [\"--ah-profile=" + printable(meant) + "\"]"
                          : "have it run a link named anchorhold-" + printable(meant));
        }
    } else if (facts.policy->find(wanted) == nullptr) {
        std::vector<std::string> names;
        for (const auto& [name, profile] : facts.policy->profiles)
            names.push_back(name);
        const std::string close = nearest(wanted, names);
        judge.say(FaultKind::profile_unknown,
                  judge.subject() + " chooses profile " + in_quotes(wanted) + ", the policy has " +
                      printable(facts.policy->known_profiles()),
                  close.empty() ? "add it to " + printable(facts.policy_path)
                                : "write " + printable(close) + ", or add it to " +
                                      printable(facts.policy_path));
    } else if (!meant.empty() && meant != wanted && nearest(wanted, {meant}) == meant) {
        judge.say(FaultKind::handler_misspelt,
                  judge.subject() + " gets profile " + printable(wanted) +
                      "; whoever asks for anchorhold-" + printable(wanted) + " does not find it",
                  "call it anchorhold-" + printable(wanted));
    }
}

// Returns whether containerd passes the annotation on. It asks path.Match of Go.
bool passes(const std::vector<std::string>& globs, std::string_view word)
{
    const std::string key = std::string(annotation_prefix) + std::string(word);
    return std::ranges::any_of(globs, [&](const std::string& glob) {
        return ::fnmatch(glob.c_str(), key.c_str(), FNM_PATHNAME) == 0;
    });
}

void judge_globs(const Judge& judge, std::string_view key, const std::vector<std::string>& globs)
{
    std::string dropped;
    for (const std::string_view word : annotation_words) {
        if (!passes(globs, word))
            dropped += (dropped.empty() ? "" : ", ") + std::string(word);
    }
    if (dropped.empty())
        return;
    judge.say(FaultKind::annotations_dropped,
              judge.subject() + ": its " + std::string(key) + " do not let dev.anchorhold." +
                  (globs.empty() ? "*" : "{" + dropped + "}") +
                  " pass, so what is asked there is not heard",
              "give it " + std::string(key) + " = [\"dev.anchorhold.*\"]");
}

// Returns whether there is a policy that could be read. Without one nothing is known of its
// profiles.
bool has_policy(const Judge& judge, const HandlerFacts& facts)
{
    const std::string why =
        facts.policy ? "no policy at " + printable(facts.policy_path) : facts.policy.error().what;
    if (!facts.policy && facts.policy.error().code != Code::invalid_policy) {
        judge.say(FaultKind::options_wrong,
                  judge.subject() + ": " + why + "; every create below it is refused",
                  "correct what it names");
    } else if (!facts.policy_there) {
        judge.say(FaultKind::policy_missing,
                  judge.subject() + ": " + why + "; no profile but the built-in off is known",
                  "write it, see contrib/policy.example.json");
    } else if (!facts.policy) {
        judge.say(FaultKind::policy_unreadable,
                  judge.subject() + ": " + why + "; every create below it is refused",
                  "correct it; anchorhold check 192.0.2.1 says when it is read");
    }
    return facts.policy && facts.policy_there;
}

const Profile* chosen_profile(const HandlerFacts& facts)
{
    const auto name = profile_of(facts);
    return name && facts.policy ? facts.policy->find(*name) : nullptr;
}

void judge_pods(const Judge& judge, const HandlerFacts& facts)
{
    const Profile* const profile = chosen_profile(facts);
    if (makes_pods(judge.engine()) && profile != nullptr && !profile->cri) {
        judge.say(FaultKind::pods_not_expected,
                  judge.subject() + ": profile " + printable(profile->name) +
                      " does not say that its containers come in pods",
                  "give that profile \"cri\": true in " + printable(facts.policy_path));
    }
}

// Returns the one line that tells the cause, as engines print many: our own line, else the first
// one with an error, else the last.
std::string cause_in(std::string_view text)
{
    constexpr std::string_view ours = "anchorhold: create ";
    if (const std::size_t at = text.find(ours); at != std::string_view::npos)
        return printable(text.substr(at, text.substr(at).find('\n')), 600);
    std::string_view last;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        last = line.empty() ? last : line;
        if (line.contains("rror") || line.contains("FATA"))
            break;
    }
    return last.empty() ? "it says nothing" : printable(last, 600);
}

// Returns whether the profile needs a broker for each container. The throw-away container has none.
bool wants_broker_of_its_own(const HandlerFacts& facts)
{
    const Profile* const profile = chosen_profile(facts);
    return profile != nullptr && std::ranges::any_of(profile->endpoints, [](const Endpoint& one) {
               return has_path_words(target_text(one.to));
           });
}

TrialOutcome judge_failure(const Judge& judge, const HandlerFacts& facts, const Trial& trial,
                           bool explained)
{
    std::string line = cause_in(trial.output);
    const bool refused = trial.output.contains("anchorhold: create ");
    if (refused && trial.output.contains("(endpoint_unavailable)") &&
        wants_broker_of_its_own(facts))
        return {"answered", std::move(line)};
    if (!refused && trial.may_fail)
        return {"not tried", std::move(line)};
    if (!explained) {
        judge.say(refused ? FaultKind::run_refused : FaultKind::run_failed,
                  judge.subject() + ": " + line,
                  refused ? "correct what it names; anchorhold doctor says what this host lacks"
                          : "restart the engine if its configuration is newer than it; else see "
                            "its log");
    }
    return {refused ? "refused" : "not tried", std::move(line)};
}

// Returns whether the trial may leave no record although we were called. A trial asks for "off" by
// an annotation. Docker below 25 passes no annotation on, and a policy may ignore annotations.
bool leaves_no_record(const HandlerFacts& facts, const Trial& trial)
{
    const auto id = ContainerId::parse(trial.id.empty() ? "unknown" : trial.id);
    return facts.standing == ProgramIs::same && facts.policy && id &&
           (!trial.asked_off || !facts.policy->annotations) &&
           is_left_alone(*facts.policy, facts.option, facts.argv0, *id);
}

} // namespace

std::optional<std::string> profile_of(const HandlerFacts& facts)
{
    if (!facts.policy)
        return std::nullopt;
    const auto choice = choose_profile(*facts.policy, {}, facts.option, facts.argv0);
    return choice ? std::optional(choice->name) : std::nullopt;
}

void judge_standing(const Handler& handler, const HandlerFacts& facts, EngineSetup& setup)
{
    judge_program(Judge(handler, setup), facts);
}

void judge_handler(const Handler& handler, const HandlerFacts& facts, EngineSetup& setup)
{
    const Judge judge(handler, setup);
    judge_program(judge, facts);
    if (facts.standing != ProgramIs::same)
        return;
    if (has_policy(judge, facts)) {
        judge_profile(judge, facts);
        judge_pods(judge, facts);
    }
    if (setup.engine == Engine::containerd && (!facts.policy || facts.policy->annotations)) {
        judge_globs(judge, "pod_annotations", handler.pod_globs);
        judge_globs(judge, "container_annotations", handler.container_globs);
    }
}

TrialOutcome judge_trial(const Handler& handler, const HandlerFacts& facts, const Trial& trial,
                         EngineSetup& setup)
{
    const Judge judge(handler, setup);
    const bool explained = std::ranges::any_of(
        setup.faults, [&](const Fault& fault) { return fault.handler == handler.name; });
    if (!trial.ran)
        return judge_failure(judge, facts, trial, explained);
    if (!trial.record && leaves_no_record(facts, trial)) {
        judge.say(FaultKind::leaves_no_record,
                  judge.subject() + ": profile " + printable(profile_of(facts).value_or("")) +
                      " is open and adds nothing, so its containers leave no record and are as "
                      "below the plain runtime",
                  "nothing is wrong with that; verify a runtime whose profile confines");
        return {"open", {}};
    }
    if (!trial.record) {
        judge.say(FaultKind::no_record,
                  "a container ran below " + judge.subject() +
                      " and left no record of it: nothing confined it",
                  handler.remedy.empty()
                      ? "let nothing run below it until the other findings are mended"
                      : handler.remedy);
        return {"ALARM", {}};
    }
    const auto profile = profile_of(facts);
    if (facts.standing == ProgramIs::same && trial.record->profile != profile.value_or("")) {
        judge.say(FaultKind::wrong_profile,
                  judge.subject() + " was to get profile " + printable(profile.value_or("none")) +
                      ", its record says " + printable(trial.record->profile),
                  "restart the engine, so that it reads what is written now");
    }
    if (trial.record->state != RunState::enforced && trial.record->state != RunState::ended) {
        judge.say(FaultKind::wrong_state,
                  judge.subject() + ": its record says " +
                      std::string(word_for(trial.record->state)) + ": " +
                      printable(trial.record->reason),
                  "see anchorhold show " + trial.record->key);
    }
    return {"confined", trial.record->sentence};
}

std::string way_of(Engine engine, const Handler& handler)
{
    if (!handler.called.empty())
        return handler.called;
    return (makes_pods(engine) ? "handler " : "--runtime ") + handler.name;
}

void judge_absence(std::string_view name, EngineSetup& setup)
{
    std::vector<std::string> names;
    std::string known;
    names.reserve(setup.handlers.size());
    for (const Handler& handler : setup.handlers) {
        names.push_back(handler.name);
        known += (known.empty() ? "" : ", ") + handler.name;
    }
    const std::string close = nearest(name, names);
    setup.faults.push_back(
        {FaultKind::handler_unknown, std::string(name),
         "there is no runtime " + in_quotes(name) + ", the engine knows " +
             (known.empty() ? "none" : printable(known, 500)),
         close.empty() ? "add it, or ask for one of those" : "write " + printable(close)});
}

Verdict verdict_of(const EngineSetup& setup)
{
    if (std::ranges::find(setup.faults, FaultKind::no_record, &Fault::kind) != setup.faults.end())
        return Verdict::alarm;
    return setup.faults.empty() ? Verdict::verified : Verdict::faulty;
}

} // namespace anchorhold::engine
