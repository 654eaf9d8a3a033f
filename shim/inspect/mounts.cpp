// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/mounts.hpp"

#include "hooks/files/file_owner.hpp"
#include "shim/config/normal_path.hpp"
#include "shim/config/view.hpp"
#include "shim/inspect/command_user.hpp"
#include "shim/inspect/endpoint_check.hpp"
#include "shim/inspect/filesystems.hpp"
#include "shim/inspect/namespaces.hpp"
#include "shim/inspect/sources.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace anchorhold::inspect {

namespace {

// What is known about the container, whichever mount is looked at.
struct Container {
    bool host_root = true;
    bool own_users = false;
    bool own_cgroups = false;
    std::vector<std::string> read_only; // linux.readonlyPaths
    bool makes_read_only(const std::string& path) const
    {
        return std::ranges::find(read_only, path) != read_only.end();
    }
};

struct Mount {
    json::View view;
    std::string type, source, destination;
    std::vector<json::View> option_views;
    std::vector<std::string> options;

    bool has(std::string_view option) const
    {
        return std::ranges::find(options, option) != options.end();
    }
    // Says whether it is mounted writable. The last word counts, as in mount(8), but "rro" and
    // "rrw" are carried out after all others, whatever their order.
    bool is_writable() const
    {
        bool writable = true;
        for (const std::string& option : options)
            writable = option == "rw" || (writable && option != "ro");
        return has("rrw") || (writable && !has("rro"));
    }
    bool is_bind() const { return config::is_bind(view); }
    // Says whether ids are mapped for this mount: then the files of the host's root may belong to
    // the root inside.
    bool is_idmapped() const
    {
        return has("idmap") || has("ridmap") || config::member(view, "uidMappings") ||
               std::ranges::any_of(options, [](const std::string& option) {
                   return option.starts_with("idmap=") || option.starts_with("ridmap=");
               });
    }
};

Surroundings surroundings(const Mount& mount, const Container& container)
{
    const std::string place = config::normal_path(mount.destination);
    return {.writable = mount.is_writable() && !container.makes_read_only(place),
            .host_root = container.host_root,
            .own_users = container.own_users && !mount.is_idmapped(),
            .own_cgroups = container.own_cgroups,
            .delegated = files::is_rootless(),
            .sys_is_read_only = container.makes_read_only(place + "/sys")};
}

Result<Mount> read_mount(json::View entry)
{
    AH_CHECK(entry.object());
    Mount mount{.view = entry,
                .type = {},
                .source = {},
                .destination = {},
                .option_views = {},
                .options = {}};
    AH_TRY(mount.type, config::text_of(entry, "type"));
    AH_TRY(mount.source, config::text_of(entry, "source"));
    AH_TRY(mount.destination, config::text_of(entry, "destination"));
    AH_TRY(mount.option_views, config::elements(entry, "options"));
    for (const json::View option : mount.option_views) {
        AH_TRY(std::string text, option.string());
        mount.options.push_back(std::move(text));
    }
    return mount;
}

void inspect_propagation(const std::string& where, std::string_view word, Inspection& into)
{
    if (word == "shared" || word == "rshared")
        into.voids.push_back({where, "shares mounts with the host; use \"rprivate\""});
    if (word == "slave" || word == "rslave")
        into.other_channels.push_back(where + ": what the host mounts below it shows up inside");
}

// Returns the paths in a layer option. A colon parts them, and a backslash stands before a colon
// that belongs to a path (overlayfs.rst, "Multiple lower layers"). "lowerdir+" takes a single path.
std::vector<std::string> layers_of(std::string_view value)
{
    std::vector<std::string> layers(1);
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] == '\\' && i + 1 < value.size()) {
            layers.back() += value[++i];
        } else if (value[i] == ':') {
            layers.emplace_back();
        } else {
            layers.back() += value[i];
        }
    }
    std::erase(layers, "");
    return layers;
}

// Inspects each layer of an overlay as a source of its own.
void inspect_overlay(const Mount& mount, const Container& container,
                     const InspectionContext& context, const HostFiles& host, Inspection& into)
{
    constexpr std::array<std::string_view, 5> names{"lowerdir", "lowerdir+", "datadir+", "upperdir",
                                                    "workdir"};
    for (std::size_t i = 0; i < mount.options.size(); ++i) {
        const std::string& option = mount.options[i];
        const std::size_t sign = option.find('=');
        if (sign != std::string::npos && option.contains(',')) { // the kernel parts them, so do we
            into.voids.push_back({mount.option_views[i].where(),
                                  "holds more than one option; write each by itself"});
        }
        const std::string name = option.substr(0, sign);
        if (sign == std::string::npos || std::ranges::find(names, name) == names.end())
            continue;
        const bool writable = name == "upperdir" && mount.is_writable();
        Surroundings around = surroundings(mount, container);
        around.writable = writable; // a lower layer is never written
        for (const std::string& layer : layers_of(std::string_view(option).substr(sign + 1))) {
            inspect_source({.where = mount.option_views[i].where(),
                            .path = layer,
                            .destination = mount.destination,
                            .writable = writable,
                            .layer = true,
                            .around = around},
                           context, host, into);
        }
    }
}

// Inspects a mount of its own type by the table. Measured: root without any capability can open
// core_pattern where /proc/sys is not read-only, and core_pattern names a program that the host
// runs. The same root can write files of a writable sysfs. A command that is not root and cannot
// become it gets the advice only, because an exec may be root.
void inspect_type(const Mount& mount, const Container& container, Inspection& into)
{
    const std::string where = mount.view.where();
    const Filesystem* const filesystem = filesystem_of_type(mount.type);
    const Harmless rule = filesystem == nullptr ? Harmless::never : filesystem->mounted;
    if (rule == Harmless::never) {
        into.voids.push_back({where + ".type", in_quotes(mount.type, 64) +
                                                   " is not a filesystem of the container's own; "
                                                   "leave it out"});
        return;
    }
    const std::string what =
        rule == Harmless::read_only_sys
            ? "root inside can have the host run programs (kernel.core_pattern); put " +
                  printable(config::normal_path(mount.destination)) +
                  "/sys into linux.readonlyPaths"
            : harm_of(*filesystem, rule);
    switch (judge(rule, surroundings(mount, container))) {
    case Verdict::harmless: return;
    case Verdict::channel:
        into.other_channels.push_back(where + ": " + printable(mount.type) + " at " +
                                      printable(mount.destination));
        return;
    case Verdict::advised: into.advice.push_back(where + ": " + what); return;
    case Verdict::voids: into.voids.push_back({where, what}); return;
    }
    std::abort(); // a byte that is no Verdict
}

// Says whether the command is the host's root or may become it. In a user namespace that maps the
// host's root in, everybody inside may become root, so a map of the command's own id is no wall.
Result<bool> may_be_root(json::View config)
{
    AH_TRY(const CommandUser user, command_user(config));
    return user.host_uid == 0 || user.takes_any_uid || user.own_users;
}

// Forgets the sources that a later mount lies on. They are out of reach, and the hook would see the
// later mount in their place.
void forget_covered(const std::string& destination, Inspection& into)
{
    std::erase_if(into.sources, [&](const BindSource& source) {
        return destination == "/" || source.destination == destination ||
               source.destination.starts_with(destination + "/");
    });
}

void inspect_mount(const Mount& mount, const Container& container, const InspectionContext& context,
                   const HostFiles& host, Inspection& into)
{
    for (std::size_t i = 0; i < mount.options.size(); ++i)
        inspect_propagation(mount.option_views[i].where(), mount.options[i], into);
    const std::string where = mount.view.where();
    if (mount.has("remount")) { // changes whatever is mounted there, and not what the type says
        into.voids.push_back({where + ".options", "\"remount\" changes another mount; give that "
                                                  "one its options"});
    } else if (mount.is_bind()) {
        inspect_source({.where = where + ".source",
                        .path = mount.source,
                        .destination = mount.destination,
                        .writable = mount.is_writable(),
                        .recursive = mount.has("rbind"),
                        .around = surroundings(mount, container)},
                       context, host, into);
    } else if (mount.type == "overlay") {
        inspect_overlay(mount, container, context, host, into);
    } else {
        inspect_type(mount, container, into);
    }
}

// Returns the engine's words for a mount that was asked for there.
std::string option_for(const Mount& mount)
{
    constexpr std::size_t most = 128; // bytes of a path
    const std::string place = config::normal_path(mount.destination);
    if (mount.is_bind())
        return "-v " + printable(mount.source, most) + ":" + printable(place, most);
    const bool engines_own = place == "/proc" || place == "/sys" || place.starts_with("/sys/");
    return engines_own ? "--privileged, --security-opt"
                       : "--mount type=" + printable(mount.type, most);
}

// Reads what inspect_mount needs to know about the whole container.
Result<Container> read_container(json::View config)
{
    Container container;
    AH_TRY(container.own_users, has_own_users(config));
    AH_TRY(container.own_cgroups, has_own_cgroups(config));
    AH_TRY(container.host_root, may_be_root(config));
    AH_TRY(const auto views, config::elements(config::member(config, "linux"), "readonlyPaths"));
    for (const json::View view : views) {
        AH_TRY(const std::string path, view.string());
        container.read_only.push_back(config::normal_path(path));
    }
    return container;
}

} // namespace

Status inspect_mounts(json::View config, const InspectionContext& context, Inspection& into)
{
    const HostFiles host = HostFiles::look(context);
    AH_TRY(const Container container, read_container(config));
    const auto linux_member = config::member(config, "linux");
    if (const auto word = config::member(linux_member, "rootfsPropagation")) {
        AH_TRY(const std::string text, word->string());
        inspect_propagation(word->where(), text, into);
    }
    AH_TRY(const std::string root, config::text_of(config::member(config, "root"), "path"));
    // runc binds the root with all that is mounted below it.
    if (!root.empty()) {
        inspect_source({.where = "root.path", .path = root, .destination = {}, .recursive = true},
                       context, host, into);
    }
    AH_TRY(const auto mounts, config::elements(config, "mounts"));
    for (const json::View entry : mounts) {
        AH_TRY(const Mount mount, read_mount(entry));
        forget_covered(config::normal_path(mount.destination), into);
        const std::size_t known = into.voids.size();
        inspect_mount(mount, container, context, host, into);
        for (std::size_t i = known; i < into.voids.size(); ++i)
            into.voids[i].option = option_for(mount);
    }
    return {};
}

} // namespace anchorhold::inspect
