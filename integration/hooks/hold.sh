#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What gc does for each run that lives stays small: where the rules stand nobody waits for a lock,
# and the host's addresses are listed once for all runs.
. "$(dirname "$0")/../lib/hooks_network.sh"

inits=()
for _ in 1 2; do
    begin filtered
    up
    worked "a run, $key"
    inits+=("$init")
done
hold_all() { "$@" "$hook" --state "$state" hold 2>&1; } # [WRAPPER...]

exec {lock}>"$state/locks/network"
flock "$lock"
check "rules that stand are looked at while somebody else holds the lock" same "" "$(hold_all)"
exec {lock}>&-
rm "$state/locks/network"
nft flush ruleset
check "rules that were flushed are restored" same "" "$(hold_all)"
check "those of both runs" same 2 "$(nft list ruleset | grep -c 'chain ah')"

hold_all strace -f -qq -o "$lab/trace" -e trace=sendto >/dev/null
check "what the host delivers to itself is listed once for both" same 4 \
    "$(grep -c 'RTM_GETROUTE.*NLM_F_DUMP' "$lab/trace")"

for init in "${inits[@]}"; do end_cell; done
gc >/dev/null
nothing_left "nothing is left"
finish
