# SPDX-License-Identifier: Apache-2.0
# Helpers for the tests of the hook: runs in a state directory, and cells. A cell is a process in a
# network namespace of its own that plays a container's init; no runtime takes part.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

needs root strace nft ip jq /usr/bin/python3 setpriv
enter_lab "$@"
needs_host veth nf_tables netdev_ingress

hook=$lab/libexec/anchorhold/anchorhold-hook
state=$lab/state
generation=0123456789abcdef
host=10.99.0.1 # of a link that is plugged into a cell: the host's end and the cell's
guest=10.99.0.2
made=0
"$hook" --version >/dev/null || exit 1

mkdir -m 711 "$state"
mkdir -m 700 "$state"/{runs,locks,ended}

# A record as the shim first writes it, for a container "c".
# shellcheck disable=SC2016
a_record='{schema: 1, key: $key, id: "c", root: "/run/runc", generation: $generation,
    state: "planned", posture: "severed", bundle: "/nonexistent", boot_id: $boot,
    host_netns: $net, host_pidns: $pid, creator: {pid: $creator, start: $start}}'

started() { cut -d' ' -f22 "/proc/$1/stat"; } # PID: its start time
identity() { stat -Lc %d:%i "$1"; }

# A new cell: $init, and the $key its run will have. Returns when it is in its namespace.
cell() {
    local ready
    made=$((made + 1))
    key=$(printf '%012x' "$made")
    exec {ready}< <(exec unshare --net sh -c 'echo; exec sleep infinity')
    init=$!
    read -r -u "$ready"
    exec {ready}<&-
}

end_cell() {
    kill -KILL "$init"
    wait "$init" 2>/dev/null
}

inside() { nsenter -t "$init" -n -- "$@"; }

record() { jq -r "$1" "$state/runs/$key/record.json"; }    # FILTER
last() { jq -r "$1" "$state/ended/$key.$generation.json"; } # FILTER: of an ended run

# [FILTER]: the run's folder and record as the shim makes them, this shell being the creator. jq
# takes longer than all that a run does: it is asked once for each filter.
declare -A planned
own_start=$(started $$)
plan() {
    local filter=${1:-.}
    [ -n "${planned[$filter]:-}" ] || planned[$filter]=$(jq -n --arg key @key@ \
        --arg generation "$generation" --arg boot "$(</proc/sys/kernel/random/boot_id)" \
        --arg net "$(identity /proc/self/ns/net)" --arg pid "$(identity /proc/self/ns/pid)" \
        --argjson creator "$$" --argjson start "$own_start" "$a_record | $filter")
    mkdir -p -m 755 "$state/runs/$key/inside"
    echo "${planned[$filter]//@key@/$key}" >"$state/runs/$key/record.json"
}
# FILTER: the record is changed.
edit() {
    local edited
    edited=$(jq "$1" "$state/runs/$key/record.json")
    echo "$edited" >"$state/runs/$key/record.json"
}
# Without jq: .creator.start = 1; .state is STATE; .state is "ended", of what has ended.
creator_dies() {
    local text
    text=$(<"$state/runs/$key/record.json")
    echo "${text/\"start\": $own_start/\"start\": 1}" >"$state/runs/$key/record.json"
}
recorded() { [[ $(<"$state/runs/$key/record.json") == *"\"state\": \"$1\""* ]]; }
ended_on_record() { [[ $(<"$state/ended/$key.$generation.json") == *'"state": "ended"'* ]]; }

# VERB [WRAPPER...]: calls the hook with its standard input; sets $status and $said.
call() {
    local verb=$1
    shift
    said=$("$@" "$hook" --state "$state" "$verb" "$key" "$generation" 2>&1)
    status=$?
}

told() { printf '{"ociVersion":"1.0.2","id":"c","status":"creating","pid":%d,"bundle":"/b"}\n' "$init"; }
up() { call up "$@" < <(told); } # [WRAPPER...]
guard() { call guard "$@" </dev/null; }
down() { call down "$@" <<<'{"id":"c","status":"stopped"}'; }

# VERB CALL N COMMAND...: up or down, stopped by the Nth such system call; then the command. Sets
# $status and $said.
mkfifo "$lab/events"
meddled() {
    local events line pid verb=$1 call=$2 ordinal=$3
    shift 3
    {
        "$verb" strace -f -qq -o "$lab/events" -e "trace=$call" -e "inject=$call:signal=SIGSTOP:when=$ordinal"
        echo "$status $said" >"$lab/result"
    } &
    pid=$! # the command may start processes as well
    exec {events}<"$lab/events"
    while read -r -u "$events" line && [[ $line != *"stopped by SIGSTOP"* ]]; do :; done
    "$@"
    kill -CONT "${line%% *}"
    cat <&"$events" >"$lab/more" # so that strace may end
    exec {events}<&-
    wait $pid
    read -r status said <"$lab/result"
}

gc() { "$lab/bin/anchorhold" --ah-state "$state" gc "$@" 2>&1; }

# NAME: the call worked and said nothing.
worked() { check "$1" same "0 " "$status $said"; }
# NAME REASON [VERB]: it failed with one line that gives the reason, which the record has too.
failed_for() {
    check "$1" same "1 anchorhold: hook ${3:-up} $key: $2 (network_setup_failed)" "$status $said"
}
reason_kept() { # NAME REASON
    check "$1" same "failed network_setup_failed $2" "$(record '"\(.state) \(.code) \(.reason)"')"
}

# A link from the laboratory into the cell, with addresses, both ends up: as engines do it.
plug() {
    ip link del plug 2>/dev/null # an earlier cell's, which its namespace has not taken along yet
    ip link add plug type veth peer name eth0 netns "$init"
    ip addr add "$host/24" dev plug
    ip link set plug up
    inside ip addr add "$guest/24" dev eth0
    inside ip link set eth0 up
}
links() { inside ip -o link | cut -d' ' -f2 | tr -d ':\n'; } # "loeth0@if7"
ruleset() { inside nft list ruleset; }

# A server: [nsenter...] serve ADDRESS PORT; returns when it listens; ends with the laboratory.
serve() {
    local ready
    exec {ready}< <(exec "$@" 2>&1)
    read -r -u "$ready"
}
peer=(/usr/bin/python3 -IS "$here/hooks/peer.py")
server=("${peer[@]}" serve)
# ask PROTOCOL=ADDRESS:PORT[@SOURCE]...: from inside the cell: what a client gets there.
ask() { inside "${peer[@]}" ask "$@"; }

left() { find "$state/runs" "$state/locks" -mindepth 1; }
nothing_left() { check "$1" same "" "$(left)"; } # NAME
