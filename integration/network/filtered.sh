#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A container that was granted destinations reaches those, by address and port, and is refused every
# other at once; by a link of its own, and in place in a network that an engine made.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
open_world
echo 1 >/proc/sys/net/ipv4/ip_forward
cp /etc/hosts "$lab/hosts"
printf '%s\n' '1.1.1.1 allowed.test' '10.0.0.1 inner.test' '127.0.0.1 self.test' >>"$lab/hosts"
mount --no-mtab --bind "$lab/hosts" /etc/hosts
start_broker model
policy '{ceiling: "allowlist", allow_by: "packets", deny: ["208.67.222.222"]}'

allow() { # RULES [FILTER]
    echo ".annotations += {\"dev.anchorhold.egress\": \"allowlist\", \"dev.anchorhold.allow\": \"$1\"}
          ${2:+| $2}"
}
rules='1.1.1.1, 8.8.8.8:80, 203.0.113.0/24:22, 203.0.113.0/24:7000, 208.67.222.222, 169.254.0.0/16:80'

cell=
enter() { # ID FILTER: a container that stays
    bundle "$1" "$2" sh -c 'echo up; exec sleep infinity'
    start_ready "$runtime" run --bundle "$lab/b/$1" "$1" </dev/null
    cell=$!
    read -r key init < <("$lab/bin/anchorhold" --ah-state "$lab/state" show --json "$1" |
        jq -r '"\(.key) \(.init.pid)"')
    record=$lab/state/runs/$key/record.json
}
leave() { # ID
    "$runtime" kill "$1" KILL
    wait "$cell"
    "$runtime" delete --force "$1" 2>/dev/null
}
try() { "$runtime" exec "$1" attempt "${@:2}"; } # ID WORD...

reaches() { contains "$1" "$2 reached"; }       # ANSWERS WORD
refuses() { # ANSWERS WORD: and in under a second
    local took
    contains "$1" "$2 refused" || return
    took=$(sed -n "s,^$2 refused.*(\([0-9]*\) ms)\$,\1,p" <<<"${1//[\[\]]/}" | head -1)
    [ -z "$took" ] || [ "$took" -lt $((1000 * AH_SLOWNESS)) ]
}

# everything_of ID: what holds of a filtered container, however its packets get out.
everything_of() {
    local answers
    answers=$(try "$1" tcp=1.1.1.1:443 tcp=1.1.1.1:80 tcp=8.8.8.8:80 tcp=8.8.8.8:443 \
        tcp=9.9.9.9:443 tcp=203.0.113.1:22 tcp=203.0.113.1:80 tcp=208.67.222.222:443 \
        tcp=169.254.169.254:80 tcp=203.0.113.2:7000 udp=1.1.1.1:9 dns-udp=1.1.1.1 dns-tcp=8.8.8.8 \
        ping=1.1.1.1 'tcp=[2606:4700:4700::1111]:443' 'sh=getent ahosts allowed.test' \
        'sh=getent ahosts example.test' tcp=10.0.0.1:443)
    for word in tcp=1.1.1.1:443 tcp=8.8.8.8:80 tcp=203.0.113.1:22 'sh=getent ahosts allowed.test'; do
        check "$1: granted, $word" reaches "$answers" "$word"
    done
    for word in tcp=1.1.1.1:80 tcp=8.8.8.8:443 tcp=9.9.9.9:443 tcp=203.0.113.1:80 udp=1.1.1.1:9 \
        dns-udp=1.1.1.1 dns-tcp=8.8.8.8 ping=1.1.1.1 'sh=getent ahosts example.test'; do
        check "$1: refused at once, $word" refuses "$answers" "$word"
    done
    check "$1: B-16 deny wins over allow" refuses "$answers" tcp=208.67.222.222:443
    check "$1: B-17 metadata, though a granted range covers it" refuses "$answers" \
        tcp=169.254.169.254:80
    check "$1: the host's own address, though a granted range covers it" refuses "$answers" \
        tcp=203.0.113.2:7000
    check "$1: B-20 IPv6 that was not granted" contains "$answers" \
        'tcp=[2606:4700:4700::1111]:443 refused'
    check "$1: B-12 a name that leads to a private address" refuses "$answers" tcp=10.0.0.1:443
    ip addr add 203.0.113.77/32 dev up0
    check "$1: an address that the host got since" refuses "$(try "$1" tcp=203.0.113.77:7000)" \
        tcp=203.0.113.77:7000
    ip addr del 203.0.113.77/32 dev up0
}

# ---- by a link of its own -----------------------------------------------------------------------

remember_kernel
enter veth "$(allow "$rules, allowed.test:22, inner.test")"
everything_of veth
red check "record: filtered" same 'enforced filtered veth' \
    "$(jq -r '"\(.state) \(.posture) \(.technique)"' "$record")"
granted="Network: allowlist — confined: 5 destinations"
check "the sentence counts what can be reached" same "$granted" "$(jq -r .sentence "$record")"
check "the record says which rules reach nothing, and why" same \
    "allow 169.254.0.0/16 tcp 80 reaches nothing: always denied: 169.254.0.0/16
allow inner.test tcp 443 reaches nothing: a name does not lead to a private address" \
    "$(jq -r '.advice[] | select(contains("reaches nothing"))' "$record")"
asks_about() { # DEST FILTER: what check says of the bundle as it was before
    bundle asked "$2" true
    "$lab/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state "$lab/state" \
        check --bundle "$lab/b/asked" "$1"
}
check "check agrees: nothing of the one" same "$granted
refused: 169.254.169.254 tcp 80, always denied: 169.254.0.0/16" \
    "$(asks_about 169.254.169.254:80 "$(allow "$rules, allowed.test:22, inner.test")")"
check "check agrees: nothing of the other" same "$granted
refused: inner.test (10.0.0.1) tcp 443, a name does not lead to a private address" \
    "$(asks_about inner.test "$(allow "$rules, allowed.test:22, inner.test")")"
check "B-26 the container cannot change its network" contains \
    "$(try veth "sh=ip route add 198.51.100.0/24 dev eth0")" refused

start_ready "$runtime" exec veth attempt listen=0.0.0.0:5555
check "veth: B-55 the node reaches what listens inside" contains \
    "$("$lab/bin/attempt" "tcp=$("$python" -c 'import ipaddress, sys
print(ipaddress.ip_network(sys.argv[1])[2])' "$(jq -r .network.subnet "$record")"):5555")" reached

denials=$("$lab/bin/anchorhold" --ah-state "$lab/state" denials veth)
red check "denials: what was denied while it runs" contains "$denials" "9.9.9.9"

# A container that somebody starts brings the host a link and addresses.
drops() { "$lab/bin/anchorhold" --ah-state "$lab/state" show --json "$1" | jq .drops; } # ID
refused=$(drops veth)
ip link add other0 type bridge
ip addr add fe80::77/64 dev other0 nodad
ip link set other0 up
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "gc: a link-local address of the host's changes nothing" same '[]' \
    "$(jq -c '.advice | map(select(contains("addresses changed")))' "$record")"
ip addr add 203.0.113.99/32 dev other0
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "gc: an address that a granted range covers does" contains "$(jq -c .advice "$record")" \
    "addresses changed"
as_before() {
    contains "$denials" 9.9.9.9 &&
        same "$denials" "$("$lab/bin/anchorhold" --ah-state "$lab/state" denials veth)"
}
red check "denials: the same as before a change of addresses" as_before
check "and as many packets" same "$refused" "$(drops veth)"
try veth tcp=9.9.9.10:443 >"$lab/again.out"
red check "denials: what was denied before and since" same "9.9.9.10 9.9.9.9" \
    "$("$lab/bin/anchorhold" --ah-state "$lab/state" denials --json veth |
        jq -r '.denied | map(.to | select(startswith("9.9.9."))) | sort | join(" ")')"
check "the packets are added up" test "$(drops veth)" -gt "$refused"
ip link del other0

nft flush ruleset
after=$(try veth tcp=9.9.9.9:443 tcp=1.1.1.1:80 tcp=203.0.113.2:7000 tcp=169.254.169.254:80)
for word in tcp=9.9.9.9:443 tcp=1.1.1.1:80 tcp=203.0.113.2:7000 tcp=169.254.169.254:80; do
    check "C-06 after nft flush ruleset: refused, $word" refuses "$after" "$word"
done
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "C-06 gc restores what lets the granted through" reaches "$(try veth tcp=1.1.1.1:443)" \
    tcp=1.1.1.1:443
leave veth
check "nothing is left" nothing_left
red check "denials: in the order of time, after the run too" contains \
    "$("$lab/bin/anchorhold" --ah-state "$lab/state" denials --json veth |
        jq -r '.denied[] | "\(.to) \(.port)"')" "9.9.9.9 443"

check "what was denied is counted" test \
    "$("$lab/bin/anchorhold" --ah-state "$lab/state" show --json veth | jq .drops)" -ge 10

# Whoever fills the set hides what it tries next, but not that it may have.
enter flood "$(allow "$rules")"
said() { "$lab/bin/anchorhold" --ah-state "$lab/state" "$@" flood; } # VERB...
try flood tcp=9.9.9.9:443 >/dev/null
more='there may be more: only so many are kept'
check "control: while there is room, nobody says that there may be more" same '0 false' \
    "$(said denials | grep -c "$more") $(said denials --json | jq .more_denied)"
nsenter --target "$init" --net "$python" - <<'PYTHON'
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in range(1, 1100):
    try:
        one.sendto(b"", ("192.0.2.1", port))
    except OSError:
        pass
PYTHON
try flood tcp=9.9.9.10:443 >/dev/null
red check "denials: as many as can be kept, and that there may be more" same "1024 true $more" \
    "$(said denials --json | jq -r '"\(.denied | length) \(.more_denied)"') $(said denials | grep -Fx "$more")"
check "show says so too" contains "$(said show)" "$more"
leave flood
red check "denials: after the run too" same "$more" "$(said denials | grep -Fx "$more")"

together=()
for id in one two three; do
    enter "$id" "$(allow "$rules")"
    together+=("$cell")
done
kill_all() {
    local id
    for id in one two three; do "$runtime" kill "$id" KILL; done
    wait "${together[@]}"
}
kill_all
check "runs that end together leave nothing" nothing_left

bundle hostnet "$(allow "$rules" '.linux.namespaces |= map(select(.type != "network"))')" \
    attempt tcp=1.1.1.1:443 tcp=9.9.9.9:443 tcp=127.0.0.1:7000
answers=$(in_cell hostnet)
check "host networking: its own namespace, the granted" reaches "$answers" tcp=1.1.1.1:443
red check "host networking: never left on the host's" refuses "$answers" tcp=127.0.0.1:7000
check "host networking: nothing is left" nothing_left

bundle both "$(allow "$rules" "$(asks_for model)")" attempt ask=8080 tcp=1.1.1.1:443 tcp=9.9.9.9:443
answers=$(in_cell both)
red check "with an endpoint: the broker answers" reaches "$answers" ask=8080
red check "with an endpoint: the granted" reaches "$answers" tcp=1.1.1.1:443
check "with an endpoint: no other" refuses "$answers" tcp=9.9.9.9:443

# ---- what this host cannot do -------------------------------------------------------------------

echo 0 >/proc/sys/net/ipv4/ip_forward
bundle still "$(allow "$rules" "$(asks_for model)")" attempt ask=8080 tcp=1.1.1.1:443
answers=$(in_cell still)
check "without forwarding: severed" refuses "$answers" tcp=1.1.1.1:443
red check "without forwarding: the broker is still reached" reaches "$answers" ask=8080
check "ip_forward was left alone" same 0 "$(</proc/sys/net/ipv4/ip_forward)"
ended=$(jq -r 'select(.id == "still") | .sentence' "$lab"/state/ended/*.json)
red check "without forwarding: the sentence says so" contains "$ended" "ip_forward is 0"
red check "without forwarding: the record says relayed" same relayed \
    "$(jq -r 'select(.id == "still") | .posture' "$lab"/state/ended/*.json)"
bundle left "$(allow "$rules" '.linux.namespaces |= map(select(.type != "network"))')" \
    attempt tcp=1.1.1.1:443 tcp=127.0.0.1:7000 'sh=ls /sys/class/net/up0'
answers=$(in_cell left)
for word in tcp=1.1.1.1:443 tcp=127.0.0.1:7000 'sh=ls /sys/class/net/up0'; do
    check "without forwarding, host networking: severed, $word" refuses "$answers" "$word"
done
bundle asked "$(allow "$rules" '.annotations += {"dev.anchorhold.require": "asked"}')" true
check "without forwarding, required: refused" contains "$(in_cell asked 2>&1)" posture_unavailable
policy '{ceiling: "allowlist", allow_by: "packets", forwarding: "enable"}'
bundle enabled "$(allow "$rules")" attempt tcp=1.1.1.1:443
red check "policy forwarding enable: the granted is reached" reaches "$(in_cell enabled)" \
    tcp=1.1.1.1:443
red check "policy forwarding enable: the record says so" contains \
    "$(jq -r 'select(.id == "enabled") | .advice[]' "$lab"/state/ended/*.json)" "ip_forward"
policy '{ceiling: "allowlist", allow_by: "packets", deny: ["208.67.222.222"]}'
echo 1 >/proc/sys/net/ipv4/ip_forward

# Another table's drop beats our accept (Docker's forward policy, ufw, firewalld).
strict() { # STATEMENT: for what comes from links of ours
    nft -f - <<RULES
table inet strict
delete table inet strict
table inet strict {
    chain forward {
        type filter hook forward priority 10; policy accept
        iifname "ah*" $1
    }
}
RULES
}
bundle dropped "$(allow '203.0.113.0/24:443, 1.1.1.1')" attempt tcp=1.1.1.1:443
for statement in drop 'reject with icmp admin-prohibited'; do
    strict "$statement"
    dropped=$(in_cell dropped 2>&1)
    check "C-17 a firewall's $statement fails the set-up" contains "$dropped" "tcp from inside to 1.1.1.1:443: "
    check "C-17 $statement: and is named" contains "$dropped" \
        "; another firewall drops it on the host's hook forward (tables: inet strict), let links ah* in"
    nft delete table inet strict
    check "C-17 $statement: nothing is left" nothing_left
done
strict 'ip daddr 1.1.1.1 drop'
check "C-17 one destination of several that is dropped is the host's own choice" contains \
    "$(in_cell dropped)" "tcp=1.1.1.1:443 refused"
strict accept
check "C-17 control: one that accepts does not" reaches "$(in_cell dropped)" tcp=1.1.1.1:443
nft delete table inet strict
bundle silent "$(allow '203.0.113.88, 1.1.1.1')" attempt tcp=1.1.1.1:443
ip rule add pref 100 from 198.18.0.0/15 to 203.0.113.88 unreachable
check "nor is where the container's packets have no route" reaches "$(in_cell silent)" tcp=1.1.1.1:443
ip rule del pref 100
check "where nobody answers is no reason to fail" reaches "$(in_cell silent)" tcp=1.1.1.1:443

# ---- in place -----------------------------------------------------------------------------------

ip link add br0 type bridge
ip addr add 10.88.0.1/16 dev br0
ip link set br0 up
plug_first() { # a namespace of the engine's, as it makes one
    ip link del port0 2>/dev/null # a namespace that was deleted ends later
    ip netns add engine
    ip link add port0 type veth peer name eth0 netns engine
    ip link set port0 master br0
    ip link set port0 up
    ip -n engine link set lo up
    ip -n engine addr add 10.88.0.2/16 dev eth0
    ip -n engine link set eth0 up
    ip -n engine route add default via 10.88.0.1
}
plug_first
nft -f - <<'RULES'
table ip engine {
    chain postrouting {
        type nat hook postrouting priority srcnat
        ip saddr 10.88.0.0/16 oifname "up0" masquerade
    }
}
RULES
remember_kernel
joins='.linux.namespaces |= map(if .type == "network" then . + {path: "/run/netns/engine"} else . end)'
start_ready ip netns exec engine sh -c 'echo; exec sleep infinity'
neighbour=$!
bundle shared "$(allow "$rules" "$joins")" true
check "a neighbour in the namespace is not filtered unasked" contains "$(in_cell shared 2>&1)" \
    "process $neighbour is in the container's network namespace as well"
stop "$neighbour"
check "nothing is left of the refused" nothing_left

enter place "$(allow "$rules, allowed.test:22, inner.test" "$joins")"
red_only "refused at once, [!p]|B-1|the host's own|an address that" everything_of place
red check "record: filtered in place" same 'enforced filtered in-place' \
    "$(jq -r '"\(.state) \(.posture) \(.technique)"' "$record")"
check "the engine's link and address stand" contains "$(ip -n engine -o addr)" 10.88.0.2/16
start_ready "$runtime" exec place attempt listen=0.0.0.0:5555
check "the node still reaches what listens inside" contains \
    "$("$lab/bin/attempt" tcp=10.88.0.2:5555)" reached
leave place
check "the engine's own rules are as they were" contains "$(nft list ruleset)" "masquerade"

# ---- what engines plug in later -----------------------------------------------------------------

# As `docker network create` and `network connect`: the host has a new address, on a link that leads
# there past what the host's rules go by.
second_network() {
    ip link add br1 type bridge
    ip addr add 172.30.0.1/16 dev br1
    ip link set br1 up
    plug_second engine
}
plug_second() { # NETNS
    ip link add port1 type veth peer name eth1 netns "$1"
    ip link set port1 master br1
    ip link set port1 up
    ip -n "$1" addr add 172.30.0.2/16 dev eth1
    ip -n "$1" link set eth1 up
}
wide='172.16.0.0/12:7000, 10.0.0.0/8:7000'
ip netns del engine
plug_first
enter place "$(allow "$wide" "$joins")"
second_network
check "control: a link that came reaches the host's new address at first" reaches \
    "$(try place tcp=172.30.0.1:7000)" tcp=172.30.0.1:7000
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "gc: not any more" refuses "$(try place tcp=172.30.0.1:7000)" tcp=172.30.0.1:7000
check "gc: and the record says so" contains "$(jq -r '.advice[]' "$record")" addresses
ip -n engine addr del 10.88.0.2/16 dev eth0
ip netns add innocent
ip link add port2 type veth peer name eth0 netns innocent
ip link set port2 master br0
ip link set port2 up
ip -n innocent addr add 10.88.0.2/16 dev eth0
ip -n innocent link set eth0 up
innocent() { nsenter --net=/run/netns/innocent "$lab/bin/attempt" tcp=10.88.0.1:7000; }
check "control: an address that the container gave up is its still" refuses "$(innocent)" \
    tcp=10.88.0.1:7000
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "gc: not any more, whoever has it now" reaches "$(innocent)" tcp=10.88.0.1:7000
leave place
ip netns del innocent
ip link del br1
ip netns del engine
plug_first
bundle late "$(allow "$wide" "$joins")" attempt tcp=172.30.0.1:7000
"$runtime" create --bundle "$lab/b/late" late </dev/null >"$lab/late.out" 2>&1
second_network
late=$("$plain_runtime" state late | jq .pid)
"$runtime" start late
wait_for_end "$late"
check "between create and start: start looks again" refuses "$(<"$lab/late.out")" \
    tcp=172.30.0.1:7000
"$runtime" delete late
bundle late "$(allow "$wide")" attempt tcp=172.30.0.1:7000
"$runtime" create --bundle "$lab/b/late" late </dev/null >"$lab/late.out" 2>&1
late=$("$plain_runtime" state late | jq .pid)
ip link del port1
ip link add port1 type veth peer name eth1 netns "$late"
ip link set port1 master br1
ip link set port1 up
"$runtime" start late
wait_for_end "$late"
check "beside a link of its own it is taken away" refuses "$(<"$lab/late.out")" tcp=172.30.0.1:7000
check "which the record says" contains \
    "$("$lab/bin/anchorhold" --ah-state "$lab/state" show late)" "removed link eth1"
"$runtime" delete late
ip link del port1 2>/dev/null
ip link del br1
ip netns del engine
check "nothing is left" nothing_left
finish
