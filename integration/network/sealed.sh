#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A container whose broker listens on a port of the host reaches that port, by a link of its own, and
# nothing else: not the host, not what the host publishes, not another run.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{tcp: "veth", tcp_endpoints: ["host:9000", "host:9001"]}'
open_world
start_ready "$python" "$here/lib/world.py" tcp=9000 tcp=9001
# Docker's rules that publish a port of another container, which plays no part in the seal.
nft -f - <<'RULES'
table ip publish {
    chain prerouting {
        type nat hook prerouting priority dstnat
        fib daddr type local tcp dport 8088 dnat to 203.0.113.1:80
    }
    chain postrouting {
        type nat hook postrouting priority srcnat
        oifname "up0" masquerade
    }
}
RULES
echo 1 >/proc/sys/net/ipv4/ip_forward
nft list table ip publish >"$lab/publish.before"
remember_kernel

sealed='.annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9000"}'
greedy='.process.capabilities |= map_values(. + ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_MKNOD"])
        | .root.readonly = false'

cell= # pid of the shim of the cell that runs
enter() { # ID FILTER: a container that stays
    local subnet first
    bundle "$1" "$2" sh -c 'echo up; exec sleep infinity'
    start_ready "$runtime" run --bundle "$lab/b/$1" "$1" </dev/null
    cell=$!
    read -r key init subnet < <("$lab/bin/anchorhold" --ah-state "$lab/state" show --json "$1" |
        jq -r '"\(.key) \(.init.pid) \(.network.subnet)"')
    record=$lab/state/runs/$key/record.json
    subnet=${subnet%/30} first=${subnet##*.}
    gateway=${subnet:+${subnet%.*}.$((first + 1))}
    guest=${subnet:+${subnet%.*}.$((first + 2))}
}
leave() { # ID
    "$runtime" kill "$1" KILL
    wait "$cell"
}
try() { "$runtime" exec "$1" attempt "${@:2}"; } # ID WORD...

# ---- what is granted ----------------------------------------------------------------------------

bundle answers "$sealed" attempt tcp=127.0.0.1:8080
red check "the broker answers at 127.0.0.1:8080" \
    contains "$(in_cell answers)" "tcp=127.0.0.1:8080 reached: HTTP/1.0 200 OK"
check "nothing is left of it" nothing_left

poor='.process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = true
      | .process.capabilities = {bounding: [], effective: [], inheritable: [], permitted: [],
                                 ambient: []}'
bundle poor "$sealed | $poor" attempt tcp=127.0.0.1:8080
red check "it answers uid 1000 without capabilities" \
    contains "$(in_cell poor)" "tcp=127.0.0.1:8080 reached"

bundle proxies "$sealed" sh -c 'env | grep -i proxy; :'
red check "proxy variables are gone" same "" "$(in_cell proxies)"

bundle teased "$sealed" env -i PATH=/bin HTTP_PROXY=http://203.0.113.1:80 ALL_PROXY= NO_PROXY=* \
    no_proxy= http_proxy=http://203.0.113.1:80 attempt 'sh=wget -q -O- http://1.1.1.1/' \
    'sh=wget -q -O- http://127.0.0.1:8080/'
answers=$(in_cell teased)
check "B-22 a proxy of the agent's own leads nowhere" refused_at_once "$answers" \
    'sh=wget -q -O- http://1.1.1.1/'
for status in 0 1 2 42 127 255; do
    bundle status "$sealed" sh -c "exit $status"
    check "B-41 exit $status" same $status "$(in_cell status >/dev/null 2>&1; echo $?)"
done
bundle shot "$sealed" sh -c 'sh -c "kill -KILL \$\$"; exit $?'
check "B-41 a child that was shot" same 137 "$(in_cell shot >/dev/null 2>&1; echo $?)"

bundle unlisted '.annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9002"}' true
red check "a port that the policy does not name is refused" \
    contains "$(in_cell unlisted 2>&1)" "tcp_endpoints"
check "nothing is left of the refused" nothing_left

# ---- what is not --------------------------------------------------------------------------------

declare -A once long
bundle once "$greedy | $sealed" attempt "${ways[@]#* | }"
take_answers once < <(in_cell once)
check "nothing is left of the one that tried" nothing_left

enter long "$greedy | $sealed"
take_answers long < <("$runtime" exec --cap CAP_NET_ADMIN --cap CAP_NET_RAW long \
    attempt "${ways[@]#* | }")
more=$(try long "tcp=$gateway:9000" "tcp=$gateway:9001" "tcp=$gateway:7000" "tcp=$gateway:8088" \
    "tcp=203.0.113.2:9000" "udp=$gateway:53" "ping=$gateway")
check "the broker's port at the gateway is the relay's way" contains "$more" "tcp=$gateway:9000 reached"
check "B-19 another port of the gateway" contains "$more" "tcp=$gateway:9001 refused"
check "B-19 a service on every address of the host" contains "$more" "tcp=$gateway:7000 refused"
check "the published port of another container" contains "$more" "tcp=$gateway:8088 refused"
check "the broker's port at another address of the host" \
    contains "$more" "tcp=203.0.113.2:9000 refused"
check "B-21 UDP to the gateway" contains "$more" "udp=$gateway:53 refused"

# The control: a plain namespace plugged in the same way reaches all that.
ip netns add plain
ip link add plain0 type veth peer name eth0 netns plain
ip addr add 192.0.2.1/30 dev plain0
ip link set plain0 up
ip -n plain addr add 192.0.2.2/30 dev eth0
ip -n plain link set eth0 up
ip -n plain route add default via 192.0.2.1
control=$(ip netns exec plain "$lab/bin/attempt" tcp=192.0.2.1:9001 tcp=192.0.2.1:7000 \
    tcp=192.0.2.1:8088 tcp=203.0.113.2:9000)
for there in 192.0.2.1:9001 192.0.2.1:7000 192.0.2.1:8088 203.0.113.2:9000; do
    check "without a seal $there is reached" contains "$control" "tcp=$there reached"
done

red check "record: sealed, and what was seen to hold" same \
    'enforced sealed veth ["netns","sources","drop-table","links","listeners","host-rules","route"]' \
    "$(jq -r '"\(.state) \(.posture) \(.technique) \(.verified | tojson)"' "$record")"
check "no IPv6 address on the host's end" same "" "$(ip -6 -o addr show dev "ah$key")"
check "no IPv6 address on the container's end" same "" \
    "$(nsenter -t "$init" -n ip -6 -o addr show dev eth0)"
check "no route but the subnet's own" same "$(jq -r .network.subnet "$record") dev eth0 " \
    "$(nsenter -t "$init" -n ip -4 route show | sed 's/proto kernel scope link src.*//')"

start_ready "$runtime" exec long attempt listen=0.0.0.0:5555
"$lab/bin/attempt" "tcp=$guest:5555" >"$lab/listens" & # nobody says no: it takes a while
asks_listener=$!

# The link-local way takes its time to come up (DAD); the plain namespace shows that it would.
scoped() { # NAMESPACE-COMMAND... : fe80 of the host's end, asked from inside
    "${@:2}" "$lab/bin/attempt" "tcp=[$1%eth0]:9000"
}
link_local() {
    plain_local=$(ip -6 -o addr show dev plain0 scope link | awk '{sub("/.*", "", $4); print $4}')
    until ip -6 -o addr show dev plain0 scope link | grep -qv tentative &&
        ip -n plain -6 -o addr show dev eth0 scope link | grep -qv tentative; do sleep 0.1; done
    check "B-20 link-local: the control is reached" contains \
        "$(scoped "$plain_local" ip netns exec plain)" reached
    mac=$(ip -j link show "ah$key" | jq -r '.[].address')
    eui64=$("$python" -c 'import sys
m = [int(x, 16) for x in sys.argv[1].split(":")]
m[0] ^= 2
print("fe80::%02x%02x:%02xff:fe%02x:%02x%02x" % tuple(m))' "$mac")
    check "B-20 link-local: the sealed one is not" contains \
        "$(scoped "$eui64" nsenter -t "$init" -n)" refused
}
if only_where ipv6 "B-20 link-local: the control is reached" "B-20 link-local: the sealed one is not"; then
    link_local
fi

# ---- from outside, and later --------------------------------------------------------------------

wait $asks_listener
check "B-55 what listens inside is not read from the host" contains "$(<"$lab/listens")" refused

ip link add late0 type veth peer name eth1 netns "$init"
ip addr add 198.51.100.1/30 dev late0
ip link set late0 up
nsenter -t "$init" -n ip addr add 198.51.100.2/30 dev eth1
nsenter -t "$init" -n ip link set eth1 up
nsenter -t "$init" -n ip route add default via 198.51.100.1
check "a later interface gives nothing more" contains \
    "$(try long tcp=198.51.100.1:9000)" "tcp=198.51.100.1:9000 refused"
check "the broker still answers" contains "$(try long tcp=127.0.0.1:8080)" reached
ip link del late0

nft flush ruleset
after=$(try long "tcp=$gateway:9001" "tcp=$gateway:7000" "tcp=$gateway:8088" tcp=203.0.113.2:9000 \
    tcp=127.0.0.1:8080)
for there in "$gateway:9001" "$gateway:7000" "$gateway:8088" 203.0.113.2:9000; do
    check "C-06 after nft flush ruleset $there is still refused" contains "$after" "tcp=$there refused"
done
check "C-06 after nft flush ruleset the broker still answers" contains "$after" \
    "tcp=127.0.0.1:8080 reached"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
red check "C-06 gc restores the host's rules" contains "$(nft list ruleset)" "chain ah$key {"
red check "gc marks the record" contains "$(jq -r '.advice[]' "$record")" "were gone"
nft -f "$lab/publish.before"

first=$cell neighbour=$guest
enter second "$greedy | $sealed"
check "two runs never answer each other" contains "$(try second "tcp=$neighbour:8080")" refused
leave second
cell=$first
leave long
ip link del plain0
ip netns del plain
check "nothing is left" nothing_left

# ---- nothing is taken for granted ---------------------------------------------------------------

# Another table's drop beats our accept (what a host with ufw or firewalld has).
nft -f - <<'RULES'
table inet strict {
    chain input {
        type filter hook input priority 10; policy drop
        iif lo accept
    }
}
RULES
bundle dropped "$sealed" true
dropped=$(in_cell dropped 2>&1)
check "C-17 a firewall that drops what we accept fails the set-up" contains "$dropped" \
    ":9000: connection timed out"
check "C-17 and its tables are named" contains "$dropped" "inet strict"
nft delete table inet strict
check "C-17 nothing is left" nothing_left
bundle dropped "$sealed" attempt tcp=127.0.0.1:8080
check "C-17 without it the broker answers" contains "$(in_cell dropped)" reached

# A port is asked what a socket is asked: whether somebody serves it, before anything is made.
policy '{tcp: "veth", tcp_endpoints: ["host:9003"]}'
bundle unserved "${sealed/9000/9003}" true
unserved() { # unserved TEXT: refused with TEXT, nothing made
    local said
    said=$(in_cell unserved 2>&1) && return 1
    contains "$said" "$1" && contains "$said" "(endpoint_unavailable)" && nothing_left
}
check "a port where nobody listens is refused" unserved \
    "endpoint model: nobody listens on port 9003 of this host; start the broker first"
start_ready "$python" -c 'import signal, socket
server = socket.create_server(("127.0.0.1", 9003)); print("up", flush=True); signal.pause()'
check "a broker that listens where no link leads is refused" unserved "listens on 127.0.0.1 alone"
stop $!
start_ready "$python" "$here/lib/world.py" tcp=9003
check "control: a broker on the wildcard is served" in_cell unserved
stop $!
policy '{tcp: "veth", tcp_endpoints: ["host:9000", "host:9001"]}'

# A link and a chain of our name that somebody left are replaced, never added to.
bundle left "$sealed" attempt tcp=127.0.0.1:8080
in_cell left >/dev/null # whose key is then on record
key=$(jq -r 'select(.id == "left") | .key' "$lab"/state/ended/*.json)
ip link add "ah$key" type veth peer name left1
ip link set "ah$key" up
ip addr add 192.0.2.1/30 dev "ah$key"
own="netdev anchorhold-$(printf %02x $((0x${key: -2} % 64)))" # the table
nft -f - <<RULES
table $own { chain ah$key { type filter hook ingress device "ah$key" priority 0; policy accept; accept; }; }
RULES
enter left "$sealed"
red check "C-08 a left chain was replaced" same "policy drop; 0" \
    "$(nft list chain $own "ah$key" | grep -o 'policy [a-z]*;') $(nft list chain $own "ah$key" | grep -cx '\s*accept')"
red check "C-08 a left link was replaced" same "" "$(ip -o addr show dev "ah$key" | grep 192.0.2.1)"
check "C-08 and the seal holds" refused_at_once "$(try left "tcp=$gateway:7000")" "tcp=$gateway:7000"
left=$cell

# Each of the two walls holds alone.
nsenter -t "$init" -n nft flush ruleset
answers=$(try left "tcp=$gateway:7000" tcp=127.0.0.1:8080)
check "with the table inside gone: the host's end lets in the broker's port" contains "$answers" \
    "tcp=127.0.0.1:8080 reached"
check "with the table inside gone: and no other" contains "$answers" "tcp=$gateway:7000 refused"
nft add rule $own "ah$key" accept
check "control: it was the host's end that held" contains "$(try left "tcp=$gateway:7000")" \
    "tcp=$gateway:7000 reached"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "gc puts up both again" refused_at_once "$(try left "tcp=$gateway:7000")" "tcp=$gateway:7000"

# Two runs end each for itself; their end takes a while when somebody holds the namespace.
enter held "$sealed"
exec {parked}<"/proc/$init/ns/net"
answers=$(try held "tcp-in-userns=$gateway:7000" 'sh=unshare --user --net true')
check_where userns "C-19 an agent may have a sandbox of its own" contains "$answers" "--net true reached"
check_where userns "C-19 and is as confined there" refused_at_once "$answers" "tcp-in-userns=$gateway:7000"
start_ready "$runtime" exec held attempt listen=127.0.0.1:9999
answers=$(try held tcp=127.0.0.1:9999 tcp=127.0.0.1:8080)
for word in tcp=127.0.0.1:9999 tcp=127.0.0.1:8080; do
    check "C-48 its own server and the relay: $word" contains "$answers" "$word reached"
done
leave held
red check "C-40 B-59 a namespace that is held keeps no link and no subnet" same "" \
    "$(ip -o link show dev "ah$key" 2>/dev/null)$(find "$lab/state/subnets" -name "*$key*")"
exec {parked}<&-
check "C-08 the other run is not touched" contains "$(try left tcp=127.0.0.1:8080)" \
    "tcp=127.0.0.1:8080 reached"

# It brings the link down and up, gives it addresses and another MAC, as it does with every new one.
key=$(jq -r 'select(.id == "left") | .key' "$lab"/state/runs/*/record.json)
ip link set "ah$key" down
ip link set "ah$key" addrgenmode eui64
ip link set "ah$key" address 02:00:00:00:00:01
ip link set "ah$key" up
ip addr add 192.0.2.1/24 dev "ah$key"
ip -6 addr add fe80::1/64 dev "ah$key" nodad
answers=$(try left "tcp=$gateway:7000" tcp=192.0.2.1:7000 'tcp=[fe80::1%eth0]:7000')
for word in "tcp=$gateway:7000" tcp=192.0.2.1:7000 'tcp=[fe80::1%eth0]:7000'; do
    check "C-41 a network manager that takes the link over opens nothing: $word" refused_at_once \
        "$answers" "$word"
done

# Without its record it is nobody's to take down.
mv "$lab/state/runs" "$lab/state/hidden"
mkdir -m 700 "$lab/state/runs"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
red check "C-38 without a record, gc leaves a live run alone" contains \
    "$("$plain_runtime" exec left attempt tcp=127.0.0.1:8080)" "tcp=127.0.0.1:8080 reached"
rmdir "$lab/state/runs"
mv "$lab/state/hidden" "$lab/state/runs"
cell=$left
leave left
check "nothing is left of these" nothing_left

# The shim is killed while its container lives, then the container: nobody calls delete.
enter orphan "$sealed"
kill -KILL "$cell"
wait "$cell" 2>/dev/null
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "B-43 its shim was killed: the run stands" contains "$(try orphan tcp=127.0.0.1:8080)" reached
kill -KILL "$init"
wait_for_end "$init"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc >"$lab/gc"
check "B-43 its container too: gc takes it away" nothing_left
"$plain_runtime" delete --force orphan

# Killed with all that watch over them: one sweep takes them all, and nothing that is not ours.
crowd=${AH_CROWD:-20}
ip link add ahsomebody type bridge
nft add table netdev ahsomebody
remember_kernel
for number in $(seq $crowd); do
    bundle "crowd$number" "$sealed" sleep infinity
    "$runtime" create --bundle "$lab/b/crowd$number" "crowd$number" </dev/null >/dev/null
done
red check "C-58 so many runs live" same $crowd "$(ip -o link | grep -cE ' ah[0-9a-f]{12}@')"
for init in $(jq -r .init.pid "$lab"/state/runs/*/record.json); do
    kill -KILL "$init"
    wait_for_end "$init"
done
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "C-58 gc takes away all that ended" same 0 "$(ip -o link | grep -cE ' ah[0-9a-f]{12}@')"
for number in $(seq $crowd); do "$runtime" delete --force "crowd$number"; done
check "C-58 and nothing that is not ours" nothing_left
ip link del ahsomebody
nft delete table netdev ahsomebody
remember_kernel

discarded() { # RULE...: the set-up fails, says why, and leaks nothing
    local output
    "${@:2}"
    bundle discarded "$sealed" true
    output=$(in_cell discarded 2>&1)
    printf '%s\n' "$output"
    contains "$output" "$1" && contains "$output" "ip route get 198.1" && nothing_left
}
ip rule add to 198.18.0.0/15 unreachable priority 100
red check "B-46 a rule that discards fails the set-up and is named" discarded "unreachable" :
ip rule del priority 100
ip rule add to 198.18.0.0/15 prohibit priority 100
red check "B-46 so does one that prohibits" discarded "prohibit" :
ip rule del priority 100

take_answers control < <(in_the_open once)
red_only B-28 judge once ", sealed"
red_only B-28 judge long ", sealed, from an exec"
finish
