// SPDX-License-Identifier: Apache-2.0
// Judges for `verify` whether an engine's runtime leads to us, and whether a container that it ran
// left the record that it should. Pure.
#pragma once

#include "schema/engine/setup.hpp"
#include "schema/json/json.hpp"
#include "schema/record.hpp"
#include "schema/request.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace anchorhold::engine {

// The program of a runtime, as found on this host.
enum class ProgramIs : std::uint8_t { missing, unsafe, other, same };
// NOLINTBEGIN(readability-redundant-member-init): g++ wants them where they are left out
struct HandlerFacts {
    ProgramIs standing = ProgramIs::missing;
    std::string program = {}; // the program that is run, or the first that is not there
    std::string why = {};     // the reason of `unsafe`
    // Our own command line and policy, as read when the engine calls us so.
    std::string policy_path = {};
    bool policy_there = false;
    Result<Policy> policy = Policy();
    // The profile chosen by --ah-profile, and by argv[0].
    std::optional<std::string> option = {}, argv0 = {};
};
// Adds the faults of a runtime to the set-up.
void judge_handler(const Handler& handler, const HandlerFacts& facts, EngineSetup& setup);
// Adds the faults of its program alone.
void judge_standing(const Handler& handler, const HandlerFacts& facts, EngineSetup& setup);
// Returns the profile that its containers get; nothing where they are refused.
std::optional<std::string> profile_of(const HandlerFacts& facts);

// The throw-away container that the runtime ran.
struct Trial {
    std::string id = {};     // empty: the engine made no container, or does not tell its id
    bool ran = false;        // it ran to its end; for a pod, its sandbox ran
    std::string output = {}; // the engine's output where it did not run
    std::optional<Record> record = {};
    bool asked_off = false; // by an annotation
    bool may_fail = false;  // the engine may not offer this way, so that nothing runs is no fault
};
// NOLINTEND(readability-redundant-member-init)
// The outcome of a trial, for a table.
struct TrialOutcome {
    std::string_view word; // "confined", "answered", "refused", "ALARM", "open", "not tried"
    std::string sentence;  // of the record, or why there is none
};
TrialOutcome judge_trial(const Handler& handler, const HandlerFacts& facts, const Trial& trial,
                         EngineSetup& setup);

// Adds the fault that the engine has no runtime of this name, which was asked for.
void judge_absence(std::string_view name, EngineSetup& setup);

enum class Verdict : std::uint8_t { verified, faulty, alarm };
Verdict verdict_of(const EngineSetup& setup);

// One line of the output, about one way in which the engine starts containers. `trial` is a
// TrialOutcome's word, or "not set up" where the configuration does not lead that way to us.
struct VerifyRow {
    std::string way, handler, program, profile, trial, sentence;
};
// Returns the name of the way that a runtime is: "--runtime NAME", and for a pod "handler NAME".
std::string way_of(Engine engine, const Handler& handler);
std::string verify_text(const EngineSetup& setup, const std::vector<VerifyRow>& rows);
std::string verify_json(const EngineSetup& setup, const std::vector<VerifyRow>& rows);
// Writes the array of findings.
void write_faults(json::Writer& writer, const std::vector<Fault>& faults);

} // namespace anchorhold::engine
