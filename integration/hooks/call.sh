#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# However a runtime calls the hook - in whatever environment, with whatever on its descriptors, with
# whatever time limit - it works or it fails in time, says why where it can be read, and leaves
# nothing running.
. "$(dirname "$0")/../lib/hooks.sh"

check "it names its version" same "anchorhold-hook" "$("$hook" --version | cut -d' ' -f1)"
usage="usage: anchorhold-hook --state DIR up|down|guard|hold|unplug|denials KEY GENERATION, or --state DIR sweep|hold, or probe, or resolve NAME..."
for words in "" "up" "--state" "--state /x up k" "--state /x over k g" "--stat /x up k g" "--state /x up k g h"; do
    # shellcheck disable=SC2086
    check "usage: '$words'" same "1 $usage" "$(said=$("$hook" $words 2>&1 </dev/null); echo "$? $said")"
done
key=../../etc
call up </dev/null
check "a key that is none is refused" same 1 "$status"

# ---- what it is told ----------------------------------------------------------------------------

# STATE-FILTER: up with a state edited so.
tell() { call up < <(told | jq -c "$1"); }

cell
plan
tell '.later = [{a: null}] | .root = "rootfs" | .ociVersion = "1.0" | .status = "created"'
worked "unknown members are nobody's business"
end_cell

cell
for filter in 'del(.pid)' '.pid = 0'; do
    plan
    tell "$filter"
    failed_for "C-55 no pid and pid 0 are alike: $filter" "the runtime names no process of the container"
done
plan
call up sh -c 'exec "$@" <&-' -
check "C-55 a closed standard input is no state" contains "$status $said" "1 anchorhold: hook up $key: read the container's state: "
check "and no file of ours took its place" same failed "$(record .state)"
plan
call up </dev/null
check "an empty one neither" contains "$status $said" "1 anchorhold: hook up $key: read the container's state: "
plan
call up < <(told | head -c 40)
check "half a state neither" contains "$status $said" "1 anchorhold: hook up $key: read the container's state: "
plan
call up < <(echo '[]')
check "nor an array" contains "$status $said" "1 anchorhold: hook up $key: read the container's state: "
end_cell

cell
plan
trickle='import os, sys
text = sys.stdin.buffer.read()[:-2] + b",\"annotations\":{\"a\":\"" + b"x" * (3 << 20) + b"\"}}"
for byte in text[:1 << 16]:
    os.write(1, bytes((byte,)))
sys.stdout.buffer.write(text[1 << 16:])'
call up < <(told | /usr/bin/python3 -c "$trickle")
worked "3 MiB of annotations are read, 64 KiB of them in writes of one byte"
end_cell

cell
plan
call up < <(told; exec sleep infinity)
failed_for "C-55 an input that never ends is given up" "wait for the end of standard input: connection timed out (ETIMEDOUT)"
reason_kept "and that stands in the record" "wait for the end of standard input: connection timed out (ETIMEDOUT)"
end_cell

cell
plan
up env -i -C /
worked "C-55 no environment and another directory do not matter"
check "C-55 no locale changes what it says" same "1 anchorhold: hook up $key: no such run is planned (network_setup_failed)" \
    "$(up env LC_ALL=de_DE.UTF-8 LANGUAGE=de; echo "$status $said")"
end_cell

mkdir "$lab/evil"
cp /bin/true "$lab/evil/libmnl.so.0"
cp /bin/true "$lab/evil/libc.so.6"
cell
plan
up env "LD_LIBRARY_PATH=$lab/evil"
worked "R26 an engine's LD_LIBRARY_PATH decides nothing"
check "R26 nor does it for the shim" same "$(gc --dry-run; echo $?)" "$(
    env -i "LD_LIBRARY_PATH=$lab/evil" "$lab/bin/anchorhold" --ah-state "$state" gc --dry-run 2>&1
    echo $?)"
check "control: it decides for others" same "/ 127" "$(ls -d /) $(
    env "LD_LIBRARY_PATH=$lab/evil" ls -d / >"$lab/said" 2>&1; echo $?)"
end_cell

# ---- where it says so ---------------------------------------------------------------------------

cell
plan '.id = "x"'
"$hook" --state "$state" up "$key" "$generation" < <(told) 2>&-
check "C-45 a closed stderr hinders nothing" same 1 $?
reason_kept "C-45 the reason is in the record" 'the runtime calls this container "c"'
plan '.id = "x"'
mkfifo "$lab/full"
exec {reader}<>"$lab/full"
dd if=/dev/zero of="$lab/full" bs=4096 oflag=nonblock 2>/dev/null
within 5 "$hook" --state "$state" up "$key" "$generation" < <(told) 2>"$lab/full"
check "C-45 a full pipe nobody reads holds nothing up" same 1 $?
reason_kept "the reason is in the record then too" 'the runtime calls this container "c"'
exec {reader}<&-
plan '.id = "x"'
"$hook" --state "$state" up "$key" "$generation" < <(told) 2> >(exec true)
check "C-45 a reader that went away is no signal" same 1 $?
end_cell

cell
plan '.id = "x"'
forged=$(printf 'c\033[2J\nroot: all is well')
call up < <(told | jq -c --arg id "$forged" '.id = $id')
failed_for "what comes from outside is escaped, on one line" \
    'the runtime calls this container "c\x1b[2J\x0aroot: all is well"'
call up < <(told | jq -c '.id = ("y" * 100000)')
end_cell

# ---- with what rights, and for how long ---------------------------------------------------------

# The hook waits for its input; what it is then, it is for good.
mkfifo "$lab/input"
until_it_waits() { # PID
    while [ -e "/proc/$1" ] && ! grep -q '^NoNewPrivs:.1' "/proc/$1/status"; do :; done
}

cell
plan
exec 7<>"$lab/input"
"$hook" --state "$state" up "$key" "$generation" <"$lab/input" 7<&- &
waiting=$!
until_it_waits "$waiting"
check "it keeps CAP_DAC_READ_SEARCH and CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_SYS_ADMIN alone" same \
    "0000000000000000 0000000000281004 0000000000281004 0000000000000000" \
    "$(awk '/^Cap(Inh|Prm|Eff|Amb)/ { printf "%s%s", s, $2; s = " " }' "/proc/$waiting/status")"
told >"$lab/input"
exec 7<&-
wait "$waiting"
check "and they are enough" same "0 enforced" "$? $(record .state)"
end_cell

# The runtime is killed; so is its hook.
cell
plan
exec 7<>"$lab/input"
bash -c '"$@" <"$0" 7<&- & echo $!; wait' "$lab/input" \
    "$hook" --state "$state" up "$key" "$generation" >"$lab/pid" &
runtime=$!
until [ -s "$lab/pid" ]; do :; done
waiting=$(cat "$lab/pid")
until_it_waits "$waiting"
check "a hook waits for its runtime" test -e "/proc/$waiting"
kill -KILL "$runtime"
wait "$runtime" 2>/dev/null
timeout 4 tail --pid="$waiting" -f /dev/null
check "R14 C-37 a hook whose runtime was killed ends at once" same 0 $?
check "its run is still planned, its creator's to take back" same planned "$(record .state)"
exec 7<&-
end_cell

# Killed by the runtime's own time limit, in the middle of a slow answer.
cell
plan
up timeout -s KILL 1 strace -qq -o /dev/null -f -e trace=recvmsg -e inject=recvmsg:delay_enter=2000000:when=3 --kill-on-exit
check "C-37 a hook that is killed over a slow answer has not enforced" same planned "$(record .state)"
end_cell

# It leaves no process behind, so a reader of its output sees the end.
cell
plan
check "R14 C-35 a reader of its output sees the end at once" same "" "$(within 5 "$hook" --state "$state" up "$key" "$generation" < <(told) 2>&1 | cat)"
end_cell

finish
