#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# turns_red.sh FILE: its tests can fail. With the bare runtime in our place the cases that need us
# do, and no control.
. "$(dirname "$0")/lib.sh"
needs root runc
failed=0
counted=0

declare -A needs_us=(
    [pods]='(C-02 )?a container of the pod(: refused, (tcp|dns|ping)| reaches)|an exec: refused, (tcp|dns)|an endpoint that the pod|the words of two|a container whose sandbox|filtered: refused, tcp|.*an open container of|also where no'
    [pods_podman]='a container of the pod( reaches|: refused, (tcp|dns))|show folds|under a profile'
    [pods_cri]='(severed|relayed): no |relayed: (the model|it answers|an exec sees)|show folds|runs has|a sandbox needs|their records|a profile.s pod: reached.* (ask|sh)|a restricted pod: re.*(ask|sh|tcp|ping)=|filtered.*: refused at once, (tcp=[0-9]|[du]|net)|B-(04|06|07|08|17|25|28|33|35|54|58) '
    [pods_cri_bounds]='a container that asks for less: refused, tcp=(1.1|203|127.0.0.1:7001)|an (endpoint|allow list that)|.* are not passed on: refused, (tcp=1.1|tcp=2|dns)|.* claims to be a sandbox is|host(PID|IPC|Network: (refused,|the model))|a privileged|a sandbox from|nor has|among .*: the relay|a debugger .* (tcp=1.1|ask)|no first'
    [severed]='B-25|B-26|B-28|B-33|B-34|B-35|B-54|B-56|B-58'
    [relayed]='.*the answer arrives|each piece|B-37 bind the relay.s port$|B-37 trace the relay$|B-50 no secret in'
    [agents_env]='C-14 no proxy|C-22 no proxy|the profile.s variable (is|reaches)|an exec asks|C-49|B-22|C-59|the record names'
    [bad_input]='an unknown key|B-48|C-50|C-43 (no socket|nobody)|a key in another case|B-47|CAP_SYS|the host'
    [teardown]='and the run stands|C-05|B-43 SIGKILL of the shim|twelve'
    [command]='C-60 (a command that (is|ends)|a file|a directory|the relay)'
    [names]='C-21 (relayed|sealed): (resolv|a plain|a name does not exist, by (UDP|TCP))|(relayed|sealed): nobody'
    [sealed]='the broker answers|it answers uid|proxy variables|a port that|record: |B-46|B-28|gc (restores|marks)|C-08 a left|C-38|C-40|C-58 so'
    [filtered]='place: refused at once, (tcp|udp|dns|sh)|place: B-1|place: (the host|an address)|record: |denials|host networking: never|with an endpoint: the|without forwarding: the|policy forwarding'
    [policy_network]='B-02|B-14 no|B-15|C-07 other|B-53 Docker|B-46 a rule, (prohibit|blackhole)|B-(04|06|07|08|17|25|26|28|33|54|58) .*in place'
    [engines_ctr]='the answer|each piece|with --|in an image|C-03|B-.*(severed|exec), with --net-host|B-([013]|2[0-68]|5[48]).*, with --seccomp|C-22 an exec|by a link of its own: (granted|refused at once, (net|sh=(echo|ip)))|from an exec.*: refused at once, ([dnptu]|sh=(getent|ip))|sealed: (the|refused)|in a CNI.s network: (refused|it is)|R12|R7|B-43'
    [engines_docker]='a profile by|each piece|with --|in an image|B-.* no seccomp|B-(0|10|17|19.*address|20.*(global|mapped)|21|2[568]|3[345]|5[48]).*, (severed|from an exec)$|an exec|C-22 an exec|C-14|its links, on|C-10 its|C-36|network connect: (refused|the model)|granted.*: (refused|the re|Docker)|B-55 granted|sealed: (the|refused)|stop|pause|update|a health|R12|R7|B-43|userns-remap: (its|the|granted: refused)'
    [engines_podman]='the (answer|limit)|each piece|with (--[^:]*|relay.*)$|with --uidmap: refused|in an image|B-.* no seccomp|B-(0|10|17|19.*address|20.*(global|mapped)|2[1-8]|3[34]|5[48]).*, from an exec|an exec --|C-22 an exec|its links: with (podman|--)|C-10|C-03|in place.*: (refused|the record|resolv|hosts|a priv|what)|B-55 in place: and|sealed: (the|refused)|stop|R7|B-43'
    [engines_rootless]='C-32 (refused|the|an? )|an exec|C-22 an exec|the answer|from another|(with )?--|with relay|R7|stop|B-43'
)

# turns_red FILE PATTERN: every case it matches, and there is one, fails without us. The tags of the
# rules that a case proves stand before what is matched.
turns_red() {
    local output status
    output=$(AH_BARE=1 "$here/$1.sh" 2>/dev/null)
    status=$?
    same 1 $status || return
    ! grep -B 3 'the control failed' <<<"$output" || return
    ! grep '^not ok .*without us' <<<"$output" || return
    grep -qE "^not ok (R[0-9]+ )*($2)" <<<"$output" &&
        ! grep -E "^ok (R[0-9]+ )*($2)" <<<"$output"
}

check "$1" turns_red "$1" "${needs_us[$1]}"
finish
