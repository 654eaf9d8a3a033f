#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is judged is what arrives: a filesystem whichever way it comes, an option of the runtime's
# that undoes what config.json says, a policy by the one name that it is read by.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
mkdir -p "$lab/rootfs/mnt"
policy
remember_kernel

# refused_with WORD... PLACE: create of the bundle called void, with global options.
refused_with() {
    local place=${*: -1} status
    within 30 "$runtime" "${@:1:$#-1}" create --bundle "$lab/b/void" void >"$lab/said" 2>&1 </dev/null
    status=$?
    [ $status = 1 ] || "$plain_runtime" delete --force void
    same 1 $status && contains "$(<"$lab/said")" "anchorhold: create void: $place" &&
        contains "$(<"$lab/said")" " (bundle_voids_posture)" && nothing_left
}

# voids NAME PLACE FILTER PROBE: the probe says "reached" when the danger is real.
voids() {
    bundle void ".root.readonly = false | .process.capabilities = {} | $3" sh -c "$4"
    check "without us: $1" contains \
        "$(within 60 "$plain_runtime" run --bundle "$lab/b/void" void </dev/null)" reached
    check "refused: $1" refused_with "$2"
}

# passes NAME FILTER PROBE: the control; the same, made harmless, runs and reaches nothing.
passes() {
    bundle fine ".root.readonly = false | .process.capabilities = {} | $2" sh -c "$3; echo ran"
    check "control: $1" same ran "$(in_cell fine 2>/dev/null)"
}

bind() { # bind SOURCE OPTION
    echo ".mounts += [{destination: \"/mnt\", type: \"bind\", source: \"$1\",
        options: [\"bind\", \"$2\"]}]"
}

# ---- filesystems ----------------------------------------------------------------------------------

# Opened to append, so that nothing is changed.
writes='(: >>/sys/module/printk/parameters/time) 2>/dev/null && echo reached'
voids "a sysfs by its type" "mounts[5]" '.mounts[5].options -= ["ro"]' "$writes"
passes "the same, read-only" . "$writes"
writes=${writes/sys\/module/mnt}
voids "a bind of /sys/module" "mounts[7].source" "$(bind /sys/module rw)" "$writes"
passes "the same, read-only" "$(bind /sys/module ro)" "$writes"

cgroups=$(awk '$3 ~ /^cgroup/ && $2 ~ /devices|unified|cgroup$/ { print $2; exit }' /proc/mounts)
leaves='{ echo 0 >/mnt/cgroup.procs; } 2>/dev/null && echo reached'
voids "a bind of the host's cgroups" "mounts[7].source" "$(bind "$cgroups" rw)" "$leaves"
passes "the same, read-only" "$(bind "$cgroups" ro)" "$leaves"

# ---- device nodes of an image ---------------------------------------------------------------------

# podman writes no device rules where the container has users of its own.
own_users='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000,
    size: 65536}] | .linux.gidMappings = .linux.uidMappings | del(.linux.resources)
    | .process.capabilities = {}'
opens='(: </mnt/node) 2>/dev/null && echo reached'
node() { # node FILTER WORD...: a bundle whose image brings a device of the host with mode 0666
    bundle node "$own_users | $1" sh -c "$2"
    mknod -m 666 "$lab/b/node/rootfs/mnt/node" c 10 229
}
node . "$opens; echo ran"
case $plain_name in
    crun*)
        check "without us: the image's node opens" same $'reached\nran' \
            "$(within 60 "$plain_runtime" run --bundle "$lab/b/node" node </dev/null)"
        ;;
esac
check "the image's node is closed, in users of its own" same ran "$(in_cell node)"
node . 'for d in null zero full random urandom ptmx; do (: </dev/$d) || echo "no $d"; done; echo ran'
check "control: what every container gets is open" same ran "$(in_cell node)"

# ---- options --------------------------------------------------------------------------------------

bundle void . true
case $plain_name in
    crun*)
        bundle void '.root.readonly = false | .linux.resources.devices = [{allow: false,
            access: "rwm"}] | .process.capabilities |= map_values(. + ["CAP_MKNOD"])' \
            sh -c 'mknod /mnt/k c 10 229 && : </mnt/k && echo reached'
        check "without us: no manager of cgroups, no device rules" contains \
            "$(within 60 "$plain_runtime" --cgroup-manager=disabled run --bundle "$lab/b/void" \
                void </dev/null 2>&1)" reached
        check "refused: no manager of cgroups" refused_with --cgroup-manager=disabled \
            --cgroup-manager
        ;;
    *) check "refused: a runtime that goes without cgroups" refused_with --rootless true --rootless ;;
esac
bundle fine . sh -c 'echo ran'
check "control: the same options with another value" same ran \
    "$(within 60 "$runtime" --rootless=false run --bundle "$lab/b/fine" fine </dev/null 2>/dev/null)"

# ---- names ----------------------------------------------------------------------------------------

# From / this name leads to a file of root's, from the caller's directory to somebody else's policy.
install -d -o 1000 "$lab/theirs" "$lab/theirs/etc"
cp "$lab/policy.json" "$lab/theirs/etc/passwd"
asks() { # asks POLICY: doctor's row, called from a directory that somebody else owns
    (cd "$lab/theirs" && "$lab/bin/anchorhold" --ah-policy "$1" --ah-state "$lab/state" doctor 2>&1) |
        grep -E '^policy '
}
check "a relative policy is read from nowhere" contains "$(asks etc/passwd)" \
    '"etc/passwd" is not absolute'
check "somebody else's policy is refused" contains "$(asks "$lab/theirs/etc/passwd")" \
    "belongs to uid 1000"
check "control: ours is read" contains "$(asks "$lab/policy.json" | tr -s ' ')" \
    "policy yes $lab/policy.json"

check "nothing is left" nothing_left
finish
