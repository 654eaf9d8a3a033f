#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every way out that works without us fails: in a container that asked for nothing, in one that
# asked for its model, and in what is exec'd into either.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
open_world
remember_kernel

greedy='.process.capabilities |= map_values(. + ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_MKNOD"])
        | .root.readonly = false'
declare -A severed severed_exec relayed relayed_exec

# try_all POSTURE FILTER: as the container's command, and from an exec that asks for capabilities.
try_all() {
    local cell
    bundle "$1" "$greedy | $2" attempt "${ways[@]#* | }"
    take_answers "$1" < <(in_cell "$1")
    check "nothing is left of the $1 container" nothing_left
    bundle "$1-long" "$greedy | $2" sh -c 'echo up; exec sleep infinity'
    start_ready in_cell "$1-long"
    cell=$!
    take_answers "$1_exec" < <("$runtime" exec --cap CAP_NET_ADMIN --cap CAP_NET_RAW "$1-long" \
        attempt "${ways[@]#* | }")
    "$runtime" kill "$1-long" KILL
    wait "$cell"
    check "nothing is left of the $1 container with an exec" nothing_left
}

# A setuid program gives its caller whatever the bounding set still holds.
cp "$lab/bin/attempt" "$lab/rootfs/bin/suid"
chmod 4755 "$lab/rootfs/bin/suid"
bundle suid "$greedy | .process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = false" \
    suid net-capabilities
suid=$(in_cell suid)
suid_without_us=$(without_us suid .)
check "B-29 a setuid program" contains "$suid" "net-capabilities refused"
check "B-29 a setuid program: without us it has them" \
    contains "$suid_without_us" "net-capabilities reached"

# Whatever namespace stood in the bundle, the container is alone with its lo.
alone() { # FILTER
    bundle alone "$1" ls /sys/class/net
    same lo "$(in_cell alone)" && nothing_left
}
where() { echo ".linux.namespaces |= map(if .type == \"network\" then $1 else . end)"; }
check "R23 C-10 another namespace by path" alone "$(where '. + {path: "/run/netns/internet"}')"
check "R22 C-10 the host's by path" alone "$(where ". + {path: \"/proc/$$/ns/net\"}")"
check "R22 C-10 the host's, no entry" alone "$(where empty)"
check "C-10 an empty path" alone "$(where '. + {path: ""}')"
bundle joins "$(where '. + {path: "/run/netns/internet"}')" ls /sys/class/net
check "C-10 without us the path is joined" contains "$(without_us joins .)" down0

start_broker model
try_all severed .
try_all relayed "$(asks_for model)"

# Last, for what succeeds here leaves its traces.
take_answers control < <(in_the_open severed)
# A network namespace of its own, which any runtime gives, keeps the others from getting out.
ours="B-25|B-26|B-28|B-33|B-34|B-35|B-54|B-56|B-58"
red_only "$ours" judge severed ", severed"
red_only "$ours" judge severed_exec ", severed, from an exec"
red_only "$ours" judge relayed ", relayed"
red_only "$ours" judge relayed_exec ", relayed, from an exec"
finish
