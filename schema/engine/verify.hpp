// SPDX-License-Identifier: Apache-2.0
// `verify`: does an engine's runtime lead to us, and did a container that ran below it
// leave the record it should? What was found out is judged here. Pure.
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

// What one runtime of an engine comes to on this host.
enum class ProgramIs : std::uint8_t { missing, unsafe, other, same };
// NOLINTBEGIN(readability-redundant-member-init): g++ wants them where they are left out
struct HandlerFacts {
    ProgramIs standing = ProgramIs::missing;
    std::string program = {}; // the one that is run, or the first that is not there
    std::string why = {};     // of unsafe
    // As our own command line is read when the engine calls it so.
    std::string policy_path = {};
    bool policy_there = false;
    Result<Policy> policy = Policy();
    std::optional<std::string> option = {}, argv0 = {}; // profiles that were chosen
};
void judge_handler(const Handler& handler, const HandlerFacts& facts, EngineSetup& setup);
// The same of its program alone.
void judge_standing(const Handler& handler, const HandlerFacts& facts, EngineSetup& setup);
// The profile its containers get; nothing where they are refused.
std::optional<std::string> profile_of(const HandlerFacts& facts);

// The one throw-away container below it.
struct Trial {
    std::string id = {};     // empty: the engine made none
    bool ran = false;        // to its end; of a pod, its sandbox stood
    std::string output = {}; // the engine's, where it did not
    std::optional<Record> record = {};
};
// NOLINTEND(readability-redundant-member-init)
struct TrialOutcome {      // of a trial, for a table
    std::string_view word; // "recorded", "answered", "refused", "NO RECORD", "not run"
    std::string sentence;  // the record's, or why there is none
};
TrialOutcome judge_trial(const Handler& handler, const HandlerFacts& facts, const Trial& trial,
                         EngineSetup& setup);

// A handler that was asked for by name and is not there.
void judge_absence(std::string_view name, EngineSetup& setup);

enum class Verdict : std::uint8_t { verified, faulty, alarm };
Verdict verdict_of(const EngineSetup& setup);

struct VerifyRow { // what is told of one handler
    std::string handler, program, profile, trial, sentence;
};
std::string verify_text(const EngineSetup& setup, const std::vector<VerifyRow>& rows);
std::string verify_json(const EngineSetup& setup, const std::vector<VerifyRow>& rows);
// Writes the array of findings.
void write_faults(json::Writer& writer, const std::vector<Fault>& faults);

} // namespace anchorhold::engine
