#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The programs of the node's image run where there is no C library at all: in a root directory that
# has nothing but them.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root patchelf ldd
bundle=$(<"$here/../contrib/kubernetes/bundle") # before its folder may be hidden
enter_lab
printf '%s\n' "$bundle" >"$lab/bundle"
chmod 755 "$lab/bundle"
remember_kernel
prefix=/opt/anchorhold
node=$lab/node

mkdir -p "$node$prefix/bin" "$node$prefix/libexec/anchorhold"
cp "$lab/bin/anchorhold" "$node$prefix/bin"
cp "$lab"/libexec/anchorhold/* "$node$prefix/libexec/anchorhold"
on_node() { chroot "$node" "$prefix/$1" "${@:2}" 2>&1; }
helpers=libexec/anchorhold

check "control: as built, the hook does not run there" contains "$(on_node $helpers/anchorhold-hook)" \
    "chroot: failed to run command"
check "the tree is bundled" "$lab/bundle" "$node$prefix" "$prefix"
check "the shim runs there" contains "$(on_node bin/anchorhold --ah-version)" "anchorhold "
check "the relay does" contains "$(on_node $helpers/anchorhold-relay --help)" "anchorhold-relay: "
check "so does the hook, with its own loader" contains "$(on_node $helpers/anchorhold-hook)" \
    "usage: anchorhold-hook"
mv "$node$prefix" "$node/elsewhere"
check "which is found at its place alone" contains \
    "$(chroot "$node" /elsewhere/$helpers/anchorhold-hook 2>&1)" "chroot: failed to run command"
mv "$node/elsewhere" "$node$prefix"

# The shim finds the hook, and the hook does its work: the probes ask the kernel what it can do.
mkdir -p "$node"/{dev,proc,sys,run}
mount --bind /dev "$node/dev"
mount -t proc proc "$node/proc"
mount -t sysfs -o ro sysfs "$node/sys"
mount -t tmpfs tmpfs "$node/run"
doctor=$(on_node bin/anchorhold doctor)
check "the hook's probes answer there" contains "$(sed -n 's/  */ /gp' <<<"$doctor")" "can_seal yes"
umount "$node/run" "$node/sys" "$node/proc" "$node/dev"
check "nothing is left" nothing_left
finish
