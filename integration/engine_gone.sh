#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An engine's runs are left alone by whoever is in another network namespace than it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/engines.sh"
. "$(dirname "$0")/cells.sh"
needs root "${AH_DELEGATE:-runc}" busybox jq ip nft getent ldd /usr/bin/python3 pgrep
enter_lab
make_rootfs "$lab/rootfs"
policy '{ceiling: "allowlist", tcp: "veth", tcp_endpoints: ["host:9000"]}'
ip netns add z # the first one leaves a mount
ip netns del z
remember_kernel

declare -A asks=(
    [sealed]='.annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9000"}'
    [filtered]='.annotations += {"dev.anchorhold.egress": "allowlist",
                                 "dev.anchorhold.allow": "192.0.2.0/24:443"}'
)

show() { "$runtime" show --json "$1" | jq -r "$2"; } # ID FILTER
held() { find "$lab/state"/{runs,subnets} -mindepth 1 -maxdepth 1 -printf '%f\n' | sort; }

# ---- in another network namespace ------------------------------------------------------------

for posture in sealed filtered; do
    bundle far "${asks[$posture]}" sleep infinity
    ip netns add x
    ip netns exec x sysctl -qw net.ipv4.ip_forward=1
    nsenter --net=/run/netns/x "$runtime" create --bundle "$lab/b/far" far </dev/null \
        >"$lab/log" 2>&1
    key=$(show far .key)
    check "$posture: a run in another network namespace" same "enforced $posture veth" \
        "$(show far '"\(.state) \(.posture) \(.technique)"')"
    before=$(held; jq -c .network "$lab/state/runs/$key/record.json")
    "$runtime" gc >"$lab/gc"
    check "$posture: it lives, and is left alone" same "$before enforced" \
        "$(held; jq -c .network "$lab/state/runs/$key/record.json") $(show far .state)"
    check "$posture: gc puts up no rules where it has no link" same "" "$(nft list ruleset)"
    nsenter --net=/run/netns/x "$runtime" delete --force far
    ip netns del x
    check "$posture: nothing is left" nothing_left
done

finish
