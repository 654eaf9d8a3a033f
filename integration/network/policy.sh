#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A list means what it says: names, ranges, ports, what is denied; for each run its own; and what
# cannot be set up is refused or severed, and leaves nothing.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad # else the kernel is not done with up0 for seconds
open_world
echo 1 >/proc/sys/net/ipv4/ip_forward
ip -n internet addr add 10.20.0.1/32 dev lo
ip -n internet route add 198.18.0.0/16 via 203.0.113.2
name_hosts
cat >>"$lab/hosts" <<'NAMES'
9.9.9.9 evil-allowed.test allowed.test.evil.test sub.allowed.test denied.test
8.8.8.8 both.test
2606:4700:4700::1111 both.test
127.0.0.1 loop.test
169.254.169.254 meta.test
10.20.0.1 private.test
NAMES
start_broker model
start_ready "$python" "$here/lib/world.py" tcp=9000
policy='{ceiling: "allowlist", allow_by: "packets", tcp: "veth", tcp_endpoints: ["host:9000"],
         deny: ["208.67.222.222", "denied.test"]}'
policy "$policy"
remember_kernel

allow() { # RULES [FILTER]: RULES in the short form or as JSON
    echo ".annotations += {\"dev.anchorhold.egress\": \"allowlist\",
        \"dev.anchorhold.allow\": \"${1//\"/\\\"}\"} ${2:+| $2}"
}
run_with() { # RULES WORD...: attempts of a container with that list
    bundle listed "$(allow "$1")" attempt "${@:2}"
    in_cell listed 2>&1
}
# judge_list TITLE RULES WORD...: "+WORD" is reached, "-WORD" refused at once.
judge_list() {
    local answers word
    answers=$(run_with "$2" "${@/#[+-]/}")
    for word in "${@:3}"; do
        case $word in
            +*) check "$1: ${word#+}" contains "$answers" "${word#+} reached" ;;
            -*) check "$1: not ${word#-}" refused_at_once "$answers" "${word#-}" ;;
        esac
    done
}

# All of the host's network that a run could change: rules, routes, settings.
host_network() {
    nft --stateless list ruleset
    ip -4 route show table all
    ip -6 route show table all
    ip rule
    ip -o addr
    find /proc/sys/net -type f -readable ! -name '*flush*' ! -name stable_secret \
        -exec grep -H . {} + |
        grep -v nf_conntrack_count
}
nft -f - <<'RULES'
table inet foreign {
    chain forward { type filter hook forward priority filter - 5; policy accept; counter; }
    chain prerouting { type filter hook prerouting priority raw; udp dport 9999 notrack; }
}
RULES
remember_kernel
host_network >"$lab/host.before"

# ---- what a list means --------------------------------------------------------------------------

# The control: without us each of the targets answers.
bundle control . attempt tcp=1.1.1.1:443 tcp=1.1.1.1:80 tcp=9.9.9.9:443 tcp=9.9.9.9:80 \
    tcp=8.8.8.8:443 tcp=10.20.0.1:443 tcp=208.67.222.222:443 tcp=203.0.113.1:443 \
    tcp=169.254.169.254:80 udp=1.1.1.1:9 'sh=getent ahosts example.test'
answers=$(in_the_open control)
for word in tcp=1.1.1.1:443 tcp=1.1.1.1:80 tcp=9.9.9.9:443 tcp=9.9.9.9:80 tcp=8.8.8.8:443 \
    tcp=10.20.0.1:443 tcp=208.67.222.222:443 tcp=203.0.113.1:443 tcp=169.254.169.254:80 \
    udp=1.1.1.1:9 'sh=getent ahosts example.test'; do
    check "without us: $word" contains "$answers" "$word reached"
done

# Packets carry no name: who was granted one was granted its addresses of that moment.
judge_list "B-01 a name that was not allowed" 'allowed.test, 1.1.1.1:80' \
    '-sh=wget -q -O- http://evil.test/' '-sh=wget -q -O- http://9.9.9.9/' \
    '+sh=wget -q -O- http://allowed.test/'
judge_list "B-05 ports that were not listed" 1.1.1.1 -tcp=1.1.1.1:22 -tcp=1.1.1.1:81 \
    -tcp=1.1.1.1:8080 -tcp=1.1.1.1:5432 -tcp=1.1.1.1:6379 -tcp=1.1.1.1:853
red judge_list "B-02 an allowed name" allowed.test '+sh=getent ahosts allowed.test' +tcp=1.1.1.1:443
judge_list "B-03 its bare address passes too, at its port" allowed.test +tcp=1.1.1.1:443 \
    -tcp=1.1.1.1:80
judge_list "B-09 DNS over HTTPS that was not listed" 203.0.113.1 +tcp=203.0.113.1:443 \
    -tcp=1.1.1.1:443 -tcp=8.8.8.8:443 -tcp=9.9.9.9:443
judge_list "B-11 a name does not leave the host" allowed.test \
    -dns-udp=1.1.1.1 -dns-tcp=1.1.1.1 '-sh=getent ahosts secret.attacker.test'
judge_list "B-12 a name of a loopback, metadata or private address" \
    'loop.test, meta.test:80, private.test, allowed.test' \
    +tcp=1.1.1.1:443 -tcp=169.254.169.254:80 -tcp=10.20.0.1:443
judge_list "B-14 lookalikes" allowed.test '-sh=getent ahosts evil-allowed.test' \
    '-sh=getent ahosts allowed.test.evil.test' '-sh=getent ahosts sub.allowed.test' \
    '-sh=getent ahosts llowed.test' '+sh=getent ahosts ALLOWED.TEST' -tcp=9.9.9.9:443
for rule in 'Allowed.test' 'allowed.test.' 'allowed..test' 'a*.test' 'allowed test' '1.1.1'; do
    red check "B-14 no spelling of a name: $rule" contains "$(run_with "$rule" tcp=1.1.1.1:443)" \
        "(invalid_request)"
done
for rule in '*.allowed.test' '**.allowed.test'; do
    red check "B-15 a wildcard, which packets cannot honour: $rule" contains \
        "$(run_with "$rule, 1.1.1.1" tcp=1.1.1.1:443)" "wildcard"
done
judge_list "B-16 deny wins over a range, ranges overlap" \
    '208.67.0.0/16, 208.67.222.0/24, 208.67.222.222, 203.0.113.0/24, 203.0.113.0/28' \
    -tcp=208.67.222.222:443 +tcp=203.0.113.1:443
judge_list "B-16 deny wins by name" '9.9.9.9, denied.test, allowed.test' +tcp=1.1.1.1:443 \
    '-sh=getent ahosts denied.test'
judge_list "B-16 except wins in its rule" \
    '[{"to":"203.0.113.0/24","ports":[{"port":443}],"except":["203.0.113.1/32"]}, {"to":"1.1.1.1"}]' \
    -tcp=203.0.113.1:443 +tcp=1.1.1.1:443
judge_list "B-18 a private range" 1.1.1.1 -tcp=10.20.0.1:443
judge_list "B-18 a private range that is listed" 10.20.0.0/16 +tcp=10.20.0.1:443 -tcp=1.1.1.1:443
judge_list "B-24 another name in the request" 1.1.1.1:80 \
    '+sh=wget -q -O- --header "Host: evil.test" http://1.1.1.1/' \
    '-sh=wget -q -O- --header "Host: allowed.test" http://9.9.9.9/'
judge_list "C-56 by address, port and protocol" 1.1.1.1 +tcp=1.1.1.1:443 -tcp=1.1.1.1:80 \
    -udp=1.1.1.1:9 -ping=1.1.1.1 -raw-ping=1.1.1.1
judge_list "C-57 an odd list" \
    '1.1.1.1, 1.1.1.1, 1.1.1.0/24, -nowhere.test, both.test, loop.test, 2001:db8::/32, allowed.test' \
    +tcp=1.1.1.1:443 +tcp=8.8.8.8:443 -tcp=9.9.9.9:443 '+sh=getent ahosts both.test'
check "C-57 what has no address is said" contains \
    "$(jq -r 'select(.id == "listed") | .advice[]' "$lab"/state/ended/*.json)" \
    "allow -nowhere.test tcp 443 reaches nothing: it has no address now"
long_list=$("$python" -c 'print(", ".join(f"100.64.{i // 100}.{i % 100 + 1}" for i in range(4999)))')
judge_list "C-57 as many entries as there may be" "$long_list, 1.1.1.1" +tcp=1.1.1.1:443 \
    -tcp=9.9.9.9:443
check "B-48 C-57 one more is refused" contains \
    "$(run_with "$long_list, 1.1.1.1, 8.8.8.8" tcp=1.1.1.1:443)" "more than 5000 entries"
judge_list "B-47 an empty list is nothing" '[]' -tcp=1.1.1.1:443
check "nothing is left of them all" nothing_left

check "B-44 the host's rules, routes and settings are as they were" \
    diff "$lab/host.before" <(host_network)

# With a broker, which is given the namespace to keep; and killed with its shim.
bundle parks "$(allow 1.1.1.1 "$(asks_for model)")" sh -c 'echo up; exec sleep infinity'
start_ready in_cell parks
check "B-59 a namespace is parked in the broker" contains "$("$runtime" exec parks \
    attempt park-namespace=/dev/anchorhold/endpoint/model/broker.sock)" reached
wait_for_end "$(jq -r 'select(.id == "parks") | .creator.pid' "$lab"/state/runs/*/record.json)" &
ended=$!
jq -r 'select(.id == "parks") | .creator.pid, .init.pid' "$lab"/state/runs/*/record.json |
    xargs -n 1 kill -KILL 2>/dev/null
wait $ended 2>/dev/null
while [ -n "$(ls "$lab/state/runs")" ]; do "$runtime" gc >/dev/null; done
"$plain_runtime" delete --force parks 2>/dev/null
check "B-43 B-59 killed, and its namespace parked: gc leaves nothing" nothing_left

# The list is what it was when the run was made.
bundle aged "$(allow allowed.test)" sh -c 'echo up; exec sleep infinity'
start_ready "$runtime" run --bundle "$lab/b/aged" aged </dev/null
aged=$!
sed -i 's/^1.1.1.1 allowed.test/9.9.9.9 allowed.test/' "$lab/hosts"
answers=$("$runtime" exec aged attempt tcp=1.1.1.1:443 tcp=9.9.9.9:443 \
    'sh=getent ahosts allowed.test | grep 1.1.1.1')
check "B-13 a name that moved: its first address stays" contains "$answers" "tcp=1.1.1.1:443 reached"
check "B-13 a name that moved: in the hosts file too" contains "$answers" "grep 1.1.1.1 reached"
check "B-13 a name that moved: the new address is not followed" refused_at_once "$answers" \
    tcp=9.9.9.9:443
sed -i 's/^9.9.9.9 allowed.test$/1.1.1.1 allowed.test/' "$lab/hosts"

# ---- two at once, and from outside --------------------------------------------------------------

bundle other "$(allow 9.9.9.9)" sh -c 'echo up; exec sleep infinity'
start_ready "$runtime" run --bundle "$lab/b/other" other </dev/null
other=$!
for run in aged other; do
    answers=$("$runtime" exec $run attempt tcp=1.1.1.1:443 tcp=9.9.9.9:443)
    [ $run = aged ] && own=1.1.1.1 others=9.9.9.9 || own=9.9.9.9 others=1.1.1.1
    check "B-39 two lists: $run reaches its own" contains "$answers" "tcp=$own:443 reached"
    check "B-39 two lists: $run not the other's" refused_at_once "$answers" "tcp=$others:443"
done
guest=$(jq -r 'select(.id == "other") | .network.subnet' "$lab"/state/runs/*/record.json)
guest=${guest%/30}
guest=${guest%.*}.$((${guest##*.} + 2))
start_ready "$runtime" exec other attempt listen=0.0.0.0:5555
check "B-38 a run is not reached by another" contains \
    "$("$runtime" exec aged attempt "tcp=$guest:5555")" refused
check "B-55 what listens inside is not read from outside" contains \
    "$(nsenter --net=/run/netns/internet "$lab/bin/attempt" "tcp=$guest:5555")" refused
ip netns add plain
ip link add plain0 type veth peer name eth0 netns plain
ip addr add 198.18.0.1/30 dev plain0
ip link set plain0 up
ip -n plain addr add 198.18.0.2/30 dev eth0
ip -n plain link set eth0 up
ip -n plain route add default via 198.18.0.1
start_ready ip netns exec plain "$lab/bin/attempt" listen=0.0.0.0:5555
check "B-55 without us it is" contains \
    "$(nsenter --net=/run/netns/internet "$lab/bin/attempt" tcp=198.18.0.2:5555)" reached
ip link del plain0
ip netns del plain
"$runtime" kill aged KILL
wait $aged
"$runtime" kill other KILL
wait $other
check "nothing is left of the two" nothing_left

# ---- every way out, where only one of no use was granted ----------------------------------------

greedy='.process.capabilities |= map_values(. + ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_MKNOD"])
        | .root.readonly = false'
declare -A filtered placed
bundle filtered "$greedy | $(allow 203.0.113.1:4444)" attempt "${ways[@]#* | }"
take_answers filtered < <(in_cell filtered)
check "nothing is left of the one that tried" nothing_left

# An engine's network, afresh: our table stays in a namespace until that ends.
make_engine() {
    ip netns add engine
    ip link add port0 type veth peer name eth0 netns engine
    ip addr add 10.88.0.1/16 dev port0
    ip addr add 2001:db8:88::1/64 dev port0 nodad
    ip link set port0 up
    ip -n engine link set lo up
    ip -n engine addr add 10.88.0.2/16 dev eth0
    ip -n engine addr add 2001:db8:88::2/64 dev eth0 nodad
    ip -n engine link set eth0 up
    ip -n engine route add default via 10.88.0.1
    ip -n engine route add default via 2001:db8:88::1
    # Docker's resolver, and the rules that lead to it.
    start_ready "$python" "$here/lib/world.py" netns=/run/netns/engine dns=127.0.0.11
    resolver=$!
    nsenter --net=/run/netns/engine nft -f - <<'RULES'
table ip nat {
    chain out {
        type nat hook output priority -100
        ip daddr 127.0.0.12 dnat to 127.0.0.11
    }
}
RULES
    remember_kernel
}
unmake_engine() {
    stop $resolver
    ip link del port0
    ip netns del engine
    remember_kernel
}
ip -n internet route add 10.88.0.0/16 via 203.0.113.2
ip -n internet route add 2001:db8:88::/64 via 2001:db8:113::2
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
make_engine
inside_before=$(nsenter --net=/run/netns/engine nft list table ip nat)
joins='.linux.namespaces |= map(if .type == "network" then . + {path: "/run/netns/engine"} else . end)'
six=2606:4700:4700::1111
bundle placed "$greedy | $(allow 203.0.113.1:4444 "$joins")" attempt "${ways[@]#* | }"
take_answers placed < <(in_cell placed)
check "nothing is left of the one that tried in place" nothing_left
unmake_engine
make_engine
bundle place "$(allow "$six" "$joins")" attempt "tcp=[$six]:443" "tcp=[$six]:80" \
    'tcp=[2001:db8:113::1]:443' 'tcp=[2001:db8:88::1]:7000' dns-udp=127.0.0.11 dns-tcp=127.0.0.11 \
    dns-udp=127.0.0.12
control_place=$(cp -a "$lab/b/place" "$lab/b/bare" && without_us bare .)
rm -r "$lab/b/bare"
answers=$(in_cell place)
check_where ipv6 "C-07 IPv6 that was granted" contains "$answers" "tcp=[$six]:443 reached"
for word in "tcp=[$six]:80" 'tcp=[2001:db8:113::1]:443' 'tcp=[2001:db8:88::1]:7000'; do
    red check_where ipv6 "C-07 other IPv6: $word" refused_at_once "$answers" "$word"
    check_where ipv6 "C-07 without us: $word" contains "$control_place" "$word reached"
done
for word in dns-udp=127.0.0.11 dns-tcp=127.0.0.11 dns-udp=127.0.0.12; do
    red check "B-53 Docker's resolver: $word" contains "$answers" "$word refused"
    check "B-53 without us: $word" contains "$control_place" "$word reached"
done
check "C-39 the engine's rules in the namespace are as they were" same "$inside_before" \
    "$(nsenter --net=/run/netns/engine nft list table ip nat)"
check "nothing is left in place" nothing_left
unmake_engine

# ---- what cannot be set up ----------------------------------------------------------------------

# fails_closed WORD [FILTER]: the set-up fails, says WORD, and leaks nothing.
fails_closed() {
    local output
    bundle closed "${2:-$(allow 1.1.1.1)}" attempt tcp=1.1.1.1:443
    output=$(in_cell closed 2>&1)
    printf '%s\n' "$output"
    ! contains "$output" reached >/dev/null && contains "$output" "$1" && nothing_left
}
sealed='.annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9000"}'
for action in unreachable prohibit blackhole; do
    ip rule add to 198.18.0.0/16 $action priority 100
    red_only "prohibit|blackhole" check "B-46 a rule, $action" fails_closed $action
    red_only "prohibit|blackhole" check "B-46 a rule, $action, sealed" fails_closed $action "$sealed"
    ip rule del priority 100
done
ip route add blackhole 198.18.0.0/16 table 100
ip rule add table 100 priority 50
check "B-46 a blackhole in an earlier table" fails_closed blackhole
ip rule del priority 50
ip route flush table 100
ip route add 198.18.0.0/16 via 203.0.113.1
check "B-45 C-20 no subnet is left: refused, and the route is named" fails_closed 198.18.0.0/16
check "B-45 C-20 so is a sealed run" fails_closed 198.18.0.0/16 "$sealed"
ip route del 198.18.0.0/16
for route in 0.0.0.0/1 128.0.0.0/1 198.18.0.0/17; do ip route add $route via 203.0.113.1; done
ip route add blackhole 198.18.128.0/24
judge_list "C-20 a VPN's routes leave room" 1.1.1.1 +tcp=1.1.1.1:443
check "C-20 beside what is routed" contains \
    "$(jq 'select(.id == "listed") | .network.subnet // "" | test("^198[.]18[.](12[89]|1[3-9].|2..)[.]")' \
        "$lab"/state/ended/*.json)" true
for route in 0.0.0.0/1 128.0.0.0/1 198.18.0.0/17 198.18.128.0/24; do ip route del $route; done

# A file in place of the setting, read-only: writing it would fail without an error.
echo 0 >"$lab/forward"
mount --no-mtab --bind "$lab/forward" /proc/sys/net/ipv4/ip_forward
mount --no-mtab -o remount,bind,ro /proc/sys/net/ipv4/ip_forward
remember_kernel
policy "$policy + {forwarding: \"enable\"}"
bundle severed "$(allow 1.1.1.1 "$(asks_for model)")" attempt tcp=1.1.1.1:443 ask=8080
answers=$(in_cell severed)
check "C-18 B-45 ip_forward reads 0 and is read-only: severed" refused_at_once "$answers" \
    tcp=1.1.1.1:443
check "C-18 B-45 and the model is reached" contains "$answers" "ask=8080 reached"
check "C-18 B-45 and it is said" contains \
    "$(jq -r 'select(.id == "severed") | .sentence' "$lab"/state/ended/*.json)" read-only
check "B-45 nothing is left" nothing_left
umount /proc/sys/net/ipv4/ip_forward
echo 1 >"$lab/forward"
mount --no-mtab --bind "$lab/forward" /proc/sys/net/ipv4/ip_forward
mount --no-mtab -o remount,bind,ro /proc/sys/net/ipv4/ip_forward
judge_list "C-18 ip_forward reads 1 and is read-only" 1.1.1.1 +tcp=1.1.1.1:443
umount /proc/sys/net/ipv4/ip_forward

take_answers control < <(in_the_open filtered)
judge filtered ", filtered"
# Without us the engine's network leads out, but not to the host by loopback and not past lo.
red_only "B-04|B-06|B-07|B-08|B-17|B-25|B-26|B-28|B-33|B-54|B-58" judge placed ", in place"
finish
