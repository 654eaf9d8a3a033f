// SPDX-License-Identifier: Apache-2.0
// What `setup` writes into an engine's configuration, and how it is taken out again. Two ways: a
// file that is ours as a whole, or lines of ours in a file of the administrator's. Pure.
#pragma once

#include "schema/engine/setup.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::engine {

struct Telling {
    Engine engine = Engine::podman;
    // NOLINTBEGIN(readability-redundant-member-init): g++ wants them where they are left out
    std::string program = {};               // anchorhold's path
    std::vector<std::string> profiles = {}; // each becomes a runtime anchorhold-PROFILE
    // NOLINTEND(readability-redundant-member-init)
    bool plain = true; // so does the policy's default, as "anchorhold"
    // containerd's: the version of the file, whether runc is named too because no file names a
    // runtime and then the engine has those that are named alone, and what runc's options say.
    std::int64_t version = 2;
    bool names_runc = false;
    bool systemd_cgroup = false;
    bool is_template = false; // of k3s' and RKE2's, from which the file is made
};

// Says whether a profile is named by a link "anchorhold-PROFILE" beside the program. Docker has
// arguments for that.
bool needs_links(Engine engine);
// Returns the name of a profile's runtime: "anchorhold-agent".
std::string runtime_of(std::string_view profile);

// Returns the text of a file of ours.
std::string own_text(const Telling& telling);
// Says whether a file is ours as a whole, by its first line.
bool is_own_text(std::string_view text);

// Returns the text with our lines in it, in the place of those that are there. Refuses
// (invalid_request) a text that the engine could not read, before or after, and one where others
// stand under our names.
Result<std::string> with_lines(const Telling& telling, const std::string& text);
// Returns the text without our lines. A byte that is not ours stays.
Result<std::string> without_lines(const Telling& telling, const std::string& text);
// Returns our lines as they would be added, without the marks around TOML's.
std::string lines_of_ours(const Telling& telling);
// Returns what is left of a file that we made for our lines, when they are taken out. Nothing where
// we make none: there is a file that is ours as a whole instead.
std::optional<std::string_view> empty_text(const Telling& telling);

} // namespace anchorhold::engine
