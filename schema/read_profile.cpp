// SPDX-License-Identifier: Apache-2.0
#include "schema/read_profile.hpp"

#include "schema/path_words.hpp"

namespace anchorhold {
namespace {

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

} // namespace

Status read_egress(json::View object, std::string_view name, Egress& into)
{
    return read_member(
        object, name,
        {{"off", Egress::off}, {"allowlist", Egress::allowlist}, {"open", Egress::open}}, into);
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
    AH_CHECK(read_member(
        object, "allow_by",
        {{"auto", AllowBy::automatic}, {"gate", AllowBy::gate}, {"packets", AllowBy::packets}},
        base.allow_by));
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

Result<Profile> read_profile(json::View object, const Switches& switches)
{
    AH_CHECK(object.object());
    AH_CHECK(object.only({"egress", "endpoints", "allow", "require", "env", "cri", "voids", "vsock",
                          "dns", "notice", "relay", "tcp", "allow_by", "on_broker_lost",
                          "broker_lost_after", "broker_lost_grace", "forwarding"}));
    Profile profile;
    profile.name = object.key();
    AH_CHECK(check_profile_name(object, profile.name));
    profile.egress = profile.name == "open" ? Egress::open : Egress::off;
    AH_CHECK(read_egress(object, "egress", profile.egress));
    if (profile.name == "off" && profile.egress != Egress::off)
        return std::unexpected(object.find("egress")->expected("off, as the name says"));
    if (const auto at = object.find("endpoints")) {
        AH_TRY(profile.endpoints, read_endpoints(*at, EndpointsOf::policy));
    }
    if (const auto at = object.find("allow")) {
        AH_TRY(profile.allow, rules::read_rules(*at, rules::ListKind::policy));
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

} // namespace anchorhold
