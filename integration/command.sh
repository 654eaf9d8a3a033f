#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command runs as if nothing stood between it and the runtime: statuses, signals, orphans,
# files, loopback. Relayed and severed, for only one of them has an init of ours.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/engines.sh"
. "$(dirname "$0")/cells.sh"
needs root "${AH_DELEGATE:-runc}" busybox jq ip nft getent ldd /usr/bin/python3 pgrep
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

orphans='for i in $(seq 500); do (sh -c "exit 1" &) ; done; exit 9'
# nc ends with what it read to the end first, so either may hang up before pong was said.
server='echo kept >/tmp/f; cat /tmp/f; (while :; do echo pong | nc -l -p 9200 >/dev/null; done) &
        until [ "$(nc 127.0.0.1 9200 </dev/null 2>/dev/null)" = pong ]; do :; done; echo pong'
writable='.root.readonly = false'

for posture in severed relayed; do
    filter=.
    [ $posture = severed ] || filter=$(asks_for model)
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

# Where the relay is the first process it is the one to find the command.
relayed=$(asks_for model)
check "C-60 a command that is not there" ends_with 127 "$relayed" /nonexistent
check "C-60 a file that is no program" ends_with 126 "$relayed" /etc/passwd
check "C-60 a directory" ends_with 126 "$relayed" /etc
check "C-61 no room for a second process" \
    ends_with 0 "$relayed | .linux.resources.pids.limit = 1" true
check "C-60 a command that ends itself by TERM" ends_with 143 "$relayed" sh -c 'kill -TERM $$'
check "C-60 a command that ends itself by KILL" ends_with 137 "$relayed" sh -c 'kill -KILL $$'

# The relay recognises its directory by device and inode. The runtime that swaps it, after the
# shim looked and before it mounts, plays whoever would.
start_broker swapped
cat >"$lab/bin/$delegate-swapping" <<CODE
#!/bin/sh
mv $brokers/swapped $brokers/away && cp -a $brokers/away $brokers/swapped
exec $delegate_path "\$@"
CODE
chmod 755 "$lab/bin/$delegate-swapping"
policy "{runtime: \"$lab/bin/$delegate-swapping\"}"
check "C-60 the relay's own failure: the command never starts" \
    ends_with 125 "$(asks_for swapped)" sh -c 'exit 3'

check "nothing is left" nothing_left
finish
