// SPDX-License-Identifier: Apache-2.0
// Edits the section `linux`. A config without it, or without namespaces in it, makes runc 1.1.5 run
// the container in the host's namespaces and leave its mounts there (measured). Then the container
// is given all namespaces.
#include "shim/edit/linux.hpp"
#include "shim/edit/seccomp.hpp"
#include "shim/edit/seccomp_relay.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace anchorhold::edit {
namespace {

constexpr std::string_view port_start = "net.ipv4.ip_unprivileged_port_start";
// The same name with slashes: runc takes a sysctl in either form, as sysctl(8) does.
constexpr std::string_view port_start_as_path = "net/ipv4/ip_unprivileged_port_start";
constexpr std::string_view own_network = R"({"type":"network"})";
constexpr std::string_view own_mounts = R"({"type":"mount"})";
constexpr std::string_view own_everything =
    R"({"type":"mount"},{"type":"pid"},{"type":"ipc"},{"type":"uts"},{"type":"network"})";

std::string port_start_member()
{
    return json::quote(port_start) + R"(:"53")";
}

Status edit_namespaces(json::View section, config::Edits& edits)
{
    AH_TRY(const auto namespaces, config::container(section, "namespaces", json::Kind::array));
    if (!namespaces || namespaces->size() == 0) {
        edits.add_to_member(section, "namespaces", json::Kind::array, config::Side::back,
                            std::string(own_everything));
        return {};
    }
    bool network = false;
    bool mount = false;
    for (const json::View& entry : namespaces->items()) {
        AH_CHECK(entry.object());
        const auto type = entry.find("type");
        if (!type)
            return std::unexpected(entry.expected("a member \"type\""));
        AH_TRY(const std::string name, type->string());
        mount = mount || name == "mount";
        if (name != "network")
            continue;
        // A second entry makes crun take the host's network (measured).
        if (network)
            return std::unexpected(entry.wrong("a second network namespace"));
        network = true;
        if (entry.find("path"))
            edits.replace(entry, std::string(own_network));
    }
    if (!mount)
        edits.add(*namespaces, config::Side::back, std::string(own_mounts));
    if (!network)
        edits.add(*namespaces, config::Side::back, std::string(own_network));
    return {};
}

Status edit_sysctl(json::View section, config::Edits& edits)
{
    AH_TRY(const auto sysctl, config::container(section, "sysctl", json::Kind::object));
    if (!sysctl || (!sysctl->find(port_start) && !sysctl->find(port_start_as_path)))
        edits.add_to_member(section, "sysctl", json::Kind::object, config::Side::back,
                            port_start_member());
    return {};
}

// Replaces the number linux.resources.GROUP.NAME by what `change` makes of it; does nothing where
// it is absent or null.
template <typename Change>
Status edit_resource(json::View section, std::string_view group, std::string_view name,
                     Change change, config::Edits& edits)
{
    AH_TRY(const auto resources, config::container(section, "resources", json::Kind::object));
    if (!resources)
        return {};
    AH_TRY(const auto members, config::container(*resources, group, json::Kind::object));
    const auto at = members ? members->find(name) : std::nullopt;
    if (!at || at->is_null())
        return {};
    AH_TRY(const std::int64_t number, at->integer());
    if (const std::int64_t wanted = change(number); wanted != number)
        edits.replace(*at, std::to_string(wanted));
    return {};
}

std::int64_t raised(std::int64_t limit, std::int64_t extra)
{
    const bool fits = limit > 0 && limit <= std::numeric_limits<std::int64_t>::max() - extra;
    return fits ? limit + extra : limit;
}

Status edit_cpu_shares(json::View section, std::int64_t least, config::Edits& edits)
{
    const auto enough = [least](std::int64_t number) { return std::max(number, least); };
    return edit_resource(section, "cpu", "shares", enough, edits);
}

// Puts a rule first that closes every device. The runtimes open those that every container gets
// behind it (runtime-spec config-linux.md, "Default Devices"), and then what the config allows.
Status edit_devices(json::View section, config::Edits& edits)
{
    const std::string rule = R"({"allow":false,"access":"rwm"})";
    AH_TRY(const auto resources, config::container(section, "resources", json::Kind::object));
    if (!resources) {
        edits.add_to_member(section, "resources", json::Kind::object, config::Side::back,
                            "\"devices\":[" + rule + "]");
        return {};
    }
    AH_CHECK(config::container(*resources, "devices", json::Kind::array));
    edits.add_to_member(*resources, "devices", json::Kind::array, config::Side::front, rule);
    return {};
}

bool wants_port_start(const Plan& plan)
{
    return plan.free_low_ports && plan.network == NetworkNamespace::own;
}

RelayWork work_of(const Plan& plan)
{
    const bool serves = std::ranges::any_of(plan.command_prefix, [](const std::string& word) {
        return word == "--endpoint" || word == "--dns";
    });
    return serves ? RelayWork::serve : RelayWork::look;
}

// Returns the members of `linux` for a config that has none.
std::string whole_section(const Plan& plan)
{
    std::string members;
    const auto add = [&](const std::string& member) {
        members += (members.empty() ? "" : ",") + member;
    };
    if (plan.network == NetworkNamespace::own)
        add("\"namespaces\":[" + std::string(own_everything) + "]");
    if (wants_port_start(plan))
        add("\"sysctl\":{" + port_start_member() + "}");
    if (plan.seccomp.wanted)
        add("\"seccomp\":" + whole_profile(plan.seccomp));
    return members;
}

} // namespace

std::string raised(std::string_view limit, std::int64_t extra)
{
    std::int64_t number = 0;
    std::from_chars(limit.data(), limit.data() + limit.size(), number);
    return std::to_string(number) == limit ? std::to_string(raised(number, extra))
                                           : std::string(limit);
}

Status edit_pids(json::View section, std::int64_t extra, config::Edits& edits)
{
    const auto grown = [extra](std::int64_t number) { return raised(number, extra); };
    AH_CHECK(edit_resource(section, "pids", "limit", grown, edits));
    AH_TRY(const auto resources, config::container(section, "resources", json::Kind::object));
    if (!resources)
        return {};
    AH_TRY(const auto unified, config::container(*resources, "unified", json::Kind::object));
    const auto most = unified ? unified->find("pids.max") : std::nullopt;
    if (!most)
        return {};
    AH_TRY(const std::string text, most->string());
    if (const std::string wanted = raised(text, extra); wanted != text)
        edits.replace(*most, json::quote(wanted));
    return {};
}

Result<std::string> edit_linux(json::View config, const Plan& plan, config::Edits& edits)
{
    AH_TRY(const auto section, config::container(config, "linux", json::Kind::object));
    if (!section || section->size() == 0) {
        if (const std::string members = whole_section(plan); !members.empty())
            edits.add_to_member(config, "linux", json::Kind::object, config::Side::back, members);
        return std::string();
    }
    if (plan.network == NetworkNamespace::own)
        AH_CHECK(edit_namespaces(*section, edits));
    if (wants_port_start(plan))
        AH_CHECK(edit_sysctl(*section, edits));
    if (plan.extra_pids > 0)
        AH_CHECK(edit_pids(*section, plan.extra_pids, edits));
    if (plan.least_cpu_shares > 0)
        AH_CHECK(edit_cpu_shares(*section, plan.least_cpu_shares, edits));
    if (plan.close_devices)
        AH_CHECK(edit_devices(*section, edits));
    AH_TRY(SeccompEdit seccomp, edit_seccomp(config, plan.seccomp));
    edits.take(std::move(seccomp.splices));
    if (seccomp.obstacle.empty() && !plan.command_prefix.empty()) {
        AH_TRY(seccomp.obstacle, denied_to_relay(config, work_of(plan)));
    }
    return std::move(seccomp.obstacle);
}

} // namespace anchorhold::edit
