// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/filesystems.hpp"

#include <algorithm>
#include <cstdlib>
#include <linux/magic.h>

namespace anchorhold::inspect {

namespace {

using enum Harmless;

// Numbers that linux/magic.h does not export: fs/fuse/control.c, fs/configfs/mount.c,
// ipc/mqueue.c, net/sunrpc/rpc_pipe.c, fs/nfsd/nfsctl.c, drivers/usb/gadget.
constexpr std::uint64_t fusectl_magic = 0x65735543;
constexpr std::uint64_t configfs_magic = 0x62656570;
constexpr std::uint64_t mqueue_magic = 0x19800202;
constexpr std::uint64_t rpc_pipefs_magic = 0x67596969;
constexpr std::uint64_t nfsd_magic = 0x6e667364;
constexpr std::uint64_t functionfs_magic = 0xa647361;
constexpr std::uint64_t gadgetfs_magic = 0xaee71ee7;

constexpr Filesystem table[] = {
    {"tmpfs", TMPFS_MAGIC, always, always, "a tmpfs"},
    {"ramfs", RAMFS_MAGIC, always, always, "a ramfs"},
    {"overlay", OVERLAYFS_SUPER_MAGIC, always, always, "an overlay"},

    {"proc", PROC_SUPER_MAGIC, read_only_sys, never, "the host's /proc"},
    {"sysfs", SYSFS_MAGIC, read_only_to_root, read_only_to_root, "the host's sysfs"},
    {"cgroup", CGROUP_SUPER_MAGIC, own_cgroups, read_only, "the host's cgroups"},
    {"cgroup2", CGROUP2_SUPER_MAGIC, own_cgroups, read_only, "the host's cgroups"},
    {"cpuset", 0, never, never, "the host's cgroups"}, // the number is that of cgroup
    {"devpts", DEVPTS_SUPER_MAGIC, always, never, "the host's terminals"},
    {"mqueue", mqueue_magic, always, never, "the host's message queues"},
    {"devtmpfs", 0, never, never, "the host's devices"}, // the number is that of tmpfs

    {"bpf", BPF_FS_MAGIC, never, never, "the host's bpf objects"},
    {"nsfs", NSFS_MAGIC, never, never, "a namespace"},
    {"debugfs", DEBUGFS_MAGIC, never, never, "the kernel's debugfs"},
    {"tracefs", TRACEFS_MAGIC, never, never, "the kernel's tracefs"},
    {"binfmt_misc", BINFMTFS_MAGIC, never, never, "the kernel's binfmt_misc"},
    {"securityfs", SECURITYFS_MAGIC, never, never, "the kernel's securityfs"},
    {"selinuxfs", SELINUX_MAGIC, never, never, "the kernel's selinuxfs"},
    {"smackfs", SMACK_MAGIC, never, never, "the kernel's smackfs"},
    {"apparmorfs", AAFS_MAGIC, never, never, "the kernel's apparmorfs"},
    {"configfs", configfs_magic, never, never, "the kernel's configfs"},
    {"pstore", PSTOREFS_MAGIC, never, never, "the kernel's pstore"},
    {"efivarfs", EFIVARFS_MAGIC, never, never, "the firmware's variables"},
    {"resctrl", RDTGROUP_SUPER_MAGIC, never, never, "the kernel's resctrl"},
    {"fusectl", fusectl_magic, never, never, "the kernel's fusectl"},
    {"binder", BINDERFS_SUPER_MAGIC, never, never, "the host's binder devices"},
    {"rpc_pipefs", rpc_pipefs_magic, never, never, "the kernel's rpc_pipefs"},
    {"nfsd", nfsd_magic, never, never, "the kernel's nfsd"},
    {"xenfs", XENFS_SUPER_MAGIC, never, never, "the kernel's xenfs"},
    {"functionfs", functionfs_magic, never, never, "the host's USB gadgets"},
    {"gadgetfs", gadgetfs_magic, never, never, "the host's USB gadgets"},
    {"usbfs", USBDEVICE_SUPER_MAGIC, never, never, "the host's USB devices"},
    {"openpromfs", OPENPROM_SUPER_MAGIC, never, never, "the firmware's variables"},

    {"nfs", NFS_SUPER_MAGIC, as_channel, as_channel, "NFS"},
    {"nfs4", NFS_SUPER_MAGIC, as_channel, as_channel, "NFS"},
    {"cifs", CIFS_SUPER_MAGIC, as_channel, as_channel, "CIFS"},
    {"smb3", SMB2_SUPER_MAGIC, as_channel, as_channel, "SMB"},
    {"smbfs", SMB_SUPER_MAGIC, as_channel, as_channel, "SMB"},
    {"9p", V9FS_MAGIC, as_channel, as_channel, "9P"},
    {"ceph", CEPH_SUPER_MAGIC, as_channel, as_channel, "CEPH"},
    {"fuse", FUSE_SUPER_MAGIC, as_channel, as_channel, "FUSE"},
    {"fuseblk", FUSE_SUPER_MAGIC, as_channel, as_channel, "FUSE"},
    {"virtiofs", FUSE_SUPER_MAGIC, as_channel, as_channel, "FUSE"},
    {"autofs", AUTOFS_SUPER_MAGIC, as_channel, as_channel, "AUTOFS"},
    {"afs", AFS_FS_MAGIC, as_channel, as_channel, "AFS"},
    {"afs", AFS_SUPER_MAGIC, as_channel, as_channel, "AFS"},
    {"coda", CODA_SUPER_MAGIC, as_channel, as_channel, "CODA"},
    {"ocfs2", OCFS2_SUPER_MAGIC, as_channel, as_channel, "OCFS2"},
    {"gfs2", 0x01161970, as_channel, as_channel, "GFS2"},
    {"lustre", 0x0bd00bd0, as_channel, as_channel, "LUSTRE"},
    {"gpfs", 0x47504653, as_channel, as_channel, "GPFS"},
};

} // namespace

std::span<const Filesystem> filesystems()
{
    return table;
}

const Filesystem* filesystem_of_type(std::string_view type)
{
    if (type.starts_with("fuse."))
        type = "fuse";
    const auto* const found = std::ranges::find(table, type, &Filesystem::type);
    return found == std::ranges::end(table) ? nullptr : found;
}

const Filesystem* filesystem_of_magic(std::uint64_t magic)
{
    const auto* const found = std::ranges::find(table, magic, &Filesystem::magic);
    return magic == 0 || found == std::ranges::end(table) ? nullptr : found;
}

Verdict judge(Harmless rule, const Surroundings& around)
{
    const Verdict by_root = around.own_users   ? Verdict::harmless
                            : around.host_root ? Verdict::voids
                                               : Verdict::advised;
    switch (rule) {
    case never: return Verdict::voids;
    case always: return Verdict::harmless;
    case as_channel: return Verdict::channel;
    case read_only_to_root: return around.writable ? by_root : Verdict::harmless;
    // Not only root: an engine gives cgroups to users (systemd's Delegate=).
    case read_only: return around.writable ? Verdict::voids : Verdict::harmless;
    case Harmless::own_cgroups:
        // The host's root owns the files, and nobody in a user namespace without it may write them.
        // Docker with userns-remap mounts cgroups so.
        return around.writable && !around.own_cgroups && (!around.own_users || around.delegated)
                   ? Verdict::voids
                   : Verdict::harmless;
    case read_only_sys:
        return around.writable && !around.sys_is_read_only ? by_root : Verdict::harmless;
    }
    std::abort(); // a byte that is no Harmless
}

std::string harm_of(const Filesystem& filesystem, Harmless rule)
{
    const std::string shown(filesystem.shown);
    switch (rule) {
    case read_only_to_root: return "root inside can write " + shown + "; mount it \"ro\"";
    case read_only: return "who can write " + shown + " can leave the container's; mount it \"ro\"";
    case Harmless::own_cgroups:
        return "who can write " + shown +
               " can leave the container's and end the host's "
               R"(processes; mount it "ro", or add {"type":"cgroup"} to linux.namespaces)";
    case never:
    case always:
    case as_channel:
    case read_only_sys: return "is " + shown + "; mount only what is needed";
    }
    std::abort(); // a byte that is no Harmless
}

} // namespace anchorhold::inspect
