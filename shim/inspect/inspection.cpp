// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/inspection.hpp"

#include "shim/config/view.hpp"
#include "shim/inspect/capabilities.hpp"
#include "shim/inspect/devices.hpp"
#include "shim/inspect/hooks.hpp"
#include "shim/inspect/mounts.hpp"
#include "shim/inspect/namespaces.hpp"
#include "shim/inspect/options.hpp"

#include <algorithm>
#include <array>

namespace anchorhold::inspect {

namespace {

// The sysctls that engines set, or are asked to set, and that open no way to anybody.
constexpr std::array<std::string_view, 16> plain_sysctls{"net.ipv4.ip_unprivileged_port_start",
                                                         "net.ipv4.ping_group_range",
                                                         "net.ipv4.ip_local_port_range",
                                                         "net.ipv4.ip_local_reserved_ports",
                                                         "net.ipv4.tcp_fin_timeout",
                                                         "net.ipv4.tcp_keepalive_intvl",
                                                         "net.ipv4.tcp_keepalive_probes",
                                                         "net.ipv4.tcp_keepalive_time",
                                                         "net.ipv4.tcp_max_syn_backlog",
                                                         "net.ipv4.tcp_rmem",
                                                         "net.ipv4.tcp_syncookies",
                                                         "net.ipv4.tcp_tw_reuse",
                                                         "net.ipv4.tcp_wmem",
                                                         "net.ipv6.conf.all.disable_ipv6",
                                                         "net.ipv6.conf.default.disable_ipv6",
                                                         "net.core.somaxconn"};

// A value that closes something, whatever stood there. The link's name lies between the two halves.
struct Closing {
    std::string_view begin;
    std::string_view end;
    std::string_view value;
};
constexpr std::array<Closing, 17> closing_sysctls{{
    {"net.ipv6.conf.", ".disable_ipv6", "1"},
    {"net.ipv6.conf.", ".accept_ra", "0"},
    {"net.ipv6.conf.", ".autoconf", "0"},
    {"net.ipv6.conf.", ".forwarding", "0"},
    {"net.ipv6.conf.", ".accept_redirects", "0"},
    {"net.ipv6.conf.", ".accept_source_route", "0"},
    {"net.ipv6.conf.", ".proxy_ndp", "0"},
    {"net.ipv4.conf.", ".forwarding", "0"},
    {"net.ipv4.conf.", ".route_localnet", "0"},
    {"net.ipv4.conf.", ".accept_redirects", "0"},
    {"net.ipv4.conf.", ".send_redirects", "0"},
    {"net.ipv4.conf.", ".accept_source_route", "0"},
    {"net.ipv4.conf.", ".proxy_arp", "0"},
    {"net.ipv4.conf.", ".rp_filter", "1"},
    {"net.ipv4.", "ip_forward", "0"},
    {"net.ipv4.", "icmp_echo_ignore_all", "1"},
    {"net.ipv4.", "icmp_echo_ignore_broadcasts", "1"},
}};

// The prefixes of annotations that steer the runtime. org.systemd.property. sets any property of
// the unit under --systemd-cgroup, DeviceAllow and SuccessAction among them.
constexpr std::array<std::string_view, 4> steering_prefixes{"run.oci.", "org.criu.", "module.wasm.",
                                                            "org.systemd.property."};
// The annotations with such a prefix that do no harm.
constexpr std::array<std::string_view, 7> plain_annotations{"run.oci.delegate-cgroup",
                                                            "run.oci.keep_original_groups",
                                                            "run.oci.mount_context_type",
                                                            "run.oci.systemd.force_cgroup_v1",
                                                            "run.oci.systemd.subgroup",
                                                            "org.systemd.property.CollectMode",
                                                            "org.systemd.property.TimeoutStopUSec"};

template <std::size_t Size>
bool is_in(const std::array<std::string_view, Size>& list, std::string_view word)
{
    return std::ranges::find(list, word) != list.end();
}

// Returns a sysctl's name with dots. sysctl(8) and runc take a name with slashes as well; dots and
// slashes then change places.
std::string with_dots(std::string name)
{
    const std::size_t first = name.find_first_of("./");
    if (first != std::string::npos && name[first] == '/') {
        for (char& c : name)
            c = c == '/' ? '.' : c == '.' ? '/' : c;
    }
    return name;
}

// Says whether the sysctl closes something at that value. The kernel ignores blanks around it.
bool closes(const std::string& name, std::string_view value)
{
    constexpr std::string_view blanks = " \t\n";
    value.remove_prefix(std::min(value.find_first_not_of(blanks), value.size()));
    value = value.substr(0, value.find_last_not_of(blanks) + 1);
    return std::ranges::any_of(closing_sysctls, [&](const Closing& closing) {
        return name.size() >= closing.begin.size() + closing.end.size() &&
               name.starts_with(closing.begin) && name.ends_with(closing.end) &&
               value == closing.value;
    });
}

Status inspect_sysctls(json::View config, Inspection& into)
{
    const auto section = config::member(config::member(config, "linux"), "sysctl");
    if (!section)
        return {};
    AH_TRY(const auto entries, section->object());
    for (const json::View entry : entries) {
        const std::string name = with_dots(entry.key());
        const auto value = entry.string(); // another type is the runtime's to refuse
        if (name.starts_with("net.") && !is_in(plain_sysctls, name) &&
            !(value && closes(name, *value))) {
            into.voids.push_back({entry.where(),
                                  "changes what a network namespace keeps apart; leave it out",
                                  "--sysctl"});
        }
    }
    return {};
}

Status inspect_annotations(json::View config, Inspection& into)
{
    const auto section = config::member(config, "annotations");
    if (!section)
        return {};
    AH_TRY(const auto entries, section->object());
    for (const json::View entry : entries) {
        const std::string key = entry.key();
        const bool steers = std::ranges::any_of(
            steering_prefixes, [&](std::string_view prefix) { return key.starts_with(prefix); });
        if (steers && !is_in(plain_annotations, key)) {
            into.voids.push_back({entry.where(), "steers the runtime behind this one; leave it out",
                                  "--annotation"});
        }
    }
    return {};
}

// A listener decides about system calls, and may also put descriptors of its own into the container
// (seccomp_unotify(2)).
Status inspect_listener(json::View config, Inspection& into)
{
    const auto seccomp = config::member(config::member(config, "linux"), "seccomp");
    AH_TRY(const std::string listener, config::text_of(seccomp, "listenerPath"));
    if (!listener.empty()) {
        into.other_channels.push_back("linux.seccomp.listenerPath: " + printable(listener) +
                                      " decides about system calls");
    }
    return {};
}

} // namespace

std::string text_of(const Finding& finding)
{
    const std::string option = finding.option.empty() ? "" : " (" + finding.option + ")";
    return finding.where + option + ": " + finding.what;
}

Result<Inspection> inspect_bundle(json::View config, const InspectionContext& context)
{
    Inspection found;
    found.other_channels.emplace_back("stdio");
    AH_CHECK(config.object());
    AH_CHECK(inspect_namespaces(config, context, found));
    AH_CHECK(inspect_capabilities(config, found));
    AH_CHECK(inspect_mounts(config, context, found));
    AH_CHECK(inspect_devices(config, found));
    AH_CHECK(inspect_sysctls(config, found));
    AH_CHECK(inspect_annotations(config, found));
    AH_CHECK(inspect_listener(config, found));
    AH_CHECK(inspect_late_hooks(config, found));
    inspect_options(context.call, found);
    return found;
}

} // namespace anchorhold::inspect
