// SPDX-License-Identifier: Apache-2.0
// anchorhold-hook --state DIR up|down|guard KEY GENERATION
//
// Called by runtimes as a createRuntime (up) and poststop (down) hook, and by `anchorhold start`
// (guard). Needs no environment. Silent when it worked; else one line, and `down` exits 0 anyway:
// what it left is gc's.
#include "hooks/privileges.hpp"
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

// Shorter than the hook's `timeout` in config.json (10 s), after which a runtime kills us.
constexpr std::chrono::seconds patience(8);
constexpr std::chrono::seconds patience_for_input(6);
constexpr std::chrono::milliseconds patience_for_output(200);
constexpr std::size_t most_input = std::size_t{64} * 1024 * 1024;
constexpr std::size_t longest_line = 1000;

struct Call {
    std::string_view verb;
    std::string_view state, key, generation;
};

std::optional<Call> read_call(std::span<char* const> words)
{
    if (words.size() != 6 || std::string_view(words[1]) != "--state")
        return std::nullopt;
    const Call call{words[3], words[2], words[4], words[5]};
    constexpr std::array<std::string_view, 3> verbs = {"up", "down", "guard"};
    if (std::ranges::find(verbs, call.verb) == verbs.end())
        return std::nullopt;
    return call;
}

Result<ContainerState> hear_runtime()
{
    AH_TRY(auto text, read_to_end(STDIN_FILENO, most_input, Deadline(patience_for_input)), "");
    return parse_container_state(std::move(text));
}

// The shim made it; a hook makes none.
Result<StateDir> open_state(const Call& call)
{
    AH_TRY(auto state, StateDir::existing(std::string(call.state)), "");
    if (!state) {
        return fail(Code::network_setup_failed,
                    "there is no state directory " + quoted(call.state));
    }
    return *std::move(state);
}

Status run_up(const Call& call, const RunKey& key)
{
    const Deadline deadline(patience);
    AH_CHECK(die_with_parent(), "");
    // The last walks to what was mounted, through directories that are private to others.
    AH_CHECK(keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH}),
             "");
    const auto told = hear_runtime();
    AH_TRY(const StateDir state, open_state(call), "");
    return up(state, key, call.generation, told, deadline);
}

Status run_guard(const Call& call, const RunKey& key)
{
    AH_CHECK(die_with_parent(), "");
    AH_CHECK(keep_capabilities({CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_PTRACE}), "");
    AH_TRY(const StateDir state, open_state(call), "");
    return guard(state, key, call.generation, Deadline(patience));
}

Status run_down(const Call& call, const RunKey& key)
{
    // Read for the runtime's sake, whom an unread pipe would disturb; what it says is not needed.
    (void)read_to_end(STDIN_FILENO, most_input, Deadline(patience_for_input));
    AH_TRY(const auto state, StateDir::existing(std::string(call.state)), "");
    if (!state)
        return {};
    AH_CHECK(down(*state, key, call.generation), "");
    return {};
}

Status run(const Call& call)
{
    AH_TRY(const RunKey key, RunKey::parse(call.key), "");
    if (call.verb == "up")
        return run_up(call, key);
    return call.verb == "guard" ? run_guard(call, key) : run_down(call, key);
}

// One write that cannot block: the other end may be a full pipe nobody reads.
void say(const std::string& line)
{
    pollfd out = {STDERR_FILENO, POLLOUT, 0};
    if (::poll(&out, 1, static_cast<int>(patience_for_output.count())) == 1)
        (void)::write(STDERR_FILENO, line.data(), line.size()); // the record has it too
}

} // namespace

int main(int argc, char** argv)
{
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts("anchorhold-hook " ANCHORHOLD_VERSION);
        return 0;
    }
    auto done = settle_descriptors();
    const auto call = read_call({argv, static_cast<std::size_t>(argc)});
    if (!call) {
        say("usage: anchorhold-hook --state DIR up|down|guard KEY GENERATION\n");
        return 1;
    }
    if (done)
        done = run(*call);
    if (done)
        return 0;
    say(printable("anchorhold: hook " + std::string(call->verb) + " " + std::string(call->key) +
                      ": " + done.error().what,
                  longest_line) +
        " (" + std::string(name_of(done.error().code)) + ")\n");
    return call->verb == "down" ? 0 : 1;
}
