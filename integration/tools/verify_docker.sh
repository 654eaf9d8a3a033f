#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `verify` finds every wrong configuration of Docker, and no fault in the right one.
. "$(dirname "$0")/../lib/verify.sh"
start_containerd

settle() { :; }
engine_objects() {
    in_docker ps --all --quiet
    in_docker images --all --quiet
}
right_runtimes='{anchorhold: {path: $bin},
    "anchorhold-agent": {path: $bin, runtimeArgs: ["--ah-profile=agent"]},
    "anchorhold-ci": {path: "\($bin)-ci"}, "anchorhold-own": {path: "\($bin)-own"}}'
told_docker() { # MEMBERS
    set_up_docker "$(jq -n --arg bin "$runtime" --arg plain "$plain_runtime" "$right_runtimes + $1")"
}
daemon=$lab/docker/daemon.json
told_docker '{}'
start_docker
remember_kernel
check "docker: the right configuration" is_verified --config "$daemon" docker
check "docker: a profile by runtimeArgs" same "recorded agent" \
    "$(trial --config "$daemon" docker anchorhold-agent)"
check "docker: a profile with a network gets none" same "recorded ci" \
    "$(trial --config "$daemon" docker anchorhold-ci)"
check "docker: a broker for each container is not there for this one" same "answered own" \
    "$(trial --config "$daemon" docker anchorhold-own)"
check "docker: ^C" interrupted --config "$daemon" docker anchorhold
told_docker '{new: {path: $bin}}'
check "C-11 docker: not restarted since" finds not_effective "and yet does not know it" \
    --config "$daemon" docker
told_docker '{"anchorhold-plain": {path: $plain}, "anchorhold-bare": {path: $bin},
    "anchorhold-slip": {path: $bin, runtimeArgs: ["--ah-profil=agent"]},
    "anchorhold-agnt": {path: ($bin + "-agnt")}, "anchorhold-nopolicy": {path: $bin,
        runtimeArgs: ["--ah-policy=/nonexistent/policy.json"]}}'
stop_docker
start_docker
remember_kernel # its firewall is another's after a restart
check "C-11 docker: a runtime of that name that is plain runc" finds "no_record other_program" \
    "runs $plain_runtime, not anchorhold" docker anchorhold-plain
check "docker: an option misspelt" finds options_wrong "--ah-profil=agent" docker anchorhold-slip
check "docker: a profile that the policy has not" finds profile_unknown 'chooses profile "agnt"' \
    docker anchorhold-agnt
check "docker: named after a profile, and choosing none" finds profile_not_chosen \
    "gets the policy's default, off" docker anchorhold-bare
check "docker: no policy where it is said to be" finds policy_missing 'no policy at "/nonexistent' \
    docker anchorhold-nopolicy
stop_docker
stop_containerd
finish
