#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `verify` finds every wrong configuration of containerd, and no fault in the right one.
. "$(dirname "$0")/../lib/verify.sh"

node=$lab/containerd/config.toml
told_containerd() { # [SED-SCRIPT]: the right configuration, edited
    write_node_config < <(handler anchorhold-agent "$runtime-agent" "$globs"
        handler anchorhold-own "$runtime-own" "$globs") |
        sed "/runtimes.blind\]/,/BinaryName/d; ${1:-}"
}
told=$lab/told.toml # what it was not restarted with

start_node < <(handler anchorhold-agnt "$runtime-agent" "$globs"
    handler anchorhold-ci "$runtime-ci" "$globs"
    handler anchorhold-gone "$runtime-gone" "$globs"
    handler anchorhold-plain "$plain_runtime" "$globs")
run_pod bystander plain
# shellcheck disable=SC2218 # node.sh's
settle
remember_kernel
engine_objects() {
    cri pods | grep -vxF "$(id_of bystander)"
    in_ctr namespaces list --quiet | grep anchorhold
}
export CONTAINER_RUNTIME_ENDPOINT=unix://$lab/none.sock
check "containerd: no CRI, no verdict" finds not_run "$lab/none.sock" --config "$node" containerd anchorhold
mkdir -m 777 "$lab/open"
ln "$cri_socket" "$lab/open/cri.sock" 2>/dev/null || touch "$lab/open/cri.sock"
export CONTAINER_RUNTIME_ENDPOINT=unix://$lab/open/cri.sock
check "containerd: a socket that others could replace" finds not_run \
    "$lab/open can be written by others" --config "$node" containerd anchorhold
unset CONTAINER_RUNTIME_ENDPOINT
check "containerd: a right runtime" is_verified --config "$node" containerd anchorhold
# One engine's answer is none of another's.
cat >"$lab/crio.conf" <<CONF
[crio.runtime.runtimes.anchorhold]
runtime_path = "$runtime"
CONF
export CONTAINER_RUNTIME_ENDPOINT=unix://$cri_socket
check "crio: a socket that is containerd's" finds "engine_unusable not_run" "is of containerd" \
    --config "$lab/crio.conf" crio anchorhold
unset CONTAINER_RUNTIME_ENDPOINT
check "C-11 containerd: no globs" finds annotations_dropped \
    "its pod_annotations do not let dev.anchorhold.* pass" --config "$node" containerd blind
check "C-11 containerd: a runtime of that name that is plain runc" finds "no_record other_program" \
    "runs $plain_runtime, not anchorhold" --config "$node" containerd anchorhold-plain
check "C-11 containerd: a handler one letter off its profile's" finds handler_misspelt \
    "whoever asks for anchorhold-agent does not find it" --config "$node" containerd anchorhold-agnt
check "C-11 containerd: a handler one letter off" finds handler_unknown \
    'there is no runtime "anchorhold-plane"' --config "$node" containerd anchorhold-plane
check "containerd: a program that is not there" finds shim_missing "$runtime-gone, which is not there" \
    --config "$node" containerd anchorhold-gone
check "containerd: a profile that expects no pods" finds pods_not_expected "profile ci does not say" \
    --config "$node" containerd anchorhold-ci
check "containerd: no policy" without_policy finds policy_missing "no policy at" \
    --config "$node" containerd anchorhold
check "containerd: a policy that cannot be read" broken_policy finds policy_unreadable \
    'unknown member "ceilling"' --config "$node" containerd anchorhold
check "containerd: ^C" interrupted --config "$node" containerd anchorhold

told_containerd >"$told"
check "C-11 containerd: not restarted since" finds run_failed \
    'no runtime for "anchorhold-own" is configured' --config "$told" containerd anchorhold-own
told_containerd 's/io.containerd.grpc.v1.\(cri".containerd.runtimes.anchorhold\)/\1/' >"$told"
check "C-11 containerd: a section of version 1 in a file of version 2" \
    finds "config_unreadable wrong_section" 'invalid plugin key URI "cri"' --config "$told" containerd
told_containerd '/^version/d' >"$told"
check "C-11 containerd: sections of version 2 in a file without a version" \
    finds wrong_section "where it does not look" --config "$told" containerd
told_containerd 's/containerd.runtimes.anchorhold/runtimes.anchorhold/' >"$told"
check "C-11 containerd: a section too high" finds wrong_section "where it does not look" \
    --config "$told" containerd
echo 'version = 2 [' >"$told"
check "containerd: a file that cannot be read" finds config_unreadable "line 1" \
    --config "$told" containerd

told_containerd >"$node"
restart_containerd
check "containerd: the right configuration" is_verified --config "$node" containerd
check "containerd: a profile by name" same "confined agent" \
    "$(trial --config "$node" containerd anchorhold-agent)"
check "containerd: a broker for each container is not there for this one" same "answered own" \
    "$(trial --config "$node" containerd anchorhold-own)"
check "containerd: each way" same "no runtime named: not set up; ctr run --runc-binary: confined" \
    "$(ways --config "$node" containerd | sed 's/handler [^;]*; //g')"
told_containerd 's/default_runtime_name = .*/default_runtime_name = "anchorhold"/' >"$node"
restart_containerd
check "containerd: a default of ours" contains "$(ways --config "$node" containerd)" "; no runtime named: confined; "
told_containerd '/anchorhold-agent"/s/BinaryName/BinaryNam/' >"$node"
restart_containerd
check "C-11 containerd: BinaryName misspelt" finds "key_misspelt no_record" \
    "BinaryNam, which is no key of its" --config "$node" containerd
ln -s /bin/false "$lab/tools/ctr"
check "containerd: a ctr that runs nothing is no fault" contains "$(ways --config "$node" containerd)" \
    "ctr run --runc-binary: not tried"
rm "$lab/tools/ctr"
remove_pod bystander
check "containerd: nothing is left" nothing_of_it_left
stop_containerd
finish
