#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The links that an engine plugs in between create and start are taken away before the command
# starts, or the start fails; and nothing that was tight gets looser.
. "$(dirname "$0")/../lib/hooks.sh"

cell
plan
up
worked "a cell to guard"
table=$(ruleset)

guard
worked "guard of an untouched cell is silent"
check "and its record is as it was" same 'enforced ["netns","drop-table","links","listeners"]' \
    "$(record '"\(.state) \(.verified)"')"

plug
serve "${server[@]}" "$host" 7000
check "a link that came later leads nowhere even before" same ECONNREFUSED "$(ask "tcp=$host:7000")"
guard
worked "a link that came after create is no failure"
check "it is gone" same lo "$(links)"
check "and recorded" same "enforced removed link eth0 (veth)" "$(record '"\(.state) \(.advice[0])"')"

# Docker 28 and later: its resolver and its NAT rules come with the network.
plug
serve nsenter -t "$init" -n "${server[@]}" 127.0.0.11 40000
inside nft 'add table ip nat; add chain ip nat out { type nat hook output priority -100; }; add rule ip nat out ip daddr 127.0.0.11 udp dport 53 dnat to 127.0.0.11:40000'
others=$(inside nft list table ip nat)
guard
worked "Docker's resolver, which the table refuses, is no failure"
check "B-53 it is refused" same "EPERM EPERM ECONNREFUSED" \
    "$(ask udp=127.0.0.11:53 udp=127.0.0.11:40000 tcp=127.0.0.11:40000)"
check "it and the NAT rules are recorded" same \
    "nftables table ip nat of others stands beside ours, listener tcp 127.0.0.11:40000 of others is refused, listener udp 127.0.0.11:40000 of others is refused" \
    "$(record '.advice[1:] | join(", ")')"
written=$(record .)$(stat -c %i "$state/runs/$key/record.json")
for verb in guard hold hold guard; do call "$verb" </dev/null; done
check "what stays the same is told once, and the record not written again" same "0 $written" \
    "$status$said $(record .)$(stat -c %i "$state/runs/$key/record.json")"
check "the others' table is as it was (C-39)" same "$others" "$(inside nft list table ip nat)"
inside nft delete table ip nat

inside nft flush ruleset
guard
worked "a table that was flushed is no failure"
check "it stands again" same "$table" "$(ruleset)"
inside nft 'insert rule inet anchorhold output accept'
guard
worked "a table that was loosened is no failure"
check "it is as planned again" same "$table" "$(ruleset)"
inside nft 'add table inet anchorhold { flags dormant; }'
guard
check "a table that was put to sleep is awake again" same "0 $table" "$status$said $(ruleset)"

serve nsenter -t "$init" -n "${server[@]}" 127.0.0.1 7005
before=$(record .)
guard
failed_for "somebody who listens inside is a failure" \
    "somebody listens in the container's network namespace at tcp 127.0.0.1:7005" guard
check "and the record still says enforced: its init owns the run" same "$before" "$(record .)"
end_cell

# ---- whose call ---------------------------------------------------------------------------------

cell
plan
guard
failed_for "a run that is only planned is refused" "no such run is enforced" guard
up
generation=ffffffffffffffff guard
check "another generation is refused" same 1 "$status"
first=$init
cell
init=$first
key=$(printf '%012x' $((made - 1)))
edit '.netns = "4:1"'
guard
failed_for "a container in another namespace than was confined is refused" \
    "the container is not the one that was confined" guard
end_cell
guard
check "a container that is gone is refused" same 1 "$status"

# ---- when the table cannot be had ---------------------------------------------------------------

cell
plan
up
inside nft flush ruleset
guard setpriv --bounding-set=-net_admin --inh-caps=-net_admin
failed_for "a table that stood must stand again" \
    "list tables: the kernel refuses it (EPERM)" guard
end_cell

cell
plan '.posture = "open"'
up
plug
guard
worked "an open run is not guarded"
check "and keeps its link" contains "$(links)" eth0
ip link del plug
end_cell

finish
