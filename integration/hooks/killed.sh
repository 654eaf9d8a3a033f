#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kills the hook at every step: nothing of a sealed or filtered run's network is left afterwards,
# nor of one that a gate serves.
. "$(dirname "$0")/../lib/hooks_network.sh"

before_all=$(kernel)
up_is_killed filtered ""
end_is_killed sealed "" down
end_is_killed in_place "" down
end_is_killed filtered "" unplug
if only_where tproxy "gated: up was killed at each of its steps"; then
    begin gated
    up
    check "gated: up starts a gate, and the record names it" test -d "/proc/$(record .gate.process.pid)/fd"
    end_cell
    down
    up_is_killed gated ""
    end_is_killed gated "" down
    for gate in $(pgrep anchorhold-gate); do tail -f /dev/null --pid="$gate"; done # it ends with its cell
fi
check "the host is as it was" same "$before_all" "$(kernel)"
nothing_left "no folder, no lock"
finish
