#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A command that exec runs later is as confined as the first one: no proxy, no network capability, no
# descriptor that reaches out; the profile's variables; the engine's file untouched.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{default: "agent", profiles: {agent: {env: {TOLD: "by profile"}}}}'
remember_kernel

idle=(sh -c 'echo up; exec sleep infinity')
keep='.root.readonly = false'
bundle cell "$keep" "${idle[@]}"
start_ready "$runtime" run --bundle "$lab/b/cell" cell
bundle control "$keep" "${idle[@]}"
start_ready "$plain_runtime" run --bundle "$lab/b/control" control

# process [JQ-FILTER] WORD...: the file that an engine makes for an exec of WORD...
process() {
    jq -n --argjson words "$(jq -n '$ARGS.positional' --args -- "${@:2}")" \
        --argjson proxies "$proxy_env" '{args: $words, cwd: "/", user: {uid: 0, gid: 0},
            env: (["B=1", "no_proxy=*", "npm_config_proxy=x"] + $proxies), noNewPrivileges: true,
            capabilities: {bounding: ["CAP_KILL", "CAP_NET_RAW", "CAP_NET_ADMIN"],
                           effective: ["CAP_KILL", "CAP_NET_ADMIN"],
                           permitted: ["CAP_KILL", "CAP_NET_ADMIN"]}} | '"$1" >"$lab/process.json"
}

by_file() { # by_file RUNTIME ID JQ-FILTER WORD...
    process "$3" "${@:4}"
    sha256sum "$lab/process.json" >"$lab/process.sum"
    within 30 "$1" exec --process "$lab/process.json" "$2" </dev/null 2>&1
}

by_flags() { # by_flags RUNTIME ID OPTION... -- WORD...
    local front=()
    for word in "${@:3}"; do
        [ "$word" = -- ] && break
        front+=("$word")
    done
    within 30 "$1" exec "${front[@]}" "$2" "${@:$((4 + ${#front[@]}))}" </dev/null 2>&1
}

proxies() { grep -ciE '(proxy|_proxy)='; }
network_caps() { # of the effective and bounding set: bits 12 and 13
    local set bits=0
    for set in $(sed -nE 's/^Cap(Bnd|Eff):\s*//p'); do bits=$((bits | 16#$set)); done
    echo $((bits >> 12 & 3))
}
names() { sed -n 's/=.*//p' | sort | grep -v '^HOME$'; }

# ---- a process from the engine ------------------------------------------------------------------

check "control: proxies come in by an engine's process" \
    same 5 "$(by_file "$plain_runtime" control . env | proxies)"
check "R24 an engine's process is rid of its proxies" same 0 "$(by_file "$runtime" cell . env | proxies)"
check "the rest of its environment stays, the profile's comes" same $'ANCHORHOLD_README\nB\nPATH\nTOLD' \
    "$(by_file "$runtime" cell . env | names)"
check "the engine's file is as it was" sha256sum --quiet -c "$lab/process.sum"
check "control: network capabilities come in by an engine's process" \
    same 3 "$(by_file "$plain_runtime" control . cat /proc/self/status | network_caps)"
check "R24 an engine's process is rid of network capabilities" \
    same 0 "$(by_file "$runtime" cell . cat /proc/self/status | network_caps)"
check "other capabilities stay" contains "$(by_file "$runtime" cell . cat /proc/self/status)" \
    $'CapEff:\t0000000000000020'
check "an exec by -p=FILE or -pFILE is seen as well" same 0 "$(
    process . env
    if [[ $plain_name == crun ]]; then spelling=-p; else spelling=-p=; fi
    "$runtime" exec "$spelling$lab/process.json" cell </dev/null | proxies
)"
descriptors=(sh -c 'for fd in /proc/$$/fd/*; do echo ${fd##*/}; done')
check "nothing of ours is handed to the process" same \
    "$(by_file "$plain_runtime" control . "${descriptors[@]}")" \
    "$(by_file "$runtime" cell . "${descriptors[@]}")"
check "the exit status is the process's" same 42 \
    "$(by_file "$runtime" cell . sh -c 'exit 42' >/dev/null; echo $?)"
check "a process that comes through a pipe" same 0 "$(
    process . env
    cat "$lab/process.json" | "$runtime" exec --process /dev/stdin cell 2>&1 | proxies
)"
check "its environment arrives" contains "$(
    process . env
    cat "$lab/process.json" | "$runtime" exec --process /dev/stdin cell 2>&1
)" TOLD=

# ---- a process from flags -----------------------------------------------------------------------

check "control: proxies come in by config.json and --env" contains \
    "$(by_flags "$plain_runtime" control --env HTTP_PROXY=x --env PATH=/bin -- env)" HTTP_PROXY=x
check "flags bring no proxies" same 0 "$(by_flags "$runtime" cell --env HTTP_PROXY=x \
    --env=https_proxy=x --env PATH=/bin -- env | proxies)"
check "no flags, no proxies" same 0 "$(by_flags "$runtime" cell -- env | proxies)"
check "the profile's variable wins over a flag's" contains \
    "$(by_flags "$runtime" cell -e TOLD=x -e C=2 -e PATH=/bin -- env)" "TOLD=by profile"
check "other variables of flags arrive" contains \
    "$(by_flags "$runtime" cell -e C=2 -e PATH=/bin -- env)" C=2
check "control: network capabilities come in by flags" same 3 "$(by_flags "$plain_runtime" control \
    --cap CAP_NET_ADMIN --cap CAP_NET_RAW -- cat /proc/self/status | network_caps)"
check "flags bring no network capabilities" same 0 "$(by_flags "$runtime" cell \
    --cap CAP_NET_ADMIN --cap CAP_NET_RAW -- cat /proc/self/status | network_caps)"
check "a capability by its number is refused" contains \
    "$(by_flags "$runtime" cell --cap 12 -- true)" "(invalid_request)"
check "flags mean what they mean to the runtime" same \
    "$(by_flags "$plain_runtime" control --cwd /tmp -u 5:6 -e PATH=/bin -- sh -c 'pwd; id -u; id -g')" \
    "$(by_flags "$runtime" cell --cwd /tmp -u 5:6 -e PATH=/bin -- sh -c 'pwd; id -u; id -g')"

# ---- refusals -----------------------------------------------------------------------------------

refused() { # refused CODE COMMAND...: status 255, one line of ours and nothing else
    local said status
    said=$("${@:2}")
    status=$?
    same 255 $status && same 1 "$(grep -c . <<<"$said")" && contains "$said" "anchorhold: exec" &&
        contains "$said" "($1)"
}

check "a process that readers take differently is refused" \
    refused invalid_request by_file "$runtime" cell '.Env = ["HTTP_PROXY=x"]' env
check "a process that is no JSON is refused" refused invalid_request eval \
    'echo "{" >"$lab/process.json"; "$runtime" exec --process "$lab/process.json" cell 2>&1'
check "a process that is not there is refused" refused invalid_request eval \
    '"$runtime" exec --process /nowhere cell 2>&1'
every='.capabilities |= map_values(["CAP_SYS_ADMIN"])'
check "control: an exec with every capability" by_file "$plain_runtime" control "$every" true
check "a process with capabilities that void the posture is refused" \
    refused bundle_voids_posture by_file "$runtime" cell "$every" true
check "flags with capabilities that void the posture are refused" \
    refused bundle_voids_posture by_flags "$runtime" cell --cap CAP_SYS_PTRACE -- true


# What create lets a user have, because a user cannot use it, an exec as root could use.
unprivileged='.process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = true'
open_sys='.mounts |= map(if .type == "sysfs" then .options -= ["ro"] else . end)'
bundle knobs "$unprivileged | $open_sys" "${idle[@]}"
start_ready "$runtime" run --bundle "$lab/b/knobs" knobs
knobs=$!
bundle roots "$open_sys" "${idle[@]}"
check "control: create refuses root beside a writable sysfs" contains "$(in_cell roots 2>&1)" \
    "(bundle_voids_posture)"
check "so an exec as root is refused" refused bundle_voids_posture by_file "$runtime" knobs . true
check "also by flags" refused bundle_voids_posture \
    by_flags "$runtime" knobs --user 0 --env PATH=/bin -- true
check "also one that may become root" refused bundle_voids_posture \
    by_file "$runtime" knobs '.user.uid = 1000 | .noNewPrivileges = false' true
check "control: an exec as the user is let in" by_file "$runtime" knobs '.user.uid = 1000
    | .capabilities = {}' true
policy '{voids: "record", default: "agent", profiles: {agent: {}}}'
check "where voids are recorded it is let in" by_file "$runtime" knobs . true
check "and recorded" contains "$(jq -r 'select(.id == "knobs") | .voids[]' "$lab"/state/runs/*/record.json)" \
    "exec: process.user: root could change the host through /sys"
check "also for a capability" by_file "$runtime" knobs "$every"' | .user.uid = 1000' true
check "control: the policy of before refuses what is not recorded" contains "$(
    policy '{default: "agent", profiles: {agent: {env: {TOLD: "by profile"}}}}'
    by_file "$runtime" cell "$every" true
)" "(bundle_voids_posture)"
"$plain_runtime" kill knobs KILL
wait $knobs

start_broker model
remember_kernel
bundle asks "$unprivileged | $(asks_for model)" "${idle[@]}"
start_ready "$runtime" run --bundle "$lab/b/asks" asks
asks=$!
chown "$broker_uid" "$brokers/model"
check "an exec as the broker's own user is refused" refused endpoint_unavailable \
    by_file "$runtime" asks ".user.uid = $broker_uid | .capabilities = {}" true
check "control: as another it is let in" by_file "$runtime" asks '.user.uid = 1001 | .capabilities = {}' true
"$plain_runtime" kill asks KILL
wait $asks
stop "$broker"

with_socket() { # the process gets a socket of the host's network as its third descriptor
    "$python" -c 'import os, socket, sys
s = socket.socket(); os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
os.execv(sys.argv[1], sys.argv[1:])' "$1" exec --preserve-fds 1 "$2" true 2>&1 </dev/null
}
check "control: a socket of the host's network can be handed over" with_socket "$plain_runtime" control
check "a socket of the host's network is not handed over" \
    refused invalid_request with_socket "$runtime" cell
check "preserved files are handed over" same third "$(
    echo third >"$lab/third"
    process . cat /proc/self/fd/3
    "$runtime" exec --preserve-fds 1 --process "$lab/process.json" cell 3<"$lab/third" </dev/null
)"
process . cat /proc/self/fd/4
missing_descriptor() { # missing_descriptor RUNTIME ID
    "$1" exec --preserve-fds 2 --process "$lab/process.json" "$2" </dev/null 2>&1 | tail -c 60
}
check "a preserved descriptor that is not there is not one of ours" same \
    "$(missing_descriptor "$plain_runtime" control)" "$(missing_descriptor "$runtime" cell)"

# ---- a record that is gone ----------------------------------------------------------------------

mv "$lab/state" "$lab/state.away"
greedy=(--cap CAP_NET_ADMIN --env PATH=/bin -- echo in)
check "control: the same exec, and no mark" same in \
    "$(by_flags "$runtime" control "${greedy[@]}")" # crun 1.8.1 falls over after an exec with --cap
check "an exec into a container of ours whose record is gone is refused" \
    refused network_setup_failed by_flags "$runtime" cell "${greedy[@]}"
check "also with an option that nobody knows" contains \
    "$("$runtime" exec --no-such-option cell true 2>&1)" "its record is not in"
check "also by a process file" refused network_setup_failed by_file "$runtime" cell . true
mv "$lab/state.away" "$lab/state"
check "control: with its record it is let in" by_flags "$runtime" cell -- true

# ---- a broken policy ----------------------------------------------------------------------------

cp "$lab/policy.json" "$lab/policy.good"
echo '{' >"$lab/policy.json"
check "with a broken policy an exec still runs, without proxies" same 0 \
    "$(by_file "$runtime" cell . env | proxies)"
check "and without network capabilities" same 0 \
    "$(by_file "$runtime" cell . cat /proc/self/status | network_caps)"
cp "$lab/policy.good" "$lab/policy.json"

for id in cell control; do
    "$plain_runtime" kill $id KILL
done
wait
"$runtime" delete --force cell 2>/dev/null
check "nothing is left" nothing_left
finish
