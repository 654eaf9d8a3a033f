#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A teardown leaves nothing of a run, however it ended and whoever was killed, and takes nothing of a
# live one away.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
start_broker model
# Tables and links of others in the kernel stay as they are.
nft add table inet theirs
nft add chain inet theirs input '{ type filter hook input priority 0; policy accept; }'
ip link add theirs0 type veth peer name theirs1
remember_kernel

relayed=$(asks_for model)
mkfifo "$lab/reached" "$lab/released"

# A hook of the bundle's own that stops the runtime at STAGE, tells us, and waits for our word.
pause_at() { # pause_at STAGE: a jq filter
    cat >"$lab/bin/pause" <<CODE
#!/bin/sh
echo \$\$ >$lab/reached
read -r word <$lab/released
CODE
    chmod 755 "$lab/bin/pause"
    echo ".hooks.$1 = [{path: \"$lab/bin/pause\", args: [\"pause\"]}]"
}

state_of() { "$runtime" state "$1" 2>/dev/null | jq -r .status; }

create() { within 60 "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >"$lab/log.$1" 2>&1; }

# ---- the ordinary ends --------------------------------------------------------------------------

step_by_step() { # FILTER
    local pid
    bundle step "$1" sleep 60
    create step && "$runtime" start step && same running "$(state_of step)" || return
    pid=$("$runtime" state step | jq .pid)
    "$runtime" kill step KILL
    wait_for_end "$pid"
    "$runtime" delete step && nothing_left
}

deleted_by_force() { # FILTER
    bundle force "$1" sleep 60
    create force && "$runtime" start force && "$runtime" delete --force force && nothing_left
}

never_started() { # FILTER
    bundle never "$1" sleep 60
    create never && "$runtime" delete --force never && nothing_left
}

init_killed() { # FILTER: nobody calls delete until later
    bundle killed "$1" sleep 60
    create killed && "$runtime" start killed
    kill -KILL "$("$runtime" state killed | jq .pid)"
    "$runtime" delete --force killed && nothing_left
}

interrupted() { # FILTER: INT to a run in the foreground
    bundle interrupted "$1" sh -c 'trap "exit 3" INT; echo up; while :; do sleep 60 & wait; done'
    start_ready "$runtime" run --bundle "$lab/b/interrupted" interrupted
    local run=$! status again
    # Again and again: crun loses one that comes before it listens for signals.
    while kill -INT "$run"; do sleep 0.2; done 2>/dev/null &
    again=$!
    wait "$run"
    status=$?
    stop "$again"
    same 3 $status && nothing_left
}

deleted_twice() {
    "$runtime" delete --force step && "$runtime" delete --force step && nothing_left
}

for posture in severed relayed; do
    filter=.
    [ $posture = severed ] || filter=$relayed
    check "create, start, kill, delete, $posture" step_by_step "$filter"
    check "delete --force of a running container, $posture" deleted_by_force "$filter"
    check "delete --force of a created container, $posture" never_started "$filter"
    check "delete after init was killed, $posture" init_killed "$filter"
    check "run and INT, $posture" interrupted "$filter"
done
check "R15 C-46 delete --force of what is not there" deleted_twice

# ---- a live run stands --------------------------------------------------------------------------

bundle alive "$relayed" sh -c 'echo up; exec sleep infinity'
start_ready in_cell alive
alive=$!
answers() { contains "$("$runtime" exec alive attempt ask=8080)" "ask=8080 reached"; }
stands() { same enforced "$("$runtime" show --json alive | jq -r .state)" && answers; }
check "delete of a running container fails" same 1 "$("$runtime" delete alive 2>/dev/null; echo $?)"
red check "and the run stands" stands
check "gc leaves a live run alone" "$runtime" gc
red check "and the run stands after it" stands
check "gc --dry-run leaves it too" "$runtime" gc --dry-run
hook="$lab/libexec/anchorhold/anchorhold-hook"
key=$(find "$lab/state/runs" -mindepth 1 -maxdepth 1 -printf '%f' 2>/dev/null)
down() { env -i "$hook" --state "$lab/state" down "$@" <&-; }
check "C-46 down of another generation leaves it" down "${key:-none}" 0000000000000000
check "and the run still stands" stands
echo '{' >"$lab/policy.json"
check "with a broken policy state still works" same running "$(state_of alive)"
check "with a broken policy kill still works" "$runtime" kill alive KILL
wait $alive
"$runtime" delete --force alive
policy
check "with a broken policy it is all gone at the end" nothing_left
check "C-46 down of what is not there is silent success" \
    same "" "$(down 0123456789ab 0000000000000000 2>&1)"

same_id_twice() {
    local first second
    bundle same "$relayed" sh -c 'echo up; exec sleep infinity'
    cp -a "$lab/b/same" "$lab/b/same2"
    sed -i "s|/same\"|/same2\"|" "$lab/b/same2/config.json"
    start_ready "$runtime" --root /run/first run --bundle "$lab/b/same" same
    first=$!
    start_ready "$runtime" --root /run/second run --bundle "$lab/b/same2" same
    second=$!
    "$runtime" --root /run/first kill same KILL
    wait $first
    contains "$("$runtime" --root /run/second exec same attempt ask=8080)" "ask=8080 reached"
    local status=$?
    "$runtime" --root /run/second kill same KILL
    wait $second
    rm -rf /run/first /run/second
    [ $status = 0 ] && nothing_left
}
check "one id under two roots: the end of one leaves the other" same_id_twice

# ---- a create that fails ------------------------------------------------------------------------

create_fails() { # FILTER WORD...
    local filter=$1
    shift
    bundle fails "$filter" "$@"
    if create fails; then
        "$runtime" delete --force fails
        echo "create did not fail"
        return 1
    fi
    "$runtime" delete --force fails 2>/dev/null
    same 1 "$(grep -c . "$lab/log.fails")" && nothing_left
}
no_source='.mounts += [{destination: "/mnt", type: "bind", source: "/nonexistent",
                         options: ["bind"]}]'
failing_hook() { echo ".hooks.$1 = [{path: \"$(type -P false)\", args: [\"false\"]}]"; }
check "C-04 a command that is not there" create_fails . /nonexistent
check "C-04 a mount without a source" create_fails "$relayed | $no_source" true
for stage in prestart createRuntime createContainer; do
    check "C-04 a failing $stage hook of the bundle's" \
        create_fails "$relayed | $(failing_hook $stage)" true
done

start_fails() {
    bundle startfails "$relayed | $(failing_hook startContainer)" true
    create startfails
    "$runtime" start startfails 2>/dev/null
    "$runtime" delete --force startfails && nothing_left
}
check "C-04 a failing startContainer hook of the bundle's" start_fails

# A hook that did nothing must not be believed: the binary is replaced by one that only says yes.
not_enforced() { # FILTER
    bundle trusting "$1 | .root.readonly = false" touch /ran
    mv "$hook" "$hook.away" && cp "$(type -P true)" "$hook"
    create trusting && "$runtime" start trusting 2>"$lab/err"
    local status=$?
    mv "$hook.away" "$hook"
    "$runtime" delete --force trusting 2>/dev/null
    [ $status != 0 ] && [ ! -e "$lab/b/trusting/rootfs/ran" ] && nothing_left
}
red check "C-05 a hook that did nothing, severed" not_enforced .
red check "C-05 a hook that did nothing, relayed" not_enforced "$relayed"

# ---- killed on the way --------------------------------------------------------------------------

# killed_at STAGE FILTER: SIGKILL of the shim while the runtime waits in a hook, then gc alone.
killed_at() {
    local shim hook_pid init
    bundle cut "$2 | $(pause_at "$1")" sleep 60
    "$runtime" create --bundle "$lab/b/cut" cut </dev/null >/dev/null 2>&1 &
    shim=$!
    read -r hook_pid <"$lab/reached"
    kill -KILL $shim
    wait $shim 2>/dev/null
    init=$("$runtime" show --json cut | jq .init.pid)
    echo go >"$lab/released"
    # A runtime's init ends when it finds its runtime gone.
    [ "${init:-0}" = 0 ] || wait_for_end "$init"
    # The engine's own next call; what a killed runtime leaves of its own is the engine's.
    "$plain_runtime" delete --force cut 2>/dev/null
    "$runtime" gc >"$lab/gc.out" || { cat "$lab/gc.out"; return 1; }
    nothing_left && same "" "$("$runtime" gc)"
}
for posture in severed relayed; do
    filter=.
    [ $posture = severed ] || filter=$relayed
    for stage in prestart createRuntime createContainer; do
        red check "B-43 SIGKILL of the shim in $stage, then gc, $posture" killed_at $stage "$filter"
    done
done

run_killed() { # SIGKILL of `run`: the container lives on, as below runc; delete ends it
    bundle orphan "$relayed" sh -c 'echo up; exec sleep infinity'
    start_ready "$runtime" run --bundle "$lab/b/orphan" orphan 2>/dev/null
    # crun may write that down after the command's first word; killed before, it forgets the container.
    until "$runtime" state orphan >/dev/null 2>&1; do :; done
    kill -KILL $!
    wait $! 2>/dev/null
    "$runtime" delete --force orphan && nothing_left
}
check "B-43 SIGKILL of a running run, then delete" run_killed

state_lost() { # the state directory is gone; delete must not mind
    bundle lost "$relayed" sleep 60
    create lost && "$runtime" start lost && mv "$lab/state" "$lab/state.away" &&
        "$runtime" delete --force lost
    local status=$?
    rm -rf "$lab/state.away"
    [ $status = 0 ] && nothing_left
}
check "C-38 delete when the state directory is gone" state_lost

many_at_once() {
    local number pids=()
    for number in $(seq 12); do
        bundle "many$number" "$relayed" attempt ask=8080
        in_cell "many$number" >"$lab/many.$number" 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
    same 12 "$(cat "$lab"/many.* | grep -c 'ask=8080 reached')" && nothing_left
}
red check "twelve at once" many_at_once

# As without us, one bundle serves many; the file that they all edit is as it was. Each has a cgroup
# of its own, under its id: crun, when a container ends, kills whatever is in the cgroup it had.
# Whoever can open the directory can sit on its flock(2), and does meanwhile.
one_bundle() {
    local number before stranger pids=()
    bundle shared "$relayed | del(.linux.cgroupsPath)" attempt ask=8080
    start_ready flock --no-fork "$lab/b/shared" sh -c 'echo up; exec sleep infinity'
    stranger=$!
    before=$(sha256sum "$lab/b/shared/config.json")
    for number in 1 2 3 4 5 6; do
        within 60 "$runtime" run --bundle "$lab/b/shared" "${cgroup/test/test-$number}" \
            </dev/null >"$lab/shared.$number" 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
    stop "$stranger"
    cat "$lab"/shared.*
    same 6 "$(cat "$lab"/shared.* | grep -c 'ask=8080 reached')" &&
        same "$before" "$(sha256sum "$lab/b/shared/config.json")" && nothing_left
}
check "six of one bundle at once" one_bundle

failed_is_recorded() {
    local state=planned
    while [ "$state" = planned ]; do state=$("$runtime" show --json first | jq -r .state); done
    same failed "$state"
}

# It has ended, or sleeps (clock_nanosleep) until its turn comes.
waits_or_ended() { # PID
    local call=
    while [ "$call" != 230 ] && read -r call _ <"/proc/$1/syscall"; do :; done 2>/dev/null
}

# The first one's hook has failed and its shim has not heard of it, so its edit still stands.
after_a_failed_one() {
    local first second hook_pid init status
    bundle turns "$relayed | $(pause_at prestart)" attempt ask=8080
    "$runtime" run --bundle "$lab/b/turns" first </dev/null >"$lab/turns.first" 2>&1 &
    first=$!
    read -r hook_pid <"$lab/reached"
    kill -STOP $first
    init=$(pgrep -P "$(pgrep -P $first)" | grep -vx "$hook_pid")
    kill -KILL "$init"
    wait_for_end "$init"
    echo go >"$lab/released"
    failed_is_recorded || { kill -CONT $first; wait $first; return 1; }
    "$runtime" run --bundle "$lab/b/turns" second </dev/null >"$lab/turns.second" 2>&1 &
    second=$!
    waits_or_ended $second
    kill -CONT $first
    wait $first
    if kill -0 $second && read -t $((30 * AH_SLOWNESS)) -r hook_pid <>"$lab/reached"; then echo go >"$lab/released"; fi
    wait $second
    status=$?
    "$plain_runtime" delete --force first 2>/dev/null
    cat "$lab"/turns.*
    same 0 $status && contains "$(cat "$lab/turns.second")" 'ask=8080 reached' && nothing_left
}
check "a run that fails does not fail the next of its bundle" after_a_failed_one

# Ids that the runtime takes, it takes from us too; those it refuses leave nothing.
bundle odd "$relayed" true
id_as_below() { # ID
    within 60 "$plain_runtime" run --bundle "$lab/b/odd" -- "$1" </dev/null >/dev/null 2>&1
    local below=$?
    within 60 "$runtime" run --bundle "$lab/b/odd" -- "$1" </dev/null >"$lab/odd" 2>&1
    local got=$?
    cat "$lab/odd"
    same $((below != 0)) $((got != 0)) && nothing_left
}
for id in -x _x x+y x.y "$(printf 'x%.0s' $(seq 255))" "$(printf 'x%.0s' $(seq 256))" \
    .. ../x a/b 'a b' ü a:b ''; do
    check "C-63 the id \"${id:0:20}\"" id_as_below "$id"
done

# Whoever reads our output sees its end when we end; a create's is the container's as well.
pipe_closes() {
    bundle pipe "$relayed" true
    "$runtime" run --bundle "$lab/b/pipe" pipe </dev/null 2>&1 | within 20 cat
    same "0 0" "${PIPESTATUS[*]}" && nothing_left
}
check "C-35 nobody is left holding our output" pipe_closes

check "nothing is left" nothing_left
others_stand() { nft list table inet theirs && ip link show theirs0 && ip link show theirs1; }
check "B-44 and what others have stands" others_stand
finish
