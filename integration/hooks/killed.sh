#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kills the hook at every step: nothing of a sealed or filtered run's network is left afterwards.
. "$(dirname "$0")/../lib/hooks_network.sh"

before_all=$(kernel)
up_is_killed filtered ""
end_is_killed sealed "" down
end_is_killed in_place "" down
end_is_killed filtered "" unplug
check "the host is as it was" same "$before_all" "$(kernel)"
nothing_left "no folder, no lock"
finish
