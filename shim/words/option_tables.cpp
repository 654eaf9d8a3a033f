// SPDX-License-Identifier: Apache-2.0
#include "shim/words/option_tables.hpp"

#include <algorithm>
#include <cstdlib>

namespace anchorhold::words {
namespace {

constexpr Takes value = Takes::value;

// What is passed on without a verdict of its own: files that the runtime writes or reads for the
// caller, sockets that the caller gets answers on, and what the shim reads itself (bundle, root,
// preserve-fds, process, user, cap). no-pivot is among them: behind runc chroot(2) leads no further
// out with it (measured).
constexpr Verdict passes = Verdict::passes;
constexpr Verdict channel = Verdict::channel;
constexpr Verdict by_value = Verdict::opens_devices;
constexpr Verdict below = Verdict::below;
constexpr Verdict refused = Verdict::refused;

constexpr OptionRule runc_globals[] = {
    {"debug", passes},
    {"log", passes, value},
    {"log-format", passes, value},
    {"root", passes, value},
    {"criu", passes, value},
    {"systemd-cgroup", passes},
    {"rootless", by_value, value},
    {"version", passes, Takes::nothing, "v"},
};

constexpr OptionRule runc_create[] = {
    {"bundle", passes, value, "b"},    {"config", refused, value},
    {"console-socket", passes, value}, {"pidfd-socket", passes, value},
    {"pid-file", passes, value},       {"no-pivot", passes},
    {"no-new-keyring", channel},       {"preserve-fds", passes, value},
};

constexpr OptionRule runc_run[] = {
    {"bundle", passes, value, "b"},
    {"config", refused, value},
    {"console-socket", passes, value},
    {"pidfd-socket", passes, value},
    {"detach", passes, Takes::nothing, "d"},
    {"keep", passes},
    {"pid-file", passes, value},
    {"no-subreaper", passes},
    {"no-pivot", passes},
    {"no-new-keyring", channel},
    {"preserve-fds", passes, value},
};

constexpr OptionRule runc_restore[] = {
    {"console-socket", passes, value},
    {"image-path", passes, value},
    {"work-path", passes, value},
    {"tcp-established", passes},
    {"ext-unix-sk", passes},
    {"shell-job", passes},
    {"file-locks", passes},
    {"manage-cgroups-mode", passes, value},
    {"bundle", passes, value, "b"},
    {"detach", passes, Takes::nothing, "d"},
    {"pid-file", passes, value},
    {"no-subreaper", passes},
    {"no-pivot", passes},
    {"empty-ns", passes, value},
    {"auto-dedup", passes},
    {"lazy-pages", passes},
    {"lsm-profile", passes, value},
    {"lsm-mount-context", passes, value},
};

constexpr OptionRule runc_exec[] = {
    {"console-socket", passes, value},
    {"pidfd-socket", passes, value},
    {"cwd", passes, value},
    {"env", passes, value, "e"},
    {"tty", passes, Takes::nothing, "t"},
    {"user", passes, value, "u"},
    {"additional-gids", passes, value, "g"},
    {"process", passes, value, "p"},
    {"detach", passes, Takes::nothing, "d"},
    {"pid-file", passes, value},
    {"process-label", passes, value},
    {"apparmor", passes, value},
    {"no-new-privs", passes},
    {"cap", passes, value, "c"},
    {"preserve-fds", passes, value},
    {"cgroup", below, value},
    {"ignore-paused", passes},
};

constexpr OptionRule update_options[] = {
    {"resources", passes, value, "r"},     {"blkio-weight", passes, value},
    {"cpu-burst", passes, value},          {"cpu-idle", passes, value},
    {"cpu-period", passes, value},         {"cpu-quota", passes, value},
    {"cpu-rt-period", passes, value},      {"cpu-rt-runtime", passes, value},
    {"cpu-share", passes, value},          {"cpuset-cpus", passes, value},
    {"cpuset-mems", passes, value},        {"kernel-memory", passes, value},
    {"kernel-memory-tcp", passes, value},  {"memory", passes, value},
    {"memory-reservation", passes, value}, {"memory-swap", passes, value},
    {"pids-limit", passes, value},         {"l3-cache-schema", passes, value},
    {"mem-bw-schema", passes, value},
};

constexpr OptionRule runc_delete[] = {{"force", passes, Takes::nothing, "f"}};

constexpr OptionRule runc_everywhere[] = {{"help", passes, Takes::nothing, "h"}};

constexpr OptionRule crun_globals[] = {
    {"debug", passes},
    {"cgroup-manager", by_value, value},
    {"systemd-cgroup", passes},
    {"log", passes, value},
    {"log-format", passes, value},
    {"log-level", passes, value},
    {"root", passes, value},
    {"rootless", by_value, value},
    {"version", passes, Takes::nothing, "vV"},
};

constexpr OptionRule crun_create[] = {
    {"bundle", passes, value, "b"},
    {"config", refused, value, "f"},
    {"console-socket", passes, value},
    {"preserve-fds", passes, value},
    {"no-pivot", passes},
    {"pid-file", passes, value},
    {"no-subreaper", passes},
    {"no-new-keyring", channel},
};

constexpr OptionRule crun_run[] = {
    {"bundle", passes, value, "b"},
    {"config", refused, value, "f"},
    {"detach", passes, Takes::nothing, "d"},
    {"console-socket", passes, value},
    {"preserve-fds", passes, value},
    {"pid-file", passes, value},
    {"keep", passes},
    {"no-subreaper", passes},
    {"no-new-keyring", channel},
    {"no-pivot", passes},
};

constexpr OptionRule crun_restore[] = {
    {"bundle", passes, value, "b"},
    {"image-path", passes, value},
    {"work-path", passes, value},
    {"tcp-established", passes},
    {"tcp-close", passes},
    {"ext-unix-sk", passes},
    {"shell-job", passes},
    {"detach", passes, Takes::nothing, "d"},
    {"pid-file", passes, value},
    {"console-socket", passes, value},
    {"file-locks", passes},
    {"manage-cgroups-mode", passes, value},
    {"network-lock", passes, value},
    {"lsm-profile", passes, value},
    {"lsm-mount-context", passes, value},
};

constexpr OptionRule crun_exec[] = {
    {"console-socket", passes, value}, {"tty", passes, Takes::joined, "t"},
    {"process", passes, value, "p"},   {"cwd", passes, value},
    {"cgroup", below, value},          {"detach", passes, Takes::nothing, "d"},
    {"user", passes, value, "u"},      {"env", passes, value, "e"},
    {"cap", passes, value, "c"},       {"pid-file", passes, value},
    {"preserve-fds", passes, value},   {"no-new-privs", passes},
    {"process-label", passes, value},  {"apparmor", passes, value},
};

constexpr OptionRule crun_delete[] = {
    {"force", passes, Takes::nothing, "f"},
    {"regex", passes, Takes::nothing, "r"},
};

// The options that argp adds by itself; --help does not show the last two.
constexpr OptionRule crun_everywhere[] = {
    {"help", passes, Takes::nothing, "?"},
    {"usage", passes},
    {"program-name", passes, value},
    {"HANG", passes, Takes::joined},
};

// Says whether the runtime applies device rules under this value of --cgroup-manager or
// --rootless. crun's manager "disabled" applies none (measured: c 10:235 opened in spite of them);
// --rootless=true ignores what cgroups refuse.
bool closes_devices(std::string_view given)
{
    constexpr std::string_view fine[] = {"cgroupfs", "systemd", "auto", "false"};
    return std::ranges::find(fine, given) != std::ranges::end(fine);
}

// Says whether a path has a component "..".
bool leads_upwards(const std::string& path)
{
    return ("/" + path + "/").find("/../") != std::string::npos || path.contains(":../");
}

} // namespace

std::span<const OptionRule> global_options(Flavour flavour)
{
    if (flavour == Flavour::crun)
        return crun_globals;
    return runc_globals;
}

std::span<const OptionRule> everywhere(Flavour flavour)
{
    if (flavour == Flavour::crun)
        return crun_everywhere;
    return runc_everywhere;
}

std::span<const OptionRule> options_of(Flavour flavour, Verb verb)
{
    const bool crun = flavour == Flavour::crun;
    using Rules = std::span<const OptionRule>;
    switch (verb) {
    case Verb::create: return crun ? Rules(crun_create) : Rules(runc_create);
    case Verb::run: return crun ? Rules(crun_run) : Rules(runc_run);
    case Verb::restore: return crun ? Rules(crun_restore) : Rules(runc_restore);
    case Verb::start: return {};
    case Verb::exec: return crun ? Rules(crun_exec) : Rules(runc_exec);
    case Verb::update: return update_options; // crun's are among them
    case Verb::remove: return crun ? Rules(crun_delete) : Rules(runc_delete);
    case Verb::other: return {};
    }
    std::abort(); // a byte that is no Verb
}

Verb verb_from(std::string_view word)
{
    constexpr std::pair<std::string_view, Verb> verbs[] = {
        {"create", Verb::create}, {"run", Verb::run},   {"restore", Verb::restore},
        {"start", Verb::start},   {"exec", Verb::exec}, {"update", Verb::update},
        {"delete", Verb::remove},
    };
    for (const auto& [name, verb] : verbs) {
        if (name == word)
            return verb;
    }
    return Verb::other;
}

Verdict verdict_on(const Invocation& call, const OptionAt& option)
{
    for (const auto& rules : {global_options(call.flavour), options_of(call.flavour, call.verb),
                              everywhere(call.flavour)}) {
        const auto found = std::ranges::find(rules, option.name, &OptionRule::name);
        if (found == rules.end())
            continue;
        const Verdict verdict = found->verdict;
        const bool fine = (verdict == Verdict::opens_devices && closes_devices(option.value)) ||
                          (verdict == Verdict::below && !leads_upwards(option.value));
        return fine ? Verdict::passes : verdict;
    }
    return Verdict::refused; // nobody knows it
}

bool only_prints(std::string_view option)
{
    return option == "help" || option == "usage" || option == "version";
}

} // namespace anchorhold::words
