#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An engine that ran in namespaces of its own, and is gone with them (an outer container that was
# started anew, a network namespace that was deleted), leaves no run that cannot be taken away; and
# a run whose namespaces somebody still has is left alone, and told of.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{ceiling: "allowlist", allow_by: "packets", tcp: "veth", tcp_endpoints: ["host:9000"]}'
start_ready "$python" "$here/lib/world.py" tcp=9000
ip netns add z # the first one leaves a mount
ip netns del z
remember_kernel

declare -A asks=(
    [sealed]='.annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9000"}'
    [filtered]='.annotations += {"dev.anchorhold.egress": "allowlist",
                                 "dev.anchorhold.allow": "192.0.2.0/24:443"}'
)

create() { within 60 "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >"$lab/log" 2>&1; }
refused() { # ID: the id is taken
    create "$1" && { echo "create did not fail"; return 1; }
    contains "$(cat "$lab/log")" "is already there; delete it first"
}
again() { # ID: it can be created, and goes
    create "$1" || { cat "$lab/log"; return 1; }
    "$runtime" delete --force "$1" && nothing_left
}
show() { "$runtime" show --json "$1" | jq -r "$2"; } # ID FILTER
held() { find "$lab/state"/{runs,subnets} -mindepth 1 -maxdepth 1 -printf '%f\n' | sort; }
told() { # NAME: gc says where it is, and leaves it
    local before status
    before=$(held)
    "$runtime" gc >"$lab/gc"
    status=$?
    check "$1" contains "$status $(sed 's/: .*: its/: its/' "$lab/gc")" \
        "1 left $key: its link is in another network namespace"
    check "$1, it stands" same "$before" "$(held)"
}

# ---- its network namespace was deleted ----------------------------------------------------------

for posture in sealed filtered; do
    bundle far "${asks[$posture]}" sleep infinity
    ip netns add x
    ip netns add y # else its number is given out again
    ip netns exec x sysctl -qw net.ipv4.ip_forward=1
    nsenter --net=/run/netns/x "$runtime" create --bundle "$lab/b/far" far </dev/null \
        >"$lab/log" 2>&1
    key=$(show far .key)
    init=$(show far .init.pid)
    check "$posture: a run in another network namespace" same "enforced $posture veth" \
        "$(show far '"\(.state) \(.posture) \(.technique)"')"
    before=$(held; jq -c .network "$lab/state/runs/$key/record.json")
    "$runtime" gc >"$lab/gc"
    check "$posture: it lives, and is left alone" same "$before enforced" \
        "$(held; jq -c .network "$lab/state/runs/$key/record.json") $(show far .state)"
    check "$posture: gc puts up no rules where it has no link" same "" "$(nft list ruleset)"
    kill -KILL "$init"
    wait_for_end "$init"
    told "$posture: it ended, its engine's namespace is mounted"
    start_ready nsenter --net=/run/netns/x sh -c 'echo; exec sleep infinity'
    dweller=$!
    ip netns del x
    told "$posture: somebody is in its engine's namespace"
    stop "$dweller"
    check "$posture: nobody is, and gc takes it away" same "0 removed $key" \
        "$("$runtime" gc >"$lab/gc"; echo $? "$(cat "$lab/gc")")"
    ip netns del y
    "$plain_runtime" delete --force far
    check "$posture: nothing is left" nothing_left
    check "$posture: the id is free" again far
done

# ---- all its namespaces are gone ----------------------------------------------------------------

# engine NAME: a shell in namespaces as an outer container has them, to be told what to do.
engine() {
    mkfifo "$lab/$1.do" "$lab/$1.done"
    # shellcheck disable=SC2016
    unshare --mount --net --pid --fork --kill-child --mount-proc bash -c '
        echo 1 >/proc/sys/net/ipv4/ip_forward
        exec 3<>"$0.do" 4<>"$0.done"
        while read -r words <&3; do $words </dev/null >"$0.said" 2>&1; echo $? >&4; done' \
        "$lab/$1" 2>/dev/null &
    engine=$!
}
do_in() { # ENGINE WORD...: its status
    local status
    echo "${@:2}" >"$lab/$1.do"
    read -r status <"$lab/$1.done"
    cat "$lab/$1.said"
    return "$status"
}
end_of() { # ENGINE PID
    pkill -KILL -P "$2"
    wait "$2" 2>/dev/null
    rm "$lab/$1".{do,done,said}
}

for posture in sealed filtered; do
    bundle far "${asks[$posture]}" sleep infinity
    engine old
    old=$engine
    engine new # while the old one lives, so that no number is given out again
    new=$engine
    check "$posture: a run of an engine in a container" \
        do_in old "$runtime" create --bundle "$lab/b/far" far
    key=$(show far .key)
    init=$(pgrep -P "$(pgrep -P "$old")")
    outer=/proc/$(pgrep -P "$old")/ns/net
    stands() { held && nsenter --net="$outer" ip -o link show dev "ah$key" | cut -d' ' -f2; }
    before=$(stands)
    check "$posture: it has its link" contains "$before" "ah$key@"
    check "$posture: its id is taken" refused far
    mv "/run/$plain_name/far" "$lab/far.away" # else it finds the container and may end it
    "$runtime" delete --force far
    check "$posture: deleted from outside while it lives, it is left alone" same \
        "$before" "$(stands)"
    check "$posture: and its record says why" contains "$(show far .reason)" \
        "its link is in another network namespace"
    check "$posture: its id stays taken" refused far
    check "$posture: it is alive" kill -0 "$init"
    mv "$lab/far.away" "/run/$plain_name/far"
    end_of old "$old"
    check "$posture: when it is gone, delete in the new one finishes it" \
        do_in new "$runtime" delete --force far
    check "$posture: nothing of it is left" same "" "$(held)"
    check "$posture: the new one can create it" \
        do_in new "$runtime" create --bundle "$lab/b/far" far
    check "$posture: and delete it" do_in new "$runtime" delete --force far
    end_of new "$new"
    check "$posture: nothing is left of either" nothing_left
done

# ---- its link was taken away --------------------------------------------------------------------

forwarding=$(cat /proc/sys/net/ipv4/ip_forward)
echo 1 >/proc/sys/net/ipv4/ip_forward
for posture in sealed filtered; do
    bundle near "${asks[$posture]}" sleep infinity
    create near || cat "$lab/log"
    key=$(show near .key)
    check "$posture: a run that stands is seen to" same "as recorded true" \
        "$(show near '"\(.seen) \(.seen_at >= .created)"')"
    ip link del "ah$key"
    red check "$posture: without its link show says so" same "enforced its link is gone" \
        "$(show near '"\(.state) \(.seen)"')"
    red check "$posture: and runs" contains "$("$runtime" runs)" "enforced, but its link is gone"
    check "$posture: and gc" same "1 left $key: its link is gone" \
        "$("$runtime" gc >"$lab/gc"; echo $? "$(cat "$lab/gc")")"
    "$runtime" delete --force near
    check "$posture: it goes" nothing_left
done

# ---- two engines that see nothing of each other, in one network namespace ------------------------

beside() { unshare --pid --fork --kill-child --mount --mount-proc "$@"; } # in a pid namespace of its own
for posture in sealed filtered; do
    bundle far "${asks[$posture]}" sleep infinity
    # shellcheck disable=SC2016
    start_ready beside sh -c '"$@" </dev/null >"$0" 2>&1; echo; exec sleep infinity' "$lab/log" \
        "$lab/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state "$lab/other" \
        create --bundle "$lab/b/far" far
    other=$!
    link=$(ip -o link | sed -n 's/.*: \(ah[0-9a-f]*\)@.*/\1/p')
    before="$(ip -o link show "$link") $(nft --stateless list ruleset)"
    check "$posture: a run of an engine that sees nothing of ours" test -n "$link"
    red check "$posture: gc leaves its link, and says so" same \
        "0 left ${link#ah}: its link was made in another pid namespace" \
        "$(beside "$runtime" gc >"$lab/gc"; echo $? "$(cat "$lab/gc")")"
    check "$posture: it stands" same "$before" "$(ip -o link show "$link") $(nft --stateless list ruleset)"
    mv "/run/$plain_name/far" "$lab/far.away" # the engines do not share the runtime's directory
    beside "$runtime" create --bundle "$lab/b/far" far </dev/null >"$lab/log" 2>&1
    check "$posture: the same id under another engine does not take it" contains "$(cat "$lab/log")" \
        "belongs to a run of another pid namespace"
    check "$posture: it stands after that" same "$before" \
        "$(ip -o link show "$link") $(nft --stateless list ruleset)"
    rm -rf "/run/${plain_name:?}/far"
    mv "$lab/far.away" "/run/$plain_name/far"
    pkill -KILL -P "$other"
    wait "$other" 2>/dev/null
    "$plain_runtime" delete --force far
    rm -rf "$lab/other" # its engine is gone with it
    while ip link show "$link" >/dev/null 2>&1; do :; done # it goes with the namespace of its other end
    "$runtime" gc >/dev/null
    check "$posture: what it left is taken when its link is gone" nothing_left
done

# In a network that an engine made the host's rules name addresses, and whose they are.
ip netns add place
ip link add port0 type veth peer name eth0 netns place
ip addr add 10.88.0.1/16 dev port0
ip link set port0 up
ip -n place addr add 10.88.0.2/16 dev eth0
ip -n place link set eth0 up
ip -n place route add default via 10.88.0.1
bundle far "${asks[filtered]} | .linux.namespaces |=
    map(if .type == \"network\" then .path = \"/run/netns/place\" else . end)" sleep infinity
mkfifo "$lab/delete"
# shellcheck disable=SC2016
start_ready beside sh -c 'ah="$1 --ah-policy $2 --ah-state $3"
    $ah create --bundle "$4" far </dev/null >"$0" 2>&1; echo
    read -r word <"$5"; $ah delete --force far >"$0" 2>&1' \
    "$lab/log" "$lab/bin/anchorhold" "$lab/policy.json" "$lab/other" "$lab/b/far" "$lab/delete"
other=$!
guests() { nft list set inet anchorhold guests4 2>/dev/null | grep -o '10.88.0.2 comment "anchorhold '; }
check "in place: a run of an engine that sees nothing of ours" guests
check "in place: gc leaves its address, and says so" same \
    "0 left 10.88.0.2/32: its rules were made in another pid namespace" \
    "$(beside "$runtime" gc >"$lab/gc"; echo $? "$(cat "$lab/gc")")"
check "in place: it stands" guests
echo >"$lab/delete"
wait "$other"
check "in place: its own engine takes it away" same "" "$(guests)"
rm -rf "$lab/other"
ip link del port0
ip netns del place
rm -f "$lab/delete"
check "in place: nothing is left" nothing_left
echo "$forwarding" >/proc/sys/net/ipv4/ip_forward
finish
