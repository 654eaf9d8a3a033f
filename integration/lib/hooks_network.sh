# SPDX-License-Identifier: Apache-2.0
# Runs with a network of their own, for the tests of what is left of them: network, refused, killed
# and killed_beside in hooks/.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/hooks.sh"

# shellcheck disable=SC2034
{
    sealed='.posture = "sealed" | .technique = "veth" |
        .network = {pool: "198.18.0.0/15", broker_ports: [9000], allow: [], deny: []}'
    rules='[{to: "10.1.0.0/16", protocol: "TCP", port: 443, endPort: 443}]'
    filtered=".posture = \"filtered\" | .technique = \"veth\" |
        .network = {pool: \"198.18.0.0/15\", broker_ports: [9000], allow: $rules, deny: []}"
    in_place=".posture = \"filtered\" | .technique = \"in-place\" |
        .network = {pool: \"198.18.0.0/15\", broker_ports: [], allow: $rules, deny: []}"
    gated='.posture = "filtered" | .technique = "gate" |
        .network = {pool: "198.18.0.0/16", broker_ports: [], deny: [],
            allow: [{to: "198.19.0.0/16", protocol: "TCP", port: 443, endPort: 443}]} |
        .gate = {rules: {allow: ["a.test"]}, process: {pid: 0, start: 0}, lost: 0}'
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

# kernel: prints links, addresses, routes and rules, without counters, carriers, and the link that
# an engine plugged in.
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

# ---- killed at each step -------------------------------------------------------------------------

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
    check "R14 B-43 $1: and nothing was left of any" same "" "$bad"
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
    check "C-16 B-43 $1: and gc finished every time" same "" "$bad"
}
