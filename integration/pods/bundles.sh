#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The containers of a pod, as a CRI hands them to a runtime: the sandbox's namespaces are joined by
# path. What the sandbox was given all of them have at 127.0.0.1; a container may ask for less, and
# gets more from nobody.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
open_world
start_broker model
start_broker other
cri_policy='{default: "pods", ceiling: "allowlist", profiles: {pods: {cri: true}}}'
policy "$cri_policy"

# What CNI does before a sandbox is created: a namespace with a way out.
plug_in() { # NAME NUMBER
    ip netns add "$1"
    ip link add "p$2" type veth peer name eth0 netns "$1"
    ip addr add "10.90.$2.1/24" dev "p$2"
    ip link set "p$2" up
    ip -n "$1" link set lo up
    ip -n "$1" addr add "10.90.$2.2/24" dev eth0
    ip -n "$1" link set eth0 up
    ip -n "$1" route add default via "10.90.$2.1"
    nsenter --net="/run/netns/$1" sh -c 'echo 0 0 >/proc/sys/net/ipv4/ping_group_range'
}
echo 1 >/proc/sys/net/ipv4/ip_forward
ip -n internet route add 10.90.0.0/16 via 203.0.113.2
plug_in cni-one 1
plug_in cni-two 2

netns() { # PATH: a jq filter
    echo '.linux.namespaces |= map(if .type == "network" then .path = "'"$1"'" else . end)'
}
is_a() { # sandbox|container: as containerd says it
    echo ".annotations += {\"io.kubernetes.cri.container-type\": \"$1\"}"
}
asks() { echo ".annotations += {\"dev.anchorhold.$1\": \"$2\"}"; }

# sandbox ID CNI-NAME FILTER: stays; $pause is its first process.
sandbox() {
    bundle "$1" "$(is_a sandbox) | $(netns "/var/run/netns/$2")
        | .linux.resources.cpu = {shares: 2} | $3" sh -c 'echo up; exec sleep infinity'
    start_ready "$runtime" run --bundle "$lab/b/$1" "$1" </dev/null
    pause=$(pid_of "$1")
}
# container ID FILTER WORD...: of the pod of $pause, to its end.
container() {
    local id=$1 filter=$2
    shift 2
    bundle "$id" "$(is_a container) | $(of_pod) | $filter" "$@"
    in_cell "$id"
}
of_pod() { # in the namespaces of $pause
    echo '.linux.namespaces |= map(if .type == "network" then .path = "/proc/'"$pause"'/ns/net"
        elif .type == "ipc" or .type == "uts" then .path = "/proc/'"$pause"'/ns/\(.type)"
        else . end)'
}
stays() { # ID FILTER
    bundle "$1" "$(is_a container) | $(of_pod) | $2" sh -c 'echo up; exec sleep infinity'
    start_ready "$runtime" run --bundle "$lab/b/$1" "$1" </dev/null
}
pid_of() { "$delegate_path" state "$1" 2>/dev/null | grep -o '"pid": *[0-9]*' | grep -o '[0-9]*' || echo 0; }
record() { "$lab/bin/anchorhold" --ah-state "$lab/state" show --json "$1"; }
shown() { "$lab/bin/anchorhold" --ah-state "$lab/state" show "$1"; }
end() {
    local id init
    for id in "$@"; do
        init=$(pid_of "$id")
        "$runtime" kill "$id" KILL 2>/dev/null
        [ "$init" = 0 ] || wait_for_end "$init"
        "$runtime" delete --force "$id" 2>/dev/null
    done
}
refused_as() { # CODE WORDS ID FILTER: before anything runs
    local output
    output=$(container "$3" "$4" true 2>&1) && { echo "it ran"; return 1; }
    contains "$output" "$2" && contains "$output" "($1)"
}
ways=(tcp=1.1.1.1:443 tcp=203.0.113.2:7000 tcp=10.90.1.1:7000 dns-udp=1.1.1.1 ping=1.1.1.1
    abstract=host-service net-capabilities)
refused() { # TITLE ANSWERS
    local way
    for way in "${ways[@]}"; do
        check "$1: refused, $way" contains "$2" "$way refused"
    done
}

# ---- a pod that reaches its model ---------------------------------------------------------------

remember_kernel
bundle bare "$(netns /var/run/netns/cni-one)" attempt "${ways[@]}"
control=$(without_us bare .)
for way in "${ways[@]:0:5}"; do
    check "control: without us, $way" contains "$control" "$way reached"
done
sandbox one cni-one "$(asks endpoints "model:8080=unix:$brokers/model/broker.sock")"
model=$(asks endpoints "model:8080=unix:$brokers/model/broker.sock")
greedy='.process.capabilities[] += ["CAP_NET_ADMIN", "CAP_NET_RAW"]'
answers=$(container agent "$model | $greedy" attempt ask=8080 "${ways[@]}" 'sh=getent ahosts x.test')
red check "C-02 a container of the pod reaches the model" contains "$answers" "ask=8080 reached"
check "and names are refused by the pod's relay" contains "$answers" "sh=getent ahosts x.test refused"
red_only "tcp=|dns-|ping=" refused "a container of the pod" "$answers"
check "its record says whose network it has" same '["relayed","pod",true]' "$(record agent |
    jq -c '[.posture, .technique, (.pod | test("^[0-9a-f]{12}\\.[0-9a-f]{16}$"))]')"
check "the sandbox's relay has a share of the processor" same 1024 \
    "$(cat /sys/fs/cgroup/{cpu,cpu\,cpuacct}/"$cgroup/one/cpu.shares" 2>/dev/null ||
        sed 's/^39$/1024/' "/sys/fs/cgroup/$cgroup/one/cpu.weight")" # the second version counts so

bundle strict "$(is_a sandbox) | $(netns /var/run/netns/cni-two) | $(asks egress off) |
    $(asks require asked)" echo it ran
check "a sandbox under require: asked is what it asked to be" contains "$(in_cell strict 2>&1)" "it ran"
stays sidecar "$model"
"$runtime" exec sidecar httpd -p 127.0.0.1:9999 -h /etc
answers=$(container beside "$model" sh -c 'wget -qO- http://127.0.0.1:9999/passwd && attempt ask=8080')
check "containers of a pod share 127.0.0.1" contains "$answers" root:x:0:0
check "and the model" contains "$answers" "ask=8080 reached"
answers=$("$runtime" exec sidecar attempt ask=8080 "${ways[@]}")
check "an exec reaches the model as well" contains "$answers" "ask=8080 reached"
red_only "tcp=|dns-" refused "an exec" "$answers"
check "an exec sees no proxy variable" same "" "$("$runtime" exec sidecar env | grep -i proxy)"

answers=$(container shared "$model | .linux.namespaces |= map(if .type == \"pid\"
    then .path = \"/proc/$pause/ns/pid\" else . end)" attempt ask=8080 "${ways[@]}")
check "a container that shares the pod's processes reaches the model" \
    contains "$answers" "ask=8080 reached"
refused "a container that shares the pod's processes" "$answers"
sidecar_init=$(pid_of sidecar)
answers=$(container debugger "$model | .linux.namespaces |= map(if .type == \"pid\"
    then .path = \"/proc/$sidecar_init/ns/pid\" else . end)" attempt ask=8080)
check "and one that shares another container's" contains "$answers" "ask=8080 reached"

# ---- less, and more -----------------------------------------------------------------------------

answers=$(container less "$(asks egress off)" attempt ask=8080 "${ways[@]}")
check "a container that asks for less has a network of its own" contains "$answers" "ask=8080 refused"
refused "a container that asks for less" "$answers"
check "its record says so" same '["severed","none"]' "$(record less | jq -c '[.posture, .technique]')"
check "it may not share the pod's processes" refused_as bundle_voids_posture \
    "of a pod whose network is not its own" less "$(asks egress off) | .linux.namespaces |=
    map(if .type == \"pid\" then .path = \"/proc/$pause/ns/pid\" else . end)"
red check "an endpoint that the pod lacks is refused" refused_as endpoint_unavailable \
    "the container's pod was created without it" more \
    "$(asks endpoints "model:8080=unix:$brokers/model/broker.sock, other:8081=unix:$brokers/other/broker.sock")"
wide="$model | $(asks egress allowlist) | $(asks allow 1.1.1.1)"
answers=$(container wide "$wide" attempt ask=8080 "${ways[@]}")
refused "an allow list in a pod without one" "$answers"
check "it is told why" same "Network: allowlist — sealed to the run's model broker: its pod has no more" \
    "$(record wide | jq -r .sentence)"
check "and refused when it is required" refused_as posture_unavailable \
    "its pod has no more than relayed" wide "$wide | $(asks require asked)"

# ---- whose pod ----------------------------------------------------------------------------------

red check "the words of two engines are refused" refused_as invalid_request "one is forged" forged \
    "$model | .annotations += {\"io.kubernetes.cri-o.ContainerType\": \"container\"}"
check "a word nobody knows is refused" refused_as config_ambiguous "expected sandbox or container" odd \
    "$model | $(is_a pause)"
one=$pause
bundle alien "$(netns /var/run/netns/cni-two)" sh -c 'echo up; exec sleep infinity'
start_ready "$delegate_path" run --bundle "$lab/b/alien" alien </dev/null
pause=$(pid_of alien)
red check "R19 a container whose sandbox has no record is refused" refused_as posture_unavailable \
    "the sandbox of its pod has no record of ours" orphan "$model |
    .annotations += {\"io.kubernetes.cri.sandbox-id\": \"one\"}"
end alien
sandbox two cni-two "$(asks endpoints "other:8080=unix:$brokers/other/broker.sock")"
answers=$(container stranger "$(asks egress off) |
    .annotations += {\"io.kubernetes.cri.sandbox-id\": \"one\"}" attempt ask=8080)
check "R19 an annotation that names another pod's sandbox leads nowhere" \
    contains "$answers" "ask=8080 refused"
check "nor to the other's broker" refused_as endpoint_unavailable \
    "the container's pod was created without it" stranger "$model |
    .annotations += {\"io.kubernetes.cri.sandbox-id\": \"one\"}"
check "a sandbox that names a pod's namespace gets one of its own" contains \
    "$(bundle claimed "$(is_a sandbox) | $(netns "/proc/$pause/ns/net")" attempt ask=8080 && in_cell claimed)" \
    "ask=8080 refused"
policy '{ceiling: "allowlist"}'
answers=$(container plain "$(asks egress off) | .linux.namespaces |= map(if .type == \"ipc\"
    then del(.path) else . end)" attempt ask=8080 "${ways[@]}")
check "under a profile that makes no pods a claim is no claim" contains "$answers" "ask=8080 refused"
check "R23 a pod's container is refused there, and told the remedy" refused_as bundle_voids_posture \
    'give its handler'"'"'s profile "cri": true' plain "$model"
policy "$cri_policy"
pause=$one

# ---- what comes later ---------------------------------------------------------------------------

bundle late "$(is_a container) | $(of_pod) | $model" attempt ask=8080 "${ways[@]}"
"$runtime" create --bundle "$lab/b/late" late >"$lab/late.out" </dev/null
ip link add late0 type veth peer name late1
ip link set late1 netns "$pause"
nsenter --target "$pause" --net ip addr add 192.0.2.1/24 dev late1
late=$(pid_of late)
"$runtime" start late
wait_for_end "$late"
check "a link that came between create and start is gone" same lo \
    "$(nsenter --target "$pause" --net ip -o link | cut -d: -f2 | tr -d ' ')"
refused "after it" "$(cat "$lab/late.out")"
end late

# ---- what is left -------------------------------------------------------------------------------

check "show folds a pod" contains "$(shown one | sed -n '/^its pod/,$p' | tr -s ' ')" \
    "its pod is relayed, with
sidecar enforced relayed the pod's network
"
end one
answers=$("$runtime" exec sidecar attempt ask=8080 "${ways[@]}")
refused "when the sandbox is gone" "$answers"
check "when the sandbox is gone the model is, too" contains "$answers" "ask=8080 refused"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc >/dev/null
check "gc leaves the container that lives" contains \
    "$("$lab/bin/anchorhold" --ah-state "$lab/state" runs)" sidecar
check "and nobody joins a pod that has ended" refused_as posture_unavailable \
    "the sandbox of its pod has no record of ours" behind "$model | .linux.namespaces |=
    map(if .type == \"network\" then .path = \"/proc/$sidecar_init/ns/net\"
    else del(.path) end)"
pause=$("$delegate_path" state two | jq .pid)
bundle early "$(is_a container) | $(of_pod) | $(asks endpoints "other:8080=unix:$brokers/other/broker.sock")" \
    echo it ran
"$runtime" create --bundle "$lab/b/early" early >"$lab/early.out" </dev/null
end two
ip link add late2 type veth peer name late3
ip link set late3 netns "$(pid_of early)"
check "a link that comes when the sandbox is gone stops the start" contains \
    "$("$runtime" start early 2>&1)" "the sandbox of its pod is gone"
check "and the command did not run" same "" "$(cat "$lab/early.out")"
ip link del late2 2>/dev/null
end sidecar
check "nothing is left" nothing_left

# ---- an allow list, in the network that CNI made ------------------------------------------------

cp /etc/hosts "$lab/hosts"
echo '1.1.1.1 allowed.test' >>"$lab/hosts"
mount --no-mtab --bind "$lab/hosts" /etc/hosts
remember_kernel
grants="$(asks egress allowlist) | $(asks allow "allowed.test, 8.8.8.8:80") | $model"
sandbox open cni-one "$grants"
granted=('sh=getent ahosts allowed.test' tcp=1.1.1.1:443 tcp=8.8.8.8:80 ask=8080)
denied=(tcp=1.1.1.1:80 tcp=8.8.8.8:443 tcp=9.9.9.9:443 tcp=203.0.113.2:7000 dns-udp=1.1.1.1
    net-capabilities)
answers=$(container inside "$grants | $greedy" attempt "${granted[@]}" "${denied[@]}")
for way in "${granted[@]}"; do
    check "filtered: granted, $way" contains "$answers" "$way reached"
done
for way in "${denied[@]}"; do
    red_only "tcp=" check "filtered: refused, $way" contains "$answers" "$way refused"
done
check "filtered: its record" same '["filtered","pod","Network: allowlist — confined: 2 destinations and the run'"'"'s model broker"]' \
    "$(record inside | jq -c '[.posture, .technique, .sentence]')"
answers=$(container off "$(asks egress off)" attempt ask=8080 tcp=1.1.1.1:443)
check "filtered: a container may ask for nothing" contains "$answers" "tcp=1.1.1.1:443 refused"
check "but not for a smaller list" refused_as posture_unavailable \
    "it asks for less than its pod's network gives" fewer \
    "$(asks egress allowlist) | $(asks allow "8.8.8.8:80") | $model"
answers=$(container some "$(asks egress allowlist) |
    $(asks allow "allowed.test, 8.8.8.8:80, 9.9.9.9") | $model" attempt tcp=9.9.9.9:443 tcp=1.1.1.1:443)
check "filtered: a longer list gets the pod's" contains "$answers" "tcp=9.9.9.9:443 refused"
check "filtered: and the pod's it gets" contains "$answers" "tcp=1.1.1.1:443 reached"

# Open in a cell: with the capabilities of such a container it could take down what confines the rest.
policy '{default: "pods", ceiling: "open", profiles: {pods: {cri: true}}}'
loose="$(asks egress open) | $greedy"
answers=$(container loose "$loose | $model" attempt "${granted[@]}" "${denied[@]}" nft-table=evil)
for way in "${denied[@]}" nft-table=evil; do
    check "a container that asks for open in a filtered pod: refused, $way" \
        contains "$answers" "$way refused"
done
check "it gets what the pod has" contains "$answers" "tcp=8.8.8.8:80 reached"
bundle loose "$(is_a sandbox) | $(netns "/var/run/netns/cni-one") | $loose" true
check "a sandbox that asks for open where a pod is confined is refused" contains \
    "$(in_cell loose 2>&1)" "which is confined"
policy '{default: "open", profiles: {open: {}}}'
bundle loose "$(of_pod) | $greedy" true
red check "and an open container of a handler that makes no pods" contains "$(in_cell loose 2>&1)" \
    "which is confined"
policy '{default: "open", annotations: false, profiles: {open: {}}}'
red check "also where no annotation is read" contains "$(in_cell loose 2>&1)" "which is confined"
for words in '"dev.anchorhold.run": "x"' '"dev.anchorhold.nonsense": "x"'; do
    bundle loose "$(of_pod) | $greedy | .annotations += {$words}" echo it ran
    red check "nor with an annotation that is wrong: $words" \
        same "refused" "$(in_cell loose 2>&1 | grep -q 'it ran' && echo ran || echo refused)"
done
bundle loose "$(of_pod) | $greedy" true
bundle loose . echo it ran
check "but for that, open is open" contains "$(in_cell loose 2>&1)" "it ran"
policy "$cri_policy"

# The node's own later addresses are refused by a rule at the node, which hangs from the pod's.
stays side "$grants"
kill -KILL "$pause"
wait_for_end "$pause"
"$lab/bin/anchorhold" --ah-state "$lab/state" gc >/dev/null
check "filtered: the node's rules outlive the sandbox while a container lives" contains \
    "$(nft list table inet anchorhold)" 10.90.1.2
end side open
"$lab/bin/anchorhold" --ah-state "$lab/state" gc >/dev/null
check "filtered: nothing is left" nothing_left
finish
