#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures our cost: create + start + delete by the runtime alone, with a shim and two hooks that do
# nothing, and with ours. AH_ROUNDS (50) says how often. Prints a table, asserts no time.
run_by='meson compile -C BUILD bench'
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root "${AH_RUNTIME:-runc}" busybox jq ip getent ldd /usr/bin/python3
enter_lab
make_rootfs "$lab/rootfs"
cp "$AH_NOTHING" "$lab/bin/nothing"
policy '{ceiling: "allowlist", allow_by: "gate"}'
start_broker model

hooks='.hooks = {createRuntime: [{path: "'"$lab/bin/nothing"'"}],
                 poststop: [{path: "'"$lab/bin/nothing"'"}]}'
bundle plain . true
bundle nothing "$hooks" true
bundle severed . true
bundle relayed "$(asks_for model)" true
bundle gated '.annotations += {"dev.anchorhold.egress": "allowlist", "dev.anchorhold.allow": "named.test"}' true

# Not $runtime: a shell would be measured with it.
ours="$lab/bin/anchorhold --ah-policy $lab/policy.json --ah-state $lab/state"
echo "create + start + delete, $("$plain_runtime" --version | head -1), ${AH_ROUNDS:-50} rounds"
"$python" "$here/bench/runs.py" "${AH_ROUNDS:-50}" "plain:$lab/b/plain:$plain_runtime" \
    "nothing:$lab/b/nothing:$lab/bin/nothing $plain_runtime" \
    "severed:$lab/b/severed:$ours" "relayed:$lab/b/relayed:$ours" \
    "gated:$lab/b/gated:$ours"
