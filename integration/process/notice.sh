#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command is told what it can reach, in the record's words, by a file that it cannot change.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
open_world
start_broker model
remember_kernel
policy

told() { # ID FILTER: what the file says in the container
    bundle "$1" "$2" sh -c 'cat "$ANCHORHOLD_README"'
    in_cell "$1"
}
# The text around the sentence and the list.
expected() { # SENTENCE REACHED
    echo "The network of this container is confined by anchorhold.

$1

What it can reach:
$2

Everything else is refused at once, and other names do not exist here. To try again
does not help. Say what you needed: who runs this container can grant it."
}

check "a severed command is told that it reaches nothing" \
    same "$(expected "Network: off — confined: no egress" "  nothing outside of the container")" \
    "$(told severed .)"
check "a relayed one is told its endpoint" \
    same "$(expected "Network: off — confined: egress sealed to the run's model broker" \
        "  127.0.0.1:8080  model")" "$(told relayed "$(asks_for model)")"
check "it is where the record says" same "/dev/anchorhold/README" "$(
    bundle placed . sh
    "$runtime" create --bundle "$lab/b/placed" placed </dev/null >/dev/null 2>&1
    "$runtime" show --json placed | jq -r .notice
)"
check "an exec is told as well" contains \
    "$("$runtime" exec placed sh -c 'cat "$ANCHORHOLD_README"' 2>&1)" "confined: no egress"
"$runtime" delete --force placed
bundle kept . sh -c 'echo x 2>/dev/null >>"$ANCHORHOLD_README" || rm -f "$ANCHORHOLD_README" ||
    cat "$ANCHORHOLD_README"'
check "nobody inside can change or remove it" contains "$(in_cell kept 2>&1)" "confined: no egress"
own='.process.env += ["ANCHORHOLD_README=/mine"]'
bundle image "$own" sh -c 'echo "$ANCHORHOLD_README"'
check "an image's variable of that name is replaced" same /dev/anchorhold/README "$(in_cell image)"

policy '{notice: "none"}'
bundle quiet . sh -c 'echo "<$ANCHORHOLD_README>"; cd /dev/anchorhold && find . -type f | sort'
check "notice: none tells nothing, nowhere" same "<>
./relay
./run/enforced
./run/resolv.conf" "$(in_cell quiet)"
policy '{ceiling: "allowlist", allow_by: "packets"}'
echo 1 >/proc/sys/net/ipv4/ip_forward
bundle filtered '.annotations = {"dev.anchorhold.egress": "allowlist",
    "dev.anchorhold.allow": "192.0.2.7:5432, 198.51.100.0/24"}' sh -c 'cat "$ANCHORHOLD_README"'
check "a filtered one is told its list" contains "$(in_cell filtered)" \
    "  192.0.2.7/32 tcp 5432
  198.51.100.0/24 tcp 443"
check "nothing is left" nothing_left
finish
