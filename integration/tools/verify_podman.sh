#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `verify` finds every wrong configuration of podman, and no fault in the right one.
. "$(dirname "$0")/../lib/verify.sh"

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
check "podman: a profile by name" same "confined agent" "$(trial podman anchorhold-agent)"
check "podman: a profile with a network gets none" same "confined ci" "$(trial podman anchorhold-ci)"
check "podman: a broker for each container is not there for this one" same "answered own" \
    "$(trial podman anchorhold-own)"
check "C-11 podman: a runtime of that name that is plain runc" of_podman \
    finds "no_record other_program" "runs $plain_runtime, not anchorhold" -- \
    "anchorhold-agent = [\"$plain_runtime\"]"
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

# ---- the ways that are no runtime's name --------------------------------------------------------

told_podman
check "podman: each way, where containers have podman's runtime unless they name ours" same \
    "--runtime anchorhold: confined; no runtime named: not set up; precreate hook: not set up; \
podman build: not set up; podman --runtime anchorhold build: confined" "$(ways podman)"
by_default() { # RUNTIME [LINE...]: of a container that names none
    told_podman "${@:2}"
    sed -i "s/^\[engine\]/&\nruntime = \"$1\"/" "$lab/told.conf"
}
by_default anchorhold
check "podman: each way, where ours is the default" same \
    "--runtime anchorhold: confined; no runtime named: confined; precreate hook: not set up; \
podman build: confined" "$(ways podman)"
check "podman: which is verified" is_verified podman
by_default anchorhold-plain "anchorhold-plain = [\"$plain_runtime\"]"
check "C-11 podman: a default that is plain runc, in builds too" same \
    "--runtime anchorhold: confined; --runtime anchorhold-plain: ALARM; no runtime named: ALARM; \
precreate hook: not set up; podman build: ALARM" "$(ways podman)"

# The hook, where contrib/podman/README.md has it installed, without a runtime of ours.
mkdir -p /etc/containers/{oci/hooks.d,containers.conf.d}
sed '/^\[engine.runtimes\]/,$d; /^runtime = /d' "$lab/containers.conf" >/etc/containers/containers.conf.d/50-lab.conf
hook=/etc/containers/oci/hooks.d/anchorhold.json
sed "s,/usr/local/bin,$lab/bin," "$lab/podman/hooks.d/anchorhold.json" >$hook
by_hook() { # CHECK...: with podman's own files
    (unset CONTAINERS_CONF && "$@")
}
check "C-11 podman: a hook where podman does not look" by_hook finds "hook_not_read no_record" \
    "$hook is a hook of ours in a folder that podman does not look into" podman
check "podman: its way is an alarm" contains "$(by_hook ways podman)" "precreate hook: ALARM"
cp "$lab/podman/anchorhold-hook.conf" /etc/containers/containers.conf.d
check "podman: the hook and its drop-in" by_hook is_verified podman
check "podman: each way then" same "no runtime named: not set up; hook $hook: confined; podman build: not set up" \
    "$(by_hook ways podman)"
gojq '.when = {always: true} | .hook.args |= [.[0], "--ah-profile=agent", .[1]]' $hook >"$lab/always.json"
cp "$lab/always.json" $hook
check "podman: a hook for all" same "no runtime named: confined; hook $hook: confined; podman build: not tried" \
    "$(by_hook ways podman)"
gojq '.stages = ["prestart"]' "$lab/always.json" >$hook
check "podman: a hook of another stage" by_hook finds key_misspelt "and not with \"precreate\"" podman
rm -r /etc/containers/oci /etc/containers/containers.conf.d

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
