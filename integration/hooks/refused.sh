#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever the kernel refuses a sealed or filtered run at whatever step, it says so in a line
# and leaves nothing.
. "$(dirname "$0")/../lib/hooks_network.sh"

# strace that stops at the calls it is told and at no other, which takes -f; the processes that the
# hook starts in a namespace make sockets there and nothing else. It injects errors, but no signals.
refuse_at() { # CALL ERROR N
    inject=(strace -f --seccomp-bpf -qq -o /dev/null -e signal=none -e "trace=$1" -e "inject=$1:error=$2:when=$3")
}

# KIND: each step that asks the kernel for something is refused.
up_is_refused() {
    begin "$1"
    up "${trace[@]}"
    # Routes in the way are asked about in a second, longer way.
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
check "the host is as it was" same "$before_all" "$(kernel)"
nothing_left "no folder, no lock"
finish
