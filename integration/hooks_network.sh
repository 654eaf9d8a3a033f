#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A promise: of a sealed or filtered run's network nothing is left, whoever died and whatever was
# refused at whatever step, nor when its record was lost; and nothing else is touched: no run that
# lives, no other table (C-16, C-38, C-40, B-43).
. "$(dirname "$0")/hooks_lib.sh"

# shellcheck disable=SC2034
{
    sealed='.posture = "sealed" | .technique = "veth" |
        .network = {pool: "198.18.0.0/15", broker_ports: [9000], allow: [], deny: []}'
    rules='[{to: "10.1.0.0/16", protocol: "TCP", port: 443, endPort: 443}]'
    filtered=".posture = \"filtered\" | .technique = \"veth\" |
        .network = {pool: \"198.18.0.0/15\", broker_ports: [9000], allow: $rules, deny: []}"
    in_place=".posture = \"filtered\" | .technique = \"in-place\" |
        .network = {pool: \"198.18.0.0/15\", broker_ports: [], allow: $rules, deny: []}"
}

mkdir -m 700 "$state/subnets"
echo 1 >/proc/sys/net/ipv4/ip_forward # the laboratory's
nft -f - <<'R'
table ip docker {
    chain prerouting { type nat hook prerouting priority dstnat; tcp dport 8080 counter dnat to 172.17.0.2:80; }
    chain forward { type filter hook forward priority filter; ip daddr 172.17.0.0/16 counter; }
}
R
serve "${server[@]}" 0.0.0.0 9000

# KIND: a cell with a run of that kind, planned.
begin() {
    kind=$1
    cell
    [ "$kind" != in_place ] || plug
    plan "${!kind}"
}

# What is there, but for counters, carriers, and the link that an engine plugged in.
kernel() {
    ip -o -batch - <<<$'link\naddr\nroute' | sed -E '/plug/d
        s/^[0-9]*: //; s/NO-CARRIER,|,LOWER_UP| linkdown| state [A-Z]*//g'
    nft -s list ruleset
}
mounts() { awk -v under="$state" 'index($5, under) == 1 { print $5 }' /proc/self/mountinfo; }
picture() {
    (shopt -s dotglob nullglob; echo "$state"/{runs,locks,subnets}/*)
    cat "$state"/runs/*/record.json 2>/dev/null
    mounts
    kernel
}
# The table inside; a link that has gone is printed as a number there.
tight() { inside nft -s list ruleset | sed -E 's/([io]if) [^ ]*/\1/g'; }

# A run that lives through all of it, with its broker.
witness_begins() {
    begin sealed
    up
    witness=$init
    witness_key=$key
    gateway=$(tail -1 "$state/runs/$key/inside/enforced")
}
witness_ends() {
    init=$witness key=$witness_key
    end_cell
    down
}
# Whether it is as it was.
lives() {
    nsenter -t "$witness" -n -- timeout $((5 * AH_SLOWNESS)) bash -c "read -r word </dev/tcp/$gateway/9000; [ \"\$word\" = hello ]"
}

# strace that stops at the calls it is told and at no other, which takes -f; the processes that the
# hook starts in a namespace make sockets there and nothing else. It injects errors, but no signals.
refuse_at() { # CALL ERROR N
    inject=(strace -f --seccomp-bpf -qq -o /dev/null -e signal=none -e "trace=$1" -e "inject=$1:error=$2:when=$3")
}

# PATTERN: from the first call that matches on, each that changes something outside of the process,
# as "name ordinal". Killed before any other call is killed before the next of these.
steps() {
    awk -F'(' -v from="$1" '
        { n[$1]++; if ($0 ~ from) on = 1 }
        /^sendto/ && /NLM_F_DUMP|0x300|_GET|type=0x12 |type=0x14 .*(NLM_F_REQUEST, |0x300)/ { next }
        on && (/O_CREAT/ || $1 ~ /^(write|rename|unlink|unlinkat|rmdir|mkdir|sendto|mount|umount2|symlink)$/) {
            print $1, n[$1]
        }' "$lab/trace"
}
trace=(strace -qq -o "$lab/trace" -e signal=none -e 'trace=!exit_group')
kill_at() { inject=(strace -qq -o /dev/null -e signal=none -e "trace=$1" -e "inject=$1:signal=KILL:when=$2"); }

# Or it had one message less to send than the traced one, which asked for a dump again.
was_killed() {
    [ "$status" = 137 ] || [ "$name $status" = "sendto 0" ] || bad+="$name $ordinal: not killed; "
}

# KIND [WITNESS]: up of such a run.
up_is_killed() {
    begin "$1"
    up "${trace[@]}"
    steps locks >"$lab/steps"
    end_cell
    down
    base=$(picture)
    bad=
    while read -r name ordinal; do
        begin "$1"
        kill_at "$name" "$ordinal"
        up "${inject[@]}"
        was_killed
        was=
        ! recorded enforced || was=enforced
        before=$(tight)
        creator_dies
        gc >/dev/null || bad+="$name $ordinal: gc failed; "
        [ "$before" = "$(tight)" ] || bad+="$name $ordinal: the namespace changed; "
        # The init owns what is enforced already.
        [ -n "$was" ] || [ "$base" = "$(picture)" ] || bad+="$name $ordinal: $(diff <(echo "$base") <(picture)); "
        [ -z "$2" ] || lives || bad+="$name $ordinal: the other run does not answer; "
        end_cell
        gc >/dev/null || bad+="$name $ordinal: the second gc failed; "
        [ "$base" = "$(picture)" ] || bad+="$name $ordinal: $(diff <(echo "$base") <(picture)); "
        rm -f "$state"/ended/*
    done <"$lab/steps"
    check "$1: up was killed at each of its steps${2:+ beside a run that lives}" test "$(wc -l <"$lab/steps")" -gt 12
    check "R14 $1: and nothing was left of any" same "" "$bad"
}

# KIND WITNESS VERB
end_is_killed() {
    begin "$1"
    base=
    up
    end_cell
    call "$3" "${trace[@]}" </dev/null
    steps "$([ "$3" = down ] && echo locks || echo subnets\|netns\|NFNL)" >"$lab/steps"
    down
    base=$(picture)
    bad=
    while read -r name ordinal; do
        begin "$1"
        up
        end_cell
        kill_at "$name" "$ordinal"
        call "$3" "${inject[@]}" </dev/null
        was_killed
        [ -z "$2" ] || lives || bad+="$name $ordinal: the other run does not answer; "
        gc >/dev/null || bad+="$name $ordinal: gc failed; "
        [ "$base" = "$(picture)" ] || bad+="$name $ordinal: $(diff <(echo "$base") <(picture)); "
        ended_on_record || bad+="$name $ordinal: no last record; "
        rm -f "$state"/ended/*
    done <"$lab/steps"
    check "$1: $3 was killed at each of its steps${2:+ beside a run that lives}" test "$(wc -l <"$lab/steps")" -gt 5
    check "$1: and gc finished every time" same "" "$bad"
}

# KIND: each step that asks the kernel for something is refused.
up_is_refused() {
    begin "$1"
    up "${trace[@]}"
    # Of routes in the way there is a second, longer way to ask.
    awk -F'(' '
        { n[$1]++ }
        /RTM_NEWLINK/ { made = 1 }
        $1 ~ /^(sendto|mount|symlink|rename)$/ {
            print $1, n[$1], /RTM_GETRU|RTM_GETROUTE/ && !made ? "twice" : ""
        }' "$lab/trace" >"$lab/steps"
    end_cell
    down
    base=$(picture)
    outside=$(kernel; mounts; ls "$state/subnets")
    bad=
    local error=EPERM
    while read -r name ordinal asked; do
        begin "$1"
        refuse_at "$name" $error "$ordinal"
        up "${inject[@]}"
        if [ "$status" = 0 ]; then # one may go without an answer about listeners
            [ "$said$asked" = twice ] || [ "$said $(record '.verified | contains(["listeners"])')" = " false" ] ||
                bad+="$name $ordinal: nothing was missed; "
        else
            [[ $status = 1 && $said = "anchorhold: hook up $key: "* && $said != *$'\n'* ]] ||
                bad+="$name $ordinal: status $status, said $said; "
            { recorded failed && ! grep -q '"code": ""' "$state/runs/$key/record.json"; } ||
                bad+="$name $ordinal: record $(record .state); "
            [ "$outside" = "$(kernel; mounts; ls "$state/subnets")" ] ||
                bad+="$name $ordinal: $(diff <(echo "$outside") <(kernel; mounts; ls "$state/subnets")); "
        fi
        creator_dies
        end_cell
        gc >/dev/null || bad+="$name $ordinal: gc failed; "
        [ "$base" = "$(picture)" ] || bad+="$name $ordinal: $(diff <(echo "$base") <(picture)); "
        [ $error = EPERM ] && error=ENOSPC || error=EPERM
        rm -f "$state"/ended/*
    done <"$lab/steps"
    check "$1: up was refused at each of its steps" test "$(wc -l <"$lab/steps")" -gt 20
    check "R14 $1: said so in a line, and left nothing" same "" "$bad"
}

before_all=$(kernel)
for kind in sealed filtered in_place; do
    up_is_refused $kind
done
up_is_killed filtered ""
end_is_killed sealed "" down
end_is_killed in_place "" down
end_is_killed filtered "" unplug
check "the host is as it was" same "$before_all" "$(kernel)"
witness_begins
check "control: a run that lives reaches its broker" lives
up_is_killed sealed witness
up_is_killed in_place witness
end_is_killed filtered witness down
check "the run that lived is as it was" lives
witness_ends
check "and with it the last of ours goes" same "$before_all" "$(kernel)"
nothing_left "no folder, no lock"

# ---- what no record names -----------------------------------------------------------------------

# What is mounted outlasts it.
empty_state() {
    rm -rf "$state"/{runs,locks,subnets,ended}/* 2>/dev/null
    find "$state/runs" -name record.json -delete
}
# KEY...: what bears them.
bears() {
    local one
    for one in "$@"; do
        { ip -o link; nft list ruleset; ls -l "$state/subnets"; mounts; } |
            grep -o "ah$one\|$one\.$generation\|$one/netns"
    done | LC_ALL=C sort -u | xargs
}
guests() { nft list set inet anchorhold guests4 2>/dev/null | grep -o '10\.99[0-9.]*' | xargs; }

before_all=$(kernel)
lost=()
begin sealed
up
lost+=("$key")
exec {parked}<"/proc/$init/ns/net" # else its link would go with it
end_cell
begin filtered
up
lost+=("$key")
end_cell
check "control: two that ended are still there" same \
    "${lost[0]}.$generation ${lost[1]}.$generation ${lost[1]}/netns ah${lost[0]} ah${lost[1]}" \
    "$(bears "${lost[@]}")"
witness_begins
begin in_place
up
host_of_guest=$init guest_key=$key
check "control: a guest is known" same "$guest" "$(guests)"
before=$(kernel)
empty_state
check "a dry run takes nothing away" same "$before" "$(gc --dry-run >/dev/null; kernel)"
gc >/dev/null
check "what bears the key of a record that was lost goes" same "" "$(bears "${lost[@]}")"
check "with their places" same "" "$(left)"
check "a link with somebody behind it stays, and his guest's address" same \
    "ah$witness_key $guest" "$(bears "$witness_key") $(guests)"
check "and reaches what it reached" lives
check "a second sweep finds nothing more" same "" "$(gc)"
exec {parked}<&-
init=$witness
end_cell
init=$host_of_guest
end_cell
gc >/dev/null
check "they go with their inits" same "$before_all" "$(kernel)"

rm -rf "$state"
begin_without_state() { mkdir -p "$state" && mkdir -m 700 -p "$state"/{runs,locks,ended,subnets}; }
gc >/dev/null
check "without a state directory and anything to remove, none is made" same "" "$(ls -d "$state" 2>/dev/null)"
begin_without_state
chmod 711 "$state"
begin filtered
up
umount "$state/runs/$key/netns"
exec {parked}<"/proc/$init/ns/net"
end_cell
rm -rf "$state"
check "with something, it is removed" same "removed $key" "$(gc)"
check "and the host is as it was" same "$before_all" "$(kernel)"
exec {parked}<&-

# The kernel takes the link with the namespace of its other end, whenever it gets to it.
base=$(picture)
begin sealed
up
exec {parked}<"/proc/$init/ns/net"
end_cell
meddled down sendto 1 ip link del "ah$key" # it has been found, and is to be set down
worked "a link that ends by itself meanwhile is gone, and no error"
check "and nothing is left" same "$base" "$(picture)"
exec {parked}<&-

# A reservation, an element, a table: each alone.
ln -s "deadbeefdead.$generation" "$state/subnets/198.18.4.0"
exec {held}>"$state/locks/deadbeefdead"
flock "$held"
check "what bears the key of a lock that is held is left alone" same "" "$(gc)"
check "and stands" same "deadbeefdead.$generation" "$(bears deadbeefdead)"
exec {held}>&-
check "a reservation that nobody holds goes" same "removed deadbeefdead" "$(gc)"
begin in_place
up
nft 'add element inet anchorhold guests4 { 10.99.7.7 }; add table netdev ahdeadbeefdead'
check "an address and a table go as well" same "removed deadbeefdead removed 10.99.7.7/32" "$(gc | xargs)"
nft 'add table netdev anchorhold-3f' # older kernels take a link's chain with it
check "and one of the 64 that is empty" same "removed 00000000003f" "$(gc)"
nft 'add table netdev anchorhold-3e; add chain netdev anchorhold-3e ahdeadbeefde3e'
check "and a chain in one" same "removed deadbeefde3e" "$(gc)"
check "the guest that lives stays" same "$guest" "$(guests)"

# Addresses come round. A sweep would load again what is missing; down does not.
dead_key=$key
end_cell
begin in_place
up
second_key=$key
key=$dead_key
down
worked "a dead run goes"
check "but not the address that another has now" same "$guest" "$(guests)"
key=$second_key
end_cell
down
check "which goes with that one" same "$before_all" "$(kernel)"

# Not ours.
nft 'add table inet ahdeadbeefdead; add table netdev ahxyz'
ip link add ahdeadbeefdea type veth peer name other-end
ip link add ah0123456789ab type veth peer name other-end2
before=$(kernel)
check "what only looks like ours is left alone" same " $before" "$(gc) $(kernel)"
nft 'delete table inet ahdeadbeefdead; delete table netdev ahxyz'
ip link del ahdeadbeefdea
ip link del ah0123456789ab

# Two state directories in one namespace.
begin filtered
up
other_key=$key other=$init
first=$state
state=$lab/second
begin_without_state
chmod 711 "$state"
begin sealed
up
end_cell
down
check "another directory's run keeps what all share" contains "$(nft list ruleset)" "ah$other_key"
check "to the last rule" contains "$(nft list ruleset)" "oifname != \"ah*\" iifname @forwards masquerade"
before=$(kernel)
check "nor does its sweep touch it" same " $before" "$(gc) $(kernel)"
# The last of a table goes, and a run of another directory comes into it meanwhile.
comes() {
    state=$first
    made=$((made + 63)) # and one more: its key names the same of 64 tables
    begin sealed
    up
    late_key=$key late=$init
}
begin sealed
up
leaving=$key
exec {parked}<"/proc/$init/ns/net" # so that its link is still there
end_cell
meddled down recvmsg 10 comes # it has been told that nobody else is in its table
worked "a run comes while the last of its table goes"
check "which the kernel has noticed" contains "$(cat "$lab/more")" "error=-ERESTART"
exec {parked}<&-
check "and keeps its chain" same "anchorhold-$(printf %02x $((0x$leaving % 64))) ah$late_key" \
    "$(nft -j list chains netdev | jq -r '.nftables[].chain | select(. and .name != "ah'"$other_key"'") | "\(.table) \(.name)"')"
key=$late_key init=$late
end_cell
down
worked "and goes like any other"
state=$lab/second

# Tracking connections costs every packet of the host.
tracks() { nft list table inet anchorhold | grep -c 'ct state\|masquerade'; }
begin sealed
up
sealed_key=$key sealed_init=$init
check "while a filtered run lives, the kernel tracks connections" same 2 "$(tracks)"
init=$other
end_cell
check "when nobody lives behind it, either may" same "removed $other_key" "$(gc)"
check "with the last of them that ends, whoever else lives" same 0 "$(tracks)"
key=$sealed_key init=$sealed_init
end_cell
down
state=$first key=$other_key
check "and the other says it removed it too" same "removed $other_key" "$(gc)"
check "the host is as it was at last" same "$before_all" "$(kernel)"

finish
