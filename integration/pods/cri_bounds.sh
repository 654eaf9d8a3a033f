#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pods of a real containerd where they could come undone: a container that asks for other than its
# pod, whose sandbox is not ours, on the node's network, among the pod's processes; deadlines,
# restarts and kills.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/node.sh"
needs "${cri_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
wait_at_create
policy '{runtime: "'"$waiting"'", default: "pods", ceiling: "open", profiles: {
    pods: {cri: true},
    list: {cri: true, egress: "allowlist", allow: ["1.1.1.1"]},
    agent: {cri: true, endpoints: [
        {name: "model", listen: 8080, to: "unix:'"$brokers"'/model/broker.sock"}]}}}'
open_world
name_hosts
start_broker model
start_broker other
ln -s "$plain_runtime" "$lab/bin/turned"
start_node < <(profile_handler agent; profile_handler list; handler turned "$lab/bin/turned" "$globs"
    handler gaping "$runtime" 'pod_annotations = ["*"]
  container_annotations = ["*"]')
run_pod warm plain && remove_pod warm # makes the bridge
settle
remember_kernel
model=$(asks endpoints "$(endpoint model 8080)")
nothing=$(asks endpoints "[]")

# refused_as CODE WORDS POD/NAME FILTER: what a kubelet is told of a container that is not started.
refused_as() {
    local output
    create_container "$3" "$4" true
    output=$(cri start "$(id_of "$3")" 2>&1) && { echo "it ran"; return 1; }
    cri rm "$(id_of "$3")"
    contains "$output" "OCI runtime create failed: anchorhold: create " &&
        contains "$output" "$2" && contains "$output" "($1)"
}
ways=(tcp=1.1.1.1:443 tcp=127.0.0.1:7000 tcp=203.0.113.2:7000 dns-udp=1.1.1.1 abstract=host-service)
refused() { # TITLE ANSWERS
    local way
    for way in "${ways[@]}"; do check "$1: refused, $way" contains "$2" "$way refused"; done
}
reached() { # TITLE ANSWERS
    local way
    for way in "${ways[@]}"; do check "$1: reached, $way" contains "$2" "$way reached"; done
}

# ---- other than its pod -------------------------------------------------------------------------

run_pod relayed anchorhold "$model"
serve relayed/sidecar 7001
answers=$(to_its_end relayed/less "$nothing" attempt ask=8080 tcp=127.0.0.1:7001 "${ways[@]}")
red_only "tcp=1.1|tcp=2" refused "a container that asks for less" "$answers"
for way in ask=8080 tcp=127.0.0.1:7001; do
    red_only "tcp=" check "a container that asks for less: refused, $way" contains "$answers" "$way refused"
done
red check "R19 an endpoint that the pod lacks is refused" refused_as endpoint_unavailable \
    "endpoint other: the container's pod was created without it" relayed/more \
    "$(asks endpoints "$(endpoint model 8080), $(endpoint other 8081)")"
wide="$(asks egress allowlist) | $(asks allow 1.1.1.1)"
answers=$(to_its_end relayed/wide "$wide" attempt ask=8080 "${ways[@]}")
refused "an allow list in a pod without one" "$answers"
check "but the model answers it" contains "$answers" "ask=8080 reached"
red check "an allow list that is required is refused" refused_as posture_unavailable \
    "its pod has no more than relayed" relayed/wide "$wide | $(asks require asked)"
remove_pod relayed

run_pod filtered anchorhold "$wide"
check "off in a pod with an allow list" refused_as invalid_request \
    "dev.anchorhold.allow needs egress allowlist" filtered/less "$(asks egress off)"
refused "an empty list" "$(to_its_end filtered/less "$(asks allow "[]")" attempt "${ways[@]}")"
answers=$(to_its_end filtered/more "$(asks allow "1.1.1.1, 9.9.9.9")" \
    attempt tcp=1.1.1.1:443 tcp=9.9.9.9:443)
check "a longer list gets the pod's" contains "$answers" "tcp=1.1.1.1:443 reached"
check "and no more" contains "$answers" "tcp=9.9.9.9:443 refused"
remove_pod filtered

# With the capabilities of an open container it could take the walls of its pod down.
run_pod listed anchorhold-list
open="$(asks egress open) | $greedy"
answers=$(to_its_end listed/open "$open" \
    attempt tcp=1.1.1.1:443 tcp=9.9.9.9:443 socket=17:3 net-capabilities nft-table=evil)
for way in tcp=9.9.9.9:443 socket=17:3 net-capabilities nft-table=evil; do
    check "open in a pod with an allow list: refused, $way" contains "$answers" "$way refused"
done
check "open in a pod with an allow list gets the list" contains "$answers" "tcp=1.1.1.1:443 reached"
check "and is refused when it is required" refused_as posture_unavailable \
    "its pod has no more than filtered" listed/open "$open | $(asks require asked)"
remove_pod listed

run_pod blind blind "$wide"
red_only "tcp=1.1|tcp=2|dns-" refused "R21 a pod whose annotations are not passed on" "$(to_its_end blind/first . attempt "${ways[@]}")"
check "its record says that nothing was asked" same '["severed","nothing_asked"]' \
    "$(record_of blind | jq -c '[.posture, .why]')"
remove_pod blind

# An administrator who lets every annotation pass. The engine's own word stands.
claims() { annotate "\"$1\": \"$2\""; }
run_pod gaping gaping "$model | $(claims io.kubernetes.cri.container-type sandbox)"
answers=$(to_its_end gaping/first "$(claims io.kubernetes.cri.container-type sandbox)" \
    attempt ask=8080 "${ways[@]}")
refused "a container that claims to be a sandbox" "$answers"
red check "a container that claims to be a sandbox is none" contains "$answers" "ask=8080 reached"
check "the words of two engines are refused" refused_as invalid_request "one is forged" \
    gaping/forged "$(claims io.kubernetes.cri-o.ContainerType sandbox)"
remove_pod gaping

# pod_refused TITLE FILTER WORDS: voids what it promises, so it is never run.
pod_refused() {
    check "$1 is refused" contains "$(run_pod void anchorhold "$2" 2>&1)" "$3"
}
red pod_refused hostPID '.linux.security_context.namespace_options.pid = "NODE"' \
    "the pid namespace is the host's"
red pod_refused hostIPC '.linux.security_context.namespace_options.ipc = "NODE"' \
    "the ipc namespace is the host's"
run_pod powers anchorhold "$privileged"
red check "a privileged container is refused" refused_as bundle_voids_posture "CAP_SYS_ADMIN" \
    powers/first "$privileged"
remove_pod powers

# ---- whose sandbox ------------------------------------------------------------------------------

run_pod older turned
ln -sfn "$runtime" "$lab/bin/turned"
red check "R19 a sandbox from before us is none of ours" refused_as posture_unavailable \
    "the sandbox of its pod has no record of ours; create the pod with this handler" older/first .
remove_pod older
run_pod turned turned
ln -sfn "$lab/bin/runtime-agent" "$lab/bin/turned"
red check "nor has one of another handler what this one gives" refused_as endpoint_unavailable \
    "the container's pod was created without it" turned/first .
remove_pod turned
check "nothing is left of them" node_is_clean

# ---- the node's network -------------------------------------------------------------------------

run_pod open plain "$on_host"
reached "hostNetwork, without us" "$(to_its_end open/first "$on_host" attempt "${ways[@]}")"
remove_pod open
run_pod hostly anchorhold "$on_host | $model"
answers=$(to_its_end hostly/first "$on_host" attempt ask=8080 "${ways[@]}")
red refused "R22 hostNetwork" "$answers"
red check "hostNetwork: the model answers" contains "$answers" "ask=8080 reached"
remove_pod hostly
run_pod listed anchorhold "$on_host | $(asks egress allowlist) | $(asks allow "$granted_rules")"
judge_granted "hostNetwork" "$(to_its_end listed/first "$on_host" \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")"
remove_pod listed
check "nothing is left of the node's network" node_is_clean

# ---- among the pod's processes ------------------------------------------------------------------

shared='.linux.security_context.namespace_options.pid = "POD"'
run_pod open plain "$shared"
check "a pause process can be traced, without us" contains \
    "$(to_its_end open/first "$shared" attempt trace=1)" "trace=1 reached"
remove_pod open
run_pod shared anchorhold "$shared | $model"
answers=$(to_its_end shared/first "$shared" attempt trace=1 bind-port=8080 bind-port=9999 \
    "sh=kill -KILL 1" ask=8080 "${ways[@]}")
refused "among the pod's processes" "$answers"
for way in trace=1 bind-port=8080; do
    red check "among the pod's processes: the relay's own, $way" contains "$answers" "$way refused"
done
check "among the pod's processes: any other port can be had" \
    contains "$answers" "bind-port=9999 reached"
red check "among the pod's processes: the relay cannot be killed" contains "$answers" "ask=8080 reached"
check "and nobody with another network is" refused_as bundle_voids_posture \
    "of a pod whose network is not its own" shared/less "$shared | $nothing"
remove_pod shared

run_pod debugged anchorhold "$model"
start_container debugged/agent . sleep infinity
beside=".linux.security_context.namespace_options += {pid: \"TARGET\",
    target_id: \"$(id_of debugged/agent)\"}"
answers=$(to_its_end debugged/debugger "$beside" \
    attempt "sh=[ \$(cat /proc/1/comm) = sleep ]" ask=8080 "${ways[@]}")
red_only "tcp=1.1" refused "a debugger beside a container" "$answers"
for way in "sh=[ \$(cat /proc/1/comm) = sleep ]" ask=8080; do
    red_only "ask=" check "a debugger beside a container: reached, $way" contains "$answers" "$way reached"
done

# ---- restarts, deadlines, kills -----------------------------------------------------------------

restart_containerd
check "a pod outlives a restart of containerd, and its model" contains \
    "$(in_container debugged/agent attempt ask=8080)" "ask=8080 reached"
check "and what comes then joins it" contains \
    "$(to_its_end debugged/later . attempt ask=8080)" "ask=8080 reached"

# A kubelet makes another container of the same name.
too_late() {
    touch "$lab/wait"
    deadline=$((5 * AH_SLOWNESS)) start_container debugged/late . sleep infinity >"$lab/late" 2>&1 &
    reach_create
    wait $!
    rm "$lab/wait"
    contains "$(<"$lab/late")" "cri: start: DEADLINE_EXCEEDED" || return
    cri rm "$(id_of debugged/late)"
    start_container debugged/late . sleep infinity &&
        contains "$(in_container debugged/late attempt ask=8080)" "ask=8080 reached" &&
        same 3 "$("$runtime" runs --json | jq length)" # with the sandbox and the agent
}
check "B-43 a deadline during a container's create, then once more" too_late
remove_pod debugged
check "nothing is left of it" node_is_clean

# killed: kills the process that containerd has for a pod; its containers end with it.
killed() {
    local name pid shim
    run_pod killed anchorhold "$model"
    start_container killed/agent . sleep infinity
    shim=$(pgrep -f -- "^[^ ]*containerd-shim-runc-v2 .*-id $(id_of killed) ")
    kill -KILL "$shim"
    for name in killed killed/agent; do
        pid=$(record_of $name | jq .init.pid) && wait_for_end "$pid"
    done
    "$runtime" gc
    remove_pod killed && node_is_clean
}
check "SIGKILL of a pod's containerd-shim, then gc" killed

# ---- the first instruction ----------------------------------------------------------------------

run_pod open plain
check "without us: a first instruction connects" same "20 reached, 0 refused" \
    "$(first_instructions 10 open/first)"
remove_pod open
run_pod severed anchorhold
red check "no first instruction connects" same "0 reached, 200 refused" \
    "$(first_instructions 100 severed/first)"
remove_pod severed
check "nothing is left of them" node_is_clean
stop_containerd
finish
