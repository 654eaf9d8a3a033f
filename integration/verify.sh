#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C-11: an engine that is told of us wrongly runs plain runc and says nothing. `verify` finds out,
# below each engine: the right configuration has no finding, every wrong one has its own and, where a
# container ran without us, an alarm; nothing of the throw-away containers is left, ever.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/engines.sh"
. "$(dirname "$0")/cells.sh"
. "$(dirname "$0")/cri_lab.sh"
needs "${cri_needs[@]}" podman conmon /usr/lib/podman/netavark /usr/bin/docker dockerd
enter_lab
needs_host overlay
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
open_world
wait_at_create
# Engines find us, our policy and our state where an installation has them; what they are asked by
# is found on PATH.
runtime=$lab/bin/anchorhold
for profile in agent agnt ci own; do ln -s anchorhold "$runtime-$profile"; done
mkdir "$lab/etc" "$lab/etc.work" "$lab/tools"
mount -t overlay -o "lowerdir=/etc,upperdir=$lab/etc,workdir=$lab/etc.work" overlay /etc
rm -f /etc/crictl.yaml
mkdir -p /etc/anchorhold
ln -s /usr/bin/docker "$lab/tools/docker"
export PATH=$lab/tools:$PATH
policy "{runtime: \"$waiting\", profiles: {off: {cri: true}, agent: {cri: true},
    ci: {egress: \"allowlist\", allow: [\"1.1.1.1\"]},
    own: {cri: true, endpoints: [{name: \"model\", listen: 8080,
                                  to: \"unix:$brokers/{id}/broker.sock\"}]}}}"
cp "$lab/policy.json" /etc/anchorhold/policy.json

# ---- what is said -------------------------------------------------------------------------------

is_verified() { # VERIFY-WORD...
    local said
    said=$("$runtime" verify "$@")
    same "0 verified" "$? ${said%%: *}" || { echo "$said"; return 1; }
    nothing_of_it_left
}

# finds NAMES TEXT VERIFY-WORD...: those findings and no other, TEXT in what is said of them, each
# with a remedy; exit 1, and an alarm when one of them is. (How people are told: the unit tests.)
finds() {
    local names=$1 text=$2 verdict=not_verified json
    shift 2
    [[ $names != *no_record* ]] || verdict=alarm
    json=$("$runtime" verify --json "$@")
    same "1 $verdict $names" \
        "$? $(jq -r '"\(.verdict) \([.findings[].name] | unique | join(" "))"' <<<"$json")" &&
        contains "$(jq -r '.findings[].says' <<<"$json")" "$text" &&
        same 0 "$(jq '[.findings[] | select(.remedy == "")] | length' <<<"$json")" &&
        nothing_of_it_left
}

trial() { # VERIFY-WORD...: what came of the first, and the profile it got
    "$runtime" verify --json "$@" | jq -r '.runtimes[0] | "\(.trial) \(.profile)"'
}

engine_objects() { :; } # what an engine holds that may be of a throw-away container
nothing_of_it_left() {
    local left
    settle
    left=$({
        list_kernel | diff "$lab/kernel.before" - | grep '^>'
        find /run/anchorhold/{runs,locks,subnets} -mindepth 1 2>/dev/null
        pgrep -la anchorhold
        engine_objects
    })
    same "" "$left"
}

# interrupted VERIFY-WORD...: ^C while create waits below us. bash would have it ignored.
interrupted() {
    touch "$lab/wait"
    env --default-signal=INT "$runtime" verify "$@" >"$lab/interrupted" 2>&1 &
    read -r -t $((60 * AH_SLOWNESS)) _ <"$lab/reached" || return
    rm "$lab/wait"
    kill -INT $!
    echo go >"$lab/released"
    wait $!
    same "130 " "$? $(<"$lab/interrupted")" && nothing_of_it_left
}

# without_policy CHECK...: meanwhile there is none; broken_policy: one that cannot be read.
without_policy() {
    mv /etc/anchorhold/policy.json "$lab/kept.json"
    "$@"
    local status=$?
    mv "$lab/kept.json" /etc/anchorhold/policy.json
    return $status
}
broken_policy() {
    cp /etc/anchorhold/policy.json "$lab/kept.json"
    echo '{"version": 1, "ceilling": "off"}' >/etc/anchorhold/policy.json
    "$@"
    local status=$?
    cp "$lab/kept.json" /etc/anchorhold/policy.json
    return $status
}

refused() { # SENTENCE WORD...
    same "anchorhold: verify: $1 (invalid_request)" "$("$runtime" "${@:2}" 2>&1 >/dev/null)"
}
check "an engine that is none is refused" refused \
    '"runc" is not podman, docker, containerd or crio' verify runc
check "no engine is told the usage" refused \
    "usage: anchorhold verify [--json] [--config FILE] ENGINE [RUNTIME]" verify
check "our own options are the engine's to give" refused \
    "what counts is how the engine calls us; leave the --ah- options away" --ah-profile=ci verify podman
remember_kernel
check "an engine that is not here" finds "engine_unusable no_handler" "crio is not on PATH" crio

# ---- containerd ---------------------------------------------------------------------------------

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
    handler anchorhold-plain "$delegate_path" "$globs")
run_pod bystander plain
# shellcheck disable=SC2218 # cri_lab.sh's
settle
remember_kernel
engine_objects() { cri pods | grep -vxF "$(id_of bystander)"; }
check "containerd: no crictl, no verdict" finds not_run "crictl is not on PATH" \
    --config "$node" containerd anchorhold
cp "$here/verify_crictl.py" "$lab/tools/crictl" && cp "$here/cri_call.py" "$lab/tools"
chmod 777 "$lab/tools"
check "containerd: a crictl that others could replace" finds not_run \
    "$lab/tools can be written by others" --config "$node" containerd anchorhold
chmod 755 "$lab/tools"
check "containerd: a right runtime" is_verified --config "$node" containerd anchorhold
# One engine's answer is none of another's.
cat >"$lab/crio.conf" <<CONF
[crio.runtime.runtimes.anchorhold]
runtime_path = "$runtime"
CONF
export CONTAINER_RUNTIME_ENDPOINT=unix://$cri_socket
check "crio: a crictl that speaks to containerd" finds "engine_unusable not_run" "crictl speaks to containerd" \
    --config "$lab/crio.conf" crio anchorhold
unset CONTAINER_RUNTIME_ENDPOINT
check "C-11 containerd: no globs" finds annotations_dropped \
    "its pod_annotations do not let dev.anchorhold.* pass" --config "$node" containerd blind
check "C-11 containerd: a runtime of that name that is plain runc" finds "no_record other_program" \
    "runs $delegate_path, not anchorhold" --config "$node" containerd anchorhold-plain
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
check "containerd: a profile by name" same "recorded agent" \
    "$(trial --config "$node" containerd anchorhold-agent)"
check "containerd: a broker for each container is not there for this one" same "answered own" \
    "$(trial --config "$node" containerd anchorhold-own)"
told_containerd '/anchorhold-agent"/s/BinaryName/BinaryNam/' >"$node"
restart_containerd
check "C-11 containerd: BinaryName misspelt" finds "key_misspelt no_record" \
    "BinaryNam, which is no key of its" --config "$node" containerd
remove_pod bystander
check "containerd: nothing is left" nothing_of_it_left

# ---- Docker -------------------------------------------------------------------------------------

settle() { :; }
engine_objects() {
    in_docker ps --all --quiet
    in_docker images --all --quiet
}
right_runtimes='{anchorhold: {path: $bin},
    "anchorhold-agent": {path: $bin, runtimeArgs: ["--ah-profile=agent"]},
    "anchorhold-ci": {path: "\($bin)-ci"}, "anchorhold-own": {path: "\($bin)-own"}}'
told_docker() { # MEMBERS
    set_up_docker "$(jq -n --arg bin "$runtime" --arg plain "$delegate_path" "$right_runtimes + $1")"
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
    "runs $delegate_path, not anchorhold" docker anchorhold-plain
check "docker: an option misspelt" finds options_wrong "--ah-profil=agent" docker anchorhold-slip
check "docker: a profile that the policy has not" finds profile_unknown 'chooses profile "agnt"' \
    docker anchorhold-agnt
check "docker: named after a profile, and choosing none" finds profile_not_chosen \
    "gets the policy's default, off" docker anchorhold-bare
check "docker: no policy where it is said to be" finds policy_missing 'no policy at "/nonexistent' \
    docker anchorhold-nopolicy
stop_docker
stop_containerd

# ---- podman -------------------------------------------------------------------------------------

unset DOCKER_CONFIG # podman reads it, too
set_up_podman "$runtime"
settle() { settle_podman; }
engine_objects() {
    in_podman ps --all --quiet
    in_podman images --all --quiet
}
told_podman() { # LINE...: of [engine.runtimes], below the one that is always right
    {
        sed '/^\[engine.runtimes\]/,$d; /^runtime = /d' "$lab/containers.conf"
        echo '[engine.runtimes]'
        printf '%s\n' "anchorhold = [\"$runtime\"]" "$@"
    } >"$lab/told.conf"
    export CONTAINERS_CONF=$lab/told.conf
}
of_podman() { # CHECK... -- LINE...
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    told_podman "$@"
    "${words[@]}" podman
}

told_podman
podman_run --rm --network none --rootfs "$lab/rootfs" true # podman's own mounts
settle
remember_kernel
check "podman: the right configuration" of_podman is_verified -- \
    "anchorhold-agent = [\"$runtime-agent\"]" "anchorhold-own = [\"$runtime-own\"]" \
    "anchorhold-ci = [\"/nonexistent/anchorhold-ci\", \"$runtime-ci\"]"
check "podman: a profile by name" same "recorded agent" "$(trial podman anchorhold-agent)"
check "podman: a profile with a network gets none" same "recorded ci" "$(trial podman anchorhold-ci)"
check "podman: a broker for each container is not there for this one" same "answered own" \
    "$(trial podman anchorhold-own)"
check "C-11 podman: a runtime of that name that is plain runc" of_podman \
    finds "no_record other_program" "runs $delegate_path, not anchorhold" -- \
    "anchorhold-agent = [\"$delegate_path\"]"
check "C-11 podman: the wrong section" of_podman finds wrong_section "[runtimes] x" -- \
    '[runtimes]' "x = [\"$runtime\"]"
check "podman: a program that is not there" of_podman finds shim_missing "$runtime-gone, which" -- \
    "anchorhold-gone = [\"$runtime-gone\"]"
check "podman: a profile that the policy has not" of_podman \
    finds profile_unknown 'chooses profile "agnt", the policy has agent, ci, off, own' -- \
    "anchorhold-agnt = [\"$runtime-agnt\"]"
mkdir "$lab/copy" && cp -r "$lab/bin" "$lab/libexec" "$lab/copy"
check "podman: another anchorhold than this one" of_podman finds shim_other \
    "which is not this anchorhold" -- "other = [\"$lab/copy/bin/anchorhold\"]"
told_podman
chmod 777 "$lab/bin"
check "podman: a program that others could replace" finds shim_unsafe "$lab/bin can be written" podman
chmod 755 "$lab/bin"
check "podman: a runtime one letter off" finds handler_unknown 'there is no runtime "anchorholt"' \
    podman anchorholt
check "podman: no policy" without_policy finds policy_missing "no policy at" podman
check "podman: a policy that cannot be read" broken_policy finds policy_unreadable \
    'unknown member "ceilling"' podman
check "podman: ^C" interrupted podman
told_podman '[engine'
check "podman: a configuration that cannot be read" finds config_unreadable "line" podman
: >"$lab/told.conf"
check "podman: a configuration that does not name us" finds no_handler "does not name" podman

own_file() { # a user's
    mkdir -p "$lab/home/.config/containers/containers.conf.d"
    printf '[runtimes]\nx = ["%s"]\n' "$runtime" \
        >"$lab/home/.config/containers/containers.conf.d/x.conf"
    contains "$(setpriv --reuid 1000 --regid 1000 --clear-groups env -u CONTAINERS_CONF -u XDG_CONFIG_HOME \
        HOME="$lab/home" "$runtime" verify podman)" \
        "wrong_section: $lab/home/.config/containers/containers.conf.d/x.conf names $runtime in [runtimes] x"
}
check "podman: a user's own configuration" own_file
check "nothing is left" nothing_of_it_left
finish
