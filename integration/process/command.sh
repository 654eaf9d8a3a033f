#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command runs as if nothing stood between it and the runtime: statuses, signals, orphans,
# files, loopback. Relayed and severed, for only one of them has an init of ours.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
start_broker model
remember_kernel

# ends_with STATUS FILTER WORD...
ends_with() {
    local wanted=$1 filter=$2 got
    shift 2
    bundle ends "$filter" "$@"
    in_cell ends
    got=$?
    same "$wanted" "$got"
}

says() { # says TEXT FILTER WORD...
    local wanted=$1 filter=$2
    shift 2
    bundle says "$filter" "$@"
    same "$wanted" "$(in_cell says)"
}

# is_told_to_end ID: TERM through the runtime reaches the command, which has its own answer to it.
is_told_to_end() {
    local pid
    bundle "$1" "$2" sh -c 'trap "exit 42" TERM; echo up; while :; do sleep 60 & wait; done'
    start_ready in_cell "$1"
    pid=$!
    "$runtime" kill "$1" TERM
    wait "$pid"
    same 42 $?
}

orphans='for i in $(seq 500); do (exit 1 &); done; exit 9'
# nc ends with what it read to the end first, so either may hang up before pong was said.
server='echo kept >/tmp/f; cat /tmp/f; (while :; do echo pong | nc -l -p 9200 >/dev/null; done) &
        until [ "$(nc 127.0.0.1 9200 </dev/null 2>/dev/null)" = pong ]; do :; done; echo pong'
writable='.root.readonly = false'

aside='.annotations["dev.anchorhold.relay"] = "child"'
for posture in severed relayed aside; do
    filter=.
    [ $posture = severed ] || filter=$(asks_for model)
    [ $posture != aside ] || filter+=" | $aside"
    for status in 0 1 2 42 125 127 255; do
        check "B-41 C-60 exit $status, $posture" ends_with $status "$filter" sh -c "exit $status"
    done
    check "B-41 C-60 a child ended by TERM, $posture" \
        ends_with 143 "$filter" sh -c 'sh -c "kill -TERM \$\$"; exit $?'
    check "C-60 TERM is forwarded, $posture" is_told_to_end "term-$posture" "$filter"
    check "C-60 orphans do not change the status, $posture" ends_with 9 "$filter" sh -c "$orphans"
    check "B-40 files and a server of one's own, $posture" \
        says "kept
pong" "$filter | $writable" sh -c "$server"
    check "stdout is the command's, $posture" says out "$filter" sh -c 'echo out; echo err >&2'
    check "stderr is the command's, $posture" same err "$(in_cell says 2>&1 >/dev/null)"
done

# The relay, where it is the first process, is the one that looks for the command.
relayed=$(asks_for model)
red check "C-60 a command that is not there" ends_with 127 "$relayed" /nonexistent
red check "C-60 a file that is no program" ends_with 126 "$relayed" /etc/passwd
red check "C-60 a directory" ends_with 126 "$relayed" /etc
check "C-61 no room for a second process" \
    ends_with 0 "$relayed | .linux.resources.pids.limit = 1" true
red check "C-60 a command that ends itself by TERM" ends_with 143 "$relayed" sh -c 'kill -TERM $$'
red check "C-60 a command that ends itself by KILL" ends_with 137 "$relayed" sh -c 'kill -KILL $$'

# create says so itself, as it does without us, and leaves nothing.
created() { # created WORD WORDS...: create fails with that text
    local wanted=$1
    shift
    bundle created "$relayed | $with_volume" "$@"
    "$runtime" --log "$lab/created.log" --log-format json create --bundle "$lab/b/created" \
        created </dev/null >/dev/null 2>&1 && { echo "it was created"; return 1; }
    same "anchorhold: create created: $wanted (invalid_request)" \
        "$(jq --raw-output .msg "$lab/created.log")"
    local status=$?
    rm "$lab/created.log"
    [ $status = 0 ] && nothing_left
}
mkdir -p "$lab/volume" && cp "$lab/rootfs/bin/busybox" "$lab/volume/sleep"
with_volume=".mounts += [{destination: \"/volume\", type: \"bind\", source: \"$lab/volume\",
                          options: [\"rbind\", \"ro\"]}]"
check "C-60 create misses a command" \
    created 'exec: "nosuch": executable file not found in $PATH' nosuch
check "C-60 create misses a path" \
    created 'exec: "/volume/nosuch": stat /volume/nosuch: no such file or directory' /volume/nosuch
check "C-60 create misses a program" created 'exec: "/etc/passwd": permission denied' /etc/passwd
finds() { # finds WORDS...: create does
    bundle finds "$relayed | $with_volume" "$@"
    "$runtime" create --bundle "$lab/b/finds" finds </dev/null >/dev/null &&
        "$runtime" delete --force finds
}
check "C-60 create finds a command in a volume" finds /volume/sleep 60
check "C-60 create finds a command in PATH" finds sleep 60

# ---- a command that must be process 1 -----------------------------------------------------------

# An init that says who it is, what children it has and whether the model answers.
cat >"$lab/init" <<'CODE'
#!/bin/sh
echo "process $$"
wait
tr '\0' ' ' </proc/1/cmdline && echo
attempt ask=8080 | grep -o 'ask=8080 reached'
CODE
chmod 755 "$lab/init"

# is_first PROGRAM FILTER: it is process 1 with its own command line, and its model answers.
is_first() {
    bundle first "$2" "$1"
    rm "$lab/b/first/rootfs/init" 2>/dev/null
    cp "$lab/init" "$lab/b/first/rootfs/init"
    same "process 1
/bin/sh $1 
ask=8080 reached" "$(in_cell first)"
}
check "C-27 C-60 a known init is process 1" is_first /init "$relayed"
check "C-60 any program is that asks" is_first /etc/../init "$relayed | $aside"
check "C-60 a known init is not when it is said so" contains \
    "$(bundle first "$relayed | .annotations[\"dev.anchorhold.relay\"] = \"inside\"" /init
       cp "$lab/init" "$lab/b/first/rootfs/init"; in_cell first)" "relay --inside"
says_how() { # says_how WAY FILTER WORD: explain and the record do
    bundle how "$2" "$3" 60
    cp "$lab/rootfs/bin/busybox" "$lab/b/how/rootfs/init"
    "$runtime" explain --bundle "$lab/b/how" | grep "^relay: *$1: " || return
    "$runtime" create --bundle "$lab/b/how" how </dev/null >/dev/null 2>&1
    same "$1" "$("$runtime" show --json how | jq --raw-output .relay)"
    local status=$?
    "$runtime" delete --force how
    return $status
}
check "C-27 explain and the record say who is process 1: the command" says_how child "$relayed" /init
check "explain and the record say who is process 1: the relay" says_how inside "$relayed" sleep
host_pids='del(.linux.namespaces[] | select(.type == "pid"))'
bundle host_pids "$relayed | $aside | $host_pids" true
check "C-60 a relay that nothing would end is refused" contains "$(in_cell host_pids 2>&1)" \
    "relay: child needs a container with a pid namespace of its own"

# The relay recognises its directory by device and inode. The runtime that swaps it, after the
# shim looked and before it mounts, plays whoever would.
start_broker swapped
cat >"$lab/bin/$plain_name-swapping" <<CODE
#!/bin/sh
mv $brokers/swapped $brokers/away && cp -a $brokers/away $brokers/swapped
exec $plain_runtime "\$@"
CODE
chmod 755 "$lab/bin/$plain_name-swapping"
policy "{runtime: \"$lab/bin/$plain_name-swapping\"}"
red check "C-60 the relay's own failure: the command never starts" \
    ends_with 125 "$(asks_for swapped)" sh -c 'exit 3'

# ---- a broker that does not come back -----------------------------------------------------------

policy '{on_broker_lost: "stop", broker_lost_after: 1, broker_lost_grace: 60}'
lost() {
    local cell
    start_broker lost
    bundle lost "$(asks_for lost)" \
        sh -c 'trap "exit 42" TERM; attempt ask=8080 | grep reached || { echo no; exit 3; }
               while :; do attempt ask=8080 >/dev/null; sleep 1 & wait; done'
    start_ready in_cell lost 2>"$lab/lost.err"
    cell=$!
    stop "$broker"
    wait "$cell"
    same 125 $? && contains "$(<"$lab/lost.err")" "anchorhold-relay: broker lost: " &&
        same "broker lost: nobody listens at $brokers/lost/broker.sock for endpoint lost, seen at teardown" \
            "$("$runtime" show --json lost | jq --raw-output .reason)"
}
check "a broker that is lost ends the run, and the record says so" lost
bundle kept "$relayed | .annotations[\"dev.anchorhold.relay\"] = \"child\"" true
check "a command that could not be stopped is refused" contains "$(in_cell kept 2>&1)" \
    "on_broker_lost: stop needs a command that is not process 1"

check "nothing is left" nothing_left
finish
