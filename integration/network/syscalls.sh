#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# seccomp denies the calls that an empty network namespace does not sever, whatever profile an engine
# or a person wrote. The calls that a cell may make still work.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" setpriv
fixtures=$here/../tests/fixtures
podman=$(jq -c .linux.seccomp "$fixtures/podman-cap-drop-all.json") || exit 1
containerd=$(jq -c .linux.seccomp "$fixtures/ctr-seccomp.json") || exit 1
enter_lab
make_rootfs "$lab/rootfs"
cp "$AH_CALLS" "$lab/rootfs/bin/calls"
[ ! -x "$lab/bin/hello-i386" ] || cp "$lab/bin/hello-i386" "$lab/rootfs/bin"
policy

# A careless broker: of the container's uid, dumpable, with another socket in its hand.
victim=$brokers/victim/broker.sock
mkdir -p -m 777 "$brokers/victim"
start_ready setpriv --reuid 1000 --regid 1000 --clear-groups "$python" -c '
import socket
other = socket.create_server(("127.0.0.1", 0))
server = socket.socket(socket.AF_UNIX)
server.bind("'"$victim"'")
server.listen()
print("listening", flush=True)
while True:
    server.accept()'
broker=$!
remember_kernel

# ---- profiles -----------------------------------------------------------------------------------

ways=(vsock vsock-high-bits vsock-i386 vsock-socketcall vsock-x32 vsock-io-uring io-uring-i386
    request-key request-key-i386 pidfd-getfd pidfd-getfd-i386 netlink-audit
    netlink-audit-high-bits netlink-audit-i386 netlink-crypto)
kept=(unix inet inet6 netlink pair-unix packet inet-i386 program-i386)
declare -A way_needs=( # of the host (features.sh), or there is no control
    [vsock]=vsock
    [vsock-high-bits]=vsock
    [vsock-i386]="ia32 vsock"
    [vsock-socketcall]="ia32 vsock"
    [vsock-x32]="x32 vsock"
    [vsock-io-uring]="io_uring vsock"
    [io-uring-i386]="ia32 io_uring"
    [request-key]=request_key
    [request-key-i386]="ia32 request_key"
    [pidfd-getfd]=peer_pidfd
    [pidfd-getfd-i386]="ia32 peer_pidfd"
    [inet6]=ipv6
    [inet-i386]=ia32
    [program-i386]=ia32_program
    [families-i386]=ia32
)
declare -A seccomp open
profiles=()

# profile NAME JQ-FILTER-OF-ITS-MEMBERS INPUT WAY...: and what of the ways it leaves open.
profile() {
    local name=$1
    profiles+=("$name")
    seccomp[$name]=$(jq -c "$2" <<<"$3") || exit 1
    shift 3
    open[$name]=" $* "
}

all=("${ways[@]}")
x86='["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]'
allow="{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": $x86}"
by_family() { # by_family OPERATOR FAMILY: a jq filter that narrows a profile's socket(2)
    echo '.syscalls |= map(.names -= ["socket"]) | .syscalls += [{names: ["socket"],
        action: "SCMP_ACT_ALLOW", args: [{index: 0, value: '"$2"', op: "SCMP_CMP_'"$1"'"}]}]'
}

# Keys and others' descriptors are refused by containerd's and Docker's own.
sockets=(vsock vsock-high-bits vsock-i386 vsock-socketcall vsock-x32 vsock-io-uring io-uring-i386)
audit=(netlink-audit netlink-audit-high-bits netlink-audit-i386 netlink-crypto)
profile none . null "${all[@]}"
[ "$plain_name" = crun ] || profile empty . '{}' "${all[@]}" # crun refuses it by itself
profile podman . "$podman" "${sockets[@]:0:5}" pidfd-getfd pidfd-getfd-i386 \
    netlink-audit-high-bits netlink-crypto
profile containerd . "$containerd" "${sockets[@]}" "${audit[@]}"
# As Docker has written it since 23, and since 25 without io_uring.
profile docker "$(by_family NE 40)" "$containerd" vsock-high-bits vsock-socketcall \
    vsock-io-uring io-uring-i386 "${audit[@]}"
profile killing '.defaultAction = "SCMP_ACT_KILL_PROCESS"' "$containerd" "${sockets[@]}" \
    "${audit[@]}"
profile one-architecture 'del(.architectures)' "$containerd" vsock vsock-high-bits vsock-io-uring \
    "${audit[@]/*i386/}"
profile ranges "$(by_family LE 45)" "$containerd" "${sockets[@]/vsock-high-bits/}" \
    "${audit[@]/*high-bits/}"
profile allowing '.syscalls = []' "$allow" "${all[@]}"
profile logging '.defaultAction = "SCMP_ACT_LOG"' "$allow" "${all[@]}"
profile by-protocol '.syscalls = [{names: ["socket", "pidfd_getfd"], action: "SCMP_ACT_LOG",
    args: [{index: 2, value: 0, op: "SCMP_CMP_EQ"}]}]' "$allow" "${all[@]}"
profile denying '.syscalls = [{names: ["socket"], action: "SCMP_ACT_ERRNO", errnoRet: 1,
    args: [{index: 0, value: 40, op: "SCMP_CMP_EQ"}]}]' "$allow" vsock-high-bits \
    vsock-io-uring io-uring-i386 request-key request-key-i386 pidfd-getfd pidfd-getfd-i386 \
    "${audit[@]}"

# ---- attempts -----------------------------------------------------------------------------------

poor='.process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = true
      | .process.capabilities = {bounding: [], effective: [], inheritable: [], permitted: [],
                                 ambient: []}
      | .mounts += [{destination: "/victim", type: "bind", source: "'"$brokers/victim"'",
                     options: ["rbind"]}]'
with_profile() { # with_profile NAME: a jq filter
    echo "$poor | if \$profile == null then . else .linux.seccomp = \$profile end" |
        sed "s|\$profile|(${seccomp[$1]//|/\\|})|g"
}

# take ARRAY: files the lines of calls(1) on stdin under their names.
take() {
    local -n into=$1
    local name outcome
    while read -r name outcome; do into[$name]=$outcome; done
}

blocked() { # by us where the profile leaves it open, else still by the profile
    echo "inside: ${inside[$1]:-none}, without us: ${control[$1]:-none}"
    [ -n "${inside[$1]:-}" ] && [ "${inside[$1]}" != reached ] || return 1
    if [[ ${open[$2]} == *" $1 "* ]]; then
        [ "${control[$1]:-}" = reached ]
    else
        [ "${control[$1]:-reached}" != reached ]
    fi
}

unchanged() {
    same "${control[$1]:-none}" "${inside[$1]:-none}"
}

no_other_family() { # no_other_family NAME: inside only those that are kept, and fewer than before
    local family
    [ "${control[$1]}" != "${inside[$1]}" ] || [ -z "${control[$1]}" ] || return 1
    for family in ${inside[$1]}; do
        [[ " 1 2 10 16 17 " == *" $family "* ]] || { echo "$family"; return 1; }
    done
}

# check_way WAY NAME COMMAND...: where the host has what the way takes. What then still does not get
# through outside of any container is no control either.
check_way() {
    local name=$2
    if [[ " ${ways[*]} " == *" $1 "* && ${here_outcomes[$1]:-} != reached ]] && host_has_way "$1"; then
        skip "$name" "this host refuses it to an ordinary process: ${here_outcomes[$1]:-no answer}"
    else
        check_where "${way_needs[$1]:-}" "$name" "${@:3}"
    fi
}
host_has_way() {
    # shellcheck disable=SC2086
    ! host_lacks ${way_needs[$1]:-}
}

judge() { # judge PROFILE SUFFIX
    local name
    for name in "${ways[@]}"; do check_way "$name" "$1: $name fails$2" blocked "$name" "$1"; done
    for name in families families-high-bits families-i386 families-pair; do
        check_way "$name" "$1: no other of the $name$2" no_other_family "$name"
    done
    for name in "${kept[@]}"; do check_way "$name" "$1: $name as before$2" unchanged "$name"; done
}

declare -A here_outcomes control inside
take here_outcomes < <(setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set -all \
    "$lab/rootfs/bin/calls" "$victim")

# run_with PROFILE: in a cell, and the same bundle without us.
run_with() {
    control=()
    inside=()
    bundle "$1" "$(with_profile "$1")" calls /victim/broker.sock
    take inside < <(in_cell "$1")
    take control < <(within 60 "$plain_runtime" run --bundle "$lab/b/$1" "$1" </dev/null)
}

for name in "${profiles[@]}"; do
    run_with "$name"
    judge "$name" ""
done

# ---- from an exec -------------------------------------------------------------------------------

run_with podman
bundle long "$(with_profile podman)" sh -c 'echo up; exec sleep infinity'
start_ready "$runtime" run --bundle "$lab/b/long" long
inside=()
take inside < <("$runtime" exec --user 1000:1000 long calls /victim/broker.sock)
"$plain_runtime" kill long KILL
wait $!
judge podman ", from an exec"
check "nothing is left" nothing_left

# ---- by a policy that allows vsock --------------------------------------------------------------

policy '{vsock: "allow"}'
run_with none
check_way vsock "vsock is reached where policy allows it" same reached "${inside[vsock]:-none}"
check_way families "and no other family" same "1 2 10 16 17 40" "${inside[families]:-none}"
check_way pidfd-getfd "and no other process's descriptor" blocked pidfd-getfd none
policy

# ---- what cannot be rewritten -------------------------------------------------------------------

profile unknown '.syscalls = [{names: ["socket"], action: "SCMP_ACT_MAYBE"}]' "$allow"
bundle unknown "$(with_profile unknown)" calls /victim/broker.sock
refusal=$(in_cell unknown 2>&1)
check "an action nobody knows is refused" contains "$refusal" "(bundle_voids_posture)"
check "and named" contains "$refusal" 'syscalls[0]: unknown action "SCMP_ACT_MAYBE"'

# ---- a profile in which the relay cannot live ---------------------------------------------------

for action in KILL_PROCESS ERRNO; do
    profile tight-$action '.syscalls = [{names: ["statfs"], action: "SCMP_ACT_'$action'"}]' "$allow"
    bundle tight "$(with_profile tight-$action)" true
    check "control: without us the command lives under $action of statfs" \
        within 60 "$plain_runtime" run --bundle "$lab/b/tight" tight
    tight=$(in_cell tight 2>&1)
    check "a profile that denies what the relay needs is refused, $action" contains "$tight" \
        "linux.seccomp (--security-opt seccomp=): denies statfs to the relay"
    check "in one line, $action" same 1 "$(grep -c . <<<"$tight")"
done
check "nothing is left of those" nothing_left
finish
