#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Knows what this host's kernel can do that another may not, by having it done and never by what a
# configuration says. A test asks by word (lab.sh: check_where, only_where, needs_host; relay_lab.py:
# case(needs=...)).
#
#     features.sh             each word with "yes" or "no", as the file that AH_FEATURES names
#     features.sh WORD...     what of those this host lacks, in words, and then fails
#
# AH_FEATURES=FILE: the answers, once for a whole suite (tests/run). Without it each is found out
# when it is asked for.
# AH_WITHOUT="WORD...": these are denied, as on a host that lacks them.
# shellcheck shell=bash

declare -A feature_is feature_needs feature_probe
features=()

# feature WORD WHAT-IT-IS [needs=WORD] COMMAND...: there when the command succeeds.
feature() {
    local word=$1
    features+=("$word")
    feature_is[$word]=$2
    shift 2
    [[ $1 != needs=* ]] || { feature_needs[$word]=${1#needs=}; shift; }
    feature_probe[$word]=$*
}

# test_program VARIABLE NAME: where that program is; a laboratory has its own copy.
test_program() {
    local at
    for at in "/run/lab/bin/$2" "${!1:-}"; do
        [ ! -x "$at" ] || { echo "$at"; return; }
    done
    return 1
}

feature_attempts() { # WORD: of attempt(1), without which nothing is known
    local program
    program=$(test_program AH_ATTEMPT attempt) || exit 99
    [[ $("$program" "$1") == "$1 reached"* ]]
}
feature_program_i386() {
    local program
    program=$(test_program AH_HELLO_I386 hello-i386) && "$program"
}
feature_alone() { unshare --mount --net -- "$@"; } # what it makes goes with it
feature_nft() { feature_alone nft "add table $1 t; $2"; } # FAMILY COMMAND
feature_link() { feature_alone ip link add one type "$@"; }
feature_tun() {
    local program
    program=$(test_program AH_ATTEMPT attempt) || exit 99
    feature_alone sh -c 'mount --no-mtab -t tmpfs tmpfs /mnt && "$0" tun=/mnt | grep "^tun=/mnt reached"' "$program"
}
feature_overlay() {
    feature_alone bash -c 'mount --no-mtab -t tmpfs tmpfs /mnt && mkdir /mnt/{a,b,c,d} &&
        mount --no-mtab -t overlay overlay -o lowerdir=/mnt/a,upperdir=/mnt/b,workdir=/mnt/c /mnt/d'
}
# Either version's, as relay_limits.py looks for it.
feature_memory() {
    local directory status=1
    for directory in /sys/fs/cgroup/{memory/,}ah-feature-$$; do
        mkdir "$directory" 2>/dev/null || continue
        [ ! -e "$directory/memory.limit_in_bytes" ] && [ ! -e "$directory/memory.max" ] || status=0
        rmdir "$directory"
    done
    return $status
}

feature ia32 "32-bit system calls" feature_attempts i386-socket=2
feature ia32_program "32-bit programs, and a compiler for one" needs=ia32 feature_program_i386
feature x32 "x32 system calls" feature_attempts x32-socket=2
feature vsock "AF_VSOCK sockets" feature_attempts socket=40:1
feature xdp "AF_XDP sockets" feature_attempts socket=44:3
feature packet "packet sockets" feature_attempts socket=17:3
feature io_uring io_uring feature_attempts io-uring
feature request_key "the kernel's keys" feature_attempts request-key
feature peer_pidfd "SO_PEERPIDFD, of Linux 6.5" /usr/bin/python3 -ISc \
    "'import socket; socket.socketpair()[0].getsockopt(socket.SOL_SOCKET, 77)'"
feature userns "user namespaces" unshare --user true
feature userns_unprivileged "user namespaces of an ordinary user" needs=userns \
    setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user true
feature overlay "overlay mounts" feature_overlay
feature memory_cgroup "a cgroup that limits memory" feature_memory
feature tun "tun links" feature_tun
feature veth "veth links" feature_link veth peer name two
feature bridge "bridges" feature_link bridge
feature dummy "dummy links" feature_link dummy
feature macvlan "macvlan links" needs=veth \
    feature_alone sh -c "'ip link add one type veth peer name two && ip link add three link one type macvlan'"
feature ipv6 "IPv6" feature_alone sh -c "'ip link set lo up && ip -6 addr add 2001:db8::1/128 dev lo'"
feature nf_tables "nf_tables" feature_nft inet "''"
feature netdev_ingress "nf_tables at a link's ingress" needs=nf_tables feature_nft netdev \
    "'add chain netdev t c { type filter hook ingress device lo priority 0; }'"
feature netdev_egress "nf_tables at a link's egress" needs=nf_tables feature_nft netdev \
    "'add chain netdev t c { type filter hook egress device lo priority 0; }'"
feature tproxy "nf_tables' tproxy" needs=nf_tables feature_nft inet \
    "'add chain inet t c { type filter hook prerouting priority 0; }; add rule inet t c meta l4proto tcp tproxy ip to :1'"

# host_has WORD: this host's kernel can do it. AH_HAS holds what is known, for subshells and for the
# laboratory, from which AH_FEATURES may not be seen.
host_has() {
    local answer=no status
    [ -n "${feature_is[$1]:-}" ] || { echo "# features.sh does not know $1" >&2; exit 99; }
    [[ " ${AH_WITHOUT:-} " != *" $1 "* ]] || return 1
    [ -z "${feature_needs[$1]:-}" ] || host_has "${feature_needs[$1]}" || return 1
    [[ " ${AH_HAS:-} " != *" $1=yes "* ]] || return 0
    [[ " ${AH_HAS:-} " != *" $1=no "* ]] || return 1
    (eval "${feature_probe[$1]}") >/dev/null </dev/null 2>&1
    status=$?
    [ $status != 99 ] || { echo "# needs AH_ATTEMPT, the path of attempt" >&2; exit 99; }
    [ $status != 0 ] || answer=yes
    export AH_HAS="${AH_HAS:-} $1=$answer"
    [ $answer = yes ]
}

# host_lacks WORD...: fails when it has them all; else $lacking says in words what it has not.
host_lacks() {
    local word
    lacking=
    for word in "$@"; do
        host_has "$word" || lacking+="${lacking:+ and }${feature_is[$word]}"
    done
    [ -n "$lacking" ]
}

# A word that nobody knows would deny nothing.
for word in ${AH_WITHOUT:-}; do
    [ -n "${feature_is[$word]:-}" ] || { echo "# AH_WITHOUT: features.sh does not know $word" >&2; exit 99; }
done
if [ -z "${AH_HAS:-}" ] && [ -r "${AH_FEATURES:-}" ]; then
    AH_HAS=$(tr ' \n' '= ' <"$AH_FEATURES")
    export AH_HAS
fi

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    if [ $# -gt 0 ]; then
        host_lacks "$@" || exit 0
        echo "$lacking"
        exit 1
    fi
    for word in "${features[@]}"; do
        if host_has "$word"; then echo "$word yes"; else echo "$word no"; fi
    done
fi
