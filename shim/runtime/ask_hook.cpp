// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/ask_hook.hpp"

#include "hooks/state/probe_cache.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/runtime/runtime.hpp"

#include <algorithm>

namespace anchorhold::runtime {
namespace {

constexpr std::size_t most_lines = std::size_t{1} << 20; // bytes

// Returns the answers as unknown, with the reason and what to do.
std::vector<state::ProbeAnswer> all_noes(const std::string& step)
{
    constexpr const char* remedy = "install the anchorhold-hook of this version";
    return {{.name = "can_seal", .step = step, .remedy = remedy, .unknown = true},
            {.name = "can_filter", .step = step, .remedy = remedy, .unknown = true},
            {.name = "can_gate", .step = step, .remedy = remedy, .unknown = true}};
}

// Runs `anchorhold-hook VERB` for that run; its first line of output becomes the error.
Status have_hook(const state::StateDir& state, const Record& record, const char* verb)
{
    AH_TRY(const Helpers helpers, find_helpers());
    AH_TRY(const ProgramOutput caught, run_quietly(helpers.hook, {"--state", state.path(), verb,
                                                                  record.key, record.generation}));
    if (caught.status == 0)
        return {};
    return fail(Code::network_setup_failed,
                printable(caught.text.substr(0, caught.text.find('\n')), 500));
}

// Runs `anchorhold-hook VERB` for the whole state directory. Returns the lines that it printed.
Result<std::vector<std::string>> lines_of_hook(const std::string& state_path, const char* verb)
{
    AH_TRY(const Helpers helpers, find_helpers());
    AH_TRY(const ProgramOutput caught,
           run_quietly(helpers.hook, {"--state", state_path, verb}, most_lines));
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < caught.text.size();) {
        const std::size_t end = std::min(caught.text.find('\n', at), caught.text.size());
        lines.push_back(caught.text.substr(at, end - at));
        at = end + 1;
    }
    if (caught.status == 0)
        return lines;
    return fail(Code::network_setup_failed,
                lines.empty() ? "the hook's " + std::string(verb) + " says nothing"
                              : printable(lines.front(), 500));
}

// Says whether that run has rules which must hold.
bool holds(const state::StateDir& state, const RunKey& key)
{
    const auto read = state.read(key);
    const auto record = read ? *read : std::nullopt;
    return record && record->network && record->state == RunState::enforced;
}

} // namespace

std::vector<state::ProbeAnswer> ask_network(const std::string& hook)
{
    const auto caught = run_quietly(hook, {"probe"});
    if (!caught)
        return all_noes(caught.error().what);
    auto answers = state::parse_probe_answers(caught->text);
    if (caught->status != 0 || !answers)
        return all_noes("the hook's probe answered with status " + std::to_string(caught->status));
    return std::move(answers->answers);
}

Status unplug_by_hook(const state::StateDir& state, Record& record)
{
    // The record is written first, because the hook reads from it what there is to take away.
    AH_CHECK(state.write(record));
    AH_CHECK(have_hook(state, record, "unplug"));
    AH_TRY(const RunKey key, RunKey::parse(record.key));
    AH_TRY(auto left, state.read(key));
    if (left)
        record = *std::move(left);
    return {};
}

std::vector<std::string> restore_all_by_hook(const state::StateDir& state)
{
    const auto keys = state.runs();
    if (!keys || std::ranges::none_of(*keys, [&](const RunKey& key) { return holds(state, key); }))
        return {};
    auto lines = lines_of_hook(state.path(), "hold");
    if (!lines)
        return {"the live runs: " + lines.error().what};
    return *std::move(lines);
}

Result<std::vector<std::string>> sweep_by_hook(const std::string& state_path)
{
    return lines_of_hook(state_path, "sweep");
}

Status note_denied_by_hook(const state::StateDir& state, const Record& record)
{
    return have_hook(state, record, "denials");
}

} // namespace anchorhold::runtime
