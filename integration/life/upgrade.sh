#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# This version shows, guards and takes down what an earlier one left alive: for each version in
# tests/fixtures/records live runs are given the records that it would have written.
#
#     AH_CAPTURE=DIRECTORY integration/run life/upgrade-runc   those of this version; a release commits them
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root "$plain_name" busybox jq ip nft getent ldd /usr/bin/python3 pgrep
records=$(tar -C "$here/../tests/fixtures/records" -c . | base64) # before they may be hidden
enter_lab
mkdir "$lab/records"
base64 -d <<<"$records" | tar -C "$lab/records" -x
make_rootfs "$lab/rootfs"
open_world
echo 1 >/proc/sys/net/ipv4/ip_forward
start_ready "$python" "$here/lib/world.py" tcp=9000
start_broker model
policy '{ceiling: "allowlist", allow_by: "packets", tcp: "veth", tcp_endpoints: ["host:9000"]}'
remember_kernel

declare -A asks=(
    [relayed]=$(asks_for model)
    [sealed]='.annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9000"}'
    [filtered]='.annotations += {"dev.anchorhold.egress": "allowlist",
                                 "dev.anchorhold.allow": "1.1.1.1, 203.0.113.0/24:22"}'
)
declare -A granted=(
    [relayed]=ask=8080 [sealed]=tcp=127.0.0.1:8080 [filtered]=tcp=1.1.1.1:443
)

# shellcheck disable=SC2016
# The members that are this run's own: who and where it is. The rest stays as the earlier version
# had it.
own='def own: with_entries(select(.value != null));
     ($live[0] | {key, id, root, generation, sources, delegate, bundle, config_digest, boot_id,
                  host_netns, host_pidns, creator, init, netns, created} | own) as $run
     | ($live[0].network // {} | {subnet, link, links, node, guest} | own) as $network
     | $old[0] + $run | if .network then .network += $network else . end'

# create OLD ID: a container that has been made, not started, with a record of that file's.
create() {
    local posture
    posture=$(basename "$1" .json)
    bundle "$2" "${asks[$posture]}" sh -c 'exec sleep infinity'
    # Its output is the container's for as long as that lives.
    "$runtime" create --bundle "$lab/b/$2" "$2" </dev/null >"$lab/log" 2>&1 ||
        { cat "$lab/log"; return 1; }
    record=$lab/state/runs/$("$runtime" show --json "$2" | jq -r .key)/record.json
    [ -z "${AH_CAPTURE:-}" ] || # of no machine
        jq '.boot_id = "00000000-0000-0000-0000-000000000000"' "$record" >"$AH_CAPTURE/$posture.json"
    jq -n --slurpfile old "$1" --slurpfile live "$record" "$own" >"$lab/record" &&
        cat "$lab/record" >"$record"
}
shown() { # OLD ID: its sentence, and nothing of it is lost
    local now
    now=$("$runtime" show --json "$2")
    same "$(jq -r .sentence "$1")" "$(jq -r .sentence <<<"$now")" && same "[]" \
        "$(jq -c --slurpfile old "$1" '($old[0] | keys) - keys' <<<"$now")"
}
confined() { # ID GRANTED
    local answers
    answers=$("$runtime" exec "$1" attempt "$2" tcp=9.9.9.9:443)
    contains "$answers" "$2 reached" && contains "$answers" "tcp=9.9.9.9:443 refused"
}
deleted() { # ID
    "$runtime" delete --force "$1" && nothing_left &&
        same ended "$("$runtime" show --json "$1" | jq -r .state)"
}
swept() { # OLD ID
    create "$1" "$2" || return
    init=$(jq .init.pid "$record")
    kill -KILL "$init"
    wait_for_end "$init"
    "$plain_runtime" delete --force "$2" 2>/dev/null
    "$runtime" gc && nothing_left
}

for old in "$lab"/records/*/*.json; do
    posture=$(basename "$old" .json)
    version=$(basename "$(dirname "$old")")
    id=$posture-$version
    check "$version, $posture: its record is taken" create "$old" "$id"
    check "$version, $posture: and shown, with all there is in it" shown "$old" "$id"
    check "$version, $posture: the run starts" "$runtime" start "$id"
    check "$version, $posture: it reaches what it was granted, and no more" \
        confined "$id" "${granted[$posture]}"
    check "$version, $posture: gc leaves it" same "" "$("$runtime" gc)"
    check "$version, $posture: it stays confined" confined "$id" "${granted[$posture]}"
    check "$version, $posture: deleted, nothing is left but its last record" deleted "$id"
    check "$version, $posture: killed, gc leaves nothing of it" swept "$old" "$id-killed"
done

stop "$broker"
check "nothing is left" nothing_left
finish
