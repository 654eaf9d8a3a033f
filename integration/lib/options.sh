# SPDX-License-Identifier: Apache-2.0
# A table of an engine's run options: what each does below us, beside what it does below the runtime
# alone.
# shellcheck shell=bash

# option VERDICT SCRIPT OPTION...: a container with OPTION... runs SCRIPT, once below the runtime
# alone and once below us with an endpoint. The engine's file says how, in engine_run. VERDICT is
#
#     same            status and output are equal, and the status is 0
#     differs: TEXT   below the runtime alone the status is 0; below us too, but the output is TEXT
#     refused: TEXT   an error of ours with TEXT in it
#
# Where what an option names can be there once only, `alone=yes option ...` runs one after the other.
option() {
    local verdict=$1 script=$2 plain ours plain_status ours_status
    shift 2
    engine_run plain "$@" -- "$script" >"$lab/plain.out" 2>&1 &
    [ -z "${alone:-}" ] || wait $!
    ours=$(engine_run ours "$@" -- "$script" 2>&1)
    ours_status=$?
    wait $!
    plain_status=$?
    plain=$(<"$lab/plain.out")
    check "$verdict with $*" judge_option
}

# judge_option: by the variables of option.
judge_option() {
    case $verdict in
    same) same "0 $plain" "$plain_status $plain" && same "$plain_status $plain" "$ours_status $ours" ;;
    differs:*)
        same "0 $plain" "$plain_status $plain" && same "0 ${verdict#differs: }" "$ours_status $ours" &&
            ! same "$plain" "$ours" >/dev/null
        ;;
    refused:*)
        [ "$ours_status" != 0 ] && contains "$ours" "anchorhold: create " &&
            contains "$ours" "${verdict#refused: }"
        ;;
    esac
}

# What the scripts of both engines look at.
bounding='grep CapBnd /proc/self/status'
links='ls /sys/class/net'
resolver='cat /etc/resolv.conf'
limit() { # CONTROLLER FILE FILE-OF-VERSION-2
    echo "cat /sys/fs/cgroup/$1/$2 2>/dev/null || cat /sys/fs/cgroup/$3"
}
flags_of() { echo "grep ' $1 ' /proc/self/mountinfo | cut -d ' ' -f 6"; } # of the mount at PLACE
our_resolver='nameserver 127.0.0.1
options timeout:1 attempts:1'
