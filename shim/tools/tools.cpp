// SPDX-License-Identifier: Apache-2.0
// One table says which words are ours, what each may be told and who answers.
#include "shim/tools/tools.hpp"

#include "hooks/state/teardown.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/tools/tool_list.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

namespace anchorhold {

namespace {

struct Tool {
    std::string_view name;
    std::string_view options; // first letters of --json, --dry-run, --bundle, --from, --config
    std::size_t operands, most_operands;
    Result<int> (*run)(const Session&, const ToolCall&, Told&);
    std::string_view usage;
};

// Of what may be anybody's, or nobody's, no dry run is made: only the hook could tell.
void take_orphans(const std::string& state_path, Swept& swept)
{
    auto removed = sweep_by_hook(state_path);
    if (!removed) {
        swept.failed.push_back("what no record names: " + removed.error().what);
        return;
    }
    for (std::string& word : *removed)
        swept.removed.push_back(std::move(word));
}

Result<int> tool_gc(const Session& session, const ToolCall& call, Told& told)
{
    AH_TRY(const auto state, StateDir::existing(session.state_path), "open the state directory");
    Swept swept;
    if (state) {
        AH_TRY(swept, gc(*state, call.dry_run ? Sweep::dry_run : Sweep::remove, 0, unplug_by_hook));
    }
    if (!call.dry_run)
        take_orphans(session.state_path, swept);
    if (state && !call.dry_run) {
        for (std::string& line : hold_all_by_hook(*state))
            swept.failed.push_back(std::move(line));
    }
    for (const std::string& key : swept.removed)
        told.text += (call.dry_run ? "would remove " : "removed ") + key + "\n";
    for (const std::string& line : swept.failed)
        told.text += "left " + printable(line, 500) + "\n";
    return swept.failed.empty() ? 0 : 1;
}

constexpr std::array tools{
    Tool{"doctor", "j", 0, 0, tool_doctor, "doctor [--json]"},
    Tool{"explain", "b", 0, 0, tool_explain, "explain --bundle DIR"},
    Tool{"check", "b", 1, 1, tool_check, "check [--bundle DIR] DEST"},
    Tool{"runs", "j", 0, 0, tool_runs, "runs [--json]"},
    Tool{"show", "j", 1, 1, tool_show, "show [--json] ID"},
    Tool{"denials", "j", 1, 1, tool_denials, "denials [--json] ID"},
    Tool{"verify", "jc", 1, 2, tool_verify, "verify [--json] [--config FILE] ENGINE [RUNTIME]"},
    Tool{"precreate", "", 0, 0, tool_precreate, "precreate <CONFIG"},
    Tool{"gc", "d", 0, 0, tool_gc, "gc [--dry-run]"},
    Tool{"import", "f", 1, 1, tool_import, "import --from srt|networkpolicy|opensandbox FILE"},
};

const Tool* find_tool(std::string_view word)
{
    const auto* const found = std::ranges::find(tools, word, &Tool::name);
    return found == tools.end() ? nullptr : found;
}

// "--bundle=DIR", or "--bundle" and the next word; nothing: the word is another.
std::optional<std::string> take_value(const std::vector<std::string>& words, std::size_t& at,
                                      const std::string& option)
{
    const std::string& word = words[at];
    if (word.starts_with(option + "="))
        return word.substr(option.size() + 1);
    if (word == option && at + 1 < words.size())
        return words[++at];
    return std::nullopt;
}

// Takes one word, and the next where it is an option's; false: the tool does not know it.
bool take_word(const Tool& tool, const std::vector<std::string>& words, std::size_t& at,
               ToolCall& call)
{
    const std::string_view word = words[at];
    const auto takes = [&](char letter) { return tool.options.contains(letter); };
    if (word == "--json" && takes('j'))
        return call.json = true;
    if (word == "--dry-run" && takes('d'))
        return call.dry_run = true;
    for (const auto& [letter, option, into] :
         {std::tuple('b', "--bundle", &call.bundle), std::tuple('f', "--from", &call.from),
          std::tuple('c', "--config", &call.config)}) {
        if (const auto value = takes(letter) ? take_value(words, at, option) : std::nullopt) {
            *into = *value;
            return !into->empty();
        }
    }
    if (word.starts_with("-") || call.operands.size() == tool.most_operands)
        return false;
    call.operands.emplace_back(word);
    return true;
}

} // namespace

bool is_tool(std::string_view word)
{
    return find_tool(word) != nullptr;
}

Result<int> run_tool(const Session& session, Told& told)
{
    const Tool* const tool = find_tool(session.rest[0]);
    ToolCall call;
    bool known = true;
    for (std::size_t at = 1; at < session.rest.size() && known; ++at)
        known = take_word(*tool, session.rest, at, call);
    const bool unsaid = tool->options.contains('f') && call.from.empty();
    if (!known || unsaid || call.operands.size() < tool->operands)
        return fail(Code::invalid_request, "usage: anchorhold " + std::string(tool->usage));
    return tool->run(session, call, told);
}

} // namespace anchorhold
