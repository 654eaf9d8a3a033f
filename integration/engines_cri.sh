#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# containerd as a kubelet drives it: pods live their whole life below the plain runtime, which is
# the control of all that is said about pods below us.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/engines.sh"
. "$(dirname "$0")/cells.sh"
. "$(dirname "$0")/cri_lab.sh"
needs "${cri_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
policy '{}'
open_world
start_node </dev/null
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
    "$(cri --deadline 0.000001 pods 2>&1)" "cri: pods: DEADLINE_EXCEEDED"
remove_pod bare
remove_pod other
check "nothing is left of them" node_is_clean

# ---- below us -----------------------------------------------------------------------------------

# What is wrong with the pod is said when it is run, with a container when that is started.
refused_pod() {
    local output
    output=$(run_pod refused anchorhold "$(annotate '"dev.anchorhold.egress": "closed"')" 2>&1) &&
        return 1
    contains "$output" "OCI runtime create failed: anchorhold: create " &&
        contains "$output" "(invalid_request)" && same 1 "$(wc -l <<<"$output")"
}
check "R7 a kubelet is told our line of a pod" refused_pod
check "nothing is left of it" node_is_clean
run_pod severed anchorhold
create_container severed/one . sleep infinity
cri start "$(id_of severed/one)"
create_container severed/loose "$(annotate '"dev.anchorhold.egress": "closed"')" sleep infinity
check "R7 and of a container" contains "$(cri start "$(id_of severed/loose)" 2>&1)" \
    "(invalid_request)"
remove_pod severed
check "nothing is left of them" node_is_clean
stop_containerd
finish
