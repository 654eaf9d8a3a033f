#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# containerd as a kubelet drives it: pods live their whole life below the plain runtime, which is
# the control of all that is said about pods below us.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/node.sh"
needs "${cri_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
wait_at_create
policy "{runtime: \"$waiting\", profiles: {agent: {env: {AGENT: \"yes\"}}}}"
open_world
start_node < <(profile_handler agent)
run_pod warm plain && remove_pod warm # makes the bridge
settle
remember_kernel

# ---- without us ---------------------------------------------------------------------------------

run_pod bare plain
check "a pod is ready" same ready "$(cri statep "$(id_of bare)")"
check "an init container runs to its end" same "first 0" "$(to_its_end bare/init . echo first) $?"
check "and its failure is seen" same 4 "$(to_its_end bare/init . sh -c 'exit 4'; echo $?)"
serve bare/one 7001
start_container bare/two . sleep infinity
address=$(cri podip "$(id_of bare)")
check "two containers share localhost" same "from bare/one" "$(call bare/two 127.0.0.1 7001)"
check "the node reaches the pod" same "from bare/one" "$(busybox nc -w 5 "$address" 7001)"
check "port-forward reaches it" same "from bare/one" \
    "$(cri portforward "$(id_of bare)" 7001 </dev/null)"
check "port-forward to nobody is an error" contains \
    "$(cri portforward "$(id_of bare)" 7009 2>&1 </dev/null)" "cri: portforward: error forwarding"
check "the world is reached" contains "$(in_container bare/two attempt tcp=1.1.1.1:443)" reached

exec_passes_all_on() {
    local status
    in_container bare/two sh -c 'echo out; echo err >&2; exit 7' >"$lab/out" 2>"$lab/err"
    status=$?
    same "out err 7" "$(cat "$lab/out") $(cat "$lab/err") $status"
}
check "exec passes output, errors and status on" exec_passes_all_on

restart_one() { # its mate, and the pod's address, stay
    cri stop "$(id_of bare/one)" && same exited "$(cri state "$(id_of bare/one)")" &&
        cri rm "$(id_of bare/one)" && serve bare/one 7001 &&
        same "from bare/one" "$(call bare/two 127.0.0.1 7001)" &&
        same "$address" "$(cri podip "$(id_of bare)")"
}
check "one container is started anew" restart_one

restart_containerd
check "the pod outlives a restart of containerd" same "ready running" \
    "$(cri statep "$(id_of bare)") $(cri state "$(id_of bare/two)")"
check "and its containers serve and are served" same "from bare/one" \
    "$(call bare/two 127.0.0.1 7001)"
check "a second pod is run" run_pod other plain
start_container other/far . sleep infinity
check "and reaches the first" same "from bare/one" "$(call other/far "$address" 7001)"
check "a deadline is one line" contains \
    "$(cri --deadline -1 pods 2>&1)" "cri: pods: DEADLINE_EXCEEDED"
check "a first instruction connects" same "20 reached, 0 refused" \
    "$(first_instructions 10 other/first)"
remove_pod bare
remove_pod other
check "nothing is left of them" node_is_clean

# ---- below us -----------------------------------------------------------------------------------

# annotations_of POD/NAME: what the engine tells the runtime of three.
annotations_of() {
    cri info "$(id_of "$1")" | jq -r '.runtimeSpec.annotations |
        "\(.["dev.anchorhold.egress"]) \(.["dev.anchorhold.require"]) \(.other)"'
}

# refused_pod: a fault of the pod is told when the pod is run, one of a container when that starts.
refused_pod() {
    local output
    output=$(run_pod refused anchorhold "$(annotate '"dev.anchorhold.egress": "closed"')" 2>&1) &&
        return 1
    contains "$output" "OCI runtime create failed: anchorhold: create " &&
        contains "$output" "(invalid_request)" && same 1 "$(wc -l <<<"$output")"
}
check "R7 a kubelet is told our line of a pod" refused_pod
check "nothing is left of it" node_is_clean
run_pod severed anchorhold "$(annotate '"dev.anchorhold.egress": "off", "other": "word"')"
create_container severed/one "$(annotate '"dev.anchorhold.require": "asked"')" sleep infinity
create_container severed/loose "$(annotate '"dev.anchorhold.egress": "closed"')" sleep infinity
check "a pod's annotations reach its containers" same "off asked null" "$(annotations_of severed/one)"
check "whose own win" same "closed null null" "$(annotations_of severed/loose)"
check "R7 a kubelet is told our line of a container" contains \
    "$(cri start "$(id_of severed/loose)" 2>&1)" "(invalid_request)"
run_pod blind blind "$(annotate '"dev.anchorhold.egress": "off"')"
create_container blind/one "$(annotate '"dev.anchorhold.require": "asked"')" sleep infinity
check "without the globs there are none" same "null null null" "$(annotations_of blind/one)"
remove_pod severed
remove_pod blind
check "nothing is left of them" node_is_clean

run_pod profiled anchorhold-agent
check "a handler is a profile" same agent "$(record_of profiled | jq -r .profile)"
remove_pod profiled

# A kubelet gives up after its deadline and tries again: containerd keeps the pod's name reserved
# for as long as it clears away.
too_late() {
    local output status
    touch "$lab/wait"
    deadline=$((5 * AH_SLOWNESS)) run_pod late anchorhold >"$lab/late" 2>&1 &
    reach_create
    wait $!
    rm "$lab/wait"
    contains "$(<"$lab/late")" "cri: runp: DEADLINE_EXCEEDED" || return
    until output=$(run_pod late anchorhold 2>&1); do
        contains "$output" "is reserved for" || return
    done
    remove_pod late && node_is_clean
}
check "B-43 a deadline during create, then once more" too_late
stop_containerd
finish
