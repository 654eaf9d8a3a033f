#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints how many times as long as on a quick and idle machine this host takes for what runtimes do
# all the time: processes in namespaces of their own. At least 1. Limits that only keep a test from
# hanging for ever are multiplied by it (lab.sh: within; relay_lab.py: SLOWNESS).
#
# AH_SLOWNESS=NUMBER: taken as it is, so that a suite measures once (tests/run).
set -u
[ -z "${AH_SLOWNESS:-}" ] || { echo "$AH_SLOWNESS"; exit; }
lives=20
reference=100 # milliseconds for so many lives
begin=${EPOCHREALTIME/[.,]/}
for ((life = 0; life < lives; life++)); do
    unshare --mount --net --pid --uts --ipc --fork --mount-proc true 2>/dev/null
done
echo $((1 + (${EPOCHREALTIME/[.,]/} - begin) / 1000 / reference))
