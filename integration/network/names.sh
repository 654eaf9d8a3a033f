#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A name in a container without a resolver has its address where the hosts file pins it. Any other
# name is denied at once, whoever asks and however. The relay says so and asks nobody.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
echo '192.0.2.7 pinned.test' >"$lab/hosts"
open_world
start_broker model
start_ready "$python" "$here/lib/world.py" tcp=9000
remember_kernel

mounted() { # FILE...: as engines mount them
    jq -nr --arg lab "$lab" '[$ARGS.positional[] | {destination: "/etc/\(.)", type: "bind",
        source: "\($lab)/\(.)", options: ["rbind", "ro"]}] | ".mounts += \(.)"' --args "$@"
}
poor='.process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = true
      | .process.capabilities = {bounding: [], effective: [], inheritable: [], permitted: [],
                                 ambient: []}'
engine="$poor | $(mounted resolv.conf hosts)"
relayed="$engine | $(asks_for model)"
sealed=$engine' | .annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9000"}'
port_start=/proc/sys/net/ipv4/ip_unprivileged_port_start

# in_shell FILTER COMMAND: what it says in a container, whatever of it fails.
in_shell() {
    bundle names "$1" sh -c "$2"
    in_cell names 2>&1
}

# "a.b", type A, and what the relay says to it: the header with QR, RD, RA and NXDOMAIN, the question.
asked='\0\25\22\64\1\0\0\1\0\0\0\0\0\0\1a\1b\0\0\1\0\1'
refused=" 00 15 12 34 81 83 00 01 00 00 00 00 00 00 01 61 01 62 00 00 01 00 01"
ask_stream="printf '$asked' | nc 127.0.0.1 53 | od -An -v -tx1 | tr -d '\n'"
ask_datagram='nslookup -type=a example.test | grep -o "example.test: .*"'
ask_libc='getent ahosts example.test; echo $?'

# ---- where the relay runs -----------------------------------------------------------------------

judge_relayed() { # TITLE FILTER
    red check "C-21 $1: resolv.conf names the relay" \
        same "nameserver 127.0.0.1" "$(in_shell "$2" 'grep nameserver /etc/resolv.conf')"
    red check "C-21 $1: a plain user's relay may have port 53" same 53 "$(in_shell "$2" "cat $port_start")"
    red check "C-21 $1: a name does not exist, by UDP" \
        same "example.test: NXDOMAIN" "$(in_shell "$2" "$ask_datagram")"
    red check "C-21 $1: a name does not exist, by TCP" same "$refused" "$(in_shell "$2" "$ask_stream")"
    check "C-21 $1: a name does not exist, by glibc" same 2 "$(in_shell "$2" "$ask_libc")"
    bundle names "$2" attempt 'sh=getent ahosts example.test' 'sh=nslookup example.test'
    answers=$(in_cell names)
    check "C-21 $1: at once, by glibc" refused_at_once "$answers" 'sh=getent ahosts example.test'
    check "C-21 $1: at once, by busybox" refused_at_once "$answers" 'sh=nslookup example.test'
    # By ahostsv4, so with AI_ADDRCONFIG: glibc then finds no IPv4 name where lo has 127.0.0.1 alone.
    check "$1: a pinned name has its address" same "192.0.2.7" \
        "$(in_shell "$2" 'getent ahostsv4 pinned.test | sed -n "s/ *STREAM.*//p"')"
}

# Whoever asks further leaves a trace: a packet on the link, or one that had no route. The set-up's
# own look at the endpoint may still be closing; its last packet is waited for.
traces='while awk "\$4 ~ /^0[145]$/ { open = 1 } END { exit !open }" /proc/net/tcp; do :; done
traces() {
    awk "/eth0/ { print \$11 }" /proc/net/dev
    awk "\$1 == \"Ip:\" { print \$13 }" /proc/net/snmp
}
before=$(traces)'
leaves() { # FILTER COMMAND: what trace
    in_shell "$1" "$traces; { $2; } >/dev/null
        [ \"\$before\" = \"\$(traces)\" ] && echo none || echo some"
}
look_ups="$ask_datagram; $ask_stream; $ask_libc; getent ahosts example.test"

policy
judge_relayed relayed "$relayed"
red check "relayed: nobody is asked in turn" same none "$(leaves "$relayed" "$look_ups")"
check "relayed: who asks further leaves a trace" \
    same some "$(leaves "$relayed" 'attempt dns-udp=1.1.1.1')"
check "relayed: the model is still there" contains "$(in_shell "$relayed" 'attempt ask=8080')" reached

policy '{tcp: "veth", tcp_endpoints: ["host:9000"]}'
judge_relayed sealed "$sealed"
red check "sealed: nobody is asked in turn" same none "$(leaves "$sealed" "$look_ups")"
check "sealed: who asks further leaves a trace" \
    same some "$(leaves "$sealed" 'attempt tcp=127.0.0.1:8080')"

# ---- which names were refused -------------------------------------------------------------------

said() { "$lab/bin/anchorhold" --ah-state "$lab/state" denials "$@"; } # [--json] ID
listed() { # ID: names and tries, as programs see them
    said --json "$1" | jq -r '.refused_names | (.names[] | "\(.name) \(.tries)"), "others \(.others)"'
}
# Nine refusals, of which four are names: by libc, which asks for two types at once, by datagrams and
# by a stream. Names that are allowed or pinned are answered from the hosts file.
refusals='getent ahosts example.test; getent ahosts Example.TEST; getent ahosts pinned.test
    nslookup -type=a weird%name.test; printf "'$asked'" | nc 127.0.0.1 53
    for port in 1 2 3 4 5; do attempt tcp=1.1.1.1:$port; done'
names_of_nine="example.test 2
a.b 1
weird?name.test 1
others 0"
text_of_nine="NAME             TRIES  RULE
example.test     2      allow: example.test
a.b              1      allow: a.b
weird?name.test  1      no rule can name it"

judge_counts() { # TITLE FILTER [COMMAND]: whose names are allowed
    bundle counted "$2" sh -c "{ $refusals; ${3:-:}; } >/dev/null 2>&1; echo up; exec sleep infinity"
    start_ready "$runtime" run --bundle "$lab/b/counted" counted </dev/null
    red check "$1: each refused name is listed with its tries while it runs" \
        same "$names_of_nine" "$(listed counted)"
    red check "$1: and for people with what would allow it" \
        contains "$(said counted)" "$text_of_nine"
    init=$("$plain_runtime" state counted | jq .pid)
    check "$1: nobody inside has the file open" same "" \
        "$(find "/proc/$init/fd" "/proc/$(pgrep -P "$init")/fd" -lname '*/runs/*/names')"
    red check "$1: the relay alone has it mapped" same "$init" \
        "$(grep -l '/runs/.*/names$' /proc/[0-9]*/maps 2>/dev/null | grep -o '[0-9]*')"
    "$runtime" kill counted KILL
    wait $!
    "$runtime" delete --force counted 2>/dev/null
    red check "$1: and after it has ended" same "$names_of_nine" "$(listed counted)"
    check "$1: nothing is left" nothing_left
}
policy '{ceiling: "allowlist", allow_by: "packets"}'
judge_counts relayed "$relayed"
echo 1 >/proc/sys/net/ipv4/ip_forward
{ cat /etc/hosts && echo 1.1.1.1 allowed.test; } >"$lab/host.hosts"
mount --no-mtab --bind "$lab/host.hosts" /etc/hosts
remember_kernel
judge_counts filtered "$engine"' | .annotations += {"dev.anchorhold.egress": "allowlist",
    "dev.anchorhold.allow": "allowed.test"}' 'getent ahosts allowed.test; nslookup allowed.test'

# ---- what the pinned names leave in an image that had no hosts file -------------------------------

pins="$poor | .annotations += {\"dev.anchorhold.egress\": \"allowlist\",
    \"dev.anchorhold.allow\": \"allowed.test\"}"
etc_of() { (cd "$lab/b/$1/rootfs" && find etc -printf '%p %s\n' 2>/dev/null | sort); } # ID
without_etc() { # ID WORD...: a bundle whose image has no /etc
    bundle "$1" "$pins" "${@:2}"
    rm -rf "${lab:?}/b/$1/rootfs/etc"
}
stays() { # ID BUNDLE: a container that lives on, and its first process
    start_ready "$runtime" run --bundle "$lab/b/$2" "$1" </dev/null
    init=$("$plain_runtime" state "$1" | jq .pid)
}
ends() { # ID PID
    "$runtime" kill "$1" KILL
    wait "$2"
    "$runtime" delete --force "$1" 2>/dev/null
}
without_etc bare cat /etc/hosts
red check "without /etc: the names are pinned" contains "$(in_cell bare)" "1.1.1.1 allowed.test"
check "without /etc: there is none afterwards" same "" "$(etc_of bare)"
bundle etc "$pins" cat /etc/hosts
before=$(etc_of etc)
red check "without /etc/hosts: the names are pinned" contains "$(in_cell etc)" "1.1.1.1 allowed.test"
check "without /etc/hosts: the rest of /etc is as it was" same "$before" "$(etc_of etc)"
bundle volume "$pins | .mounts += [{destination: \"/etc\", source: \"$lab/volume\",
    options: [\"bind\", \"rw\"]}]" cat /etc/hosts
mkdir -p "$lab/volume"
red check "with a volume at /etc: the names are pinned" contains "$(in_cell volume)" \
    "1.1.1.1 allowed.test"
check "with a volume at /etc: it is empty afterwards" same "" "$(ls "$lab/volume")"

without_etc shared sh -c 'echo up; exec sleep infinity'
stays one shared
one=$!
red check "control: the mount point is in the image while it runs" same "etc/hosts 0" \
    "$(etc_of shared | grep hosts)"
jq --arg cgroup "/$cgroup/two" '.linux.cgroupsPath = $cgroup' "$lab/b/shared/config.json" \
    >"$lab/two.json" && mv "$lab/two.json" "$lab/b/shared/config.json"
stays two shared
two=$!
ends one "$one"
red check "one of two in an image ends: the other has its names still" contains \
    "$("$runtime" exec two cat /etc/hosts)" "1.1.1.1 allowed.test"
ends two "$two"
check "and nothing is left when both have ended" same "" "$(etc_of shared)"
without_etc written sh -c 'echo up; exec sleep infinity'
stays written written
written=$!
echo '192.0.2.1 mine.test' >"$lab/b/written/rootfs/etc/hosts"
ends written "$written"
red check "what was written there meanwhile stays" same "etc/hosts 20" \
    "$(etc_of written | grep hosts)"
without_etc crashed sleep infinity
"$runtime" create --bundle "$lab/b/crashed" crashed </dev/null >/dev/null 2>&1
init=$("$plain_runtime" state crashed | jq .pid)
kill -KILL "$init"
wait_for_end "$init"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc
check "gc clears it after a crash" same "" "$(etc_of crashed)"
"$runtime" delete --force crashed
check "nothing is left of all these" nothing_left
umount /etc/hosts
remember_kernel
policy '{tcp: "veth", tcp_endpoints: ["host:9000"]}'
judge_counts sealed "$sealed"
policy
aside="$relayed | .annotations[\"dev.anchorhold.relay\"] = \"child\""
bundle aside "$aside" sh -c "{ $refusals; } >/dev/null 2>&1"
in_cell aside
red check "also where the command is process 1" same "$names_of_nine" "$(listed aside)"

# Created and started apart, beside descriptors of the caller's own.
bundle apart "$relayed" sh -c "{ $refusals; } >/dev/null 2>&1; cat <&3; cat <&4; ls /proc/self/fd"
echo third >"$lab/third"
echo fourth >"$lab/fourth"
"$runtime" create --preserve-fds 2 --bundle "$lab/b/apart" apart 3<"$lab/third" 4<"$lab/fourth" \
    </dev/null >"$lab/apart.out" 2>&1
apart=$("$plain_runtime" state apart | jq .pid)
"$runtime" start apart
wait_for_end "$apart"
"$runtime" delete apart
check "the caller's descriptors come to the command, and no other" same \
    "third fourth 0 1 2 3 4 5" "$(paste -sd' ' "$lab/apart.out")" # 5: of ls itself
red check "and names are counted beside them" same "$names_of_nine" "$(listed apart)"
bundle taken "$relayed" sh -c "{ $refusals; } >/dev/null 2>&1"
within 60 "$runtime" run --bundle "$lab/b/taken" taken 3<"$lab/third" </dev/null
red check "where the runtime inherits that descriptor from its caller, it keeps it" \
    contains "$(said taken)" "names are not counted in this run"

# Whoever asks for many names hides others, but not how many tries there were.
bundle many "$relayed" sh -c 'i=0; while [ $((i += 1)) -le 300 ]; do echo "n$i.test"; done |
    while read -r name; do nslookup -type=a "$name"; done >/dev/null 2>&1'
in_cell many
red check "as many as can be kept, and how many more there were" same "256 44" \
    "$(said --json many | jq -r '.refused_names | "\(.names | length) \(.others)"')"
bundle none "$engine" sh -c "{ $refusals; } >/dev/null 2>&1"
in_cell none
red check "a severed run has nobody who counts, and says so" contains "$(said none)" \
    "names are not counted in this run"

# ---- where the bundle decides -------------------------------------------------------------------

policy
kept="$relayed | .linux.sysctl = {\"net.ipv4.ip_unprivileged_port_start\": \"1024\"}"
check "a sysctl of the bundle's own stays" same 1024 "$(in_shell "$kept" "cat $port_start")"
bundle kept "$kept" attempt 'sh=getent ahosts example.test' dns-udp=127.0.0.1 ask=8080
answers=$(in_cell kept)
check "C-21 without port 53 a name fails at once too" \
    refused_at_once "$answers" 'sh=getent ahosts example.test'
check "and the model is there" contains "$answers" "ask=8080 reached"
check "without a resolv.conf from the engine the image's stays" same "nameserver 1.1.1.1" \
    "$(in_shell "$poor | $(asks_for model)" 'cat /etc/resolv.conf')"

# ---- where it is not wanted, or there is no relay -----------------------------------------------

untouched() { # FILTER: all is as the engine made it, and port 53 is nobody's
    same "nameserver 1.1.1.1
1024
dns-udp=127.0.0.1 refused: Connection refused
dns-tcp=127.0.0.1 refused: Connection refused" "$(in_shell "$1" "cat /etc/resolv.conf $port_start
        attempt dns-udp=127.0.0.1 dns-tcp=127.0.0.1" | sed 's/\(: Connection refused\).*/\1/')"
}
check "a severed run's names are left alone" untouched "$engine"
bundle severed "$engine" attempt 'sh=getent ahosts example.test' 'sh=nslookup example.test'
answers=$(in_cell severed)
check "C-21 severed: a name fails at once, by glibc" \
    refused_at_once "$answers" 'sh=getent ahosts example.test'
check "C-21 severed: a name fails at once, by busybox" \
    refused_at_once "$answers" 'sh=nslookup example.test'
policy '{dns: "none"}'
check "dns: none leaves names alone" untouched "$relayed"
check "dns: none leaves the model" contains "$(in_shell "$relayed" 'attempt ask=8080')" reached
policy '{annotation_profiles: ["quiet"], profiles: {quiet: {dns: "none"}}}'
check "a profile that an annotation chose does not switch it off" same "nameserver 127.0.0.1" \
    "$(in_shell "$relayed | .annotations[\"dev.anchorhold.profile\"] = \"quiet\"" \
        'grep nameserver /etc/resolv.conf')"
policy '{default: "quiet", profiles: {quiet: {dns: "none"}}}'
check "the operator's profile does" untouched "$relayed"
check "nothing is left" nothing_left
finish
