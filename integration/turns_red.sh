#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# turns_red.sh FILE: its tests can fail. With the bare runtime in our place the cases that it marks
# do, and no control.
run_by="integration/run turns_red/${1:-FILE}"
. "$(dirname "$0")/lib/lab.sh"
needs root runc
failed=0
counted=0

said=$(AH_BARE=1 "$here/$1.sh" 2>/dev/null)
status=$?
marked=$(grep ' # needs us$' <<<"$said") # by red, red_only or red_but (lib/lab.sh)

# A file that has no control that failed, and of whose marked cases none could be tried on this host.
all_skipped() {
    [ -n "$marked" ] && [[ $status = 0 || $status = 77 ]] && ! grep -qv '^skip ' <<<"$marked"
}

# Every case that it marks fails without us or is skipped, and one does fail.
turns_red() {
    same 1 $status || return
    ! grep -B 3 'the control failed' <<<"$said" || return
    ! grep '^not ok .*without us' <<<"$said" || return
    grep -q '^not ok ' <<<"$marked" && ! grep '^ok ' <<<"$marked"
}

if all_skipped; then
    sed -En '/^skip /{s/.* # (.*) # needs us$/\1/p;q}' <<<"$marked" | {
        read -r why
        skip "$1" "$why"
    }
    exit 77
elif [ $status = 77 ]; then # it needs a command that is not there
    echo "$said"
    exit 77
fi
check "$1" turns_red "$1"
finish
