#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A terminal is as good as without us: the same session, typed twice, reads the same.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
start_broker model
remember_kernel

in_terminal='.process.terminal = true | .process.consoleSize = {width: 97, height: 31}'

# session HOW RUNTIME FILTER: what one reads in the terminal of a shell that is typed to.
session() {
    bundle shell "$in_terminal | $3" dash
    within 60 "$python" "$here/lib/terminal.py" "$1" "$2" "$lab/b/shell" shell 2>&1
    "$2" delete --force shell 2>/dev/null
}

for how in run create exec; do
    without=$(session "$how" "$plain_runtime" .)
    for posture in severed relayed aside; do
        filter=.
        [ $posture = severed ] || filter=$(asks_for model)
        [ $posture != aside ] || filter+=' | .annotations["dev.anchorhold.relay"] = "child"'
        check "$how: the session reads as without us, $posture" \
            same "$without" "$(session "$how" "$runtime" "$filter")"
    done
    check "$how: the shell has job control and a terminal" contains "$without" "[1] + Running"
    check "$how: an interrupt ends the program alone" contains "$without" "interrupted: 130"
    check "$how: the window has its size" contains "$without" "size: 31 97"
done

# Only with us, for it needs our endpoint.
check "the model answers in a terminal" contains "$(bundle asks "$in_terminal | $(asks_for model)" \
    attempt ask=8080; "$python" "$here/lib/terminal.py" watch "$runtime" "$lab/b/asks" asks)" \
    "ask=8080 reached"

check "nothing is left" nothing_left
finish
