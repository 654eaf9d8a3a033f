// SPDX-License-Identifier: Apache-2.0
// One table says which words are ours, what arguments each of them takes, which function runs it,
// and what --help prints.
#include "shim/tools/tools.hpp"

#include "hooks/state/process.hpp"
#include "hooks/state/seen.hpp"
#include "hooks/state/teardown.hpp"
#include "schema/render.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/tools/tool_list.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::tools {

namespace {

// One option of a tool. It either has a value or is a flag.
struct ToolOption {
    char letter; // the letter by which a Tool names it
    std::string_view name, value, sentence;
    std::string ToolCall::* text; // where the value goes; null for a flag
    bool ToolCall::* flag;        // where the flag goes; null for an option with a value
    bool required = false;
    std::vector<std::string> ToolCall::* list =
        nullptr; // where the values of one go that may repeat
};

constexpr std::array tool_options{
    ToolOption{'e', "--ended", "", "list the runs that ended or were refused", nullptr,
               &ToolCall::ended},
    ToolOption{'u', "--all", "", "list the runs of rootless engines too; only root may", nullptr,
               &ToolCall::all},
    ToolOption{'j', "--json", "", "print JSON", nullptr, &ToolCall::json},
    ToolOption{'d', "--dry-run", "", "only say what would be removed", nullptr, &ToolCall::dry_run},
    ToolOption{'b', "--bundle", "DIR", "the bundle (default: the working directory)",
               &ToolCall::bundle, nullptr},
    ToolOption{'a', "--bundle", "DIR",
               "ask for this bundle (default: for a container without annotations)",
               &ToolCall::bundle, nullptr},
    ToolOption{'c', "--config", "FILE",
               "the engine's main configuration file (default: the engine's own default)",
               &ToolCall::config, nullptr},
    ToolOption{'p', "--profile", "NAME",
               "a profile that gets a runtime (default: all; may be given more than once)", nullptr,
               nullptr, false, &ToolCall::profiles},
    ToolOption{'w', "--write", "", "write it", nullptr, &ToolCall::write},
    ToolOption{'r', "--remove", "", "take away what --write wrote", nullptr, &ToolCall::remove},
    ToolOption{'C', "--config", "FILE",
               "containerd's main configuration file (default: /etc/containerd/config.toml)",
               &ToolCall::config, nullptr},
    ToolOption{'f', "--from", "srt|networkpolicy|opensandbox", "the format of FILE",
               &ToolCall::from, nullptr, true},
};

// One subcommand of our own.
struct Tool {
    std::string_view name;
    std::string_view options;            // letters of tool_options
    std::size_t operands, most_operands; // how many are needed, how many are taken
    std::string_view operand_words;      // as the usage line has them
    Result<int> (*run)(const Session&, const ToolCall&, ToolOutput&);
    std::string_view sentence;
    std::string_view about_operands;
};

// Removes what no record names. It is not called for a dry run, because only the hook knows what it
// would remove.
void take_orphans(const std::string& state_path, state::SweepResult& swept)
{
    auto removed = runtime::sweep_by_hook(state_path);
    if (!removed) {
        swept.failed.push_back("what no record names: " + removed.error().what);
        return;
    }
    for (std::string& word : *removed)
        (word.starts_with("left ") ? swept.left : swept.removed).push_back(std::move(word));
}

// Returns a line "KEY: sentence" for each enforced run that does not stand as its record says.
std::vector<std::string> doubts(const state::StateDir& state)
{
    std::vector<std::string> lines;
    const auto keys = state.runs();
    for (const RunKey& key : keys ? *keys : std::vector<RunKey>()) {
        const auto read = state.read(key);
        const auto record = read ? *read : std::nullopt;
        if (!record || record->state != RunState::enforced || !state::is_alive(record->init))
            continue;
        const std::string seen = state::look_at_run(*record);
        if (seen == "its link is gone" || seen == "its link was replaced")
            lines.push_back(key.text() + ": " + seen);
    }
    return lines;
}

Result<int> tool_gc(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(const auto state, state::StateDir::existing(session.state_path),
           "open the state directory");
    state::SweepResult swept;
    if (state) {
        AH_TRY(swept, state::gc(*state, call.dry_run ? state::Sweep::dry_run : state::Sweep::remove,
                                0, runtime::unplug_by_hook));
    }
    if (!call.dry_run)
        take_orphans(session.state_path, swept);
    if (state && !call.dry_run) {
        for (std::string& line : runtime::restore_all_by_hook(*state))
            swept.failed.push_back(std::move(line));
        for (std::string& line : doubts(*state))
            swept.failed.push_back(std::move(line));
    }
    for (const std::string& key : swept.removed)
        output.text += (call.dry_run ? "would remove " : "removed ") + key + "\n";
    for (const std::string& line : swept.failed)
        output.text += "left " + printable(line, 500) + "\n";
    for (const std::string& line : swept.left) // no fault: gc over there looks after it
        output.text += printable(line, 500) + "\n";
    return swept.failed.empty() ? 0 : 1;
}

constexpr std::string_view about_id =
    "ID is a container's id, a run's KEY or KEY.GENERATION, or a prefix of one run's.\n"
    "Without it the run that was made last is meant.\n";

constexpr std::string_view about_engine =
    "ENGINE is podman, docker, containerd or crio. RUNTIME is one of its runtimes (handlers);\n"
    "without it all that should be anchorhold are tried.\n";

constexpr std::array tools{
    Tool{"doctor", "jC", 0, 0, "", tool_doctor,
         "Tries what this host can do, and says what to do where it cannot.", ""},
    Tool{"explain", "b", 0, 0, "", tool_explain,
         "Shows the decision and the plan for a bundle, and changes nothing.", ""},
    Tool{"check", "a", 1, 1, "DEST", tool_check,
         "Says whether DEST would be reachable, and by which rule.",
         "DEST is HOST or HOST:PORT.\n"},
    Tool{"runs", "jeu", 0, 0, "", tool_runs, "Lists the live runs.", ""},
    Tool{"show", "j", 0, 1, "[ID]", tool_show, "Shows the record of a run, live or ended.",
         about_id},
    Tool{"denials", "j", 0, 1, "[ID]", tool_denials,
         "Lists what a filtered run tried and was refused.", about_id},
    Tool{"verify", "jc", 1, 2, "ENGINE [RUNTIME]", tool_verify,
         "Runs throw-away containers to see whether an engine calls anchorhold.", about_engine},
    Tool{"setup", "cpwr", 1, 1, "ENGINE", tool_setup,
         "Shows how an engine is told of anchorhold, or tells it.",
         "ENGINE is podman, docker, containerd or crio.\n"},
    Tool{"policy", "", 1, 2, "check [FILE]", tool_policy,
         "Says what is wrong with the policy that is installed, or with FILE.",
         "In a folder policy.d, FILE is checked as a drop-in.\n"},
    Tool{"precreate", "", 0, 0, "<CONFIG", tool_precreate,
         "Podman's precreate hook: reads a config.json and prints the edited one.", ""},
    Tool{"gc", "d", 0, 0, "", tool_gc,
         "Tears down runs without a live owner, and restores rules that were flushed.", ""},
    Tool{"import", "f", 1, 1, "FILE", tool_import,
         "Prints a policy made from the network rules of another system.",
         "FILE is JSON. What cannot be kept is named on standard error.\n"},
};

const Tool* find_tool(std::string_view word)
{
    const auto* const found = std::ranges::find(tools, word, &Tool::name);
    return found == tools.end() ? nullptr : found;
}

// Returns an option as help shows it: "--bundle DIR".
std::string spelled(std::string_view name, std::string_view value)
{
    return std::string(name) + (value.empty() ? "" : " ") + std::string(value);
}

// Returns the usage line: "anchorhold check [--bundle DIR] DEST".
std::string usage_of(const Tool& tool)
{
    std::string line = "anchorhold " + std::string(tool.name);
    for (const ToolOption& option : tool_options) {
        if (!tool.options.contains(option.letter))
            continue;
        const std::string words = spelled(option.name, option.value);
        line += option.required ? " " + words : " [" + words + "]";
        line += option.list != nullptr ? "..." : "";
    }
    return line + (tool.operand_words.empty() ? "" : " ") + std::string(tool.operand_words);
}

std::string help_of(const Tool& tool)
{
    std::vector<std::vector<std::string>> rows;
    for (const ToolOption& option : tool_options) {
        if (tool.options.contains(option.letter))
            rows.push_back(
                {"  " + spelled(option.name, option.value), std::string(option.sentence)});
    }
    rows.push_back({"  --help", "print this text"});
    return "usage: " + usage_of(tool) + "\n\n" + std::string(tool.sentence) + "\n" +
           std::string(tool.about_operands) + "\n" + render_table(rows);
}

std::string help_of_all()
{
    std::vector<std::vector<std::string>> options;
    std::vector<std::vector<std::string>> commands;
    for (const words::OwnOption& option : words::own_options()) {
        const std::string words = spelled("--ah-" + std::string(option.name), option.value);
        options.push_back({"  " + words, std::string(option.sentence)});
    }
    for (const Tool& tool : tools)
        commands.push_back({"  " + std::string(tool.name), std::string(tool.sentence)});
    return "usage: anchorhold [OPTION...] RUNTIME-COMMAND-LINE\n"
           "       anchorhold --ah-help | --ah-version\n"
           "       anchorhold COMMAND [--help]\n\n"
           "Runs runc or crun, and gives each container only the network it was granted.\n\n"
           "Options, before the runtime's command:\n" +
           render_table(options) + "\nCommands:\n" + render_table(commands) +
           "\nEvery other command line is the runtime's, --help and --version too.\n"
           "More is in anchorhold(8).\n";
}

// Returns the value of the option at words[at], "--bundle=DIR" or "--bundle" and the next word;
// nothing when the word is another.
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

// Takes one word and, where it is an option with a value, the next. Returns false for a word that
// the tool does not know.
bool take_word(const Tool& tool, const std::vector<std::string>& words, std::size_t& at,
               ToolCall& call)
{
    const std::string_view word = words[at];
    for (const ToolOption& option : tool_options) {
        if (!tool.options.contains(option.letter))
            continue;
        if (option.flag != nullptr && word == option.name)
            return call.*option.flag = true;
        if (option.flag != nullptr)
            continue;
        if (const auto value = take_value(words, at, std::string(option.name))) {
            if (option.list != nullptr)
                (call.*option.list).push_back(*value);
            else
                call.*option.text = *value;
            return !value->empty();
        }
    }
    if (word.starts_with("-") || call.operands.size() == tool.most_operands)
        return false;
    call.operands.emplace_back(word);
    return true;
}

// Says whether every option that must be given was given.
bool has_required(const Tool& tool, const ToolCall& call)
{
    return std::ranges::none_of(tool_options, [&](const ToolOption& option) {
        return option.required && tool.options.contains(option.letter) &&
               (call.*option.text).empty();
    });
}

} // namespace

bool is_tool(std::string_view word)
{
    return find_tool(word) != nullptr;
}

std::optional<std::string> text_asked_for(std::span<const char* const> words)
{
    const words::Split split = words::split_own_options(words);
    if (split.prints == "help")
        return help_of_all();
    if (split.prints == "version")
        return "anchorhold " ANCHORHOLD_VERSION "\n";
    const Tool* const tool = split.rest.empty() ? nullptr : find_tool(split.rest[0]);
    if (tool == nullptr || std::ranges::find(split.rest, "--help") == split.rest.end())
        return std::nullopt;
    return help_of(*tool);
}

Result<int> run_tool(const Session& session, ToolOutput& output)
{
    const Tool* const tool = find_tool(session.rest[0]);
    ToolCall call;
    bool known = true;
    for (std::size_t at = 1; at < session.rest.size() && known; ++at)
        known = take_word(*tool, session.rest, at, call);
    if (!known || !has_required(*tool, call) || call.operands.size() < tool->operands)
        return fail(Code::invalid_request, "usage: " + usage_of(*tool));
    return tool->run(session, call, output);
}

} // namespace anchorhold::tools
