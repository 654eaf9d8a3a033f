#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# turns_red.sh FILE: its tests can fail. With the bare runtime in our place the cases that it marks
# do, and no control.
run_by="integration/run turns_red/${1:-FILE}"
. "$(dirname "$0")/lib/lab.sh"
needs root runc
failed=0
counted=0

# turns_red FILE: every case that it marks by red, red_only or red_but (lib/lab.sh), and there is one,
# fails without us.
turns_red() {
    local output status
    output=$(AH_BARE=1 "$here/$1.sh" 2>/dev/null)
    status=$?
    same 1 $status || return
    ! grep -B 3 'the control failed' <<<"$output" || return
    ! grep '^not ok .*without us' <<<"$output" || return
    grep -q '^not ok .* # needs us$' <<<"$output" && ! grep '^ok .* # needs us$' <<<"$output"
}

check "$1" turns_red "$1"
finish
