#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our hook is replaced by a program that does nothing, between the shim's look and the runtime's call.
# In no posture does the command run: the first process looks from inside before it lets it go.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{ceiling: "allowlist", allow_by: "packets", forwarding: "enable"}'
open_world
start_broker model
hook=$lab/libexec/anchorhold/anchorhold-hook
cp "$hook" "$lab/hook.ours"
remember_kernel

# A createRuntime hook of the bundle runs before ours, which is the last.
cat >"$lab/bin/replace" <<CODE
#!/bin/sh
while read -r _; do :; done
PATH=/usr/bin:/bin
cp $lab/bin/nothing $hook.new && mv $hook.new $hook
CODE
chmod 755 "$lab/bin/replace"
printf '#!/bin/sh\nwhile read -r _; do :; done\n' >"$lab/bin/nothing" # crun dies when nobody reads
chmod 755 "$lab/bin/nothing"
# Each run in place gets a network of its own, as engines make it.
made() { # ID FILTER WORD...
    ip netns del engine-made 2>/dev/null
    ip netns add engine-made
    bundle "$@"
}
put_back() { cp "$lab/hook.ours" "$hook.new" && mv "$hook.new" "$hook"; }

replaced=".hooks.createRuntime += [{path: \"$lab/bin/replace\"}]"
in_place='.linux.namespaces |= map(if .type == "network" then .path = "/run/netns/engine-made" else . end)'
allows='.annotations += {"dev.anchorhold.egress": "allowlist", "dev.anchorhold.allow": "203.0.113.2:7000"}'
leaves_a_trace=(sh -c 'echo ran >/trace')

# A posture's name, and what the bundle asks for.
postures=(
    "severed" .
    "relayed" "$(asks_for model)"
    "filtered" "$allows"
    "filtered in place" "$allows | $in_place"
)

traces() { cat "$lab/b/$1/rootfs/trace" 2>/dev/null; }

# by_run ID: status and trace of the bundle's `run`. by_create ID: of create, and of start if there
# is something to start.
by_run() {
    in_cell "$1" >"$lab/$1.out" 2>&1
    echo "$? $(traces "$1")"
}
by_create() {
    local status=0
    within 60 "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >"$lab/$1.out" 2>&1 || status=$?
    ! within 60 "$runtime" start "$1" >>"$lab/$1.out" 2>&1 || wait_for_trace "$1"
    "$runtime" delete --force "$1" 2>/dev/null
    [ $status = 0 ] || status=refused
    echo "$status $(traces "$1")"
}
wait_for_trace() {
    local init
    init=$("$plain_runtime" state "$1" 2>/dev/null | jq .pid)
    [ "${init:-0}" = 0 ] || wait_for_end "$init"
}

for ((i = 0; i < ${#postures[@]}; i += 2)); do
    name=${postures[i]}
    asked=".root.readonly = false | ${postures[i + 1]}"
    made fine "$asked" "${leaves_a_trace[@]}"
    check "$name: with our hook it runs" same "0 ran" "$(by_run fine)"
    made cut "$asked | $replaced" "${leaves_a_trace[@]}"
    red check "C-05 $name: without it run ends with 125, and the command did not run" same "125 " \
        "$(by_run cut)"
    check "$name: it says that the hook was not there" contains "$(cat "$lab/cut.out")" enforced
    put_back
    made made "$asked" "${leaves_a_trace[@]}"
    check "$name: with our hook it is created and started" same "0 ran" "$(by_create made)"
    made cut "$asked | $replaced" "${leaves_a_trace[@]}"
    red check "C-05 $name: without it create is refused, and the command did not run" same "refused " \
        "$(by_create cut)"
    put_back
    "$lab/bin/anchorhold" --ah-state "$lab/state" gc >/dev/null
    ip netns del engine-made
    check "$name: nothing is left" nothing_left
done
finish
