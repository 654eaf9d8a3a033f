#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kills the hook at every step beside a run that lives: nothing of the killed run's network is left,
# and nothing of the other one is touched.
. "$(dirname "$0")/../lib/hooks_network.sh"

before_all=$(kernel)
witness_begins
check "control: a run that lives reaches its broker" lives
up_is_killed sealed witness
up_is_killed in_place witness
end_is_killed filtered witness down
check "the run that lived is as it was" lives
witness_ends
check "and with it the last of ours goes" same "$before_all" "$(kernel)"
nothing_left "no folder, no lock"
finish
