// SPDX-License-Identifier: Apache-2.0
// Resolves a request from three sources: the administrator's policy, the profile that somebody
// chose, and the annotations of whoever wrote the container. Annotations come from strangers too:
// podman before 4.5.1 copies those of the image. So they may tighten, and loosen only up to the
// ceiling.
#include "schema/request.hpp"

#include "schema/json/comma_list.hpp"
#include "schema/path_words.hpp"

#include <algorithm>

namespace anchorhold {
namespace {

std::string lowered(std::string_view text)
{
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
}

// Returns the word behind our prefix, or nothing for a key that is not ours. Refuses a key that
// only a reader which folds case or cuts blanks would take for ours.
Result<std::optional<std::string_view>> our_word(std::string_view key)
{
    if (!lowered(comma_list::trimmed(key)).starts_with(annotation_prefix))
        return std::nullopt;
    const std::string named = "annotation " + in_quotes(key);
    if (!key.starts_with(annotation_prefix)) {
        return fail(Code::invalid_request,
                    named + " must begin exactly with " + std::string(annotation_prefix));
    }
    const std::string_view word = key.substr(annotation_prefix.size());
    if (key != mark_annotation &&
        std::ranges::find(annotation_words, word) == annotation_words.end()) {
        return fail(Code::invalid_request, named + " is unknown, there are egress, endpoints, "
                                                   "allow, require, profile and relay");
    }
    return word;
}

Status read_value(std::string_view word, const std::string& value, Asked& asked)
{
    if (word == "egress") {
        asked.egress = egress_from(value);
        if (!asked.egress)
            return fail(Code::invalid_request, in_quotes(value) + " is not off, allowlist or open");
    } else if (word == "endpoints") {
        AH_TRY(asked.endpoints, parse_endpoints(value));
    } else if (word == "allow") {
        AH_TRY(asked.allow, rules::parse_allow(value));
    } else if (word == "require") {
        if (value != "asked")
            return fail(Code::invalid_request, in_quotes(value) + " is not asked");
        asked.require = Require::asked;
    } else if (word == "profile") {
        asked.profile = value;
    } else if (word == "relay") {
        asked.relay = relay_from(value);
        if (!asked.relay)
            return fail(Code::invalid_request, in_quotes(value) + " is not auto, inside or child");
    }
    return {};
}

Status check_known(const Policy& policy, std::string_view name, std::string_view from)
{
    if (policy.find(name) == nullptr) {
        return fail(Code::invalid_request, std::string(from) + ": no profile " + in_quotes(name) +
                                               ", the policy has " + policy.known_profiles());
    }
    return {};
}

Status check_choosable(const Policy& policy, const std::string& name)
{
    AH_CHECK(check_known(policy, name, "annotation dev.anchorhold.profile"));
    if (std::ranges::find(policy.annotation_profiles, name) == policy.annotation_profiles.end()) {
        return fail(Code::invalid_request, "annotation dev.anchorhold.profile: " + in_quotes(name) +
                                               " is not one of the policy's annotation_profiles");
    }
    return {};
}

Result<Endpoint> filled_in(Endpoint endpoint, const Container& container)
{
    if (auto* socket = std::get_if<UnixTarget>(&endpoint.to)) {
        AH_TRY(socket->path, fill_path_words(socket->path, container.id, container.config),
               "endpoint " + endpoint.name);
    }
    return endpoint;
}

// Returns whether the socket's directory lies below a permitted one: the directory is what is
// mounted.
bool is_permitted(const UnixTarget& socket, const std::vector<std::string>& directories)
{
    return std::ranges::any_of(directories, [&](const std::string& directory) {
        return socket.directory().starts_with(directory + "/");
    });
}

Status check_bounds(const Endpoint& endpoint, const Policy& policy)
{
    const std::string named =
        "endpoint " + endpoint.name + ": " + in_quotes(target_text(endpoint.to));
    if (const auto* socket = std::get_if<UnixTarget>(&endpoint.to)) {
        if (!is_permitted(*socket, policy.sockets)) {
            return fail(Code::invalid_request,
                        named + " is not in a directory of its own below one of the policy's "
                                "\"sockets\"; add the parent there, or the endpoint to a profile");
        }
    } else if (std::ranges::find(policy.tcp_endpoints, std::get<TcpTarget>(endpoint.to)) ==
               policy.tcp_endpoints.end()) {
        return fail(Code::invalid_request, named + " is not one of the policy's \"tcp_endpoints\"; "
                                                   "add it there, or the endpoint to a profile");
    }
    return {};
}

// The sources of a request.
struct Sources {
    const Policy& policy;
    const Profile& base;
    Asked said; // empty where only profiles speak
    ChosenBy by;
};

Status resolve_egress(const Sources& from, Request& request)
{
    request.asked = from.said.egress.value_or(from.base.egress);
    request.egress = request.asked;
    if (from.said.nothing() && from.by == ChosenBy::fallback)
        request.why = Why::nothing_asked;
    // A profile that an annotation chose counts as the annotation's word, so only the ceiling
    // bounds it.
    const Egress limit = from.by == ChosenBy::annotation
                             ? from.policy.ceiling
                             : std::max(from.base.egress, from.policy.ceiling);
    if (request.asked <= limit)
        return {};
    if (request.require == Require::asked) {
        return fail(Code::policy_ceiling, "egress " + std::string(word_for(request.asked)) +
                                              " is required, the policy permits " +
                                              std::string(word_for(limit)));
    }
    request.egress = Egress::off;
    request.why = Why::policy_ceiling;
    return {};
}

Status resolve_endpoints(const Sources& from, const Container& container, Request& request)
{
    for (const Endpoint& endpoint : from.base.endpoints) {
        AH_TRY(Endpoint filled, filled_in(endpoint, container));
        request.endpoints.push_back(std::move(filled));
        request.bounded.push_back(from.by == ChosenBy::annotation);
    }
    if (from.said.endpoints) {
        request.endpoints.insert(request.endpoints.end(), from.said.endpoints->begin(),
                                 from.said.endpoints->end());
        request.bounded.resize(request.endpoints.size(), true);
    }
    AH_CHECK(check_distinct(request.endpoints, Code::invalid_request));
    for (std::size_t i = 0; i < request.endpoints.size(); ++i) {
        const Endpoint& endpoint = request.endpoints[i];
        if (request.bounded[i])
            AH_CHECK(check_bounds(endpoint, from.policy));
        if (endpoint.listen.number() == 53 && request.switches.dns == Dns::nxdomain &&
            request.egress != Egress::open) {
            return fail(Code::invalid_request, "endpoint " + endpoint.name +
                                                   ": port 53 is where names are refused; "
                                                   "choose another, or \"dns\": \"none\"");
        }
    }
    return {};
}

// Intersects the request's list and the administrator's; deny wins.
Status resolve_allow(const Sources& from, Request& request)
{
    if (from.said.allow && request.asked != Egress::allowlist) {
        return fail(Code::invalid_request,
                    "annotation dev.anchorhold.allow needs egress allowlist, not " +
                        std::string(word_for(request.asked)));
    }
    if (request.egress != Egress::allowlist)
        return {};
    const std::vector<rules::AllowRule> asked =
        from.said.allow ? *from.said.allow
                        : from.base.allow.value_or(std::vector<rules::AllowRule>{});
    request.allow = asked;
    if (from.said.allow && from.base.allow)
        request.allow = rules::intersect(*from.base.allow, request.allow, rules::WordsOf::first);
    if (from.policy.allow) {
        const bool annotated = from.said.allow && !from.base.allow;
        request.allow = rules::intersect(*from.policy.allow, request.allow,
                                         annotated ? rules::WordsOf::first : rules::WordsOf::both);
    }
    if (request.allow.size() > rules::most_rules) {
        return fail(Code::invalid_request,
                    "what allow list and policy have in common is more than " +
                        std::to_string(rules::most_rules) + " rules");
    }
    request.allow = rules::drop_denied(request.allow, from.policy.deny);
    if (!request.allow.empty())
        return {};
    if (request.require == Require::asked && !asked.empty())
        return fail(Code::policy_ceiling, "the policy permits none of the allow list");
    request.egress = Egress::off;
    request.why = Why::empty_allow;
    return {};
}

} // namespace

Result<Asked> read_annotations(const Annotations& annotations)
{
    Asked asked;
    for (const auto& [key, value] : annotations) {
        AH_TRY(const auto word, our_word(key));
        if (word)
            AH_CHECK(read_value(*word, value, asked), "annotation " + key);
    }
    return asked;
}

Result<ProfileChoice> choose_profile(const Policy& policy, const Asked& asked,
                                     const std::optional<std::string>& option,
                                     const std::optional<std::string>& argv0)
{
    if (option)
        AH_CHECK(check_known(policy, *option, "--ah-profile"));
    if (argv0)
        AH_CHECK(check_known(policy, *argv0, "called as anchorhold-" + printable(*argv0)));
    const bool annotated = policy.annotations && asked.profile.has_value();
    if (annotated)
        AH_CHECK(check_choosable(policy, *asked.profile));
    if (option)
        return ProfileChoice{*option, ChosenBy::option};
    if (argv0)
        return ProfileChoice{*argv0, ChosenBy::argv0};
    if (annotated)
        return ProfileChoice{*asked.profile, ChosenBy::annotation};
    return ProfileChoice{policy.fallback, ChosenBy::fallback};
}

Result<Request> resolve(const Policy& policy, const Asked& asked, const ProfileChoice& choice,
                        const Container& container)
{
    const Profile* base = policy.find(choice.name);
    if (base == nullptr)
        return fail(Code::invalid_request, "no profile " + in_quotes(choice.name));
    const Sources from{policy, *base, policy.annotations ? asked : Asked{}, choice.by};
    Request request;
    request.profile = choice;
    request.env = base->env;
    request.require = std::max(base->require, from.said.require.value_or(Require::best));
    request.switches = choice.by == ChosenBy::annotation ? policy.switches : base->switches;
    request.switches.relay = from.said.relay.value_or(request.switches.relay);
    AH_CHECK(resolve_egress(from, request));
    AH_CHECK(resolve_endpoints(from, container, request));
    AH_CHECK(resolve_allow(from, request));
    return request;
}

} // namespace anchorhold
