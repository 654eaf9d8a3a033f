// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/devices.hpp"

#include "hooks/files/file_owner.hpp"
#include "shim/config/view.hpp"
#include "shim/inspect/namespaces.hpp"

#include <algorithm>
#include <array>
#include <sys/sysmacros.h>

namespace anchorhold::inspect {

namespace {

struct Device {
    std::string type;        // "c", "b"; "a" is both, and a missing type counts as "a"
    std::int64_t major = -1; // -1: all
    std::int64_t minor = -1; // -1: all
};

// The major number of pseudo-terminals; every minor is a terminal of some devpts.
constexpr std::int64_t pseudo_terminals = 136;

// Says whether the device is one that every runtime gives to every container (runtime-spec
// config-linux.md, "Default Devices"): null, zero, full, random, urandom; tty, console, ptmx;
// terminals.
bool is_default(const Device& device)
{
    constexpr std::array<std::int64_t, 5> memory{3, 5, 7, 8, 9};
    if (device.type != "c" && device.type != "u")
        return false;
    if (device.major == 1)
        return std::ranges::find(memory, device.minor) != memory.end();
    return (device.major == 5 && device.minor >= 0 && device.minor <= 2) ||
           device.major == pseudo_terminals;
}

std::string shown(const Device& device)
{
    const auto number = [](std::int64_t value) {
        return value < 0 ? std::string("*") : std::to_string(value);
    };
    return printable(device.type, 8) + " " + number(device.major) + ":" + number(device.minor);
}

// Reads a major or minor number; -1 stands for all (runtime-spec config-linux.md, "Allowed Device
// List"). The kernel has 12 and 20 bits for them, and cuts off what is above.
Result<std::int64_t> number_of(const std::optional<json::View>& value, std::int64_t most)
{
    if (!value)
        return -1;
    AH_TRY(const std::int64_t number, value->integer());
    if (number < -1 || number > most)
        return std::unexpected(value->expected("a device number"));
    return number;
}

Result<Device> read_device(json::View entry)
{
    AH_CHECK(entry.object());
    Device device;
    AH_TRY(device.type, config::text_of(entry, "type"));
    if (device.type.empty())
        device.type = "a";
    AH_TRY(device.major, number_of(config::member(entry, "major"), (1 << 12) - 1));
    AH_TRY(device.minor, number_of(config::member(entry, "minor"), (1 << 20) - 1));
    return device;
}

// Inspects linux.devices. All findings go into one line, because a privileged container has every
// device of the host.
Status inspect_nodes(const std::optional<json::View>& section, Inspection& into)
{
    AH_TRY(const auto nodes, config::elements(section, "devices"));
    std::optional<Finding> first;
    std::size_t more = 0;
    for (const json::View node : nodes) {
        AH_TRY(const Device device, read_device(node));
        AH_TRY(const std::string path, config::text_of(node, "path"));
        if (device.type == "p" || is_default(device))
            continue;
        more += first ? 1 : 0;
        if (!first) {
            first = {node.where(),
                     "hands in the device " + printable(path) + " (" + shown(device) + ")",
                     "--device, --privileged"};
        }
    }
    if (!first)
        return {};
    if (more > 0)
        first->what += " and " + std::to_string(more) + " more";
    first->what += "; leave it out";
    into.voids.push_back(std::move(*first));
    return {};
}

// Says whether a rule is about all devices and all ways to use them.
bool is_everything(const Device& device, std::string_view access)
{
    return device.type == "a" && device.major < 0 && device.minor < 0 &&
           std::ranges::all_of(
               std::string_view("rwm"),
               [&](char c) { return access.find(c) != std::string_view::npos; });
}

enum class OwnUsers : std::uint8_t { no, yes };

struct Rule {
    json::View view;
    Device device;
};

// Inspects linux.resources.devices. The rules decide, because a node can come with the image or be
// made with CAP_MKNOD. Rules apply in order; "m" alone lets nodes be made, and opens none. Where no
// rule closes everything first, crun leaves every device open (measured). A container of a rootless
// engine is let off: nobody there could make a node, and crun then skips the rules (measured),
// since the cgroup is not its to write. In a user namespace of its own nobody could either, and
// podman writes no rules for it, but its image may bring a node whose mode lets the container in.
// There the edit adds the rule.
Status inspect_rules(const std::optional<json::View>& section, OwnUsers own_users, Inspection& into)
{
    AH_TRY(const auto views, config::elements(config::member(section, "resources"), "devices"));
    std::vector<Rule> opened;
    bool closed = false;
    for (const json::View view : views) {
        AH_TRY(const Device device, read_device(view));
        AH_TRY(const std::string access, config::text_of(view, "access"));
        const auto flag = config::member(view, "allow");
        AH_TRY(const bool allow, flag ? flag->boolean() : Result<bool>(false));
        const bool opens = access.empty() || access.find_first_of("rw") != std::string::npos;
        if (!allow && is_everything(device, access)) {
            opened.clear();
            closed = true;
        }
        if (allow && opens && !is_default(device))
            opened.push_back({view, device});
    }
    for (const Rule& rule : opened) {
        into.voids.push_back(
            {rule.view.where(),
             "lets the container open the devices " + shown(rule.device) + "; leave it out",
             "--device, --device-cgroup-rule, --privileged"});
    }
    if (closed || files::is_rootless())
        return {};
    into.close_devices = own_users == OwnUsers::yes;
    if (own_users == OwnUsers::no && opened.empty()) {
        into.voids.push_back({"linux.resources.devices",
                              "leaves the host's devices open; begin with "
                              R"({"allow":false,"access":"rwm"})",
                              "--privileged"});
    }
    return {};
}

} // namespace

bool is_default_device(dev_t device)
{
    return is_default({.type = "c", .major = major(device), .minor = minor(device)});
}

Status inspect_devices(json::View config, Inspection& into)
{
    const auto section = config::member(config, "linux");
    AH_CHECK(inspect_nodes(section, into));
    AH_TRY(const bool own_users, has_own_users(config));
    AH_CHECK(inspect_rules(section, own_users ? OwnUsers::yes : OwnUsers::no, into));
    const auto links = config::member(section, "netDevices");
    if (links && links->size() > 0) {
        into.voids.push_back(
            {links->where(), "moves network devices of the host inside; leave it out"});
    }
    return {};
}

} // namespace anchorhold::inspect
