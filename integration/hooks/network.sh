#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Loses the record of a sealed or filtered run: nothing of its network is left afterwards, and
# nothing else is touched, no run that lives and no other table.
. "$(dirname "$0")/../lib/hooks_network.sh"

# Empties the state directory. The mounts in it stay.
empty_state() {
    rm -rf "$state"/{runs,locks,subnets,ended}/* 2>/dev/null
    find "$state/runs" -name record.json -delete
}
# KEY...: what bears them.
bears() {
    local one
    for one in "$@"; do
        { ip -o link; nft list ruleset; ls -l "$state/subnets"; mounts; } |
            grep -o "ah$one\|$one\.$generation\|$one/netns"
    done | LC_ALL=C sort -u | xargs
}
guests() { nft list set inet anchorhold guests4 2>/dev/null | grep -o '10\.99[0-9.]*' | xargs; }

before_all=$(kernel)
lost=()
begin sealed
up
lost+=("$key")
exec {parked}<"/proc/$init/ns/net" # else its link would go with it
end_cell
begin filtered
up
lost+=("$key")
end_cell
check "control: two that ended are still there" same \
    "${lost[0]}.$generation ${lost[1]}.$generation ${lost[1]}/netns ah${lost[0]} ah${lost[1]}" \
    "$(bears "${lost[@]}")"
witness_begins
begin in_place
up
host_of_guest=$init guest_key=$key
check "control: a guest is known" same "$guest" "$(guests)"
before=$(kernel)
empty_state
check "a dry run takes nothing away" same "$before" "$(gc --dry-run >/dev/null; kernel)"
gc >/dev/null
check "C-38 what bears the key of a record that was lost goes" same "" "$(bears "${lost[@]}")"
check "with their places" same "" "$(left)"
check "C-38 a link with somebody behind it stays, and his guest's address" same \
    "ah$witness_key $guest" "$(bears "$witness_key") $(guests)"
check "and reaches what it reached" lives
check "a second sweep finds nothing more" same "" "$(gc)"
exec {parked}<&-
init=$witness
end_cell
init=$host_of_guest
end_cell
gc >/dev/null
check "they go with their inits" same "$before_all" "$(kernel)"

rm -rf "$state"
begin_without_state() { mkdir -p "$state" && mkdir -m 700 -p "$state"/{runs,locks,ended,subnets}; }
gc >/dev/null
check "without a state directory and anything to remove, none is made" same "" "$(ls -d "$state" 2>/dev/null)"
begin_without_state
chmod 711 "$state"
begin filtered
up
umount "$state/runs/$key/netns"
exec {parked}<"/proc/$init/ns/net"
end_cell
rm -rf "$state"
check "with something, it is removed" same "removed $key" "$(gc)"
check "and the host is as it was" same "$before_all" "$(kernel)"
exec {parked}<&-

# The kernel takes the link with the namespace of its other end, whenever it gets to it.
base=$(picture)
begin sealed
up
exec {parked}<"/proc/$init/ns/net"
end_cell
meddled down sendto 1 ip link del "ah$key" # it has been found, and is to be set down
worked "a link that ends by itself meanwhile is gone, and no error"
check "and nothing is left" same "$base" "$(picture)"
exec {parked}<&-

# A reservation, an element, a table: each alone.
ln -s "deadbeefdead.$generation" "$state/subnets/198.18.4.0"
exec {held}>"$state/locks/deadbeefdead"
flock "$held"
check "what bears the key of a lock that is held is left alone" same "" "$(gc)"
check "and stands" same "deadbeefdead.$generation" "$(bears deadbeefdead)"
exec {held}>&-
check "a reservation that nobody holds goes" same "removed deadbeefdead" "$(gc)"
begin in_place
up
nft 'add element inet anchorhold guests4 { 10.99.7.7 }; add table netdev ahdeadbeefdead'
check "an address and a table go as well" same "removed deadbeefdead removed 10.99.7.7/32" "$(gc | xargs)"
nft 'add table netdev anchorhold-3f' # older kernels take a link's chain with it
check "and one of the 64 that is empty" same "removed 00000000003f" "$(gc)"
nft 'add table netdev anchorhold-3e; add chain netdev anchorhold-3e ahdeadbeefde3e'
check "and a chain in one" same "removed deadbeefde3e" "$(gc)"
check "the guest that lives stays" same "$guest" "$(guests)"

# Addresses come round. A sweep would load again what is missing; down does not.
dead_key=$key
end_cell
begin in_place
up
second_key=$key
key=$dead_key
down
worked "a dead run goes"
check "but not the address that another has now" same "$guest" "$(guests)"
key=$second_key
end_cell
down
check "which goes with that one" same "$before_all" "$(kernel)"

# Not ours.
nft 'add table inet ahdeadbeefdead; add table netdev ahxyz'
ip link add ahdeadbeefdea type veth peer name other-end
ip link add ah0123456789ab type veth peer name other-end2
before=$(kernel)
check "what only looks like ours is left alone" same " $before" "$(gc) $(kernel)"
nft 'delete table inet ahdeadbeefdead; delete table netdev ahxyz'
ip link del ahdeadbeefdea
ip link del ah0123456789ab

# Two state directories in one namespace.
begin filtered
up
other_key=$key other=$init
first=$state
state=$lab/second
begin_without_state
chmod 711 "$state"
begin sealed
up
end_cell
down
check "another directory's run keeps what all share" contains "$(nft list ruleset)" "ah$other_key"
check "to the last rule" contains "$(nft list ruleset)" "oifname != \"ah*\" iifname @forwards masquerade"
before=$(kernel)
check "nor does its sweep touch it" same " $before" "$(gc) $(kernel)"
# The last of a table goes, and a run of another directory comes into it meanwhile.
comes() {
    state=$first
    made=$((made + 63)) # and one more: its key names the same of 64 tables
    begin sealed
    up
    late_key=$key late=$init
}
begin sealed
up
leaving=$key
exec {parked}<"/proc/$init/ns/net" # so that its link is still there
end_cell
meddled down recvmsg 10 comes # it has been told that nobody else is in its table
worked "a run comes while the last of its table goes"
check "which the kernel has noticed" contains "$(cat "$lab/more")" "error=-ERESTART"
exec {parked}<&-
check "and keeps its chain" same "anchorhold-$(printf %02x $((0x$leaving % 64))) ah$late_key" \
    "$(nft -j list chains netdev | jq -r '.nftables[].chain | select(. and .name != "ah'"$other_key"'") | "\(.table) \(.name)"')"
key=$late_key init=$late
end_cell
down
worked "and goes like any other"
state=$lab/second

# Tracking connections costs every packet of the host.
tracks() { nft list table inet anchorhold | grep -c 'ct state\|masquerade'; }
begin sealed
up
sealed_key=$key sealed_init=$init
check "while a filtered run lives, the kernel tracks connections" same 2 "$(tracks)"
init=$other
end_cell
check "when nobody lives behind it, either may" same "removed $other_key" "$(gc)"
check "with the last of them that ends, whoever else lives" same 0 "$(tracks)"
key=$sealed_key init=$sealed_init
end_cell
down
state=$first key=$other_key
check "and the other says it removed it too" same "removed $other_key" "$(gc)"
check "the host is as it was at last" same "$before_all" "$(kernel)"

finish
