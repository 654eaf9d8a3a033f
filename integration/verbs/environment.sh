#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever the environment of the one who calls us has programs load, ours do not load it, and what
# the loader says of it is nobody's answer.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{ceiling: "allowlist", allow_by: "packets"}'
remember_kernel

hook=$lab/libexec/anchorhold/anchorhold-hook
loader_says() { [ -n "$(env "$1" "$hook" --version 2>&1 >/dev/null)" ]; }
# The shim itself, which is linked statically: the shell of $runtime has a loader, too.
shim=("$lab/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state "$lab/state")
sweep() { "$@" "${shim[@]}" gc 2>&1; }
probes() { "$@" "${shim[@]}" doctor --json 2>/dev/null | jq -c .probes; }
lives() { # VARIABLE=VALUE: a run that has names looked up and its network built by the hook
    bundle filtered '.annotations += {"dev.anchorhold.egress": "allowlist",
                                      "dev.anchorhold.allow": "localhost"}' echo ran
    contains "$(env "$1" "${shim[@]}" run --bundle "$lab/b/filtered" filtered </dev/null 2>&1)" ran
}

quiet=$(probes env)
check "control: the probes answer" contains "$quiet" can_filter
for variable in LD_PRELOAD=/nowhere.so LD_AUDIT=/nowhere.so LD_DEBUG=libs; do
    check "control: $variable has the hook's loader speak" loader_says "$variable"
    check "$variable: a sweep finds nothing" same "" "$(sweep env "$variable")"
    check "$variable: the probes answer as without it" same "$quiet" "$(probes env "$variable")"
    check "$variable: a filtered run lives" lives "$variable"
done
check "nothing is left" nothing_left
finish
