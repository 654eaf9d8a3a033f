#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Under policy "forwarding": "enable" the host forwards the packets of filtered runs and nobody
# else's, and with the last of these runs every switch is as it was.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
open_world
needs_host nf_tables
policy '{ceiling: "allowlist", allow_by: "packets", forwarding: "enable"}'
sysctls=/proc/sys/net/ipv4
echo 0 >"$sysctls/ip_forward"

# A neighbour whom the internet would reach through this host if it were a router.
ip netns add neighbour
ip link add lan0 type veth peer name eth0 netns neighbour
ip addr add 10.9.9.1/24 dev lan0
ip link set lan0 up
ip -n neighbour addr add 10.9.9.2/24 dev eth0
ip -n neighbour link set eth0 up
ip -n neighbour route add default via 10.9.9.1
ip -n internet route add 10.9.9.0/24 via 203.0.113.2
start_ready nsenter --net=/run/netns/neighbour "$python" "$here/lib/world.py" tcp=7000
echo 1 >"$sysctls/conf/lan0/forwarding" # somebody's, who has not switched up0 on
stranger() { nsenter --net=/run/netns/internet "$lab/bin/attempt" tcp=10.9.9.2:7000; }
remember_kernel

switches() { # of the links that are not ours
    grep -H . "$sysctls"/ip_forward "$sysctls"/conf/*/{forwarding,accept_redirects,send_redirects} |
        grep -v /ah
}
is_on() { cat "$sysctls/conf/$1/forwarding"; } # LINK
gc() { "$lab/bin/anchorhold" --ah-state "$lab/state" gc; }
make() { # ID
    bundle "$1" '.annotations += {"dev.anchorhold.egress": "allowlist", "dev.anchorhold.allow": "1.1.1.1"}' \
        sleep infinity
    "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >"$lab/log" 2>&1 || cat "$lab/log"
    "$runtime" start "$1"
}
kill_init() { # ID: as when nobody deletes it
    local init
    init=$("$plain_runtime" state "$1" | jq .pid)
    kill -KILL "$init"
    wait_for_end "$init"
}
unmake() { # ID
    kill_init "$1"
    "$runtime" delete --force "$1"
}
try() { "$runtime" exec "$1" attempt tcp=1.1.1.1:443; } # ID
passes() { contains "$(try "$1")" "tcp=1.1.1.1:443 reached"; } # ID
refuses_stranger() { contains "$(stranger)" "tcp=10.9.9.2:7000 refused"; }
reaches_stranger() { contains "$(stranger)" "tcp=10.9.9.2:7000 reached"; }
as_before() { same "$before" "$(switches)"; }

before=$(switches)
check "before: the stranger is not routed" refuses_stranger
make one
check "the run's own packets are" passes one
check "ip_forward was left alone" same 0 "$(<"$sysctls/ip_forward")"
check "the link that leads to what was granted is switched on" same 1 "$(is_on up0)"
check "and no other is" same "$before" "$(switches | sed 's,up0/forwarding:1,up0/forwarding:0,')"
check "the stranger is not routed while the run lives" refuses_stranger
nft flush chain inet anchorhold toward
check "control: but for our chain he is" reaches_stranger
gc
nft flush ruleset
gc
check "gc restores it" refuses_stranger
check "and the run's own packets pass" passes one
make two
unmake one
check "with one of two nothing is switched off" passes two
unmake two
check "with the last one every switch is as it was" as_before
check "nothing is left" nothing_left

make one
kill_init one
check "control: a run that was killed leaves it on" same 1 "$(is_on up0)"
check "and the stranger is not routed" refuses_stranger
gc
check "gc: every switch is as it was" as_before
"$plain_runtime" delete --force one
check "killed: nothing is left" nothing_left

make one
kill_init one
umount -l "$lab"/state/runs/*/netns
rm -rf "${lab:?}/state"
gc
check "gc, with an emptied state directory: every switch is as it was" as_before
"$plain_runtime" delete --force one

# ---- what somebody else wants -------------------------------------------------------------------

make one
echo 1 >"$sysctls/ip_forward"
gc
check "somebody made the host a router meanwhile: it is one" reaches_stranger
check "and the run's own packets pass still" passes one
routing=$(switches)
unmake one
check "and stays one" same "$routing" "$(switches)"
check "with the stranger" reaches_stranger
make one
unmake one
check "it was one before: it stays one" same "$routing" "$(switches)"

make one
echo 0 >"$sysctls/ip_forward"
gc
check "it is one no more: the run's own packets pass" passes one
check "and no others" refuses_stranger
unmake one
check "and the switches are as he left them" same 0 "$(is_on up0)"

echo 1 >"$sysctls/conf/up0/forwarding"
make one
check "a link that somebody switched on is his" same "" \
    "$(nft list set inet anchorhold switched | grep up0)"
unmake one
check "and stays on" same 1 "$(is_on up0)"
echo 0 >"$sysctls/conf/up0/forwarding"
check "nothing is left of any" nothing_left
finish
