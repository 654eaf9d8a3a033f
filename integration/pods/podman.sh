#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# podman's own pods: the infra container carries no word of what it is, and the others name its
# namespaces. They share what the infra container was given, under a profile that makes pods.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" podman
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
open_world
start_broker model
profiles() { # CRI
    policy "{default: \"agent\", profiles: {agent: {cri: $1, endpoints:
        [{name: \"model\", listen: 8080, to: \"unix:$brokers/model/broker.sock\"}]}}}"
}
profiles true
set_up_podman "$runtime"
in_podman load --quiet --input "$lab/cell.tar" >/dev/null
podman_run --rm --runtime plain localhost/cell:1 true
settle() { settle_podman; }
pod() { in_podman pod create --cgroup-parent "/$cgroup" --infra-image localhost/cell:1 \
    --infra-command 'sleep infinity' "$@" >/dev/null; }
pod --name warm
in_podman pod rm --force --time 0 warm >/dev/null
settle
remember_kernel
ways=(tcp=1.1.1.1:443 tcp=203.0.113.2:7000 dns-udp=1.1.1.1 net-capabilities)
pod --name one
answers=$(podman_run --rm --pod one localhost/cell:1 attempt ask=8080 "${ways[@]}")
red check "a container of the pod reaches the model" contains "$answers" "ask=8080 reached"
for way in "${ways[@]}"; do
    red_only "tcp=|dns-" check "a container of the pod: refused, $way" contains "$answers" "$way refused"
done
podman_run --detach --name side --pod one localhost/cell:1 sleep infinity >/dev/null
in_podman exec side httpd -p 127.0.0.1:9999 -h /etc
answers=$(podman_run --rm --pod one localhost/cell:1 wget -qO- http://127.0.0.1:9999/passwd)
check "the containers of a pod share 127.0.0.1" contains "$answers" root:x:0:0
check "an exec reaches the model" contains "$(in_podman exec side attempt ask=8080)" "ask=8080 reached"
in_podman restart --time 0 side >/dev/null
check "so does one that was started again" contains "$(in_podman exec side attempt ask=8080)" \
    "ask=8080 reached"
red check "show folds the pod" same 'its pod is relayed, with 1' "$("$lab/bin/anchorhold" \
    --ah-state "$lab/state" show "$(in_podman pod inspect one | jq -r .InfraContainerID)" |
    sed -n '/^its pod/,$p' | awk 'NR == 1 {title = $0} / enforced /{live++} END {print title, live}')"
in_podman pod rm --force --time 0 one >/dev/null
check "nothing is left of the pod" nothing_left

podman_run --detach --name base localhost/cell:1 sleep infinity >/dev/null
check "outside of pods, --network container: shares what that one has" contains \
    "$(podman_run --rm --network container:base localhost/cell:1 attempt ask=8080)" "ask=8080 reached"
in_podman rm --force --time 0 base >/dev/null

in_podman pod create --name open --cgroup-parent "/$cgroup" --infra-image localhost/cell:1 \
    --infra-command 'sleep infinity' >/dev/null
podman_run --rm --runtime plain --pod open localhost/cell:1 true
profiles false
refusal=$(podman_run --rm --pod open localhost/cell:1 true 2>&1)
red check "under a profile that makes no pods a container of one is refused, and told the remedy" \
    contains "$refusal" 'give its handler'"'"'s profile "cri": true'
in_podman pod rm --force --time 0 open >/dev/null
check "nothing is left of the refusal" nothing_left
finish
