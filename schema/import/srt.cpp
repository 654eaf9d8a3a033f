// SPDX-License-Identifier: Apache-2.0
// Reads settings of Anthropic's sandbox-runtime, as its sandbox-config.ts and domain-pattern.ts
// have them. Its proxies compare the host that a client names, in any letter case. "x.org" is that
// name at every tcp port, "x.org:443" at one, "*.x.org" any depth below it, "[2001:db8::1]" an
// address. A denied entry always wins. "*" and "*:22" are valid only in the denied ones.
#include "schema/import/srt.hpp"

#include "schema/endpoint.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace anchorhold::imports {
namespace {

constexpr std::string_view v4_all = "0.0.0.0/0";
constexpr std::string_view v6_all = "::/0";

struct Entry {
    std::string host;
    std::optional<Port> port;
};

// Reads a port. "x.org:0443" has no port in sandbox-runtime, so it must have none here.
Result<Port> read_port(std::string_view text, std::string_view whole)
{
    const auto port = Port::parse(text, Code::invalid_request);
    if (!port || text.starts_with('0'))
        return fail(Code::invalid_request, in_quotes(whole) + " has no port of 1 to 65535");
    return *port;
}

Result<Entry> cut_entry(std::string_view text)
{
    const std::size_t colon = text.rfind(':');
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos || !text.substr(0, end).contains(':'))
            return fail(Code::invalid_request, in_quotes(text) + " is no IPv6 address in brackets");
        const std::string host(text.substr(1, end - 1));
        if (end + 1 == text.size())
            return Entry{host, std::nullopt};
        if (colon != end + 1)
            return fail(Code::invalid_request, in_quotes(text) + " goes on behind its bracket");
        AH_TRY(const Port port, read_port(text.substr(colon + 1), text));
        return Entry{host, port};
    }
    if (colon == std::string_view::npos)
        return Entry{std::string(text), std::nullopt};
    if (text.find(':') != colon)
        return fail(Code::invalid_request, in_quotes(text) + " has colons and no brackets");
    AH_TRY(const Port port, read_port(text.substr(colon + 1), text));
    return Entry{std::string(text.substr(0, colon)), port};
}

Result<rules::Destination> read_host(std::string_view host)
{
    if (host.contains('/'))
        return fail(Code::invalid_request, in_quotes(host) + " is no single host");
    return imported_pattern(host);
}

std::vector<rules::PortRange> at(const std::optional<Port>& port)
{
    if (!port)
        return {{1, 65535, false}};
    return {{port->number(), port->number(), false}};
}

// Returns the names about which another proxy decides: what it allows is not known here.
Result<std::vector<rules::NamePattern>> elsewhere(json::View network)
{
    std::vector<rules::NamePattern> names;
    const auto proxy = network.find("mitmProxy");
    const auto domains = proxy ? proxy->find("domains") : std::nullopt;
    if (!proxy)
        return names;
    if (!domains)
        return std::unexpected(proxy->wrong("has no domains"));
    AH_TRY(const std::vector<json::View> items, domains->array());
    for (const json::View item : items) {
        AH_TRY(const std::string text, item.string());
        auto to = read_host(text);
        if (!to)
            return std::unexpected(item.wrong(to.error().what));
        const auto* const name = std::get_if<rules::NamePattern>(&*to);
        if (name == nullptr)
            return std::unexpected(item.expected("a name"));
        names.push_back(*name);
    }
    return names;
}

Result<rules::Destination> read_allowed(const Entry& entry,
                                        const std::vector<rules::NamePattern>& mitm)
{
    AH_TRY(rules::Destination to, read_host(entry.host));
    const auto* const name = std::get_if<rules::NamePattern>(&to);
    if (name == nullptr)
        return to;
    if (!entry.host.contains('.') && entry.host != "localhost") {
        return fail(Code::invalid_request,
                    in_quotes(entry.host) + " has no dot, and is refused there");
    }
    if (std::ranges::any_of(mitm, [&](const rules::NamePattern& one) {
            return one.covers(*name) || name->covers(one);
        })) {
        return fail(Code::invalid_request,
                    "the proxy of mitmProxy decides about " + in_quotes(entry.host));
    }
    return to;
}

// Reads the allowed names. One that is not understood is left out, which only closes more.
Status read_allow(json::View network, Draft& draft, ImportedProfile& profile)
{
    const auto list = network.find("allowedDomains");
    if (!list) {
        draft.lose(network, "has no allowedDomains, so nothing is allowed");
        return {};
    }
    AH_TRY(const std::vector<rules::NamePattern> mitm, elsewhere(network));
    AH_TRY(const std::vector<json::View> items, list->array());
    for (const json::View item : items) {
        AH_TRY(const std::string text, item.string());
        const auto entry = cut_entry(text);
        auto to = entry ? read_allowed(*entry, mitm) : std::unexpected(entry.error());
        if (!to) {
            draft.lose(item, to.error().what);
            continue;
        }
        draft.allow(profile, item, {*std::move(to), at(entry->port), {}});
    }
    return {};
}

void deny(Draft& draft, const rules::Destination& to, const std::optional<Port>& port)
{
    draft.deny.push_back(
        {to, port ? both_protocols(port->number(), port->number()) : all_ports(), {}});
}

Status deny_everything(Draft& draft, const std::optional<Port>& port)
{
    for (const std::string_view range : {v4_all, v6_all}) {
        AH_TRY(const rules::Prefix all, rules::Prefix::parse(range, Code::invalid_request));
        deny(draft, all, port);
    }
    return {};
}

// Reads the denied names. Returns whether everything is denied. Refuses a name that is not
// understood, because leaving it out would open something.
Result<bool> read_denied_names(json::View network, Draft& draft)
{
    bool everything = false;
    const auto list = network.find("deniedDomains");
    if (!list)
        return everything;
    AH_TRY(const std::vector<json::View> items, list->array());
    for (const json::View item : items) {
        AH_TRY(const std::string text, item.string());
        const auto entry = cut_entry(text);
        if (!entry)
            return std::unexpected(item.wrong(entry.error().what));
        if (entry->host == "*") {
            everything = everything || !entry->port;
            AH_CHECK(deny_everything(draft, entry->port));
            continue;
        }
        const auto to = read_host(entry->host);
        if (!to)
            return std::unexpected(item.wrong(to.error().what));
        deny(draft, *to, entry->port);
    }
    return everything;
}

// Reads the addresses that a name must not lead to. sandbox-runtime excepts those that stand in
// allowedDomains themselves; here a deny wins over all.
Status read_denied_addresses(json::View network, Draft& draft, const ImportedProfile& profile)
{
    const auto list = network.find("deniedResolvedAddresses");
    if (!list)
        return {};
    AH_TRY(const std::vector<json::View> items, list->array());
    for (const json::View item : items) {
        AH_TRY(const std::string text, item.string());
        const auto range = rules::Prefix::parse(text, Code::invalid_request);
        if (!range)
            return std::unexpected(item.wrong(range.error().what));
        deny(draft, *range, std::nullopt);
        if (std::ranges::any_of(profile.allow, [&](const rules::AllowRule& rule) {
                return rules::covers(*range, rule.to);
            }))
            draft.lose(item, "closes an address of allowedDomains too; a deny always wins");
    }
    return {};
}

struct Remark {
    std::string_view member;
    std::string_view sentence;
};

constexpr std::array<Remark, 8> network_remarks{{
    {"allowUnixSockets", "sockets are endpoints of a profile, with a name and a port"},
    {"allowMachLookup", "there are no Mach services on this system"},
    {"httpProxyPort", "connections go straight, through no proxy"},
    {"socksProxyPort", "connections go straight, through no proxy"},
    {"parentProxy", "connections go straight, through no proxy"},
    {"mitmProxy", "connections go straight, through no proxy"},
    {"tlsTerminate", "nothing looks into what passes"},
    {"deniedDomainReasons", "a refusal gives no reasons; anchorhold denials lists them"},
}};
constexpr std::string_view not_ours = "a policy has no word for it";

// Notes, in the order of the file, the members that are set and cannot be kept.
Status remark(json::View network, Draft& draft)
{
    for (const json::View member : network.items()) {
        const std::string key = member.key();
        const auto* const known = std::ranges::find(network_remarks, key, &Remark::member);
        if (known != network_remarks.end())
            draft.lose(member, known->sentence);
        if (key == "allowAllUnixSockets" || key == "allowAllDomains" ||
            key == "allowLocalBinding") {
            AH_TRY(const bool on, member.boolean());
            if (on && key == "allowAllUnixSockets")
                draft.lose(member, network_remarks[0].sentence);
            if (on && key == "allowAllDomains")
                draft.lose(member, "everything is no list; allowedDomains alone is kept");
            if (!on && key == "allowLocalBinding")
                draft.lose(member, "a container may bind the ports of its own loopback");
        }
    }
    return {};
}

// Refuses members that this reader does not know, because they could close something.
Status check_members(json::View root, json::View network)
{
    AH_CHECK(root.only(
        {"network", "filesystem", "credentials", "ignoreViolations", "enableWeakerNestedSandbox",
         "enableWeakerNetworkIsolation", "allowAppleEvents", "ripgrep", "mandatoryDenySearchDepth",
         "allowPty", "seccomp", "bwrapPath", "socatPath", "javaAgentJarPath", "windows", "git"}));
    AH_CHECK(network.object());
    return network.only({"allowedDomains", "deniedDomains", "deniedDomainReasons",
                         "strictAllowlist", "allowAllDomains", "deniedResolvedAddresses",
                         "allowUnixSockets", "allowAllUnixSockets", "allowLocalBinding",
                         "allowMachLookup", "httpProxyPort", "socksProxyPort", "mitmProxy",
                         "tlsTerminate", "parentProxy"});
}

} // namespace

Result<Draft> draft_from_srt(json::View root)
{
    AH_CHECK(root.object());
    const auto network = root.find("network");
    if (!network)
        return std::unexpected(root.wrong("has no network"));
    AH_CHECK(check_members(root, *network));
    Draft draft;
    ImportedProfile profile{"imported", {}};
    AH_CHECK(read_allow(*network, draft, profile));
    AH_TRY(const bool denies_all, read_denied_names(*network, draft));
    if (denies_all)
        profile.allow.clear();
    AH_CHECK(read_denied_addresses(*network, draft, profile));
    AH_CHECK(remark(*network, draft));
    for (const json::View member : root.items()) {
        if (member.key() != "network")
            draft.lose(member, not_ours);
    }
    const bool has_name = std::ranges::any_of(profile.allow, [](const rules::AllowRule& rule) {
        return std::holds_alternative<rules::NamePattern>(rule.to);
    });
    if (has_name) {
        draft.lose(*network, "without the gate a name is kept as its addresses, so what else is "
                             "there is reached too");
    }
    // With a foreign proxy for both protocols, sandbox-runtime compares no names itself.
    if (network->find("httpProxyPort") && network->find("socksProxyPort") &&
        !profile.allow.empty()) {
        draft.lose(*network,
                   "the proxies named there decide, so nothing of allowedDomains is kept");
        profile.allow.clear();
    }
    draft.profiles.push_back(std::move(profile));
    return draft;
}

} // namespace anchorhold::imports
