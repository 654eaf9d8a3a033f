// SPDX-License-Identifier: Apache-2.0
#include "shim/config/oci_keys.hpp"

#include <algorithm>
#include <span>

namespace anchorhold::config {
namespace {

// An object of fixed shape: its place and its members (runtime-spec 1.3, config.md and
// config-linux.md). "[]" is every element of an array. An object that is not listed is not looked
// into.
struct Shape {
    std::string_view place;
    std::string_view names; // separated by blanks
};

constexpr Shape all_shapes[] = {
    {"", "ociVersion process root hostname domainname mounts hooks annotations linux solaris "
         "windows vm zos freebsd"},
    {".process", "terminal consoleSize user args commandLine env cwd capabilities rlimits "
                 "noNewPrivileges apparmorProfile oomScoreAdj scheduler selinuxLabel ioPriority "
                 "execCPUAffinity"},
    {".process.user", "uid gid umask additionalGids username"},
    {".process.capabilities", "bounding effective inheritable permitted ambient"},
    {".process.rlimits[]", "type hard soft"},
    {".root", "path readonly"},
    {".mounts[]", "destination type source options uidMappings gidMappings"},
    {".mounts[].uidMappings[]", "containerID hostID size"},
    {".mounts[].gidMappings[]", "containerID hostID size"},
    {".hooks", "prestart createRuntime createContainer startContainer poststart poststop"},
    {".hooks.prestart[]", "path args env timeout"},
    {".hooks.createRuntime[]", "path args env timeout"},
    {".hooks.createContainer[]", "path args env timeout"},
    {".hooks.startContainer[]", "path args env timeout"},
    {".hooks.poststart[]", "path args env timeout"},
    {".hooks.poststop[]", "path args env timeout"},
    {".linux", "uidMappings gidMappings sysctl resources cgroupsPath namespaces devices "
               "netDevices seccomp rootfsPropagation maskedPaths readonlyPaths mountLabel "
               "intelRdt memoryPolicy personality timeOffsets"},
    {".linux.uidMappings[]", "containerID hostID size"},
    {".linux.gidMappings[]", "containerID hostID size"},
    {".linux.namespaces[]", "type path"},
    {".linux.devices[]", "path type major minor fileMode uid gid"},
    {".linux.personality", "domain flags"},
    {".linux.resources", "devices memory cpu pids blockIO hugepageLimits network rdma unified"},
    {".linux.resources.devices[]", "allow type major minor access"},
    {".linux.resources.pids", "limit"},
    {".linux.seccomp", "defaultAction defaultErrnoRet architectures flags listenerPath "
                       "listenerMetadata syscalls"},
    {".linux.seccomp.syscalls[]", "names action errnoRet args"},
    {".linux.seccomp.syscalls[].args[]", "index value valueTwo op"},
};

constexpr Shape shapes_of_openness[] = {
    {"", "annotations linux"},
    {".linux", "namespaces"},
    {".linux.namespaces[]", "type path"},
};

// The objects that are looked into, and whether two unknown names in one may fold together.
struct Shapes {
    std::span<const Shape> list;
    bool strangers_may_fold = false;
};

// Returns the shape of that place; null: none is listed.
const Shape* shape_at(const Shapes& shapes, std::string_view place)
{
    const auto found = std::ranges::find(shapes.list, place, &Shape::place);
    return found == shapes.list.end() ? nullptr : &*found;
}

// Returns the name in small letters as Go's encoding/json folds it (fold.go): the letters of ASCII,
// and the only two other letters that fold to one of them.
std::string fold(std::string_view name)
{
    std::string out;
    for (std::size_t at = 0; at < name.size(); ++at) {
        const std::string_view rest = name.substr(at);
        if (rest.starts_with("\u017f")) {
            out += 's';
            ++at;
        } else if (rest.starts_with("\u212a")) {
            out += 'k';
            at += 2;
        } else {
            const char c = name[at];
            out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    return out;
}

// The likeness of a member's name to a known one.
enum class Match : std::uint8_t {
    none,
    folded, // the same letters, but not byte for byte
    exact,
};
struct Known {
    Match match = Match::none;
    std::string_view name;
};

// Looks for `key` among names that are separated by blanks.
Known look_up(std::string_view names, std::string_view key)
{
    const std::string folded = fold(key);
    Known found;
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(' '));
        names.remove_prefix(std::min(names.size(), name.size() + 1));
        if (name == key)
            return {Match::exact, name};
        if (fold(name) == folded)
            found = {Match::folded, name};
    }
    return found;
}

Status check_object(json::View object, const std::string& place, const Shapes& shapes);

Status check_member(json::View member, const std::string& place, const Shapes& shapes)
{
    if (member.kind() == json::Kind::object)
        return check_object(member, place, shapes);
    if (member.kind() != json::Kind::array || shape_at(shapes, place + "[]") == nullptr)
        return {};
    for (const json::View& element : member.items()) {
        if (element.kind() == json::Kind::object) {
            if (auto status = check_object(element, place + "[]", shapes); !status)
                return status;
        }
    }
    return {};
}

// Checks an object and those below it. The recursion is no deeper than the table.
Status check_object(json::View object, const std::string& place, const Shapes& shapes)
{
    const Shape* const shape = shape_at(shapes, place);
    if (shape == nullptr)
        return {};
    std::vector<std::string> strangers; // folded names that are not known
    for (const json::View& member : object.items()) {
        const std::string key = member.key();
        const Known known = look_up(shape->names, key);
        if (known.match == Match::folded) {
            return std::unexpected(object.wrong("member " + in_quotes(key, 64) + " reads as \"" +
                                                std::string(known.name) + "\" to some runtimes"));
        }
        if (known.match == Match::none) {
            strangers.push_back(fold(key));
        } else if (auto status = check_member(member, place + "." + key, shapes); !status) {
            return status;
        }
    }
    std::ranges::sort(strangers);
    if (const auto twice = std::ranges::adjacent_find(strangers);
        twice != strangers.end() && !shapes.strangers_may_fold) {
        return std::unexpected(
            object.wrong("two members read as " + in_quotes(*twice, 64) + " to some runtimes"));
    }
    return {};
}

} // namespace

Status check_oci_keys(json::View config, OciKeys relied_on)
{
    if (config.kind() != json::Kind::object)
        return std::unexpected(config.expected("an object"));
    return check_object(config, "",
                        relied_on == OciKeys::all ? Shapes{all_shapes, false}
                                                  : Shapes{shapes_of_openness, true});
}

} // namespace anchorhold::config
