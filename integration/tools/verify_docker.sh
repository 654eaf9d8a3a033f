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
check "docker: a profile by runtimeArgs" same "confined agent" \
    "$(trial --config "$daemon" docker anchorhold-agent)"
check "docker: a profile with a network gets none" same "confined ci" \
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

# ---- the ways that are no runtime's name --------------------------------------------------------

# by_default RUNTIME [PATH]: dockerd anew, with this default and that PATH.
by_default() {
    stop_docker
    told_docker '{"anchorhold-plain": {path: $plain}}'
    jq --arg name "$1" '."default-runtime" = $name | .runtimes |= {anchorhold, ($name): .[$name]}' "$daemon" >"$lab/daemon.json"
    cp "$lab/daemon.json" "$daemon"
    local PATH=${2:-}${2:+:}$PATH
    start_docker
    remember_kernel
}
check "docker: each way, where containers have Docker's runtime unless they name ours" same \
    "no runtime named: not set up; docker build, classic: not set up; docker build, BuildKit: not set up" \
    "$(ways docker | sed 's/--runtime [^;]*; //g')"
by_default anchorhold-ci
check "C-11 docker: BuildKit goes round a default of ours" same \
    "--runtime anchorhold: confined; --runtime anchorhold-ci: confined; no runtime named: confined; \
docker build, classic: confined; docker build, BuildKit: ALARM" "$(ways docker)"
check "docker: and that is an alarm" finds no_record "ran below docker build, BuildKit and left no record" docker
by_default anchorhold-plain
check "C-11 docker: a default that is plain runc, in builds too" same \
    "--runtime anchorhold: confined; --runtime anchorhold-plain: ALARM; no runtime named: ALARM; \
docker build, classic: ALARM; docker build, BuildKit: ALARM" "$(ways docker)"
# As contrib/docker/README.md has it: BuildKit takes the first runc on dockerd's PATH.
mkdir "$lab/first" && ln -s "$runtime" "$lab/first/runc"
by_default anchorhold-ci "$lab/first"
check "docker: a runc of ours on dockerd's PATH confines what BuildKit runs" is_verified docker
check "docker: each way then" contains "$(ways docker)" "docker build, classic: confined; docker build, BuildKit: confined"
stop_docker
daemon_down=$("$runtime" verify docker 2>&1)
check "docker: with its daemon down it the remedy is told" contains "$daemon_down" \
    "correct what it names, or start the engine"
check "docker: and its words are on one line, without escapes" same "$daemon_down" "${daemon_down//\\x/}"
stop_containerd
finish
