#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A runtime that is forked and waited for behaves as if it had been executed: words, environment,
# descriptors, signals, job control, death, status; and the engine's log reads as it should.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
remember_kernel
bundle idle . sleep infinity
# The runtime itself fails: with a missing command it would be the first process that says so.
bundle missing '.hooks.createContainer = [{path: "/bin/false"}]' true
bundle says . sh -c 'echo out; echo err >&2; exit 5'
"$python" "$here/verbs/wait.py" "$plain_runtime" "$lab" || failed=$((failed + 1))
check "nothing is left" nothing_left
finish
