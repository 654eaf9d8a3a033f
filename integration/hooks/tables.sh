#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tables of sealed and filtered runs are in the kernel as planned, and packets go
# where a posture lets them, and nowhere else: not to a published port of the host, not to its
# addresses of later, not past a link that comes later.
. "$(dirname "$0")/../lib/lab.sh"

needs root nft ip nsenter /usr/bin/python3
enter_lab "$@"

tables=$AH_TABLES
peer=(/usr/bin/python3 -IS "$here/hooks/peer.py")
server=("${peer[@]}" serve)
sealed=(key=00000000000a posture=sealed subnet=198.18.0.0/30 port=7000)
filtered=(key=00000000000b posture=filtered subnet=198.18.0.4/30 port=7000
    allow=10.1.0.0/24:tcp:7000-7002 deny=10.1.0.3/32:tcp:1-65535 allow=169.254.7.0/24:tcp:7000)

world='' cell='' run='' pod=''
# VARIABLE: a namespace of a process of ours, whose number it is.
namespace() {
    local ready
    exec {ready}< <(exec unshare --net sh -c 'echo; exec sleep infinity')
    printf -v "$1" %s $!
    read -r -u "$ready"
}
in_ns() { nsenter -t "$1" -n -- "${@:2}"; }
serve() { # [nsenter...] serve ADDRESS PORT
    local ready
    exec {ready}< <(exec "$@" 2>&1)
    read -r -u "$ready"
}
ask() { in_ns "$1" "${peer[@]}" ask "${@:2}"; } # PID PROTOCOL=ADDRESS:PORT[@SOURCE]...
# PID NAME HOST INSIDE: a link, its host's end NAME, without IPv6.
link() {
    ip link add "$2" type veth peer name eth0 netns "$1"
    ip link set "$2" addrgenmode none
    in_ns "$1" ip link set eth0 addrgenmode none
    ip addr add "$3" dev "$2"
    in_ns "$1" ip addr add "$4" dev eth0
    in_ns "$1" ip link set lo up
    in_ns "$1" ip link set eth0 up
    ip link set "$2" up
}
has_key() { nft list ruleset | grep -c "$1"; }

ip link set lo up
namespace world
link "$world" w0 10.1.0.254/24 10.1.0.2/24
in_ns "$world" ip addr add 10.1.0.3/24 dev eth0
in_ns "$world" ip addr add 169.254.7.7/24 dev eth0
ip route add 169.254.7.0/24 dev w0
in_ns "$world" ip route add 169.254.7.254 dev eth0
ip addr add 169.254.7.254/32 dev w0
for port in 7000 7005; do
    serve nsenter -t "$world" -n -- "${server[@]}" 0.0.0.0 "$port"
    serve "${server[@]}" 0.0.0.0 "$port"
done
# As Docker publishes a port: whoever asks the host at 8080 gets the other container.
nft 'table ip docker { chain in { type nat hook prerouting priority -100; fib daddr type local tcp dport 8080 dnat to 10.1.0.2:7000; }; chain out { type nat hook postrouting priority 100; oifname w0 tcp dport 7000 masquerade; }; }'
echo 1 >/proc/sys/net/ipv4/ip_forward

namespace cell
link "$cell" ah00000000000a 198.18.0.1/30 198.18.0.2/30
ip addr add 10.99.0.1/32 dev lo
in_ns "$cell" ip route add default via 198.18.0.1
check "control: without a seal all is reached" same "hello hello hello" \
    "$(ask "$cell" tcp=198.18.0.1:7005 tcp=198.18.0.1:8080 tcp=10.99.0.1:7000)"
check "a sealed run's rules read back as planned" same same "$("$tables" host "${sealed[@]}" 2>&1)"
check "its broker is reached" same hello "$(ask "$cell" tcp=198.18.0.1:7000)"
check "no other port, address or published port" same "silence silence silence" \
    "$(ask "$cell" tcp=198.18.0.1:7005 tcp=10.99.0.1:7000 tcp=198.18.0.1:8080)"
index=$(in_ns "$cell" cat /proc/net/igmp | awk '$2 == "eth0" { print $1 }')
check "the table inside reads back as planned, twice" same "same same" \
    "$(in_ns "$cell" "$tables" inside "${sealed[@]}" link="$index" 2>&1 | tr '\n' ' ' | sed 's/ $//')"
check "its broker is reached still" same hello "$(ask "$cell" tcp=198.18.0.1:7000)"
check "what goes nowhere is refused at once" same "ECONNREFUSED ECONNREFUSED" \
    "$(ask "$cell" tcp=198.18.0.1:7005 tcp=10.99.0.1:7000)"
kept=$(in_ns "$cell" nft list ruleset)
docker=$(nft list table ip docker)
"$tables" drop "${sealed[@]}"
check "flushed rules of the host open nothing (control: the host's are gone)" same \
    "0 hello ECONNREFUSED ECONNREFUSED" \
    "$(has_key 00000000000a) $(ask "$cell" tcp=198.18.0.1:7000 tcp=198.18.0.1:7005 tcp=198.18.0.1:8080)"
ip link add later type veth peer name eth1 netns "$cell"
ip addr add 10.98.0.1/24 dev later
in_ns "$cell" ip addr add 10.98.0.2/24 dev eth1
ip link set later up
in_ns "$cell" ip link set eth1 up
check "a later link leads nowhere" same ECONNREFUSED "$(ask "$cell" tcp=10.98.0.1:7000)"
check "the table inside is as it was, and Docker's" same "$kept$docker" \
    "$(in_ns "$cell" nft list ruleset)$(nft list table ip docker)"

namespace run
link "$run" ah00000000000b 198.18.0.5/30 198.18.0.6/30
in_ns "$run" ip route add default via 198.18.0.5
check "a filtered run's rules read back as planned" same same \
    "$("$tables" host "${filtered[@]}" 2>&1)"
check "and once more: replaced, not added to" same same "$("$tables" host "${filtered[@]}" 2>&1)"
check "the host lets packets out, masqueraded, and its broker be reached" same "hello hello" \
    "$(ask "$run" tcp=10.1.0.2:7005 tcp=198.18.0.5:7000)"
ip addr add 10.97.0.1/32 dev lo
check "but not to itself, nor to a published port, nor to what it has got since" same \
    "ECONNREFUSED ECONNREFUSED ECONNREFUSED" \
    "$(ask "$run" tcp=198.18.0.5:7005 tcp=10.99.0.1:8080 tcp=10.97.0.1:7000)"
check "nor to what is always denied" same ECONNREFUSED "$(ask "$run" tcp=169.254.7.7:7000)"
in_ns "$run" ip addr add 10.66.0.6/32 dev eth0
spoofed() { nft list chain netdev anchorhold-0b ah00000000000b | grep -c "saddr != 198.18.0.6 counter packets 0 "; }
check "nobody has used another's address yet" same 1 "$(spoofed)"
check "nor from another's address" same "silence 0" \
    "$(ask "$run" tcp=10.1.0.2:7005@10.66.0.6) $(spoofed)"
check "the table inside reads back as planned, twice" same "same same" \
    "$(in_ns "$run" "$tables" inside "${filtered[@]}" 2>&1 | tr '\n' ' ' | sed 's/ $//')"
check "what is allowed is reached, and the broker" same "hello hello" \
    "$(ask "$run" tcp=10.1.0.2:7000 tcp=198.18.0.5:7000)"
check "what is not listed, denied or always denied is refused" same \
    "ECONNREFUSED ECONNREFUSED ECONNREFUSED EPERM" \
    "$(ask "$run" tcp=10.1.0.2:7005 tcp=10.1.0.3:7000 tcp=169.254.7.7:7000 udp=10.1.0.2:7000)"
check "and kept as denied" same "10.1.0.2 tcp 7005
10.1.0.2 udp 7000
10.1.0.3 tcp 7000
169.254.7.7 tcp 7000" "$(in_ns "$run" "$tables" denied | sort)"
serve nsenter -t "$run" -n -- "${server[@]}" 0.0.0.0 7100
from_host() { "${peer[@]}" ask tcp=198.18.0.6:7100; }
check "nobody reaches a listener inside" same silence "$(from_host)"
in_ns "$run" nft flush ruleset
index=$(in_ns "$run" cat /proc/net/igmp | awk '$2 == "eth0" { print $1 }')
in_ns "$run" "$tables" inside "${filtered[@]}" node=198.18.0.5/32 link="$index" >/dev/null
check "but the node" same hello "$(from_host)"

# A DNAT rule on output, as an engine's: the packet is still said to go to lo.
in_ns "$run" nft 'table ip nat { chain out { type nat hook output priority -100; ip daddr 127.0.0.1 tcp dport 53 dnat to 10.1.0.2:7005; ip daddr 127.0.0.1 tcp dport 54 dnat to 10.1.0.2:7000; }; chain post { type nat hook postrouting priority 100; oif eth0 snat to 198.18.0.6; }; }'
in_ns "$run" sysctl -qw net.ipv4.conf.all.route_localnet=1
check "a DNAT rule inside leads to what is allowed, and not past the list" same \
    "hello ECONNREFUSED" "$(ask "$run" tcp=127.0.0.1:54 tcp=127.0.0.1:53)"

# In place: the link is an engine's.
in_place=(key=00000000000c posture=filtered technique=in-place guest=10.88.0.5/32)
namespace pod
link "$pod" engine0 10.88.0.1/24 10.88.0.5/24
in_ns "$pod" ip route add default via 10.88.0.1
serve nsenter -t "$pod" -n -- "${server[@]}" 0.0.0.0 7100
pod_asks() { ask "$pod" tcp=10.88.0.1:7000 tcp=10.88.0.1:8080 tcp=10.1.0.2:7000; }
check "control: the host is reached from an engine's network" same "hello hello hello" "$(pod_asks)"
check "the host's rules for it read back as planned" same same "$("$tables" host "${in_place[@]}" 2>&1)"
check "the host and its published ports are refused, others are not" same \
    "ECONNREFUSED ECONNREFUSED hello" "$(pod_asks)"
check "and the host still reaches what listens inside" same hello \
    "$("${peer[@]}" ask tcp=10.88.0.5:7100)"
"$tables" drop "${in_place[@]}"
check "dropped, its address is as any other's" same "hello hello hello" "$(pod_asks)"

"$tables" drop "${filtered[@]}"
"$tables" drop "${filtered[@]}"
check "dropping, also twice, leaves nothing of the runs" same 0 "$(has_key 00000000000)"
check "and in the end only Docker's table" same "table ip docker" "$(nft list tables)"

finish
