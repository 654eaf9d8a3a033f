#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pods of a real containerd, as a kubelet asks for them, in each posture: what is reached, and what
# of a pod's life works (the table of contrib/kubernetes/README.md).
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
. "$(dirname "$0")/../lib/node.sh"
needs "${cri_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
pods_own='{annotation:io.kubernetes.cri.sandbox-namespace}.{annotation:io.kubernetes.cri.sandbox-name}'
policy '{default: "pods", ceiling: "allowlist", profiles: {pods: {cri: true},
    agent: {cri: true, env: {MODEL: "http://127.0.0.1:8080"},
        endpoints: [{name: "model", listen: 8080, to: "unix:'"$brokers/$pods_own"'/broker.sock"}]}}}'
open_world
name_hosts
start_broker model
start_broker cells.profiled
start_node < <(profile_handler agent)
published='.port_mappings = [{container_port: 7001, host_port: 8089}]'
run_pod warm plain "$published" && remove_pod warm # makes the bridge and portmap's chains
settle
remember_kernel
model=$(asks endpoints "$(endpoint model 8080)")
words=("${ways[@]#* | }")

# ---- what works ---------------------------------------------------------------------------------

# serve_pages POD/NAME PORT: a container that listens when this returns.
serve_pages() {
    start_container "$1" "$greedy" httpd -f -p "$2" -h /etc
    in_container "$1" sh -c "until nc 127.0.0.1 $2 </dev/null; do :; done" >/dev/null
}

exec_passes_all_on() { # POD/NAME
    local status
    in_container "$1" sh -c 'echo out; echo err >&2; exit 7' >"$lab/out" 2>"$lab/err"
    status=$?
    same "out err 7" "$(cat "$lab/out") $(cat "$lab/err") $status"
}

restart() { # POD
    cri stop "$(id_of "$1/sidecar")" && cri rm "$(id_of "$1/sidecar")" && serve "$1/sidecar" 7001 &&
        same "from $1/sidecar" "$(call "$1/agent" 127.0.0.1 7001)"
}

# from_node: asks a pod as a kubelet, or its user, does from the node.
from_node() { # POD PORT [REQUEST]
    printf '%s' "${3:-}" | busybox nc -w 5 "$(cri podip "$(id_of "$1")")" "$2" 2>/dev/null | tail -n 1
}
from_outside() { # what the host port leads to
    nsenter --net=/run/netns/internet busybox nc -w 5 203.0.113.2 8089 </dev/null 2>/dev/null
}
resize() { # POD/NAME
    cri resize "$(id_of "$1")" $((64 << 20)) && same $((64 << 20)) "$(find /sys/fs/cgroup \
        -path "*/$cgroup/*$(id_of "$1")*" \( -name memory.limit_in_bytes -o -name memory.max \) \
        -exec cat {} +)"
}
port_forward() {
    cri portforward "$(id_of "$1")" 7001 2>/dev/null </dev/null
}

# works POD NODE PODS: a check for each line of the table. The pod is there, and stays, with an agent
# and a sidecar in it. NODE and PODS are "" or "no ": whether who calls from there is served.
works() {
    local mine="from $1/sidecar" page='root:x:0:0:root:/:/bin/sh' theirs= others
    local outside beside
    [ -n "$3" ] || theirs=$mine
    check "$1: an init container" same "first 0" "$(to_its_end "$1/init" . echo first) $?"
    serve "$1/sidecar" 7001
    serve_pages "$1/agent" 7002
    check "$1: a sidecar" same "from $1/sidecar" "$(call "$1/agent" 127.0.0.1 7001)"
    to_its_end "$1/talker" . sh -c 'echo out; echo err >&2' >/dev/null
    check "$1: logs" same "stderr F err stdout F out" \
        "$(cut -d' ' -f2- "$lab/pods/$1/talker.0.log" | sort | xargs)"
    check "$1: exec" exec_passes_all_on "$1/agent"
    check "$1: an exec probe" same "0 1" \
        "$(in_container "$1/agent" true; echo $?) $(in_container "$1/agent" false; echo $?)"
    check "$1: a restart" restart "$1"
    # Whom a filter drops waits for seconds.
    from_outside >"$lab/outside" &
    outside=$!
    call peer/other "$(cri podip "$(id_of "$1")")" 7001 >"$lab/beside" 2>/dev/null &
    beside=$!
    check "$1: another memory limit" resize "$1/agent"
    others="from peer/granted"
    [ -z "$2" ] || { mine=""; page=""; others=""; }
    check "$1: $2call of another pod" same "$others" "$(call "$1/agent" "$peer" 7001 2>/dev/null)"
    check "$1: $2TCP probe" same "$mine" "$(from_node "$1" 7001)"
    check "$1: $2HTTP probe" same "$page" "$(from_node "$1" 7002 $'GET /passwd HTTP/1.0\r\n\r\n')"
    check "$1: $2port-forward" same "$mine" "$(port_forward "$1")"
    wait $outside $beside
    check "$1: ${3}call of its host port" same "$theirs" "$(<"$lab/outside")"
    check "$1: ${3}call from another pod" same "$theirs" "$(<"$lab/beside")"
}

run_pod peer plain
serve peer/granted 7001
serve peer/other 7003
peer=$(cri podip "$(id_of peer)")
run_pod plain plain "$published"
works plain "" ""
check "plain: the world is reached" contains \
    "$(to_its_end plain/first . attempt tcp=1.1.1.1:443)" reached
remove_pod plain
run_pod open plain "$on_host | $privileged"
take_answers control < <(to_its_end open/control "$on_host | $privileged" attempt "${words[@]}")
remove_pod open
nft delete table inet evil
ip link del evil1
ip addr del 198.51.100.1/32 dev lo
ip route del 198.51.100.0/24

# ---- egress off ---------------------------------------------------------------------------------

declare -A severed relayed execd
# The ways by which a pod of the runtime alone gets out, in the network of CNI.
ours="B-04|B-06|B-07|B-08|B-17|B-25|B-28|B-33|B-35|B-54|B-58"
run_pod severed anchorhold "$published"
red_only ": no " works severed "no " "no "
take_answers severed < <(to_its_end severed/first "$greedy" attempt "${words[@]}")
red_only "$ours" judge severed ", severed"
remove_pod severed

run_pod relayed anchorhold "$model | $published"
red_only ": no " works relayed "no " "no "
take_answers relayed < <(to_its_end relayed/first "$greedy" attempt "${words[@]}")
red_only "$ours" judge relayed ", relayed"
take_answers execd < <(in_container relayed/agent attempt "${words[@]}")
red_only "$ours" judge execd ", from an exec"
red check "relayed: the model answers" contains \
    "$(to_its_end relayed/first . attempt ask=8080)" "ask=8080 reached"
red check "relayed: it answers an exec" contains \
    "$(in_container relayed/agent attempt ask=8080)" "ask=8080 reached"
red check "relayed: no proxy variable" same "" "$(to_its_end relayed/first . env | grep -i proxy)"
red check "relayed: an exec sees none either" same "" \
    "$(in_container relayed/agent env | grep -i proxy)"

names=(relayed relayed/agent relayed/sidecar)
ids=$(for name in "${names[@]}"; do id_of "$name"; done | sort)
folded() {
    "$runtime" show "$(id_of relayed)" | sed -n '/^its pod/,$p' | tr -s ' '
}
red check "show folds a pod" same "its pod is relayed, with
$(for name in "${names[@]:1}"; do echo "$(id_of "$name") enforced relayed the pod's network"; done | sort)
6 ended relayed the pod's network" \
    "$(folded | head -n 1; folded | grep enforced | sort
    folded | grep -c ended) $(folded | sed -n 's/^[0-9a-f]\{64\} ended/ended/p' | sort -u)"
red check "runs has each of them" same "$ids" "$("$runtime" runs --json | jq -r '.[].id' | sort)"
red check "a sandbox needs no /tmp" same '[]' "$(record_of relayed | jq -c .advice)"
remove_pod relayed
red check "their records have ended" same "ended ended ended" \
    "$(for name in "${names[@]}"; do record_of "$name" | jq -r .state; done | xargs)"
# A handler is a profile, whose variables and endpoints all containers have; the broker by the pod's
# namespace and name, which containerd writes.
run_pod profiled anchorhold-agent
serve profiled/sidecar 7001
start_container profiled/agent . sleep infinity
for way in ask=8080 'sh=[ "$MODEL" = http://127.0.0.1:8080 ]' tcp=127.0.0.1:7001; do
    red_only "ask=|sh=" check "a profile's pod: reached, $way" contains \
        "$(to_its_end profiled/first . attempt "$way")" "$way reached"
    red_only "ask=|sh=" check "a profile's pod: reached from an exec, $way" contains \
        "$(in_container profiled/agent attempt "$way")" "$way reached"
done
check "a profile's pod: refused, tcp=1.1.1.1:443" contains \
    "$(in_container profiled/agent attempt tcp=1.1.1.1:443)" "refused"
check "a profile's pod: its endpoints stay" contains \
    "$(to_its_end profiled/first "$(asks endpoints "[]")" attempt ask=8080)" "ask=8080 reached"
remove_pod profiled

# By the restricted Pod Security Standard, with the sysctls that containerd 2 sets by itself.
user='.linux.security_context += {run_as_user: {value: "1000"}, run_as_group: {value: "1000"}}'
run_pod restricted anchorhold "$model | $user | .linux.sysctls = {
    \"net.ipv4.ip_unprivileged_port_start\": \"0\", \"net.ipv4.ping_group_range\": \"0 2147483647\"}"
answers=$(to_its_end restricted/first "$user | .linux.security_context += {readonly_rootfs: true,
    no_new_privs: true, capabilities: {drop_capabilities: [\"ALL\"]},
    seccomp: {profile_type: \"RuntimeDefault\"}}" \
    attempt ask=8080 bind-port=80 'sh=getent ahosts example.test' tcp=1.1.1.1:443 ping=1.1.1.1)
for way in ask=8080 bind-port=80; do
    red_only "ask=" check "a restricted pod: reached, $way" contains "$answers" "$way reached"
done
for way in 'sh=getent ahosts example.test' tcp=1.1.1.1:443 ping=1.1.1.1; do
    red check "a restricted pod: refused, $way" contains "$answers" "$way refused"
done
remove_pod restricted

# ---- an allow list ------------------------------------------------------------------------------

run_pod filtered anchorhold \
    "$published | $model | $(asks egress allowlist) | $(asks allow "$granted_rules, $peer:7001")"
works filtered "" "no "
open_ways="refused at once, @(tcp=[0-9]|udp|dns|net)"
red_only "$open_ways" judge_granted "filtered" "$(to_its_end filtered/first "$greedy" \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")"
red_only "$open_ways" judge_granted "filtered, from an exec" "$(in_container filtered/agent \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")"
check "filtered: the model answers" contains \
    "$(in_container filtered/agent attempt ask=8080)" "ask=8080 reached"
for name in agent sidecar; do
    check "filtered: names are pinned for its $name" same 1.1.1.1 \
        "$(in_container filtered/$name cat /etc/hosts | sed -n 's/[[:blank:]]allowed.test$//p')"
done
check "filtered: a port of another pod that was not granted" same "" \
    "$(call filtered/agent "$peer" 7003 2>/dev/null)"
check "filtered: which is there" same "from peer/other" "$(from_node peer 7003)"
remove_pod filtered
remove_pod peer
check "nothing is left of them" node_is_clean
stop_containerd
finish
