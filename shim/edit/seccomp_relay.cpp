// SPDX-License-Identifier: Apache-2.0
// The lists were taken with strace(1) from the relay as it is linked for x86-64, and each call was
// made to fail there. A denial with an errno is harmless for those that `heeded` does not hold;
// one that kills is harmless for none. Other machines have other calls, and are not asked.
#include "shim/edit/seccomp_relay.hpp"

#include "shim/edit/seccomp_read.hpp"

#include <algorithm>
#include <span>

namespace anchorhold::edit {
namespace {

struct Need {
    std::string_view call;
    bool heeded; // the relay gives up when it fails
};
#if defined(__x86_64__)
constexpr Need looking[] = {{"arch_prctl", true}, {"set_tid_address", false},
                            {"socket", false},    {"getsockopt", false},
                            {"close", false},     {"stat", true},
                            {"statfs", true},     {"open", true},
                            {"openat", true},     {"read", true},
                            {"fcntl", false},     {"execve", true}};
constexpr Need serving[] = {
    {"accept4", true},     {"bind", true},         {"capset", true},         {"close_range", false},
    {"connect", true},     {"dup2", false},        {"epoll_create1", true},  {"epoll_ctl", true},
    {"epoll_pwait", true}, {"eventfd2", true},     {"fchdir", true},         {"fork", true},
    {"fstat", true},       {"getpid", false},      {"ioctl", false},         {"listen", true},
    {"mmap", true},        {"newfstatat", true},   {"pipe2", true},          {"prctl", true},
    {"prlimit64", false},  {"rt_sigaction", true}, {"rt_sigprocmask", true}, {"setsockopt", true},
    {"signalfd4", true},   {"socket", true},       {"splice", true},         {"wait4", true},
    {"write", true}};
#else
constexpr std::span<const Need> looking, serving;
#endif

// What becomes of a call.
enum class Fate : std::uint8_t { passes, fails, kills };

Fate fate_of(std::string_view action)
{
    if (action_does(action) != ActionDoes::denies)
        return Fate::passes;
    return action == "SCMP_ACT_ERRNO" ? Fate::fails : Fate::kills;
}

// A rule without conditions wins, the first of several. Where there are conditions the call counts
// as one that passes: the engine thought of it.
Result<Fate> fate_of_call(std::string_view call, const std::vector<json::View>& rules,
                          std::string_view default_action)
{
    bool conditional = false;
    for (const json::View rule : rules) {
        AH_TRY(const auto names, optional_array(rule, "names"));
        const bool named = std::ranges::any_of(names, [&](const json::View name) {
            const auto text = name.string();
            return text && *text == call;
        });
        if (!named)
            continue;
        AH_TRY(const auto conditions, optional_array(rule, "args"));
        AH_TRY(const std::string action, optional_string(rule, "action"));
        if (conditions.empty())
            return fate_of(action);
        conditional = true;
    }
    return conditional ? Fate::passes : fate_of(default_action);
}

} // namespace

Result<std::string> denied_to_relay(json::View config, RelayWork work)
{
    const auto linux_part = present(config, "linux");
    const auto profile = linux_part ? present(*linux_part, "seccomp") : std::nullopt;
    if (!profile)
        return std::string();
    AH_TRY(const std::string action, optional_string(*profile, "defaultAction"));
    AH_TRY(const auto rules, optional_array(*profile, "syscalls"));
    if (action.empty())
        return std::string();
    std::string denied;
    const auto ask = [&](std::span<const Need> needs) -> Status {
        for (const Need& need : needs) {
            AH_TRY(const Fate fate, fate_of_call(need.call, rules, action));
            if (fate == Fate::kills || (fate == Fate::fails && need.heeded))
                denied += (denied.empty() ? "" : ", ") + std::string(need.call);
        }
        return {};
    };
    AH_CHECK(ask(looking));
    if (work == RelayWork::serve)
        AH_CHECK(ask(serving));
    if (denied.empty())
        return std::string();
    return "denies " + denied +
           " to the relay, which is the container's first process; permit them in the seccomp "
           "profile";
}

} // namespace anchorhold::edit
