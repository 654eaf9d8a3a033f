// SPDX-License-Identifier: Apache-2.0
// What was asked: annotations, the profile they stand on, and the policy that bounds them. Pure.
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
constexpr std::string_view mark_annotation = "dev.anchorhold.run"; // written by us, never believed

using Annotations = std::vector<std::pair<std::string, std::string>>; // in the file's order

// What our annotations say, each one optional.
struct Asked {
    std::optional<Egress> egress;
    std::optional<std::vector<Endpoint>> endpoints;
    std::optional<std::vector<rules::AllowRule>> allow;
    std::optional<Require> require;
    std::optional<std::string> profile;
    std::optional<Relay> relay; // asks for nothing: it opens nothing
    bool nothing() const { return !egress && !endpoints && !allow && !require && !profile; }
    friend bool operator==(const Asked&, const Asked&) = default;
};
// Unknown keys under our prefix, our prefix in another letter case or with blanks around it, and
// values that do not parse are refused (invalid_request). mark_annotation is skipped here.
Result<Asked> read_annotations(const Annotations& annotations);

enum class ChosenBy : std::uint8_t { fallback, annotation, argv0, option };
struct ProfileChoice {
    std::string name;
    ChosenBy by = ChosenBy::fallback;
    friend bool operator==(const ProfileChoice&, const ProfileChoice&) = default;
};
// --ah-profile, else argv[0] ("anchorhold-NAME"), else annotation, else the policy's default.
// A name that is not there, or that an annotation may not choose, is refused wherever it stands.
Result<ProfileChoice> choose_profile(const Policy& policy, const Asked& asked,
                                     const std::optional<std::string>& option,
                                     const std::optional<std::string>& argv0);

// What its engine says a container is to its pod.
enum class PodRole : std::uint8_t { none, sandbox, container };

// Policy, profile and annotations resolved into one wish, already bounded by policy.
struct Request {
    Egress asked = Egress::off;          // the loosest that was asked for, for the record
    Egress egress = Egress::off;         // after ceilings: never looser than `asked`
    Why why = Why::as_asked;             // as_asked, nothing_asked, policy_ceiling, empty_allow
    std::vector<Endpoint> endpoints;     // {id} filled in
    std::vector<bool> bounded;           // per endpoint: an annotation's, so `sockets` bounds it
    std::vector<rules::AllowRule> allow; // of egress allowlist, never empty there
    Require require = Require::best;
    ProfileChoice profile;
    PodRole role = PodRole::none;
    std::vector<std::pair<std::string, std::string>> env;
    Switches switches;
    friend bool operator==(const Request&, const Request&) = default;
};
// `require: asked` refuses here what would otherwise be tightened (policy_ceiling).
Result<Request> resolve(const Policy& policy, const Asked& asked, const ProfileChoice& choice,
                        const ContainerId& id);

} // namespace anchorhold
