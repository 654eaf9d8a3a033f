#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What create adds to a container stays true under the runtime's other commands: `update` gives the
# command the places it names, beside the relay's, and opens no device; the rest need no care of ours.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
mkdir -p "$lab/rootfs/mnt"
policy
start_broker model
remember_kernel

limit='.root.readonly = false | .linux.resources.pids.limit = 20'
idle=(sh -c 'echo up; exec sleep infinity')
bundle relayed "$limit | $(asks_for model)" "${idle[@]}"
start_ready "$runtime" run --bundle "$lab/b/relayed" relayed </dev/null
relayed=$!
bundle alone "$limit" "${idle[@]}"
start_ready "$runtime" run --bundle "$lab/b/alone" alone </dev/null
alone=$!
bundle control "$limit" "${idle[@]}"
mknod -m 666 "$lab/b/control/rootfs/mnt/node" c 10 229
mknod -m 666 "$lab/b/alone/rootfs/mnt/node" c 10 229
start_ready "$plain_runtime" run --bundle "$lab/b/control" control </dev/null
control=$!

places() { # ID: its limit of processes
    find /sys/fs/cgroup -path "*/$cgroup/$1/*" -name pids.max -exec cat {} + | head -n 1
}
# updates WANTED ID WORD...: of update; the id comes last.
updates() {
    within 30 "$runtime" update "${@:3}" "$2" 2>&1 && same "$1" "$(places "$2")"
}
plainly() { # WORD...: what the runtime alone makes of it
    within 30 "$plain_runtime" update "$@" control >/dev/null 2>&1
    echo "$? $(places control)"
}
ours() { # WORD...: the same, of ours and without a relay
    within 30 "$runtime" update "$@" alone >/dev/null 2>&1
    echo "$? $(places alone)"
}

# ---- places -------------------------------------------------------------------------------------

check "control: create gives the relay a place" same "21 20 20" \
    "$(places relayed) $(places alone) $(places control)"
check "update --pids-limit N keeps it" updates 31 relayed --pids-limit 30
check "update --pids-limit=N" updates 33 relayed --pids-limit=32
check "a limit of something else takes nothing back" updates 33 relayed --memory 100000000
echo '{"memory": {"limit": 134217728}, "pids": {"limit": 40}}' >"$lab/resources.json"
sha256sum "$lab/resources.json" >"$lab/resources.sum"
check "update --resources FILE" updates 41 relayed --resources "$lab/resources.json"
check "update -r FILE, whatever else is said" updates 41 relayed -r "$lab/resources.json" --pids-limit 99
check "the other limits arrive" same 134217728 "$(
    find /sys/fs/cgroup -path "*/$cgroup/relayed/*" \
        '(' -name memory.limit_in_bytes -o -name memory.max ')' -exec cat {} + | head -n 1
)"
check "the engine's file is as it was" sha256sum --quiet -c "$lab/resources.sum"
for spelling in -r\ - --resources=-; do
    check "update $spelling" eval "updates 51 relayed $spelling <<<'{\"pids\": {\"limit\": 50}}'"
    updates 41 relayed -r "$lab/resources.json"
done
check "nothing is added without a relay" updates 30 alone --pids-limit 30
check "nor to a file" updates 40 alone -r "$lab/resources.json"
for none in 0 -1; do
    check "a limit of $none means what it means to the runtime" same \
        "$(plainly --pids-limit 25; plainly --pids-limit $none)" \
        "$(ours --pids-limit 25; ours --pids-limit $none)"
done
unlimited() { # the same words behind a relay
    within 30 "$runtime" update --pids-limit "$1" relayed >/dev/null 2>&1
    within 30 "$plain_runtime" update --pids-limit "$1" control >/dev/null 2>&1
    [ "$(places control)" != max ] || same max "$(places relayed)"
}
check "and behind a relay" unlimited -1

# ---- devices ------------------------------------------------------------------------------------

opens() { # RUNTIME ID
    within 30 "$1" exec "$2" sh -c '(: </mnt/node) 2>/dev/null && echo reached'
}
refused() { # CODE COMMAND...
    local said
    if said=$("${@:2}" 2>&1); then same refused "$said"; fi
    contains "$said" "anchorhold: update" && contains "$said" "($1)"
}
check "control: a node of the image is closed" same "" "$(opens "$runtime" alone)"
echo '{"devices": [{"allow": true, "access": "rwm"}]}' >"$lab/open.json"
case $plain_name in
    crun*)
        "$plain_runtime" update -r "$lab/open.json" control
        check "without us: an update opens it" same reached "$(opens "$plain_runtime" control)"
        ;;
esac
check "an update that opens devices is refused" refused bundle_voids_posture \
    "$runtime" update -r "$lab/open.json" alone
check "and the node stays closed" same "" "$(opens "$runtime" alone)"
echo '{"devices": [{"allow": false, "access": "rwm"}], "pids": {"limit": 60}}' >"$lab/closed.json"
check "control: one that closes them is not" updates 60 alone -r "$lab/closed.json"
check "resources that readers take differently are refused" refused invalid_request \
    eval '"$runtime" update -r - alone <<<"{\"Pids\": {\"limit\": 5}}"'
check "resources that are no JSON are refused" refused invalid_request \
    eval '"$runtime" update -r - alone <<<"{}, {"'
check "resources that are not there are refused" refused invalid_request \
    "$runtime" update -r /nowhere alone
check "a container of somebody else's passes" same "$(plainly --pids-limit 26)" \
    "$(within 30 "$runtime" update --pids-limit 26 control >/dev/null 2>&1; echo "$? $(places control)")"

# ---- what needs no care of ours -----------------------------------------------------------------

check "state shows the annotation that marks our edit" contains \
    "$("$runtime" state relayed | jq -r '.annotations | keys[]')" dev.anchorhold.run
check "ps lists the relay beside the command" same 2 "$(
    "$runtime" ps --format json relayed | jq length
)"
check "pause stops both, and resume lets the relay serve on" contains "$(
    "$runtime" pause relayed && "$runtime" resume relayed &&
        within 30 "$runtime" exec relayed attempt ask=8080
)" "ask=8080 reached"
check "spec writes what the runtime writes" same "$(cd "$lab/b" && rm -f config.json &&
    "$plain_runtime" spec && sha256sum <config.json)" "$(cd "$lab/b" && rm -f config.json &&
    "$runtime" spec && sha256sum <config.json)"
rm -f "$lab/b/config.json"
case $plain_name in
    runc)
        check "events counts the relay's place" same 61 "$(
            within 30 "$runtime" update --pids-limit 60 relayed
            "$runtime" events --stats relayed | jq .data.pids.limit
        )"
        check "features are the runtime's" same "$("$plain_runtime" features)" "$("$runtime" features)"
        ;;
esac

for id in relayed alone control; do "$plain_runtime" kill "$id" KILL; done
wait $relayed $alone $control
check "nothing is left" nothing_left
finish
