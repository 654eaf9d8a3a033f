#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hooks of others, of every stage: they run in the order they would run without us, one that fails
# does what it would do without us, and no step of ours hangs from theirs. And without our own hook:
# a package that was removed under live containers.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{tcp: "veth", tcp_endpoints: ["host:9000"]}'
start_ready "$python" "$here/lib/world.py" tcp=9000
remember_kernel

stages='prestart createRuntime createContainer startContainer poststart poststop'

# A hook that writes its name $1 to $3 and exits with status $2. startContainer's runs inside.
cat >"$lab/bin/hook" <<'CODE'
#!/bin/sh
while read -r _; do :; done
echo "$1" >>"$3"
exit "$2"
CODE
chmod 755 "$lab/bin/hook"

# hooked ID FAILING-STAGE: every stage logs twice, so that order within a stage shows too.
hooked() {
    local stage status filter='.root.readonly = false'
    for stage in $stages; do
        status=0
        [ "$stage" != "$2" ] || status=1
        if [ "$stage" = startContainer ]; then
            filter+=" | .hooks.startContainer = [{path: \"/bin/hook\",
                args: [\"hook\", \"$stage\", \"$status\", \"/log\"]}]"
        else
            filter+=" | .hooks.$stage = [{path: \"$lab/bin/hook\",
                args: [\"hook\", \"$stage-1\", \"0\", \"$lab/b/$1/rootfs/log\"]},
                {path: \"$lab/bin/hook\",
                args: [\"hook\", \"$stage-2\", \"$status\", \"$lab/b/$1/rootfs/log\"]}]"
        fi
    done
    bundle "$1" "$filter" sh -c 'echo command >>/log'
    cp "$lab/bin/hook" "$lab/b/$1/rootfs/bin/hook"
}

# life BINARY ID FAILING-STAGE: the statuses of create, start and delete, and the log of it all.
life() {
    local init
    hooked "$2" "$3"
    within 60 "$1" create --bundle "$lab/b/$2" "$2" </dev/null >/dev/null 2>&1
    echo "create $?"
    init=$("$plain_runtime" state "$2" 2>/dev/null | jq .pid)
    within 60 "$1" start "$2" >/dev/null 2>&1
    echo "start $?"
    [ "${init:-0}" = 0 ] || wait_for_end "$init"
    within 60 "$1" delete --force "$2" >/dev/null 2>&1
    echo "delete $?"
    grep -v poststart "$lab/b/$2/rootfs/log"
    grep poststart "$lab/b/$2/rootfs/log" # crun runs it beside the command
}

for stage in none $stages; do
    without=$(life "$plain_runtime" "plain" "$stage")
    with=$(life "$runtime" "ours" "$stage")
    check "C-65 foreign hooks, failing: $stage" same "$without" "$with"
done
without=$(life "$plain_runtime" plain none)
check "control: the hooks ran" contains "$without" "prestart-1
prestart-2
createRuntime-1
createRuntime-2
createContainer-1
createContainer-2"
check "control: and the command" contains "$without" command
check "C-65 nothing is left of them" nothing_left

# ---- without ours -------------------------------------------------------------------------------

hook=$lab/libexec/anchorhold/anchorhold-hook
stays() { # ID FILTER
    bundle "$1" "$2" sh -c 'echo up; exec sleep infinity'
    "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >/dev/null
    "$runtime" start "$1"
}
stays bare .
mv "$hook" "$hook.away"
check "R28 an exec needs no hook" same "" "$("$runtime" exec bare env | grep -i proxy)"
check "R28 nor does a delete" same 0 "$("$runtime" delete --force bare; echo $?)"
check "R28 nothing is left of it" nothing_left
refused=$("$runtime" run --bundle "$lab/b/bare" bare 2>&1 </dev/null)
check "R28 no container starts without it" contains "$refused" "anchorhold-hook"
mv "$hook.away" "$hook"

stays sealed '.annotations += {"dev.anchorhold.endpoints": "model:8080=tcp:host:9000"}'
mv "$hook" "$hook.away"
"$runtime" delete --force sealed
check "R28 a link of ours that nobody can take away has a record" same '["ended"]' \
    "$("$lab/bin/anchorhold" --ah-state "$lab/state" runs --json | jq -c '[.[].state]')"
"$runtime" gc >"$lab/gc" 2>&1
check "C-16 gc says what it could not do" contains "$(cat "$lab/gc")" "left "
"$runtime" gc >"$lab/gc" 2>&1
check "C-16 as often as it is asked" contains "$(cat "$lab/gc")" "left "
mv "$hook.away" "$hook"
check "C-16 and does it when it can" "$runtime" gc
check "R28 nothing is left at the end" nothing_left
finish
