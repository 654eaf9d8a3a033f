#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A run's pair of links is what was asked for, no run gets a subnet that the host uses,
# and whatever leads packets to a container elsewhere is noticed and named.
. "$(dirname "$0")/../lib/lab.sh"

needs root ip jq nsenter
enter_lab "$@"

probe=${AH_ROUTES_PROBE:?}
name=ah0123456789ab
state=$lab/state

exec {ready}< <(exec unshare --net sh -c 'echo; exec sleep infinity')
init=$!
read -r -u "$ready"
inside() { nsenter -t "$init" -n -- "$@"; }
index_of() { ip -j link show "$1" | jq '.[0].ifindex'; } # LINK
mkdir "$lab/sys"
mount -t sysfs sysfs "$lab/sys" # the laboratory's links, not the host's

# [nsenter...] ip -j: FILTER of what it says
link_of() { jq -r '.[0] | "\(.ifname) \(.address) \(.operstate)"'; }
addresses_of() { jq -r '[.[0].addr_info[] | "\(.family) \(.local)/\(.prefixlen)"] | join(", ")'; }

names_of() { jq -r '[.[].ifname] | join(" ")'; }

# ---- the pair -----------------------------------------------------------------------------------

links=$("$probe" plug "$name" "$init") || {
    not_ok "a pair is made" "$links"
    finish
}
ok "a pair is made"
read -r own inner <<<"$links"
check "the host's end has the run's name, and a MAC that nobody replaces" same \
    "$name 02:23:45:67:89:ab UP 3" \
    "$(ip -j link show "$name" | link_of) $(cat "$lab/sys/class/net/$name/addr_assign_type")"
check "the container's end was born inside" same "eth0 06:23:45:67:89:ab UP" \
    "$(inside ip -j link show eth0 | link_of)"
check "each end is known by its index" same "$own $inner" \
    "$(index_of "$name") $(inside ip -j link show eth0 | jq '.[0].ifindex')"
check "a filtered run's way out is the gateway" same "default via 198.18.0.1 dev eth0 proto static" \
    "$(inside ip route show default | sed 's/ *$//')"

# A pair that anybody makes, brought up after ours: when it has its addresses, ours would have.
ip link add control type veth peer name control netns "$init"
inside ip link set control up
ip link set control up
has_fe80() { "$@" ip -j -6 addr show dev control | jq -e '[.[].addr_info[]?] | length > 0' >/dev/null; }
until has_fe80 && has_fe80 inside; do :; done
ok "another pair gets its fe80:: addresses at both ends"
check "the host's end has one address, and none of IPv6" same "inet 198.18.0.1/30" \
    "$(ip -j addr show "$name" | addresses_of)"
check "the container's end has one address, and none of IPv6" same "inet 198.18.0.2/30" \
    "$(inside ip -j addr show eth0 | addresses_of)"
ip link del control

check "a name that is taken is refused" same \
    "make link $name: file exists (EEXIST)" "$("$probe" plug "$name" "$init")"
check "and what has it stays" same "$own" "$(index_of "$name")"

# ---- the question -------------------------------------------------------------------------------

ip link add lan type veth peer name lan-peer # some kernels have no dummy links
ip addr add 10.5.0.1/24 dev lan
ip link set lan-peer up
ip link set lan up
other=$(index_of lan)

answered() { # NAME ANSWER
    check "$1" same "$2" "$("$probe" ask "$own")"
}
refused() { # NAME WHY
    answered "$1" "packets from 198.18.0.1 to 198.18.0.2 would not go over link $own: $2 (ip route get 198.18.0.2 from 198.18.0.1)"
}
# NAME WHY ip-WORDS...: is refused while that stands, and good before and after.
while_there() {
    local name=$1 why=$2 object=$3
    shift 3
    ip "$object" add "$@"
    refused "$name" "$why"
    ip "$object" del "$@"
    answered "and is good without ($name)" good
}
to=198.18.0.2
local_words="the address is the host's own"
unreachable="a route or rule makes the address unreachable"
prohibited="a route or rule prohibits them"

answered "a clean host is good" good
while_there "an address of the host's own in front of the container" "$local_words" \
    addr "$to/32" dev lo
while_there "an unreachable route" "$unreachable" route unreachable "$to/32"
while_there "a blackhole route" "a blackhole takes them" route blackhole "$to/32"
while_there "a prohibit route" "$prohibited" route prohibit "$to/32"
while_there "an unreachable rule" "$unreachable" rule to "$to" priority 10 unreachable
while_there "a blackhole rule" "a blackhole takes them" rule to "$to" priority 10 blackhole
while_there "a prohibit rule" "$prohibited" rule to "$to" priority 10 prohibit
while_there "a narrower route over another device" "they go over link $other" \
    route "$to/32" dev lan
while_there "a route through a gateway of another device" \
    "they go through a gateway, over link $other" route "$to/32" via 10.5.0.2
while_there "a route through a gateway of our own device" \
    "they go through a gateway, over link $own" route "$to/32" via 198.18.0.9 dev "$name" onlink

ip route add blackhole "$to/32" table 4000
while_there "a null route in a table that a rule asks first" "a blackhole takes them" \
    rule to "$to" priority 10 lookup 4000
ip route replace "$to/32" dev lan table 4000
while_there "another device in a table that a rule asks first" "they go over link $other" \
    rule to "$to" priority 10 lookup 4000
ip route replace throw "$to/32" table 4000
ip rule add to "$to" priority 10 lookup 4000
answered "a throw route falls through and is good" good
ip rule del to "$to" priority 10 lookup 4000
ip route flush table 4000

ip link set "$name" down
refused "a link that is down" "$unreachable"
ip route add default via 10.5.0.2
refused "a link that is down, and a default route" "they go through a gateway, over link $other"
ip route del default
ip link set "$name" up
answered "and is good when it is up again" good

# ---- what is routed, what is own ----------------------------------------------------------------

ip route add 10.0.0.0/8 dev lan
ip route add 0.0.0.0/1 dev lan
ip route add 128.0.0.0/1 dev lan
ip route add blackhole 172.16.0.0/12
ip route add 192.0.2.0/24 dev lan table 4000
ip route add 192.168.0.0/16 nexthop via 10.5.0.2 nexthop via 10.5.0.3
ip -6 route add fd00::/8 dev lan
check "ranges of all tables are told, without null routes, defaults and IPv6" same \
    "10.0.0.0/8@$other
10.5.0.0/24@$other
10.5.0.1/32@$other
10.5.0.255/32@$other
127.0.0.0/8@1
127.0.0.1/32@1
127.255.255.255/32@1
192.0.2.0/24@$other
192.168.0.0/16@0
198.18.0.0/30@$own
198.18.0.1/32@$own
198.18.0.3/32@$own" "$("$probe" routed | sed '/^$/d' | sort)"
check "the host's own addresses are told, of both families" same \
    "$(ip -j addr | jq -r '.[].addr_info[] | "\(.local)/\(if .family == "inet" then 32 else 128 end)"' | sort)" \
    "$("$probe" addresses | sed '/^$/d' | sort)"

reserved() { # NAME ANSWER KEY POOL
    check "$1" same "$2" "$("$probe" reserve "$state" "$3" "$4")"
}
reserved "a run whose link outlived its reservation keeps its subnet" 198.18.0.4/30 \
    000000000000 198.18.0.0/29
reserved "a pool beside the host's networks is free" 172.16.0.0/30 000000000000 172.16.0.0/12
reserved "a pool in a routed range is not" \
    "every subnet of the pool 10.99.0.0/16 is routed: 10.0.0.0/8" 000000000000 10.99.0.0/16
# A route over a link without a carrier is then never an answer, and taken all the same.
echo 1 >/proc/sys/net/ipv4/conf/all/ignore_routes_with_linkdown
ip link set lan-peer down
while ip route get 10.99.0.1 >/dev/null 2>&1; do :; done
reserved "nor one in a range whose link has no carrier" \
    "every subnet of the pool 10.99.0.0/16 is routed: 10.0.0.0/8" 000000000000 10.99.0.0/16
ip link set lan-peer up
echo 0 >/proc/sys/net/ipv4/conf/all/ignore_routes_with_linkdown
elsewhere="every subnet of the pool 192.0.2.0/28 is routed: 192.0.2.0/24"
reserved "a table that no rule names routes nothing" 192.0.2.0/30 000000000000 192.0.2.0/28
rm "$state/subnets/192.0.2.0"
# RULE...: of whatever kind, a table that it names counts.
for rule in "fwmark 7 lookup 4000" "from 192.0.2.77 lookup 4000" "iif lan lookup 4000" \
    "lookup 4000 priority 40000" "to 192.0.2.0/24 lookup 4000"; do
    ip rule add $rule
    reserved "nor one that a table routes which a rule names ($rule)" "$elsewhere" \
        000000000000 192.0.2.0/28
    ip rule del $rule
done
ip rule add l3mdev priority 1000 2>/dev/null && { # some kernels have none
    reserved "nor one of any table when a VRF may use it" "$elsewhere" 000000000000 192.0.2.0/28
    ip rule del l3mdev priority 1000
}

# Only the leftover link's own route tells, and each of these stands before it or hides it.
leftover() { # NAME
    reserved "the leftover link is seen in spite of $1" \
        "every subnet of the pool 198.18.0.0/30 is routed: 198.18.0.0/30" 000000000000 198.18.0.0/30
}
leftover "nothing"
ip route add default dev lan table 51820
ip rule add lookup 51820 priority 100
leftover "a default route in a table that is asked first"
ip rule del lookup 51820 priority 100
ip rule add not fwmark 7 lookup 51820 priority 100
ip rule add lookup main suppress_prefixlength 0 priority 99
leftover "a tunnel's rules"
ip rule del lookup main suppress_prefixlength 0 priority 99
ip rule del not fwmark 7 lookup 51820 priority 100
for action in unreachable blackhole prohibit "goto 32767"; do
    ip rule add to 198.18.0.0/15 $action priority 100
    leftover "a rule that says $action"
    ip rule del to 198.18.0.0/15 $action priority 100
done
for type in unreachable blackhole prohibit; do
    for one in 0 1 2 3; do ip route add $type "198.18.0.$one/32" metric 1; done
    leftover "$type routes"
    for one in 0 1 2 3; do ip route del $type "198.18.0.$one/32" metric 1; done
done
ip rule add lookup local priority 200
ip rule del lookup local priority 0
leftover "local being asked after others"
ip rule add lookup local priority 0
ip rule del lookup local priority 200
ip rule add lookup main priority 300
ip rule del lookup main priority 32766
leftover "main being asked elsewhere"
ip rule add lookup main priority 32766
ip rule del lookup main priority 300
leftover "nothing any more"

reserved "a pool that is used up names the runs, and what else is in the way" \
    "the pool 198.18.0.0/29 is used up: 1 run is live, and the rest is routed: 198.18.0.0/30" \
    000000000001 198.18.0.0/29

# ---- and away -----------------------------------------------------------------------------------

check "a link is removed by its name" same removed "$("$probe" remove "$name")"
check "at once, with its peer" same "lo lan-peer lan, lo" \
    "$(ip -j link | names_of), $(inside ip -j link | names_of)"
check "once" same "remove link $name: no such device (ENODEV)" "$("$probe" remove "$name")"
kill "$init"
finish
