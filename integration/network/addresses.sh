#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A filtered cell does not get through to the host by another kind of address, another link, or
# another's source: what it sends is written down by a server of the host, which hears everything.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
open_world
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding # a router has the anycast address of its subnets
policy '{ceiling: "allowlist", allow_by: "packets"}'

cat >"$lab/hear.py" <<'PYTHON'
import socket, sys
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
one.bind(("::", 7777))
with open(sys.argv[1], "wb", buffering=0) as file:
    print(flush=True)
    while True:
        file.write(one.recv(100) + b"\n")
PYTHON
start_ready "$python" "$lab/hear.py" "$lab/heard"

cat >"$lab/echo.py" <<'PYTHON'
import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100):
            self.request.sendall(data)
server = socketserver.ThreadingTCPServer(("", 7778), Echo)
print(flush=True)
server.serve_forever()
PYTHON
start_ready "$python" "$lab/echo.py"

# talk.py ADDRESS PORT FIFO ANSWER: a connection that speaks again when somebody writes to FIFO.
cat >"$lab/talk.py" <<'PYTHON'
import socket, sys
one = socket.create_connection((sys.argv[1], int(sys.argv[2])))
one.sendall(b"a")
one.recv(100)
print(flush=True)
open(sys.argv[3]).read()
try:
    one.sendall(b"b")
    one.recv(100)
    answer = "open"
except OSError:
    answer = "ended"
open(sys.argv[4], "w").write(answer)
PYTHON
talk_begins() { # NAME ADDRESS PORT
    mkfifo "$lab/$1.fifo"
    start_ready nsenter --net=/run/netns/engine "$python" "$lab/talk.py" "$2" "$3" \
        "$lab/$1.fifo" "$lab/$1.answer"
    talk=$!
}
talk_ends() { # NAME PID: sets $said: whether the connection still was open
    echo >"$lab/$1.fifo"
    wait "$2"
    said=$(<"$lab/$1.answer")
}

# heard TEXT: whether the server has it, once it has what the host itself said last.
marks=0
heard() {
    local mark=mark$((++marks))
    "$lab/bin/attempt" "say=$mark@127.0.0.1:7777" >/dev/null
    until grep -q "^$mark\$" "$lab/heard"; do :; done
    grep -q "^$1\$" "$lab/heard"
}
unheard() { ! heard "$1"; }
arrives() { until heard "$1"; do :; done; }

ip link add br0 type bridge
ip addr add 10.88.0.1/16 brd + dev br0
ip addr add fd88::1/64 dev br0 nodad
ip link set br0 up
echo 1 >/proc/sys/net/ipv4/conf/br0/route_localnet
ip netns add engine
ip link add port0 type veth peer name eth0 netns engine
ip link set port0 master br0
ip link set port0 up
ip -n engine link set lo up
ip -n engine addr add 10.88.0.2/16 brd + dev eth0
ip -n engine addr add fd88::2/64 dev eth0 nodad
ip -n engine addr add fe80::2/64 dev eth0 nodad
ip -n engine link set eth0 up
ip -n engine route add default via 10.88.0.1
ip -n engine route add default via fd88::1

nft -f - <<'RULES'
table ip engine {
    chain postrouting {
        type nat hook postrouting priority srcnat
        ip saddr 10.88.0.0/16 oifname "up0" masquerade
    }
}
RULES
ip netns add neighbour
ip link add port2 type veth peer name eth0 netns neighbour
ip link set port2 master br0
ip link set port2 up
ip -n neighbour addr add 10.88.0.1/16 dev eth0 # the node's
ip -n neighbour link set eth0 up
poison() { # as forged answers of ARP do
    ip -n engine neigh replace 10.88.0.1 dev eth0 nud permanent lladdr \
        "$(ip -n neighbour -j link show eth0 | jq -r '.[0].address')"
}
heal() { ip -n engine neigh del 10.88.0.1 dev eth0; }
neighbour() { nsenter --net=/run/netns/neighbour "$lab/bin/attempt" tcp=10.88.0.2:5555; }

# WAYS: name and words; the names are what is said.
late4=198.51.100.255 late6=fd88::77
before=(unicast@10.88.0.1:7777 broadcast@10.88.255.255:7777 far-broadcast@203.0.113.255:7777
    anycast@[fd88::]:7777 far-anycast@[2001:db8:113::]:7777 group@[ff02::1%eth0]:7777
    bound@127.0.0.2:7777@device=eth0 limited@255.255.255.255:7777@device=eth0)
late=("late-broadcast@$late4:7777" "late-unicast@[$late6]:7777" "forged@[$late6]:7777@source=[fd99::9]:0"
    "near@[$late6]:7777@source=[fe80::2%eth0]:0")
new_addresses() {
    ip addr add 198.51.100.1/24 brd + dev br0
    ip addr add "$late6/64" dev br0 nodad
}
old_addresses() {
    ip addr del 198.51.100.1/24 dev br0
    ip addr del "$late6/64" dev br0
}

new_addresses
for way in "${before[@]}" "${late[@]}"; do
    nsenter --net=/run/netns/engine "$lab/bin/attempt" "say=open-$way" >/dev/null
    [ "${AH_BARE:-}" ] || check "control: without us the host hears ${way%%@*}" arrives "open-${way%%@*}"
done
old_addresses
start_ready nsenter --net=/run/netns/engine "$lab/bin/attempt" listen=0.0.0.0:5555
listener=$!
poison
check "control: without us a neighbour with the node's address gets through" contains \
    "$(neighbour)" reached
heal
wait "$listener"

ports='[{\"port\": 7777, \"protocol\": \"UDP\"}, {\"port\": 443}, {\"port\": 7778}]'
wide="[$(for to in 10.0.0.0/8 172.16.0.0/12 203.0.113.0/24 198.51.100.0/24 127.0.0.0/8 fd88::/64 2001:db8:113::/64; do
    printf '{\\"to\\": \\"%s\\", \\"ports\\": %s}, ' "$to" "$ports"
done)]"
wide=${wide%, ]}]
allowed=".annotations += {\"dev.anchorhold.egress\": \"allowlist\", \"dev.anchorhold.allow\": \"$wide\"}"
joins='.linux.namespaces |= map(if .type == "network" then . + {path: "/run/netns/engine"} else . end)'

cell=
enter() { # ID FILTER: a container that stays
    bundle "$1" "$2" sh -c 'echo up; exec sleep infinity'
    start_ready "$runtime" run --bundle "$lab/b/$1" "$1" </dev/null
    cell=$!
}
leave() { # ID
    "$runtime" kill "$1" KILL
    wait "$cell"
    "$runtime" delete --force "$1" 2>/dev/null
}
try() { "$runtime" exec "$1" attempt "${@:2}"; } # ID WORD...

# none_heard ID WAY...: says all of them, and the host hears none.
none_heard() {
    local way mark words=()
    for way in "${@:2}"; do words+=("say=$1-$way"); done
    try "$1" "${words[@]}" >"$lab/said"
    for way in "${@:2}"; do
        mark=red # the anycast address is nobody's without us, and then there is no link of ours
        [ "$1" = place ] && [ "${way%%@*}" != anycast ] || mark=
        $mark check "$1: the host does not hear ${way%%@*}" unheard "$1-${way%%@*}"
    done
}

enter place "$allowed | $joins"
none_heard place "${before[@]}"
red check "place: what is bound to a link is refused at once" contains "$(<"$lab/said")" \
    "say=place-bound@127.0.0.2:7777@device=eth0 refused"
new_addresses
none_heard place "${late[@]}"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
none_heard place "${late[@]/#/again-}"
start_ready "$runtime" exec place attempt listen=127.0.0.5:5555
check "place: its own servers are reached on lo" contains "$(try place tcp=127.0.0.5:5555)" reached
check "place: the granted is reached" contains "$(try place tcp=203.0.113.1:443)" reached
start_ready "$runtime" exec place attempt listen=0.0.0.0:5555
poison
red check "place: a neighbour with the node's address is not the node" contains "$(neighbour)" refused
heal
check "place: control: the node is" contains "$("$lab/bin/attempt" tcp=10.88.0.2:5555)" reached

ip link add br1 type bridge
ip addr add 172.30.0.1/16 dev br1
ip link set br1 up
ip link add port1 type veth peer name eth1 netns engine
ip link set port1 master br1
ip link set port1 up
ip -n engine addr add 172.30.0.2/16 dev eth1
ip -n engine link set eth1 up
talk_begins closed 172.30.0.1 7778
closed=$talk
talk_begins kept 203.0.113.1 443
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
talk_ends closed "$closed"
check "gc: what stood open to what it closes is ended" same ended "$said"
talk_ends kept "$talk"
check "gc: control: what is still granted stays open" same open "$said"
ip link del port1
ip link del br1

nft flush ruleset
none_heard place "flushed-bound@127.0.0.2:7777@device=eth0" "flushed-forged@[$late6]:7777@source=[fd99::9]:0" \
    "flushed-broadcast@10.88.255.255:7777"
leave place
old_addresses

enter veth "$allowed"
none_heard veth far-unicast@203.0.113.2:7777 far-broadcast@203.0.113.255:7777 \
    bound@127.0.0.2:7777@device=eth0 limited@255.255.255.255:7777@device=eth0
ip addr add 203.0.113.129/25 brd + dev up0
none_heard veth late-unicast@203.0.113.129:7777 late-broadcast@203.0.113.255:7777
ip addr del 203.0.113.129/25 dev up0
check "veth: the granted is reached" contains "$(try veth tcp=203.0.113.1:443)" reached
leave veth
finish
