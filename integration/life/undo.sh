#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What undoes an edit lives as long as the edit, and what changed while somebody looked is no fault:
# after a kill, a lost state directory or a runtime that writes config.json anew, the next create of
# the same bundle works without anybody calling gc first.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{ceiling: "allowlist", allow_by: "packets", forwarding: "enable"}'
start_broker model
remember_kernel

relayed=$(asks_for model)
mkfifo "$lab/reached" "$lab/released"
cat >"$lab/bin/pause" <<CODE
#!/bin/sh
[ -e $lab/pauses ] || exit 0
echo \$\$ >$lab/reached
read -r word <$lab/released
CODE
chmod 755 "$lab/bin/pause"
pauses=".hooks.prestart = [{path: \"$lab/bin/pause\"}]"

# cut ID: SIGKILL of the shim while config.json holds its edit; the runtime and its init are gone.
cut_short() {
    local shim hook_pid init
    touch "$lab/pauses"
    "$runtime" create --bundle "$lab/b/cut" "$1" </dev/null >/dev/null 2>&1 &
    shim=$!
    read -t 30 -r hook_pid <>"$lab/reached" || { kill $shim; return 1; }
    init=$(pgrep -P "$(pgrep -P $shim)" | grep -vx "$hook_pid")
    kill -KILL $shim
    wait $shim 2>/dev/null
    rm "$lab/pauses"
    kill -KILL "$hook_pid"
    [ -z "$init" ] || wait_for_end "$init"
    "$plain_runtime" delete --force "$1" 2>/dev/null
    grep -q dev.anchorhold.run "$lab/b/cut/config.json" || { echo "it is not edited"; return 1; }
}
same_file() { same "$before" "$(sha256sum "$lab/b/cut/config.json")"; }
works() { # ID: a create of the bundle, to its end
    within 60 "$runtime" create --bundle "$lab/b/cut" "$1" </dev/null >"$lab/log" 2>&1 ||
        { cat "$lab/log"; return 1; }
    same_file && "$runtime" start "$1" && "$runtime" delete --force "$1"
}
fresh() {
    bundle cut "$relayed | $pauses" sleep 60
    before=$(sha256sum "$lab/b/cut/config.json")
}

# ---- killed, and created again ------------------------------------------------------------------

again() { # ID of the killed one, ID of the next
    fresh && cut_short "$1" && works "$2" && "$runtime" gc && nothing_left
}
red check "the shim was killed: the next create of its bundle heals it" again first second
red check "and so does one of the same id" again first first

lost() { # the state directory went with a reboot; the bundle is on a disk
    fresh && cut_short first || return
    rm -rf "$lab/state"
    works second && nothing_left
}
red check "the state directory is gone as well: the next create heals it" lost

swept() {
    fresh && cut_short first && "$runtime" gc && same_file && nothing_left
}
check "gc heals it too" swept

other_boot() {
    fresh && cut_short first || return
    local record
    record=$(echo "$lab"/state/runs/*/record.json)
    jq '.boot_id = "11111111-2222-3333-4444-555555555555" | .created = 1000' "$record" >"$lab/record"
    cat "$lab/record" >"$record"
    "$runtime" gc && same_file && nothing_left
}
red check "gc heals what an earlier boot left" other_boot

damaged() { # TEXT: what its record holds
    fresh && cut_short first || return
    printf %s "$1" >"$(echo "$lab"/state/runs/*/record.json)"
    "$runtime" gc && works second && nothing_left
}
red check "a record that was cut short does not keep its run" damaged '{"schema": 1, "key": '
red check "nor does one of a newer version" damaged '{"schema": 99}'

forged() { # the control: a mark that nobody left is refused
    fresh
    jq '.annotations["dev.anchorhold.run"] = "0123456789ab.0123456789abcdef"' \
        "$lab/b/cut/config.json" >"$lab/edited"
    cat "$lab/edited" >"$lab/b/cut/config.json"
    within 60 "$runtime" create --bundle "$lab/b/cut" forged </dev/null >"$lab/log" 2>&1 && return 1
    contains "$(cat "$lab/log")" "is written by anchorhold alone" && nothing_left
}
check "a mark without an original is refused" forged

# ---- a runtime that writes config.json anew -----------------------------------------------------

cat >"$lab/bin/rewrites" <<CODE
#!/bin/bash
PATH=$PATH
while [ \$# -gt 0 ]; do words+=("\$1"); [ "\$1" != --bundle ] || b=\$2; shift; done
if [ -n "\$b" ]; then
    text=\$(jq -c '.annotations.theirs = "added"' "\$b/config.json") && printf %s "\$text" >"\$b/config.json"
fi
exec $plain_runtime "\${words[@]}"
CODE
chmod 755 "$lab/bin/rewrites"
rewritten() {
    cp "$lab/policy.json" "$lab/policy.plain"
    jq --arg to "$lab/bin/rewrites" '.runtime = $to' "$lab/policy.plain" >"$lab/policy.json"
    fresh && works one && works two
    local status=$?
    cp "$lab/policy.plain" "$lab/policy.json"
    [ $status = 0 ] && nothing_left
}
red check "a runtime rewrites config.json: it is put back, create after create" rewritten

# ---- ends while gc looks ------------------------------------------------------------------------

allows='.annotations += {"dev.anchorhold.egress": "allowlist",
                         "dev.anchorhold.allow": "192.0.2.0/24:443"}'
lives() {
    local number
    for number in $(seq 12); do
        within 60 "$runtime" run --bundle "$lab/b/$1" "$1-$number" </dev/null || return
    done
}
beside_lives() {
    local one pids=() sweeps=0 bad=
    for one in a b c d; do
        bundle $one "$allows" true
        lives $one >"$lab/lives.$one" 2>&1 &
        pids+=($!)
    done
    while kill -0 "${pids[@]}" 2>/dev/null; do
        "$runtime" gc >"$lab/gc" || bad+=$(cat "$lab/gc")
        sweeps=$((sweeps + 1))
    done
    wait "${pids[@]}"
    cat "$lab"/lives.*
    echo "$sweeps sweeps"
    same "" "$bad" && "$runtime" gc && nothing_left
}
check_where "veth nf_tables" "a run that ends while gc looks is no fault of it" beside_lives

# ---- one look at many ---------------------------------------------------------------------------

many() { # more than are looked at one after the other
    local one odd
    for one in $(seq 9); do
        bundle "many$one" "$allows" sleep 60
        "$runtime" create --bundle "$lab/b/many$one" "many$one" </dev/null >"$lab/log" 2>&1 ||
            { cat "$lab/log"; return 1; }
    done
    odd=$("$runtime" show --json many5 | jq -r .key)
    jq '.netns = "4:1"' "$lab/state/runs/$odd/record.json" >"$lab/record"
    cat "$lab/record" >"$lab/state/runs/$odd/record.json"
    nft list ruleset | grep -o 'device "ah[0-9a-f]*"' | sort -u >"$lab/devices"
    nft delete table inet anchorhold
    "$runtime" gc >"$lab/gc"
    one=$?
    same "1 left $odd: the container is not the one that was confined" "$one $(cat "$lab/gc")" &&
        same 9 "$(wc -l <"$lab/devices")" &&
        same 8 "$(nft list set inet anchorhold forwards | grep -o 'ah[0-9a-f]\{12\}' | sort -u | wc -l)"
    one=$?
    for odd in $(seq 9); do "$runtime" delete --force "many$odd"; done
    return "$one"
}
check_where "veth nf_tables" "gc holds many at once, and names the one that it cannot" many

stop "$broker"
check "nothing is left" nothing_left
finish
