// SPDX-License-Identifier: Apache-2.0
#include "schema/record_network.hpp"

#include "schema/rules/gate_json.hpp"

#include <algorithm>
#include <limits>

namespace anchorhold {
namespace {

constexpr std::int64_t most_port = 65535;
constexpr std::int64_t ever = std::numeric_limits<std::int64_t>::max();

struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

template <typename Number> Result<Number> read_number(json::View at, Range range)
{
    AH_TRY(const std::int64_t number, at.integer());
    if (number < range.least || number > range.most) {
        return std::unexpected(at.expected("a number of " + std::to_string(range.least) + " to " +
                                           std::to_string(range.most)));
    }
    return static_cast<Number>(number);
}

template <typename Number>
Status read_number(json::View object, std::string_view name, Range range, Number& into)
{
    if (const auto at = object.find(name)) {
        AH_TRY(into, read_number<Number>(*at, range));
    }
    return {};
}

Result<rules::Prefix> read_prefix(json::View at)
{
    AH_TRY(const std::string text, at.string());
    const auto prefix = rules::Prefix::parse(text, Code::network_setup_failed);
    if (!prefix)
        return std::unexpected(at.wrong(prefix.error().what));
    return prefix;
}

// Reads every element of the array called `name`, if it is there.
template <typename Value, typename Read>
Status read_each(json::View object, std::string_view name, Read read, std::vector<Value>& into)
{
    const auto array = object.find(name);
    if (!array)
        return {};
    AH_TRY(const std::vector<json::View> items, array->array());
    for (const json::View item : items) {
        AH_TRY(Value value, read(item));
        into.push_back(std::move(value));
    }
    return {};
}

Status read_protocol(json::View object, bool& udp)
{
    const auto at = object.find("protocol");
    if (!at)
        return {};
    AH_TRY(const std::string word, at->string());
    if (word != "TCP" && word != "UDP")
        return std::unexpected(at->expected("TCP or UDP"));
    udp = word == "UDP";
    return {};
}

void write_protocol(json::Writer& out, bool udp)
{
    out.member("protocol", udp ? "UDP" : "TCP");
}

// Reads a rule. No part of it has a default, because a rule that lacks one would be another rule.
Result<rules::Reach> read_reach(json::View object)
{
    AH_CHECK(object.object());
    for (const std::string_view name : {"to", "protocol", "port", "endPort"}) {
        if (!object.find(name))
            return std::unexpected(object.wrong("has no " + in_quotes(name)));
    }
    AH_TRY(const rules::Prefix to, read_prefix(object.find("to").value_or(object)));
    rules::Reach reach{to, {}};
    AH_CHECK(read_protocol(object, reach.ports.udp));
    AH_CHECK(read_number(object, "port", {1, most_port}, reach.ports.first));
    AH_CHECK(read_number(object, "endPort", {reach.ports.first, most_port}, reach.ports.last));
    return reach;
}

void write_reaches(json::Writer& out, std::string_view name,
                   const std::vector<rules::Reach>& reaches)
{
    out.key(name).begin_array();
    for (const rules::Reach& reach : reaches) {
        out.begin_object().member("to", reach.to.text());
        write_protocol(out, reach.ports.udp);
        out.key("port").integer(reach.ports.first);
        out.key("endPort").integer(reach.ports.last).end_object();
    }
    out.end_array();
}

Result<std::string> read_address(json::View at)
{
    AH_TRY(std::string text, at.string());
    const auto prefix = rules::Prefix::parse(text, Code::network_setup_failed);
    if (!prefix || text.contains('/'))
        return std::unexpected(at.expected("an address"));
    return text;
}

Result<rules::PinnedName> read_name(json::View object)
{
    AH_CHECK(object.object());
    const auto at = object.find("name");
    if (!at)
        return std::unexpected(object.wrong("has no \"name\""));
    rules::PinnedName pinned;
    AH_TRY(pinned.name, at->string());
    const auto name = rules::NamePattern::parse(pinned.name, Code::network_setup_failed);
    if (!name || !name->is_exact())
        return std::unexpected(at->expected("a host name"));
    AH_CHECK(read_each(object, "addresses", read_address, pinned.addresses));
    return pinned;
}

void write_names(json::Writer& out, const std::vector<rules::PinnedName>& names)
{
    out.key("names").begin_array();
    for (const rules::PinnedName& pinned : names) {
        out.begin_object().member("name", pinned.name);
        out.strings("addresses", pinned.addresses).end_object();
    }
    out.end_array();
}

void write_prefixes(json::Writer& out, std::string_view name,
                    const std::vector<rules::Prefix>& prefixes)
{
    std::vector<std::string> texts;
    texts.reserve(prefixes.size());
    for (const rules::Prefix& prefix : prefixes)
        texts.push_back(prefix.text());
    out.strings(name, texts);
}

template <typename Number>
void write_numbers(json::Writer& out, std::string_view name, const std::vector<Number>& numbers)
{
    out.key(name).begin_array();
    for (const Number number : numbers)
        out.integer(number);
    out.end_array();
}

constexpr Range link_range{0, std::numeric_limits<std::uint32_t>::max()};

Status read_done(json::View object, rules::Network& network)
{
    if (const auto at = object.find("subnet")) {
        AH_TRY(const std::string text, at->string());
        const auto subnet = rules::Subnet::parse(text, Code::network_setup_failed);
        if (!subnet)
            return std::unexpected(at->wrong(subnet.error().what));
        network.subnet = *subnet;
    }
    AH_CHECK(read_number(object, "link", link_range, network.link));
    AH_CHECK(read_each(object, "node", read_prefix, network.node));
    const auto mac = [](json::View at) { return at.string(); };
    AH_CHECK(read_each(object, "node_macs", mac, network.node_macs));
    AH_CHECK(read_each(object, "delivered", read_prefix, network.delivered));
    AH_CHECK(read_each(object, "guest", read_prefix, network.guest));
    const auto link = [](json::View at) { return read_number<std::uint32_t>(at, link_range); };
    return read_each(object, "links", link, network.links);
}

Result<rules::Denied> read_one_denied(json::View object)
{
    AH_CHECK(object.object());
    const auto to = object.find("to");
    if (!to)
        return std::unexpected(object.wrong("has no \"to\""));
    rules::Denied denied;
    AH_TRY(denied.to, read_address(*to));
    AH_CHECK(read_number(object, "port", {0, most_port}, denied.port));
    AH_CHECK(read_protocol(object, denied.udp));
    AH_CHECK(read_number(object, "last", {0, ever}, denied.last));
    return denied;
}

Result<rules::RefusedName> read_refused_name(json::View object)
{
    AH_CHECK(object.object());
    const auto name = object.find("name");
    if (!name)
        return std::unexpected(object.wrong("has no \"name\""));
    rules::RefusedName refused;
    AH_TRY(refused.name, name->string());
    AH_CHECK(read_number(object, "tries", {0, ever}, refused.tries));
    return refused;
}

} // namespace

void write_network(json::Writer& out, const rules::Network& network)
{
    out.begin_object().member("pool", network.pool.text());
    out.key("enable_forwarding").boolean(network.enable_forwarding);
    write_numbers(out, "broker_ports", network.broker_ports);
    write_reaches(out, "allow", network.allow);
    write_reaches(out, "deny", network.deny);
    write_names(out, network.names);
    if (network.subnet)
        out.member("subnet", network.subnet->text());
    if (network.link != 0)
        out.key("link").integer(network.link);
    write_prefixes(out, "node", network.node);
    out.strings("node_macs", network.node_macs);
    write_prefixes(out, "delivered", network.delivered);
    write_prefixes(out, "guest", network.guest);
    write_numbers(out, "links", network.links);
    out.end_object();
}

Result<rules::Network> read_network(json::View object)
{
    AH_CHECK(object.object());
    rules::Network network;
    if (const auto at = object.find("pool")) {
        AH_TRY(network.pool, read_prefix(*at));
    }
    if (const auto at = object.find("enable_forwarding")) {
        AH_TRY(network.enable_forwarding, at->boolean());
    }
    const auto port = [](json::View at) { return read_number<std::uint16_t>(at, {1, most_port}); };
    AH_CHECK(read_each(object, "broker_ports", port, network.broker_ports));
    AH_CHECK(read_each(object, "allow", read_reach, network.allow));
    AH_CHECK(read_each(object, "deny", read_reach, network.deny));
    AH_CHECK(read_each(object, "names", read_name, network.names));
    AH_CHECK(read_done(object, network));
    return network;
}

void write_denied(json::Writer& out, const std::vector<rules::Denied>& denied)
{
    out.begin_array();
    for (const rules::Denied& one : denied) {
        out.begin_object().member("to", one.to);
        out.key("port").integer(one.port);
        write_protocol(out, one.udp);
        out.key("last").integer(one.last).end_object();
    }
    out.end_array();
}

void write_refused_names(json::Writer& out, const rules::RefusedNames& refused)
{
    out.begin_object().key("names").begin_array();
    for (const rules::RefusedName& one : refused.names) {
        out.begin_object().member("name", one.name);
        out.key("tries").integer(static_cast<std::int64_t>(one.tries)).end_object();
    }
    out.end_array().key("others").integer(static_cast<std::int64_t>(refused.others)).end_object();
}

Result<rules::RefusedNames> read_refused_names(json::View object)
{
    AH_CHECK(object.object());
    rules::RefusedNames refused;
    AH_CHECK(read_each(object, "names", read_refused_name, refused.names));
    AH_CHECK(read_number(object, "others", {0, ever}, refused.others));
    return refused;
}

Result<std::vector<rules::Denied>> read_denied(json::View array)
{
    AH_TRY(const std::vector<json::View> items, array.array());
    std::vector<rules::Denied> denied;
    for (const json::View item : items) {
        AH_TRY(rules::Denied one, read_one_denied(item));
        denied.push_back(std::move(one));
    }
    return denied;
}

void write_gate(json::Writer& out, const RunGate& gate)
{
    rules::write_gate_rules(out.begin_object().key("rules"), gate.rules);
    write_process(out.key("process"), gate.process);
    out.key("lost").integer(gate.lost).end_object();
}

Result<RunGate> read_gate(json::View object)
{
    AH_CHECK(object.object());
    const auto rules = object.find("rules");
    if (!rules)
        return std::unexpected(object.wrong("has no \"rules\""));
    RunGate gate;
    AH_TRY(gate.rules, rules::read_gate_rules(*rules));
    if (const auto process = object.find("process")) {
        AH_TRY(gate.process, read_process(*process));
    }
    AH_CHECK(read_number(object, "lost", {0, ever}, gate.lost));
    return gate;
}

void write_process(json::Writer& out, const ProcessIdentity& process)
{
    out.begin_object().key("pid").integer(process.pid);
    out.key("start").integer(signed_of(process.start)).end_object();
}

Result<ProcessIdentity> read_process(json::View object)
{
    AH_CHECK(object.object());
    ProcessIdentity process;
    if (const auto pid = object.find("pid")) {
        AH_TRY(process.pid, pid->integer());
    }
    if (const auto start = object.find("start")) {
        AH_TRY(process.start, read_count(*start));
    }
    return process;
}

Result<std::uint64_t> read_count(json::View at)
{
    AH_TRY(const std::int64_t number, at.integer());
    if (number < 0)
        return std::unexpected(at.expected("a count"));
    return static_cast<std::uint64_t>(number);
}

std::int64_t signed_of(std::uint64_t number)
{
    constexpr auto most = static_cast<std::uint64_t>(ever);
    return static_cast<std::int64_t>(std::min(number, most));
}

} // namespace anchorhold
