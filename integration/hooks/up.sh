#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Before a severed or relayed container's first instruction there is nothing in its
# network namespace but loopback, nothing gets out of what is plugged in later, and the record says
# what was seen; otherwise the hook fails and says why.
. "$(dirname "$0")/../lib/hooks.sh"

# ---- what holds when it worked ------------------------------------------------------------------

for posture in severed relayed; do
    cell
    plan ".posture = \"$posture\""
    up
    worked "up of a $posture run is silent"
    check "the record of a $posture run says enforced and what was verified" same \
        'enforced ["netns","drop-table","links","listeners"]' \
        "$(record '"\(.state) \(.verified)"')"
    check "the record names the init and its namespace" same \
        "$init $(started "$init") $(identity "/proc/$init/ns/net")" \
        "$(record '"\(.init.pid) \(.init.start) \(.netns)"')"
    check "the word that the relay waits for is inside, for all to read" same \
        "$generation 444" "$(cat "$state/runs/$key/inside/enforced") $(stat -c %a "$state/runs/$key/inside/enforced")"
    check "loopback is up and alone" same "lo <LOOPBACK,UP,LOWER_UP>" \
        "$(inside ip -o link | sed 's/^1: \(lo\): \(<.*>\).*/\1 \2/')"
    check "no lock is left" same "" "$(ls -A "$state/locks")"
    end_cell
done

cell
plan
up
expected='table inet anchorhold {
	chain input {
		type filter hook input priority filter; policy drop;
		iif "lo" accept
	}

	chain output {
		type filter hook output priority filter; policy drop;
		ip daddr 127.0.0.11 meta l4proto tcp reject with tcp reset
		ip daddr 127.0.0.11 reject
		oif "lo" accept
		meta l4proto tcp reject with tcp reset
		reject with icmpx admin-prohibited
	}

	chain postrouting {
		type filter hook postrouting priority filter; policy drop;
		oif "lo" accept
	}
}'
check "the drop table is as nft shows it" same "$expected" "$(ruleset)"

# Whatever comes later. Every refusal has its control: the same with the table away.
plug
serve "${server[@]}" "$host" 7000
serve nsenter -t "$init" -n "${server[@]}" "$guest" 7001
serve nsenter -t "$init" -n "${server[@]}" 127.0.0.11 53
serve nsenter -t "$init" -n "${server[@]}" 127.0.0.1 7002
from_host() { "${peer[@]}" ask "$@"; }
check "R17 tcp over a link that came later is reset" same ECONNREFUSED "$(ask "tcp=$host:7000")"
check "R17 udp over a link that came later is refused at once" same EPERM "$(ask "udp=$host:7000")"
check "B-55 nobody gets in by a link that came later" same silence "$(from_host "tcp=$guest:7001")"
check "B-53 Docker's resolver is reset by tcp" same ECONNREFUSED "$(ask tcp=127.0.0.11:53)"
check "B-53 Docker's resolver is refused by udp" same EPERM "$(ask udp=127.0.0.11:53)"
check "loopback works by tcp" same hello "$(ask tcp=127.0.0.1:7002)"
check "loopback works by udp" same hello "$(ask udp=127.0.0.1:7002)"
# An engine's NAT rule sends a packet for loopback elsewhere, after output took it for loopback's.
inside nft 'add table ip nat; add chain ip nat out { type nat hook output priority -100; }; add rule ip nat out ip daddr 127.0.0.5 dnat to '$host
check "a packet for loopback that is sent elsewhere by NAT does not leave" same EPERM \
    "$(ask "udp=127.0.0.5:7000@$guest")"
inside nft delete chain inet anchorhold postrouting
inside nft delete chain inet anchorhold input
check "control: without the last chain it does" same hello "$(ask "udp=127.0.0.5:7000@$guest")"
inside nft delete table inet anchorhold
check "control: without the table tcp gets out" same hello "$(ask "tcp=$host:7000")"
check "control: without the table udp gets out" same hello "$(ask "udp=$host:7000")"
check "control: without the table one gets in" same hello "$(from_host "tcp=$guest:7001")"
check "control: without the table the resolver answers" same "hello hello" \
    "$(ask tcp=127.0.0.11:53 udp=127.0.0.11:53)"
end_cell

# ---- whose call, whose namespace ----------------------------------------------------------------

cell
up
failed_for "a run that nobody planned is refused" "no such run is planned"
plan '.generation = "ffffffffffffffff"'
before=$(record .)
up
failed_for "another generation is refused" "no such run is planned"
check "and its record is not touched" same "$before" "$(record .)"
plan
up
up
failed_for "a second up is refused" "no such run is planned"
check "and the run stays enforced" same enforced "$(record .state)"
end_cell

cell
plan '.host_netns = "4:1"'
up
failed_for "a hook in another network namespace than the shim's is refused" \
    "the runtime runs its hooks in other namespaces than it was started in"
plan '.host_pidns = "4:1"'
up
failed_for "a hook in another pid namespace than the shim's is refused" \
    "the runtime runs its hooks in other namespaces than it was started in"
plan '.creator.start += 1'
up
failed_for "a creator that is gone is refused" "the process that asked for this container is gone"
plan '.id = "other"'
up
failed_for "a container that the runtime calls otherwise is refused" "the runtime calls this container \"c\""
reason_kept "the reason stands in the record" "the runtime calls this container \"c\""
check "and the word inside does not" same "" "$(ls -A "$state/runs/$key/inside")"
for posture in sealed filtered; do
    plan ".posture = \"$posture\""
    up
    check "posture $posture without a network on record is refused" same \
        "1 anchorhold: hook up $key: the record names no network (network_setup_failed)" \
        "$status $said"
done
end_cell

cell
end_cell
plan
up
failed_for "an init that is gone is refused" \
    "open the network namespace of process $init: no such process (ESRCH)"

cell
plan
real=$init
init=$$
up
failed_for "a container in the host's network namespace is refused" \
    "the container is in the host's network namespace"
check "and the host has no table of ours" same "" "$(nft list tables)"
init=$real
end_cell

cell
plan
up
first=$key
key=feedfeedfeed
plan
plug
before=$(ruleset; inside ip addr)
up
failed_for "a namespace that is another run's is refused" "the container's network namespace is another run's"
check "and nothing in it is touched" same "$before" "$(ruleset; inside ip addr)"
ip link del plug
key=$first
end_cell

# ---- what stands in the namespace ---------------------------------------------------------------

cell
plan
plug
inside ip link add v0 type veth peer name v1
serve "${server[@]}" "$host" 7010
check "control: before, a hook's link reaches the host" same hello "$(ask "tcp=$host:7010")"
up
worked "links that an engine's hook put in are no failure"
check "C-36 they are gone" same lo "$(links)"
check "and recorded" same \
    'removed link eth0 (veth), removed link v1 (veth), removed link v0 (veth)' \
    "$(record '.advice | join(", ")')"
check "the host's end is gone with the cell's" same "" "$(ip -o link show dev plug 2>/dev/null)"
end_cell

cell
plan
inside nft 'add table ip nat'
up
failed_for "a namespace with somebody's nftables table is refused" \
    "the container's network namespace already has nftables table ip nat"
end_cell

cell
plan
inside ip link set lo up
serve nsenter -t "$init" -n "${server[@]}" 127.0.0.1 7003
up
failed_for "a namespace in which somebody listens is refused" \
    "somebody listens in the container's network namespace at tcp 127.0.0.1:7003"
end_cell

# ---- egress open --------------------------------------------------------------------------------

cell
plan '.posture = "open"'
plug
up
worked "up of an open run is silent"
check "an open run is only known not to be the host" same '["netns"]' "$(record -c .verified 2>/dev/null || record '.verified | tostring')"
check "its links stay and it has no table" same "loeth0@if$(ip -o link show dev plug | cut -d: -f1) " "$(links) $(ruleset)"
check "and the relay's word is inside" same "$generation" "$(cat "$state/runs/$key/inside/enforced")"
ip link del plug
end_cell

cell
plan '.posture = "open"'
real=$init
init=$$
up
failed_for "an open run with endpoints must not be in the host's namespace either" \
    "the container is in the host's network namespace"
init=$real
end_cell

# ---- what this kernel, or this caller, cannot ---------------------------------------------------

# Calls of the hook are made to fail one at a time; which one, a run that works tells.
nth() { # PATTERN: the ordinal of that call in its process, as strace counts
    local pid
    pid=$(grep -m 1 "$1" "$lab/trace" | cut -d' ' -f1)
    grep "^$pid " "$lab/trace" | grep -n -m 1 "$1" | cut -d: -f1
}
traced() { up strace -f -qq -o "$lab/trace" -e signal=none "$@"; } # [STRACE OPTIONS...]

cell
plan
traced -e trace=socket
end_cell
no_nftables=inject=socket:error=EPROTONOSUPPORT:when=$(nth NETLINK_NETFILTER)
no_sock_diag=inject=socket:error=EPROTONOSUPPORT:when=$(nth NETLINK_SOCK_DIAG)

cell
plan
traced -e trace=socket -e "$no_nftables"
worked "a kernel without nf_tables is no failure of an empty namespace"
check "and no table is claimed" same '["netns","links","listeners"]' "$(record '.verified | tostring')"
first=$key
key=feedfeedfee0
plan
traced -e trace=socket -e "$no_nftables"
failed_for "without a table another run's namespace is known by its record" \
    "the container's network namespace is that of run $first"
key=$first
end_cell

cell
plan
traced -e trace=socket -e "$no_sock_diag"
worked "a kernel without sock_diag is no failure"
check "and listeners are not claimed" same '["netns","drop-table","links"]' "$(record '.verified | tostring')"
end_cell

cell
plan
up setpriv --bounding-set=-net_admin --inh-caps=-net_admin
failed_for "but loopback that nobody may bring up is" "bring up link lo: the kernel refuses it (EPERM)"
plan
inside ip link set lo up
up setpriv --bounding-set=-net_admin --inh-caps=-net_admin
worked "a caller without CAP_NET_ADMIN is no failure of an empty namespace"
check "and no table is claimed then" same '["netns","links","listeners"]' "$(record '.verified | tostring')"
end_cell

cell
plan
plug
traced -e trace=sendto
end_cell
cell
plan
plug
traced -e trace=sendto -e "inject=sendto:error=EOPNOTSUPP:when=$(nth '\[{nlmsg_len=32, nlmsg_type=0x11 ')"
worked "a link that cannot be removed is set down"
check "and recorded as such" same "set down link eth0 (veth)" "$(record '.advice[0]')"
check "it is down" contains "$(inside ip -o link show dev eth0)" "<BROADCAST,MULTICAST>"
ip link del plug
end_cell

cell
plan
plug
traced -e trace=socket,sendto -e "$no_nftables"
end_cell
grep sendto "$lab/trace" >"$lab/sends"
mv "$lab/sends" "$lab/trace"
cell
plan
plug
traced -e trace=socket,sendto -e "$no_nftables" \
    -e "inject=sendto:error=EOPNOTSUPP:when=$(nth '\[{nlmsg_len=32, nlmsg_type=0x11 ')"
failed_for "a link that cannot be removed is a failure where no table holds" \
    "link eth0 (veth) cannot be removed, and no drop table holds"
ip link del plug
end_cell

cell
plan
inside nft 'add table inet anchorhold'
up
failed_for "a table of our name that is not as ours is another's" "the container's network namespace is another run's"
end_cell

finish
