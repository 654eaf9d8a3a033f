#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# podman with a hook of ours and no runtime: contrib/podman/hooks.d edits the config.json that podman
# writes, and what that asks of the runtime does the rest.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}" podman
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
policy '{ceiling: "allowlist", allow_by: "packets"}'
open_world
name_hosts
start_broker model
set_up_podman "$runtime"
in_podman load --quiet --input "$lab/cell.tar" >/dev/null
mkdir "$lab/hooks.d"
jq --arg shim "$lab/bin/anchorhold" --arg policy "$lab/policy.json" --arg state "$lab/state" '
    .hook.path = $shim | .hook.args = [$shim, "--ah-policy", $policy, "--ah-state", $state] +
        .hook.args[1:]' "$lab/podman/hooks.d/anchorhold.json" >"$lab/hooks.d/anchorhold.json"
settle() { settle_podman; }
asks() { echo "dev.anchorhold.endpoints=model:8080=unix:$brokers/$1/broker.sock"; }
cell() { # OPTION... IMAGE WORD...: by podman's own runtime
    podman_run --rm --runtime plain --hooks-dir "$lab/hooks.d" "$@"
}
cell localhost/cell:1 true
remember_kernel

greedy=(--cap-add NET_ADMIN --cap-add NET_RAW --cap-add MKNOD)
declare -A hooked control
take_answers hooked < <(cell "${greedy[@]}" --annotation "$(asks model)" localhost/cell:1 \
    attempt "${ways[@]#* | }")
take_answers control < <(podman_run --rm --runtime plain --network host --privileged \
    localhost/cell:1 attempt "${ways[@]#* | }")
judge hooked ", by the hook alone"
nft delete table inet evil
ip link del evil1
ip addr del 198.51.100.1/32 dev lo
ip route del 198.51.100.0/24

answers=$(cell --annotation "$(asks model)" localhost/cell:1 attempt ask=8080)
check "the answer arrives" contains "$answers" "ask=8080 reached"
check "nothing is left" nothing_left
check "its last record says what held" same '["ended","relayed",["netns"]]' \
    "$(jq -sc 'max_by(.ended) | [.state, .posture, .verified[:1]]' "$lab"/state/ended/*.json)"
granted=$(cell --annotation dev.anchorhold.egress=allowlist \
    --annotation "\"dev.anchorhold.allow=$granted_rules\"" "${greedy[@]}" localhost/cell:1 \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")
judge_granted "in podman's network" "$granted"
check "nothing is left of that" nothing_left
check "a container that the hook does not choose is podman's" contains \
    "$(cell --network host localhost/cell:1 attempt tcp=203.0.113.2:7000)" reached

check "an empty word of ours chooses it as well" refused_at_once \
    "$(cell --network host --annotation dev.anchorhold.endpoints= localhost/cell:1 \
        attempt tcp=203.0.113.2:7000)" tcp=203.0.113.2:7000

refusal=$(cell --annotation dev.anchorhold.egress=closed localhost/cell:1 true 2>&1)
check "a refusal stops the container" contains "$refusal" "precreate]: exit status 1"
id=$(grep -o '[0-9a-f]\{64\}' <<<"$refusal" | head -1) # all that podman shows of it
check "and show has the reason" contains \
    "$("$lab/bin/anchorhold" --ah-state "$lab/state" show "${id:0:12}")" "invalid_request"
check "nothing is left of it" nothing_left
refusal=$(podman_run --rm --hooks-dir "$lab/hooks.d" --annotation "$(asks model)" localhost/cell:1 \
    true 2>&1)
check "hook and runtime together are refused, and told of each other" contains "$refusal" \
    "podman's precreate hook and this runtime are not for the same container"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc >/dev/null
check "nothing is left of the two" nothing_left

# podman killed between its hook and the runtime: the record is that podman's, and gc takes it.
podman_run --detach --name base --runtime plain localhost/cell:1 sleep infinity >/dev/null
jq '.annotations."dev.anchorhold.egress" = "off"' "$(in_podman inspect base |
    jq -r '.[0].OCIConfigPath')" >"$lab/config.given"
in_podman rm --force --time 0 base >/dev/null
mkdir -p "$(jq -r .root.path "$lab/config.given")" # where podman has it mounted when it asks
alone() { "$lab/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state "$lab/state" precreate; }
planned_and_gone() {
    (alone <"$lab/config.given" >"$lab/config.answered"; true)
    contains "$(cat "$lab/config.answered")" anchorhold-hook &&
        same planned "$(jq -r .state "$lab"/state/runs/*/record.json)" &&
        "$lab/bin/anchorhold" --ah-state "$lab/state" gc && nothing_left
}
check "gc takes what a podman that is gone had planned" planned_and_gone
# podman's service does not go, and asks again for a container that it could not start.
again() {
    alone <"$lab/config.given" >"$lab/config.answered" &&
        alone <"$lab/config.given" >"$lab/config.answered" &&
        contains "$(cat "$lab/config.answered")" anchorhold-hook &&
        same 1 "$(find "$lab/state/runs" -name record.json | wc -l)"
}
check "a podman that asks again is answered again" again
check "and the one before is on record" contains \
    "$(jq -r .reason "$lab"/state/ended/*.json)" "podman did not start it"
check "a config.json that says no id is refused" contains \
    "$(jq 'del(.mounts) | del(.linux.cgroupsPath)' "$lab/config.given" | alone 2>&1)" \
    "no container id in it"
check "and half of one" contains "$(head -c 500 "$lab/config.given" | alone 2>&1)" config_ambiguous
"$lab/bin/anchorhold" --ah-state "$lab/state" gc >/dev/null
check "nothing is left of those" nothing_left

# ---- where contrib/podman/README.md has it installed ----------------------------------------------

# In the laboratory's own /etc; the hook then has its policy and its state where an installation has.
if only_where overlay "C-11 the hook where the manual puts it is called"; then
    mkdir "$lab/etc" "$lab/etc.work"
    mount -t overlay -o "lowerdir=/etc,upperdir=$lab/etc,workdir=$lab/etc.work" overlay /etc
    mkdir -p /etc/anchorhold /etc/containers/{oci/hooks.d,containers.conf.d}
    cp "$lab/policy.json" /etc/anchorhold
    mv "$lab/containers.conf" /etc/containers/containers.conf.d/50-lab.conf
    unset CONTAINERS_CONF
    sed "s,/usr/local/bin,$lab/bin," "$lab/podman/hooks.d/anchorhold.json" >/etc/containers/oci/hooks.d/anchorhold.json
    installed() { # what a container that asks for no network reaches, and its record's posture
        local word
        rm -rf /run/anchorhold/ended
        word=$(podman_run --rm --runtime plain --network host --annotation dev.anchorhold.egress=off \
            localhost/cell:1 attempt tcp=203.0.113.2:7000)
        settle
        echo "$(cut -d' ' -f2 <<<"$word" | head -1) $(cat /run/anchorhold/ended/*.json 2>/dev/null | jq -r .posture)"
    }
    check "without its drop-in podman does not read that folder" same "reached: " "$(installed)"
    cp "$lab/podman/anchorhold-hook.conf" /etc/containers/containers.conf.d
    check "C-11 the hook where the manual puts it is called" same "refused: severed" "$(installed)"
    umount /etc
fi
finish
