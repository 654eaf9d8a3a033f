// SPDX-License-Identifier: Apache-2.0
#include "shim/words/option_tables.hpp"

#include <cstdlib>

namespace anchorhold::words {
namespace {

constexpr Takes value = Takes::value;

constexpr OptionRule runc_globals[] = {
    {"debug"},       {"log", value},     {"log-format", value}, {"root", value},
    {"criu", value}, {"systemd-cgroup"}, {"rootless", value},   {"version", Takes::nothing, "v"},
};

constexpr OptionRule runc_create[] = {
    {"bundle", value, "b"}, {"config", value}, {"console-socket", value}, {"pidfd-socket", value},
    {"pid-file", value},    {"no-pivot"},      {"no-new-keyring"},        {"preserve-fds", value},
};

constexpr OptionRule runc_run[] = {
    {"bundle", value, "b"},
    {"config", value},
    {"console-socket", value},
    {"pidfd-socket", value},
    {"detach", Takes::nothing, "d"},
    {"keep"},
    {"pid-file", value},
    {"no-subreaper"},
    {"no-pivot"},
    {"no-new-keyring"},
    {"preserve-fds", value},
};

constexpr OptionRule runc_restore[] = {
    {"console-socket", value},
    {"image-path", value},
    {"work-path", value},
    {"tcp-established"},
    {"ext-unix-sk"},
    {"shell-job"},
    {"file-locks"},
    {"manage-cgroups-mode", value},
    {"bundle", value, "b"},
    {"detach", Takes::nothing, "d"},
    {"pid-file", value},
    {"no-subreaper"},
    {"no-pivot"},
    {"empty-ns", value},
    {"auto-dedup"},
    {"lazy-pages"},
    {"lsm-profile", value},
    {"lsm-mount-context", value},
};

constexpr OptionRule runc_exec[] = {
    {"console-socket", value},
    {"pidfd-socket", value},
    {"cwd", value},
    {"env", value, "e"},
    {"tty", Takes::nothing, "t"},
    {"user", value, "u"},
    {"additional-gids", value, "g"},
    {"process", value, "p"},
    {"detach", Takes::nothing, "d"},
    {"pid-file", value},
    {"process-label", value},
    {"apparmor", value},
    {"no-new-privs"},
    {"cap", value, "c"},
    {"preserve-fds", value},
    {"cgroup", value},
    {"ignore-paused"},
};

constexpr OptionRule runc_delete[] = {{"force", Takes::nothing, "f"}};

constexpr OptionRule runc_everywhere[] = {{"help", Takes::nothing, "h"}};

constexpr OptionRule crun_globals[] = {
    {"debug"},       {"cgroup-manager", value}, {"systemd-cgroup"},
    {"log", value},  {"log-format", value},     {"log-level", value},
    {"root", value}, {"rootless", value},       {"version", Takes::nothing, "vV"},
};

constexpr OptionRule crun_create[] = {
    {"bundle", value, "b"},  {"config", value, "f"}, {"console-socket", value},
    {"preserve-fds", value}, {"no-pivot"},           {"pid-file", value},
    {"no-subreaper"},        {"no-new-keyring"},
};

constexpr OptionRule crun_run[] = {
    {"bundle", value, "b"},
    {"config", value, "f"},
    {"detach", Takes::nothing, "d"},
    {"console-socket", value},
    {"preserve-fds", value},
    {"pid-file", value},
    {"keep"},
    {"no-subreaper"},
    {"no-new-keyring"},
    {"no-pivot"},
};

constexpr OptionRule crun_restore[] = {
    {"bundle", value, "b"},
    {"image-path", value},
    {"work-path", value},
    {"tcp-established"},
    {"tcp-close"},
    {"ext-unix-sk"},
    {"shell-job"},
    {"detach", Takes::nothing, "d"},
    {"pid-file", value},
    {"console-socket", value},
    {"file-locks"},
    {"manage-cgroups-mode", value},
    {"network-lock", value},
    {"lsm-profile", value},
    {"lsm-mount-context", value},
};

constexpr OptionRule crun_exec[] = {
    {"console-socket", value}, {"tty", Takes::joined, "t"},
    {"process", value, "p"},   {"cwd", value},
    {"cgroup", value},         {"detach", Takes::nothing, "d"},
    {"user", value, "u"},      {"env", value, "e"},
    {"cap", value, "c"},       {"pid-file", value},
    {"preserve-fds", value},   {"no-new-privs"},
    {"process-label", value},  {"apparmor", value},
};

constexpr OptionRule crun_delete[] = {
    {"force", Takes::nothing, "f"},
    {"regex", Takes::nothing, "r"},
};

// The options that argp adds by itself; --help does not show the last two.
constexpr OptionRule crun_everywhere[] = {
    {"help", Takes::nothing, "?"},
    {"usage"},
    {"program-name", value},
    {"HANG", Takes::joined},
};

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
    case Verb::remove: return crun ? Rules(crun_delete) : Rules(runc_delete);
    case Verb::other: return {};
    }
    std::abort(); // a byte that is no Verb
}

Verb verb_from(std::string_view word)
{
    constexpr std::pair<std::string_view, Verb> verbs[] = {
        {"create", Verb::create}, {"run", Verb::run},   {"restore", Verb::restore},
        {"start", Verb::start},   {"exec", Verb::exec}, {"delete", Verb::remove},
    };
    for (const auto& [name, verb] : verbs) {
        if (name == word)
            return verb;
    }
    return Verb::other;
}

bool only_prints(std::string_view option)
{
    return option == "help" || option == "usage" || option == "version";
}

} // namespace anchorhold::words
