#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A promise: of a sealed or filtered run's network nothing is left, whoever died at whatever step
# (C-16, C-38, C-40, B-43).
. "$(dirname "$0")/hooks_network_lib.sh"

before_all=$(kernel)
up_is_killed filtered ""
end_is_killed sealed "" down
end_is_killed in_place "" down
end_is_killed filtered "" unplug
check "the host is as it was" same "$before_all" "$(kernel)"
nothing_left "no folder, no lock"
finish
