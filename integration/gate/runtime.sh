#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An allow list by the gate, as a runtime's containers get it: from create to delete, when the gate
# dies, when its hook is killed, and without root. The host forwards nothing and loads no rule.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" dnsmasq setpriv unshare
enter_lab
needs_host tproxy ipv6
make_rootfs "$lab/rootfs"
open_world
for address in 203.0.113.10 203.0.113.11 192.0.2.7; do
    ip -n internet addr add "$address/32" dev lo
done
ip netns exec internet dnsmasq --conf-file=/dev/null --user=root --pid-file="$lab/dnsmasq.pid" \
    --no-resolv --no-hosts --bind-interfaces --listen-address=203.0.113.1 --log-queries \
    --log-facility="$lab/queries" --address=/named.test/203.0.113.10 --address=/other.test/203.0.113.11 \
    --address=/wild.test/203.0.113.10 --address=/local.test/127.0.0.1
echo 'nameserver 203.0.113.1' >"$lab/resolv.conf"
start_ready "$python" "$here/lib/world.py" tcp=9000 # the host's
policy '{ceiling: "allowlist", tcp: "gate", tcp_endpoints: ["host:9000"]}'
echo 0 >/proc/sys/net/ipv4/ip_forward

list=named.test,*.wild.test,local.test,192.0.2.0/24
asks=".annotations += {\"dev.anchorhold.egress\": \"allowlist\", \"dev.anchorhold.allow\": \"$list\",
    \"dev.anchorhold.endpoints\": \"service:8080=tcp:host:9000\"}"
hello='hello from outside'
tool() { "$lab/bin/anchorhold" --ah-state "$lab/state" "$@"; }
make() { # ID
    bundle "$1" "$asks" sleep infinity
    rm "$lab/b/$1/rootfs/etc/resolv.conf" # the runtime makes one, to mount ours on
    within 60 "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >"$lab/log" 2>&1 ||
        { cat "$lab/log"; return 1; }
}
in_run() { within 60 "$runtime" exec "$1" sh -c "$2" </dev/null 2>&1; } # ID COMMAND
says() { in_run "$1" "nc $2 $3 </dev/null"; }                           # ID NAME PORT
record() { cat "$lab"/state/runs/*/record.json | jq -r "$1"; }          # FILTER
reaches() { contains "$(says "$@")" "$hello"; }
refused() { # ID NAME PORT: at once
    local said
    said=$(says "$@")
    case $said in
    *"$hello"*) echo "reached: $said"; return 1 ;;
    esac
}
kill_gate() {
    local gate
    gate=$(record .gate.process.pid)
    kill -KILL "$gate" && wait_for_end "$gate"
}
gone() { # ID
    within 60 "$runtime" delete --force "$1" && nothing_left
}
remember_kernel

# ---- what is reached ----------------------------------------------------------------------------

make c || not_ok "a run with a gate is created" "$(cat "$lab/log")"
check "the record says what the kernel answered, the gate with it" \
    contains "$(record '.verified | join(" ")')" gate
check "the runtime made a resolv.conf in the bundle's root" [ -f "$lab/b/c/rootfs/etc/resolv.conf" ]
check "it is filtered, by the gate" same "filtered gate" "$(record '"\(.posture) \(.technique)"')"
"$runtime" start c || not_ok "it is started"
check "a name is reached" reaches c named.test 443
check "a name of a wildcard is reached" reaches c a.wild.test 443
check "an address of a range is reached" reaches c 192.0.2.7 443
check "an endpoint is reached" reaches c 127.0.0.1 8080
red check "a name that is not listed does not exist" \
    contains "$(in_run c 'nslookup -type=a other.test')" NXDOMAIN
check "nobody outside was asked for it" same 0 "$(grep -c other.test "$lab/queries")"
check "one that is listed was asked for" grep -q named.test "$lab/queries"
check "its address is refused" refused c 203.0.113.11 443
check "a name that leads to this machine is not dialled" refused c local.test 443
check "a port that is not listed is refused" refused c named.test 80
inside_server='(echo here | nc -l -p 443 >/dev/null) & while ! netstat -ltn | grep -q :443; do :; done
    nc 127.0.0.1 443 </dev/null'
check "a server inside at port 443 works" same here "$(in_run c "$inside_server")"
check "and a name at that port is reached beside it" reaches c named.test 443
check "the gate is told by its name and its names in show" contains "$(tool show c)" named.test
in_run c 'getent ahosts refused.test' >/dev/null
told_of() { # NAME: in the list of denials; the gate writes its report within a second
    local text
    for _ in $(seq 2000); do
        text=$(tool denials c)
        [[ $text != *"$1"* ]] || return 0
    done
    echo "$text"
    return 1
}
check "a refused name is told, with the rule that would allow it" told_of "allow: refused.test"
check "a refused address is told" contains "$(tool denials c)" 203.0.113.11

# ---- a gate that dies ---------------------------------------------------------------------------

kill_gate
check "a gate is killed: a name is out of reach" refused c named.test 443
check "and an address" refused c 192.0.2.7 443
check "show says that it is gone" contains "$(tool show c)" "its gate is gone"
for round in 1 2 3; do
    check "gc starts it again, $round" tool gc
    check "names are reached as before, $round" reaches c named.test 443
    check "the endpoint too, $round" reaches c 127.0.0.1 8080
    check "the record counts it, $round" same "$round 0" "$(record '"\(.gate.rules.epoch) \(.gate.lost)"')"
    kill_gate
done
tool gc >"$lab/gc" 2>&1
check "not a fourth time, and gc says so" contains "$(cat "$lab/gc")" "started again 3 times already"
check "all is closed" refused c named.test 443
check "the record says since when" same true "$(record '.gate.lost > 0')"
check "delete leaves nothing" gone c
check "nor in the bundle's root" [ ! -e "$lab/b/c/rootfs/etc/resolv.conf" ]
check "the last record has the names" contains "$(tool denials c)" refused.test

make c && kill_gate
dies=$("$runtime" start c 2>&1)
check "a gate that dies before start: the start is refused" contains "$dies" "its gate is gone"
check "and nothing is left" nothing_left

# ---- the program is missing ---------------------------------------------------------------------

gate=$lab/libexec/anchorhold/anchorhold-gate
chmod g+w "$gate"
check "a gate that others may change is none" contains "$(tool doctor)" "$gate can be"
chmod g-w "$gate"
mv "$gate" "$lab/kept"
check "doctor says that it is missing, and what to do" contains "$(tool doctor)" \
    "remedy: install the anchorhold-gate"
bundle m "$asks" true
red check "without it a list that only the gate can serve is never looser" \
    same 1 "$(in_cell m >/dev/null 2>&1 && echo 0 || echo 1)"
mv "$lab/kept" "$gate"

finish
