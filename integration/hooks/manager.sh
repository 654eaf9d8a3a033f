#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A network manager that takes a run's link for its own - another MAC, other addresses,
# down - ends the set-up, or the start if it comes later.
. "$(dirname "$0")/../lib/hooks.sh"

mkdir -m 700 "$state/subnets"
serve "${server[@]}" 0.0.0.0 9000
before_all=$(ip -o link; nft list ruleset)

begin() {
    cell
    plan '.posture = "sealed" | .technique = "veth" |
        .network = {pool: "198.18.0.0/15", broker_ports: [9000], allow: [], deny: []}'
    link=ah$key
}
finish_run() {
    end_cell
    down
}

# COMMAND...: up, with the command before its last look at the links.
up_meddled() { meddled up connect 1 "$@"; }

their_mac() { ip link set dev "$link" address 02:00:00:00:00:99; }
their_mac_inside() { inside ip link set dev eth0 address 06:00:00:00:00:99; }
their_address() { ip addr add 192.0.2.77/24 dev "$link"; }
their_address_inside() { inside ip addr add 2001:db8::77/64 dev eth0 nodad; }
no_address() { ip addr flush dev "$link"; }
their_down() { ip link set dev "$link" down; }
their_name() { ip link set dev "$link" down && ip link set dev "$link" name theirs0; }

# FUNCTION: what is said of it.
reason_for() {
    local remedy="have the host's network manager leave links ah* alone (contrib/unmanaged)"
    case $1 in
    their_mac) echo "link $link is not what it was made: its MAC is 02:00:00:00:00:99; $remedy" ;;
    their_mac_inside) echo "link eth0 of the container is not what it was made: its MAC is 06:00:00:00:00:99; $remedy" ;;
    their_address) echo "link $link is not what it was made: it has 192.0.2.77/32; $remedy" ;;
    their_address_inside) echo "link eth0 of the container is not what it was made: it has 2001:db8::77/128; $remedy" ;;
    no_address) echo "link $link is not what it was made: it has not $gateway/32; $remedy" ;;
    their_down) echo "link $link is not what it was made: it is down; $remedy" ;;
    their_name) echo "link $link is not what it was made: it is gone; $remedy" ;;
    esac
}
learn() {
    gateway=$(ip -o -4 addr show dev "$link" | grep -o '198[0-9.]*' | head -1)
    own=$(inside ip -o -4 addr show dev eth0 | grep -o '198[0-9.]*' | head -1)
}
meddle() { # FUNCTION
    learn
    "$1"
}

begin
up_meddled :
worked "control: stopped and let go, it goes on"
finish_run
worked "and ends"

for how in their_mac their_mac_inside their_address their_address_inside no_address their_down their_name; do
    begin
    up_meddled meddle $how
    failed_for "up: $how" "$(reason_for $how)"
    reason_kept "up: $how is in the record" "$(reason_for $how)"
    end_cell
    [ $how != their_name ] || ip link del theirs0 2>/dev/null # not ours any more; goes with its peer
    call unplug </dev/null
    down
    check "C-41 up: $how leaves nothing" same "$before_all" "$(ip -o link; nft list ruleset)"

    begin
    up
    meddle $how
    guard
    if [ $how = their_address ]; then # opens nothing
        worked "guard: $how"
        check "guard: $how is noted" contains "$(record '.advice[]')" \
            "link $link has 192.0.2.77/32 beside its own address"
    else
        failed_for "guard: $how" "$(reason_for $how)" guard
    fi
    [ $how != their_name ] || ip link set dev theirs0 name "$link"
    finish_run
    check "C-41 guard: $how leaves nothing" same "$before_all" "$(ip -o link; nft list ruleset)"
done
rm -rf "$state"/runs/*
nothing_left "no folder, no lock"
finish
