// SPDX-License-Identifier: Apache-2.0
// The request: what annotations ask, the profile they start from, and the policy that bounds them.
// Pure.
#pragma once

#include "schema/policy.hpp"
#include "schema/run_key.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace anchorhold {

constexpr std::string_view annotation_prefix = "dev.anchorhold.";
constexpr std::array<std::string_view, 6> annotation_words{"egress",  "endpoints", "allow",
                                                           "require", "profile",   "relay"};
// We write it and never believe it.
constexpr std::string_view mark_annotation = "dev.anchorhold.run";

using Annotations = std::vector<std::pair<std::string, std::string>>; // in the file's order

// The wishes in our annotations. Each one is optional.
struct Asked {
    std::optional<Egress> egress;
    std::optional<std::vector<Endpoint>> endpoints;
    std::optional<std::vector<rules::AllowRule>> allow;
    std::optional<Require> require;
    std::optional<std::string> profile;
    std::optional<Relay> relay; // not counted by nothing(), because it opens nothing
    bool nothing() const { return !egress && !endpoints && !allow && !require && !profile; }
    friend bool operator==(const Asked&, const Asked&) = default;
};
// Reads our annotations. Refuses (invalid_request) unknown keys under our prefix, the prefix in
// another letter case or with blanks around it, and values that do not parse. Skips
// mark_annotation.
Result<Asked> read_annotations(const Annotations& annotations);

enum class ChosenBy : std::uint8_t {
    fallback,   // nobody: the policy's default
    annotation, // the container
    argv0,      // the name we were called by
    option,     // --ah-profile
};
struct ProfileChoice {
    std::string name;
    ChosenBy by = ChosenBy::fallback;
    friend bool operator==(const ProfileChoice&, const ProfileChoice&) = default;
};
// Chooses the profile: --ah-profile first, then argv[0] ("anchorhold-NAME"), then the annotation,
// then the policy's default. Refuses (invalid_request) a name that is not in the policy, or that an
// annotation may not choose, even where another choice comes before it.
Result<ProfileChoice> choose_profile(const Policy& policy, const Asked& asked,
                                     const std::optional<std::string>& option,
                                     const std::optional<std::string>& argv0);

// The role of a container in its pod, as its engine tells it.
enum class PodRole : std::uint8_t { none, sandbox, container };

// The request after policy, profile and annotations were resolved: one wish, bounded by
// policy.
struct Request {
    Egress asked = Egress::off;      // the loosest that was asked for; kept for the record
    Egress egress = Egress::off;     // after the ceilings: never looser than `asked`
    Why why = Why::as_asked;         // one of as_asked, nothing_asked, policy_ceiling, empty_allow
    std::vector<Endpoint> endpoints; // paths filled in
    std::vector<bool> bounded; // per endpoint: an annotation brought it, so `sockets` bounds it
    std::vector<rules::AllowRule> allow; // of egress allowlist; never empty there
    Require require = Require::best;
    ProfileChoice profile;
    PodRole role = PodRole::none;
    std::vector<std::pair<std::string, std::string>> env;
    Switches switches;
    friend bool operator==(const Request&, const Request&) = default;
};
// The container that a request is resolved for.
struct Container {
    ContainerId id;
    std::optional<json::View> config; // its config.json, where there is one
};
// Resolves a request. Under `require: asked` refuses (policy_ceiling) what would otherwise be
// tightened.
Result<Request> resolve(const Policy& policy, const Asked& asked, const ProfileChoice& choice,
                        const Container& container);

} // namespace anchorhold
