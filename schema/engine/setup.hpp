// SPDX-License-Identifier: Apache-2.0
// What an engine's configuration comes to: the runtimes it knows by name, and where it names us and
// does not read it. An engine runs plain runc for what it does not understand, without a word; so
// every way to write it wrongly is a fault with a name and a remedy. Pure.
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

enum class FaultKind : std::uint8_t {
    engine_unusable,     // its program is not there, or somebody else could replace it
    config_unreadable,   // the engine, or we, cannot read its configuration
    no_handler,          // nothing in it names us
    wrong_section,       // it names us where the engine does not look
    key_misspelt,        // the section is right and the key is not
    not_effective,       // it names us in the right place, and the engine does not know of it
    no_binary,           // named as ours, and names no program: plain runc runs
    other_program,       // named as ours, and runs something else
    handler_unknown,     // the one that was asked for is not there
    handler_misspelt,    // its name is a slip away from what its profile suggests
    shim_missing,        // the program it names is not there
    shim_unsafe,         // somebody but root could replace it
    shim_other,          // it is another anchorhold than this one
    options_wrong,       // its arguments are none of ours
    policy_missing,      // there is none where it is looked for
    policy_unreadable,   // it is broken, or somebody but root could replace it
    profile_unknown,     // its profile is not in the policy
    profile_not_chosen,  // named after a profile, and gets the policy's default
    pods_not_expected,   // its engine makes pods, its profile does not say "cri": true
    annotations_dropped, // its globs keep what pods ask for from us
    no_record,           // a container ran and we know nothing of it: the alarm
    leaves_no_record,    // its profile is open, so nothing tells whether we were called
    wrong_profile,       // a container ran confined by another profile
    wrong_state,         // its record does not say that it was enforced
    run_refused,         // we refused the throw-away container
    run_failed,          // the engine did not run it
    not_run,             // there was no way to run one
    left_over,           // something of it could not be taken away
};
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(FaultKind::left_over) + 1;
std::string_view word_for(FaultKind kind); // "wrong_section"

struct Fault {
    FaultKind kind = FaultKind::no_record;
    std::string handler; // empty: the engine's as a whole
    std::string says;
    std::string remedy;
    friend bool operator==(const Fault&, const Fault&) = default;
};

// One runtime that an engine knows by name.
struct Handler {
    std::string name;
    // NOLINTBEGIN(readability-redundant-member-init): g++ wants them where they are left out
    std::vector<std::string> programs = {}; // the first that exists is run; none: plain runc
    std::vector<std::string> arguments = {};
    std::vector<std::string> pod_globs = {}, container_globs = {}; // containerd's
    std::string file = {};                                         // that names its program
    // NOLINTEND(readability-redundant-member-init)
    bool ours = false; // by its name, its program, or what is misspelt below it
    friend bool operator==(const Handler&, const Handler&) = default;
};

struct EngineFile {
    std::string path; // for people
    std::string text;
};

struct EngineSetup {
    Engine engine = Engine::podman;
    std::vector<Handler> handlers; // sorted by name
    std::string fallback;          // what a container runs below that names none; empty: not said
    std::vector<Fault> faults;
    std::vector<std::string> notes; // worth knowing, no fault
    // NOLINTNEXTLINE(readability-redundant-member-init): g++ wants it where it is left out
    std::vector<std::string> cri_files = {}; // of containerd's, those with a section for CRI

    const Handler* find(std::string_view name) const;
    bool has_fault(FaultKind kind, std::string_view handler) const;
};

// How containerd lays one file over another: 2.x merges their sections. In 1.x the section of a
// later file takes the place of the whole earlier one (containerd issue 5837).
enum class Layering : bool { merged, replaced };

// `effective` is what the engine has read, later files laid over earlier ones; none: it would not
// say. `written` is what the administrator wrote. All is TOML, Docker's JSON.
EngineSetup read_setup(Engine engine, const std::vector<EngineFile>& effective,
                       const std::vector<EngineFile>& written,
                       Layering layering = Layering::merged);

// "/usr/local/bin/anchorhold-ci" and "anchorhold" name us, "/etc/anchorhold.toml" does not.
bool names_us(std::string_view program);

// The word closest to `wanted`, if at most two letters have to change; empty: none.
std::string nearest(std::string_view wanted, const std::vector<std::string>& words);

} // namespace anchorhold::engine
