// SPDX-License-Identifier: Apache-2.0
// anchorhold-hook --state DIR up|down|guard|hold|unplug|denials KEY GENERATION
// anchorhold-hook --state DIR sweep|hold
// anchorhold-hook probe
// anchorhold-hook resolve NAME...
//
// Runtimes call it as a hook:
//   up       createRuntime
//   down     poststop; exits 0 even when it fails, because gc removes what it left
//
// The shim, which has no netlink, calls it for the rest:
//   guard    before `start`: checks the network again
//   hold     from gc: checks the tables of one run again, or without KEY of all, restores what
//            was flushed, and starts a gate again that is gone; prints a line for each run that
//            does not hold
//   unplug   in a teardown; the caller holds the run's lock
//   denials  writes the denied connections so far into the record
//   sweep    removes what no record names, and prints it, a line each
//   probe    prints whether the host can seal and filter
//   resolve  prints the addresses of names
//
// It needs no environment. It is silent when it worked; else it prints one line.
#include "hooks/denied_connections.hpp"
#include "hooks/orphans.hpp"
#include "hooks/privileges.hpp"
#include "hooks/probe_network.hpp"
#include "hooks/resolve.hpp"
#include "hooks/state/gate_process.hpp"
#include "hooks/unplug.hpp"
#include "hooks/verbs.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <linux/capability.h>
#include <poll.h>
#include <span>
#include <unistd.h>

using namespace anchorhold;

namespace {

// Our own time limit. It is shorter than the hook's `timeout` in config.json (10 s), after which a
// runtime kills us.
constexpr std::chrono::seconds patience(8);
constexpr std::chrono::seconds patience_for_input(6);
constexpr std::chrono::milliseconds patience_for_output(200);
constexpr std::size_t most_input = std::size_t{64} * 1024 * 1024;
constexpr std::size_t longest_line = 1000;

struct Call {
    std::string_view verb;
    std::string_view state, key, generation;
};

Result<state::ContainerState> hear_runtime()
{
    AH_TRY(auto text,
           state::read_to_end(STDIN_FILENO, most_input, state::Deadline(patience_for_input)));
    return state::parse_container_state(std::move(text));
}

// Opens the state directory, which the shim has made. A hook never makes one.
Result<state::StateDir> open_state(const Call& call)
{
    AH_TRY(auto state, state::StateDir::existing(std::string(call.state)));
    if (!state) {
        return fail(Code::network_setup_failed,
                    "there is no state directory " + in_quotes(call.state));
    }
    return *std::move(state);
}

// Says whether the run is on record with a gate. What cannot be read is an error later.
bool has_gate(const Call& call, const RunKey& key)
{
    const auto state = state::StateDir::existing(std::string(call.state));
    if (!state || !*state)
        return false;
    const auto record = (*state)->read(key);
    return record && *record && (*record)->gate;
}

Status run_up(const Call& call, const RunKey& key)
{
    const state::Deadline deadline(patience);
    AH_CHECK(die_with_parent());
    // CAP_DAC_READ_SEARCH: to look at the mounts we walk through directories private to others. The
    // last three are for a gate: its ports are low ones, and it becomes a user of its own.
    AH_CHECK(has_gate(call, key) ? keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE,
                                                      CAP_DAC_READ_SEARCH, CAP_NET_BIND_SERVICE,
                                                      CAP_SETUID, CAP_SETGID})
                                 : keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE,
                                                      CAP_DAC_READ_SEARCH}));
    const auto told = hear_runtime();
    AH_TRY(const state::StateDir state, open_state(call));
    return up(state, key, call.generation, told, deadline);
}

Status run_guard(const Call& call, const RunKey& key)
{
    AH_CHECK(die_with_parent());
    AH_CHECK(keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE}));
    AH_TRY(const state::StateDir state, open_state(call));
    return check_before_start(state, key, call.generation, state::Deadline(patience));
}

Status run_hold(const Call& call, const RunKey& key)
{
    AH_CHECK(die_with_parent());
    // The last three are for a gate that is started again.
    AH_CHECK(keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_NET_BIND_SERVICE,
                                CAP_SETUID, CAP_SETGID}));
    AH_TRY(const state::StateDir state, open_state(call));
    return restore_tables(state, key, call.generation, state::Deadline(patience));
}

Status run_down(const Call& call, const RunKey& key)
{
    // The input is not needed. It is read because an unread pipe would disturb the runtime.
    (void)state::read_to_end(STDIN_FILENO, most_input, state::Deadline(patience_for_input));
    AH_TRY(const auto state, state::StateDir::existing(std::string(call.state)));
    if (!state)
        return {};
    AH_CHECK(down(*state, key, call.generation));
    return {};
}

// Takes the run's network away. The shim holds the lock, and reads the record again afterwards.
Status run_unplug(const Call& call, const RunKey& key)
{
    AH_TRY(const state::StateDir state, open_state(call));
    AH_TRY(auto record, state.read(key));
    if (!record || record->generation != call.generation)
        return {};
    AH_CHECK(unplug(state, *record));
    return state.write_last(*record);
}

Status run_denials(const Call& call, const RunKey& key)
{
    AH_TRY(const state::StateDir state, open_state(call));
    AH_TRY(const state::RunLock lock, state::RunLock::take(state, key));
    AH_TRY(auto record, state.read(key));
    if (!record || record->generation != call.generation)
        return {};
    const Record found = *record;
    AH_CHECK(note_denied(state, *record));
    state::note_gate_reports(state, *record);
    return *record == found ? Status() : state.write(*record);
}

struct Verb {
    std::string_view word;
    Status (*run)(const Call&, const RunKey&);
};
constexpr std::array verbs{Verb{"up", run_up},         Verb{"down", run_down},
                           Verb{"guard", run_guard},   Verb{"hold", run_hold},
                           Verb{"unplug", run_unplug}, Verb{"denials", run_denials}};

const Verb* find_verb(std::span<char* const> words)
{
    if (words.size() != 6 || std::string_view(words[1]) != "--state")
        return nullptr;
    const auto* const found = std::ranges::find(verbs, std::string_view(words[3]), &Verb::word);
    return found == verbs.end() ? nullptr : found;
}

Status run(const Verb& verb, std::span<char* const> words)
{
    const Call call{words[3], words[2], words[4], words[5]};
    AH_TRY(const RunKey key, RunKey::parse(call.key));
    return verb.run(call, key);
}

// Writes one line without blocking: the other end may be a full pipe that nobody reads.
void say(const std::string& line)
{
    pollfd out = {STDERR_FILENO, POLLOUT, 0};
    if (::poll(&out, 1, static_cast<int>(patience_for_output.count())) == 1)
        (void)::write(STDERR_FILENO, line.data(), line.size()); // the record says it too
}

Result<std::string> run_hold_all(const std::string& path)
{
    AH_CHECK(die_with_parent());
    AH_CHECK(keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_NET_BIND_SERVICE,
                                CAP_SETUID, CAP_SETGID}));
    AH_TRY(const auto state, state::StateDir::existing(path));
    if (!state)
        return std::string();
    AH_TRY(const auto lines, hold_all(*state, patience));
    std::string text;
    for (const std::string& line : lines)
        text += printable(line, longest_line) + "\n";
    return text;
}

Result<std::string> run_sweep(const std::string& state)
{
    AH_CHECK(die_with_parent());
    AH_CHECK(keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE}));
    AH_TRY(const state::SweepResult swept, sweep_orphans(state));
    if (!swept.failed.empty())
        return fail(Code::network_setup_failed, swept.failed.front());
    std::string lines;
    for (const std::string& removed : swept.removed)
        lines += removed + "\n";
    for (const std::string& left : swept.left)
        lines += "left " + left + "\n";
    return lines;
}

// Answers the calls whose output the caller reads. Returns nullopt for any other call.
std::optional<Result<std::string>> answer(std::span<char* const> words)
{
    const std::string_view first = words.size() > 1 ? words[1] : "";
    if (first == "--version" && words.size() == 2)
        return std::string("anchorhold-hook " ANCHORHOLD_VERSION "\n");
    if (first == "probe" && words.size() == 2)
        return probe_network();
    if (first == "resolve")
        return run_resolve(words.subspan(2));
    if (first == "--state" && words.size() == 4 && std::string_view(words[3]) == "sweep")
        return run_sweep(words[2]);
    if (first == "--state" && words.size() == 4 && std::string_view(words[3]) == "hold")
        return run_hold_all(words[2]);
    return std::nullopt;
}

int refuse(const std::string& doing, const Error& error)
{
    say(printable("anchorhold: hook " + doing + ": " + error.what, longest_line) + " (" +
        std::string(name_of(error.code)) + ")\n");
    return 1;
}

} // namespace

int main(int argc, char** argv)
{
    const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
    auto done = settle_descriptors();
    if (const auto said = answer(words); done && said) {
        if (!*said)
            return refuse(words[std::string_view(words[1]) == "--state" ? 3 : 1], said->error());
        std::fputs((*said)->c_str(), stdout);
        return 0;
    }
    const Verb* const verb = find_verb(words);
    if (verb == nullptr) {
        say("usage: anchorhold-hook --state DIR up|down|guard|hold|unplug|denials KEY "
            "GENERATION, or --state DIR sweep|hold, or probe, or resolve NAME...\n");
        return 1;
    }
    if (done)
        done = run(*verb, words);
    if (done)
        return 0;
    const int status = refuse(std::string(verb->word) + " " + words[4], done.error());
    return verb->word == "down" ? 0 : status;
}
