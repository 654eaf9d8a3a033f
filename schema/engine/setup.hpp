// SPDX-License-Identifier: Apache-2.0
// The effect of an engine's configuration: the runtimes it knows by name, and the places
// where it names us in vain. An engine that does not understand its configuration runs plain runc
// and says nothing. So every wrong way to write it is a fault with a name and a remedy. Pure.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::engine {

enum class Engine : std::uint8_t { podman, docker, containerd, crio };
std::string_view word_for(Engine engine); // "containerd"
std::optional<Engine> engine_from(std::string_view word);
// Says whether Kubernetes has its pods made by this engine.
bool makes_pods(Engine engine);

enum class FaultKind : std::uint8_t {
    engine_unusable,     // its program is not there, or others than root could replace it
    config_unreadable,   // the engine, or we, cannot read its configuration
    no_handler,          // it does not name us
    wrong_section,       // it names us at a place that the engine does not read
    key_misspelt,        // the section is right, the key is not
    hook_not_read,       // podman does not look into the folder of the hook that names us
    not_effective,       // it names us in the right place, but the engine does not know of it
    no_binary,           // a runtime with our name has no program: plain runc runs
    other_program,       // a runtime with our name runs another program
    handler_unknown,     // the engine has no runtime of the name that was asked for
    handler_misspelt,    // its name is one or two letters away from what its profile suggests
    shim_missing,        // the program that it names is not there
    shim_unsafe,         // others than root could replace that program
    shim_other,          // that program is another anchorhold than this one
    options_wrong,       // its arguments are not ours
    policy_missing,      // there is no policy file where it is looked for
    policy_unreadable,   // the policy is broken, or others than root could replace it
    profile_unknown,     // the policy has no such profile
    profile_not_chosen,  // it is named after a profile, and gets the policy's default
    pods_not_expected,   // its engine makes pods, and its profile does not say "cri": true
    annotations_dropped, // its globs drop annotations by which pods ask us
    no_record,           // a container ran and we have no record of it: the alarm
    leaves_no_record,    // its profile is open, so nothing shows whether we were called
    wrong_profile,       // a container ran, confined by another profile
    wrong_state,         // the record does not say that the run was enforced
    run_refused,         // we refused the throw-away container
    run_failed,          // the engine did not run the throw-away container
    not_run,             // no throw-away container could be run
    left_over,           // something of the throw-away container could not be removed
};
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(FaultKind::left_over) + 1;
std::string_view word_for(FaultKind kind); // "wrong_section"

struct Fault {
    FaultKind kind = FaultKind::no_record;
    std::string handler; // empty: the fault is the engine's as a whole
    std::string says;
    std::string remedy;
    friend bool operator==(const Fault&, const Fault&) = default;
};

// A runtime that an engine knows by name.
struct Handler {
    std::string name;
    // NOLINTBEGIN(readability-redundant-member-init): g++ wants them where they are left out
    std::vector<std::string> programs = {}; // the first that exists is run; none: plain runc
    std::vector<std::string> arguments = {};
    std::vector<std::string> pod_globs = {}, container_globs = {}; // containerd's
    std::string file = {};                                         // that names its program
    // A way to us that is no runtime's name: how sentences call it, argv[0] where it is not the
    // program's path, and what helps where the way goes round us.
    std::string called = {}, argv0 = {}, remedy = {};
    // NOLINTEND(readability-redundant-member-init)
    bool ours = false;   // by its name, its program, or a misspelt entry below it
    bool always = false; // podman's hook: it is called for every container
    friend bool operator==(const Handler&, const Handler&) = default;
};

struct EngineFile {
    std::string path; // shown to people
    std::string text;
};

struct EngineSetup {
    Engine engine = Engine::podman;
    std::vector<Handler> handlers; // sorted by name
    std::string fallback;          // runtime of a container that names none; empty: not known
    std::vector<Fault> faults;
    std::vector<std::string> notes; // worth knowing, no fault
    // NOLINTNEXTLINE(readability-redundant-member-init): g++ wants it where it is left out
    std::vector<std::string> cri_files = {}; // of containerd's, those with a section for CRI
    // podman's `hooks_dir`, where a file says it; and its hooks that lead to us
    std::optional<std::vector<std::string>> hook_dirs = std::nullopt;
    // NOLINTNEXTLINE(readability-redundant-member-init): g++ wants it where it is left out
    std::vector<Handler> hooks = {};

    const Handler* find(std::string_view name) const;
    bool has_fault(FaultKind kind, std::string_view handler) const;
    bool has_kind(FaultKind kind) const;
};

// The way in which containerd lays one file over another.
enum class Layering : bool {
    merged,   // 2.x merges their sections
    replaced, // 1.x: a section of a later file takes the place of the earlier one (its issue 5837)
};

// Reads an engine's configuration. `effective` is what the engine has read, later files laid over
// earlier ones; empty: it would not say. `written` is what the administrator wrote. Docker's files
// are JSON, all others TOML.
EngineSetup read_setup(Engine engine, const std::vector<EngineFile>& effective,
                       const std::vector<EngineFile>& written,
                       Layering layering = Layering::merged);

// Returns whether a program is ours by its name: "/usr/local/bin/anchorhold-ci" and "anchorhold"
// are, "/etc/anchorhold.toml" is not.
bool names_us(std::string_view program);

// Returns the word nearest to `wanted`, with at most two letters to change; empty: there is none.
std::string nearest(std::string_view wanted, const std::vector<std::string>& words);

} // namespace anchorhold::engine
