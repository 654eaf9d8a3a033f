// SPDX-License-Identifier: Apache-2.0
#include "schema/policy.hpp"

#include "schema/path_words.hpp"
#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <array>

namespace anchorhold {
namespace {

// Reserved, because they would name our own programs: anchorhold-hook, anchorhold-relay,
// anchorhold-gate.
constexpr std::array<std::string_view, 3> reserved_names{"hook", "relay", "gate"};

template <typename Value> using Choices = std::initializer_list<std::pair<std::string_view, Value>>;

template <typename Value> Result<Value> read_choice(json::View at, Choices<Value> choices)
{
    AH_TRY(const std::string word, at.string());
    std::string known;
    for (const auto& [name, value] : choices) {
        if (name == word)
            return value;
        known += (known.empty() ? "" : " or ") + std::string(name);
    }
    return std::unexpected(at.expected(known));
}

// Reads a member into `into`, if it is there.
template <typename Value>
Status read_member(json::View object, std::string_view name, Choices<Value> choices, Value& into)
{
    if (const auto at = object.find(name)) {
        AH_TRY(into, read_choice(*at, choices));
    }
    return {};
}

Status read_egress(json::View object, std::string_view name, Egress& into)
{
    return read_member(
        object, name,
        {{"off", Egress::off}, {"allowlist", Egress::allowlist}, {"open", Egress::open}}, into);
}

enum class Honoured : std::uint8_t { now, later };

Status check_choice(json::View object, std::string_view name, Choices<Honoured> choices)
{
    const auto at = object.find(name);
    if (!at)
        return {};
    AH_TRY(const Honoured honoured, read_choice(*at, choices));
    if (honoured == Honoured::later)
        return std::unexpected(at->wrong("not available yet"));
    return {};
}

// Refuses the choices that this version does not offer yet, so that none is accepted in silence.
Status check_honoured(json::View object)
{
    using enum Honoured;
    AH_CHECK(check_choice(object, "relay",
                          {{"auto", now}, {"inside", now}, {"child", now}, {"host", later}}));
    return {};
}

Status read_seconds(json::View object, std::string_view name, std::int64_t least,
                    std::int64_t& into)
{
    constexpr std::int64_t most = 86'400;
    if (const auto at = object.find(name)) {
        AH_TRY(into, at->integer());
        if (into < least || into > most) {
            return std::unexpected(at->expected("seconds from " + std::to_string(least) + " to " +
                                                std::to_string(most)));
        }
    }
    return {};
}

Result<Switches> read_switches(json::View object, Switches base)
{
    AH_CHECK(check_honoured(object));
    AH_CHECK(read_member(object, "voids", {{"refuse", Voids::refuse}, {"record", Voids::record}},
                         base.voids));
    AH_CHECK(
        read_member(object, "vsock", {{"deny", Vsock::deny}, {"allow", Vsock::allow}}, base.vsock));
    AH_CHECK(
        read_member(object, "dns", {{"nxdomain", Dns::nxdomain}, {"none", Dns::none}}, base.dns));
    AH_CHECK(read_member(object, "notice", {{"file", Notice::file}, {"none", Notice::none}},
                         base.notice));
    if (const auto at = object.find("relay")) {
        AH_TRY(const std::string word, at->string());
        // Unknown words were refused above.
        base.relay = relay_from(word).value_or(Relay::automatic);
    }
    AH_CHECK(read_member(object, "tcp", {{"gate", Tcp::gate}, {"veth", Tcp::veth}}, base.tcp));
    AH_CHECK(read_member(object, "on_broker_lost",
                         {{"keep", OnBrokerLost::keep}, {"stop", OnBrokerLost::stop}},
                         base.on_broker_lost));
    AH_CHECK(read_seconds(object, "broker_lost_after", 1, base.broker_lost_after));
    AH_CHECK(read_seconds(object, "broker_lost_grace", 0, base.broker_lost_grace));
    AH_CHECK(read_member(object, "forwarding",
                         {{"require", Forwarding::require}, {"enable", Forwarding::enable}},
                         base.forwarding));
    return base;
}

Result<std::vector<std::pair<std::string, std::string>>> read_env(json::View object)
{
    std::vector<std::pair<std::string, std::string>> env;
    AH_TRY(const std::vector<json::View> members, object.object());
    for (const json::View member : members) {
        std::string name = member.key();
        if (name.empty() || name.find('=') != std::string::npos)
            return std::unexpected(member.wrong("not the name of a variable"));
        AH_TRY(std::string value, member.string());
        env.emplace_back(std::move(name), std::move(value));
    }
    return env;
}

Status check_profile_name(json::View at, std::string_view name)
{
    if (!is_short_name(name))
        return std::unexpected(at.wrong("not a profile name: 1 to 32 of [a-z0-9-]"));
    if (!is_profile_name(name))
        return std::unexpected(at.wrong("the name is reserved"));
    return {};
}

// Checks the words in braces, which depend on another member: whether the profile is for pods.
Status check_paths(json::View object, const Profile& profile)
{
    const Pods pods = profile.cri ? Pods::yes : Pods::no;
    for (std::size_t i = 0; i < profile.endpoints.size(); ++i) {
        const auto* socket = std::get_if<UnixTarget>(&profile.endpoints[i].to);
        const auto checked = socket ? check_path_words(socket->path, pods) : Status();
        if (!checked) {
            const auto at = object.find("endpoints")->items()[i].find("to");
            return std::unexpected(at->wrong(checked.error().what));
        }
    }
    return {};
}

Result<Profile> read_profile(json::View object, const Switches& switches)
{
    AH_CHECK(object.object());
    AH_CHECK(object.only({"egress", "endpoints", "allow", "require", "env", "cri", "voids", "vsock",
                          "dns", "notice", "relay", "tcp", "on_broker_lost", "broker_lost_after",
                          "broker_lost_grace", "forwarding"}));
    Profile profile;
    profile.name = object.key();
    AH_CHECK(check_profile_name(object, profile.name));
    profile.egress = profile.name == "open" ? Egress::open : Egress::off;
    AH_CHECK(read_egress(object, "egress", profile.egress));
    if (profile.name == "off" && profile.egress != Egress::off)
        return std::unexpected(object.find("egress")->expected("off, as the name says"));
    if (const auto at = object.find("endpoints")) {
        AH_TRY(profile.endpoints, read_endpoints(*at));
    }
    if (const auto at = object.find("allow")) {
        AH_TRY(profile.allow, rules::read_rules(*at, rules::ListKind::allow));
        if (profile.egress == Egress::open)
            return std::unexpected(at->wrong("bounds nothing while egress is open"));
    }
    AH_CHECK(read_member(object, "require", {{"asked", Require::asked}}, profile.require));
    if (const auto at = object.find("env")) {
        AH_TRY(profile.env, read_env(*at));
    }
    if (const auto at = object.find("cri")) {
        AH_TRY(profile.cri, at->boolean());
    }
    AH_CHECK(check_paths(object, profile));
    AH_TRY(profile.switches, read_switches(object, switches));
    return profile;
}

Result<std::vector<std::string>> read_strings(json::View array)
{
    AH_TRY(const std::vector<json::View> items, array.array());
    std::vector<std::string> texts;
    for (const json::View item : items) {
        AH_TRY(std::string text, item.string());
        if (std::ranges::find(texts, text) != texts.end())
            return std::unexpected(item.wrong("is there twice"));
        texts.push_back(std::move(text));
    }
    return texts;
}

Result<std::string> read_path(json::View at)
{
    AH_TRY(std::string path, at.string());
    if (!is_plain_path(path)) {
        return std::unexpected(at.expected("an absolute path without empty, \".\" and \"..\" "
                                           "components"));
    }
    return path;
}

// Reads the pool from which runs get their /30. It has room for two at least, and overlaps nothing
// that is denied to every run, because the pool itself is added to that.
Result<rules::Prefix> read_pool(json::View at)
{
    AH_TRY(const std::string text, at.string());
    const auto pool = rules::Prefix::parse(text, Code::invalid_policy);
    if (!pool)
        return std::unexpected(at.wrong(pool.error().what));
    if (!pool->is_v4() || pool->length() < 8 || pool->length() > 29)
        return std::unexpected(at.expected("a prefix of IPv4 between /8 and /29"));
    for (const rules::Prefix& denied : rules::always_denied(rules::Network::default_pool())) {
        const bool overlaps = denied.contains(*pool) || pool->contains(denied);
        if (overlaps && denied != rules::Network::default_pool())
            return std::unexpected(at.wrong("meets " + denied.text() + ", which no run reaches"));
    }
    return *pool;
}

Status read_networks(json::View root, Policy& policy)
{
    if (const auto at = root.find("pool")) {
        AH_TRY(policy.pool, read_pool(*at));
    }
    if (const auto upstream = root.find("upstream"); upstream && !upstream->is_null()) {
        AH_CHECK(upstream->string());
        return std::unexpected(upstream->wrong("not available yet"));
    }
    return {};
}

Status check_version(json::View root)
{
    if (const auto at = root.find("version")) {
        AH_TRY(const std::int64_t version, at->integer());
        if (version != 1)
            return std::unexpected(at->expected("1, the only version this program knows"));
    }
    return {};
}

// Reads the bounds of what an annotation may ask for.
Status read_bounds(json::View root, Policy& policy)
{
    if (const auto at = root.find("annotations")) {
        AH_TRY(policy.annotations, at->boolean());
    }
    AH_CHECK(read_egress(root, "ceiling", policy.ceiling));
    if (const auto at = root.find("sockets")) {
        AH_TRY(policy.sockets, read_strings(*at));
        for (const json::View item : at->items())
            AH_CHECK(read_path(item));
    }
    if (const auto at = root.find("tcp_endpoints")) {
        AH_CHECK(read_strings(*at));
        for (const json::View item : at->items()) {
            AH_TRY(const std::string text, item.string());
            const auto target = parse_tcp_target(text, Code::invalid_policy);
            if (!target)
                return std::unexpected(item.wrong(target.error().what));
            policy.tcp_endpoints.push_back(*target);
        }
    }
    if (const auto at = root.find("allow"); at && !at->is_null()) {
        AH_TRY(policy.allow, rules::read_rules(*at, rules::ListKind::allow));
    }
    if (const auto at = root.find("deny")) {
        AH_TRY(policy.deny, rules::read_rules(*at, rules::ListKind::deny));
    }
    return {};
}

Status read_profiles(json::View root, Policy& policy)
{
    policy.profiles["off"].switches = policy.switches;
    if (const auto at = root.find("profiles")) {
        AH_TRY(const std::vector<json::View> members, at->object());
        for (const json::View member : members) {
            AH_TRY(Profile profile, read_profile(member, policy.switches));
            policy.profiles[profile.name] = std::move(profile);
        }
    }
    if (const auto at = root.find("default")) {
        AH_TRY(policy.fallback, at->string());
        if (policy.fallback == "open" && policy.find("open") == nullptr) {
            Profile& open = policy.profiles["open"];
            open.name = "open";
            open.egress = Egress::open;
            open.switches = policy.switches;
        }
        if (policy.find(policy.fallback) == nullptr)
            return std::unexpected(at->wrong("no profile " + in_quotes(policy.fallback)));
    }
    if (const auto at = root.find("annotation_profiles")) {
        AH_TRY(policy.annotation_profiles, read_strings(*at));
        for (const json::View item : at->items()) {
            AH_TRY(const std::string name, item.string());
            if (policy.find(name) == nullptr)
                return std::unexpected(item.wrong("no profile " + in_quotes(name)));
        }
    }
    return {};
}

Result<Policy> read_policy(json::View root)
{
    AH_CHECK(root.object());
    // The version comes first: another one may have other members.
    AH_CHECK(check_version(root));
    AH_CHECK(root.only({"version",
                        "runtime",
                        "default",
                        "annotations",
                        "ceiling",
                        "sockets",
                        "tcp_endpoints",
                        "annotation_profiles",
                        "allow",
                        "deny",
                        "voids",
                        "vsock",
                        "dns",
                        "notice",
                        "relay",
                        "tcp",
                        "on_broker_lost",
                        "broker_lost_after",
                        "broker_lost_grace",
                        "forwarding",
                        "pool",
                        "upstream",
                        "profiles"}));
    Policy policy;
    if (const auto at = root.find("runtime")) {
        AH_TRY(policy.runtime, read_path(*at));
    }
    AH_TRY(policy.switches, read_switches(root, {}));
    AH_CHECK(read_networks(root, policy));
    AH_CHECK(read_bounds(root, policy));
    AH_CHECK(read_profiles(root, policy));
    return policy;
}

} // namespace

bool is_profile_name(std::string_view name)
{
    return is_short_name(name) && std::ranges::find(reserved_names, name) == reserved_names.end();
}

std::optional<Relay> relay_from(std::string_view word)
{
    constexpr std::array<std::pair<std::string_view, Relay>, 3> words{
        {{"auto", Relay::automatic}, {"inside", Relay::inside}, {"child", Relay::child}}};
    const auto found = std::ranges::find(words, word, &std::pair<std::string_view, Relay>::first);
    return found == words.end() ? std::nullopt : std::optional(found->second);
}

Policy::Policy()
{
    profiles["off"].name = "off";
}

const Profile* Policy::find(std::string_view name) const
{
    const auto found = profiles.find(std::string(name));
    return found == profiles.end() ? nullptr : &found->second;
}

std::string Policy::known_profiles() const
{
    std::string list;
    for (const auto& [name, profile] : profiles)
        list += (list.empty() ? "" : ", ") + name;
    return list;
}

Result<Policy> parse_policy(std::string text)
{
    AH_TRY(const json::Document document,
           json::Document::parse(std::move(text), Code::invalid_policy));
    return read_policy(document.root());
}

} // namespace anchorhold
