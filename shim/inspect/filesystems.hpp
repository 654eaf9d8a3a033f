// SPDX-License-Identifier: Apache-2.0
// The one table of filesystems: what each is called, by which magic number statfs(2) knows it, and
// what makes it harmless in a container. Every way by which a filesystem may arrive is judged by
// it: a mount of that type, a bind mount, what a recursive bind brings along, a layer of an
// overlay, an idmapped mount. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace anchorhold::inspect {

// What makes a filesystem harmless.
enum class Harmless : std::uint8_t {
    never,             // it is the host's kernel, or the host's own
    always,            // it holds files only
    as_channel,        // it leads to another machine or program; that is recorded
    read_only_to_root, // it belongs to the host's root: read-only, or where nobody is that root
    read_only,         // whoever may write it can act on the host's processes
    own_cgroups,       // the same, unless a cgroup namespace shows the container's part only
    read_only_sys,     // where its sys/ is read-only, or nobody is the host's root
};

struct Filesystem {
    std::string_view type;  // of a mount; for fuse also "fuse." and more
    std::uint64_t magic;    // 0: another filesystem has the same number
    Harmless mounted;       // when mounted by its type: a new one, or the container's part of one
    Harmless bound;         // when it is the host's that arrives
    std::string_view shown; // "the host's /proc"
};

std::span<const Filesystem> filesystems();
// Returns the row of a type; null for a type that is not in the table.
const Filesystem* filesystem_of_type(std::string_view type);
// Returns the row of a magic number; null for one that is not in the table.
const Filesystem* filesystem_of_magic(std::uint64_t magic);

// What is known about the container where a filesystem arrives.
struct Surroundings {
    bool writable = false;         // the mount is
    bool host_root = true;         // the command is, or may become, the host's root
    bool own_users = false;        // it lives in a user namespace without the host's root, and no
                                   // idmap lets that namespace's root pass for the host's
    bool own_cgroups = false;      // it has a cgroup namespace of its own
    bool delegated = false;        // the engine is a user's, to whom cgroups may have been given
    bool sys_is_read_only = false; // linux.readonlyPaths has sys/ of this mount
};

enum class Verdict : std::uint8_t {
    harmless,
    channel, // recorded
    advised, // only root could do harm; the command is not root, but an exec may be
    voids,
};

Verdict judge(Harmless rule, const Surroundings& around);
// Returns what the container could do with such a filesystem, and the remedy.
std::string harm_of(const Filesystem& filesystem, Harmless rule);

} // namespace anchorhold::inspect
