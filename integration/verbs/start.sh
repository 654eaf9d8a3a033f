#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# start is a second gate: an interface that was plugged in after create is gone or down before the
# command runs, and a container that cannot be held confined is deleted, not started.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
remember_kernel
hook=$lab/libexec/anchorhold/anchorhold-hook
log=$lab/log.json

# The command prints that it ran, and the links that it sees.
look=(sh -c 'echo ran; for link in /sys/class/net/*; do
    [ -e $link/flags ] && echo "${link##*/} $(($(cat $link/flags) & 1))"; done; exec sleep infinity')

create() { # create RUNTIME ID
    bundle "$2" . "${look[@]}"
    mkfifo "$lab/out.$2"
    "$1" create --bundle "$lab/b/$2" --pid-file "$lab/pid" "$2" </dev/null >"$lab/out.$2" 2>&1 &
    exec 9<"$lab/out.$2"
    wait $!
}

plug() { # an interface of the engine's, up and with an address
    ip link add eth0 type veth peer name host0
    ip link set eth0 netns "$(cat "$lab/pid")"
    nsenter --net="/proc/$(cat "$lab/pid")/ns/net" sh -c \
        'ip addr add 10.9.9.2/24 dev eth0 && ip link set eth0 up'
}

first_lines() { # what the command has said, up to its last link
    local line
    while read -r -t $((20 * AH_SLOWNESS)) line <&9; do
        echo "$line"
        [[ $line != lo* ]] || break
    done
}

record_of() { echo "$lab"/state/runs/*/record.json; }

end() { # end RUNTIME ID
    "$1" delete --force "$2" 2>/dev/null
    exec 9<&-
    rm -f "$lab/out.$2"
    ip link del host0 2>/dev/null
    true
}

start() {
    rm -f "$log"
    within 30 "$runtime" --log "$log" --log-format json start "$1" 2>"$lab/err"
}

# refused ID TEXT: start failed, said so once on both channels, and the container is gone.
refused() {
    local status
    start "$1"
    status=$?
    same 1 $status && same 1 "$(grep -c . "$log")" && same error "$(jq -r .level "$log")" &&
        same "$(jq -r .msg "$log")" "$(cat "$lab/err")" &&
        contains "$(cat "$lab/err")" "anchorhold: start $1: " && contains "$(cat "$lab/err")" "$2" &&
        contains "$(cat "$lab/err")" "; the container was deleted (network_setup_failed)" &&
        ! "$plain_runtime" state "$1" 2>/dev/null && same "" "$(cat <&9)"
}

create "$plain_runtime" control
plug
check "control: an interface that comes after create is the container's" \
    same 0 "$("$plain_runtime" start control; echo $?)"
check "control: and it is up" contains "$(first_lines)" "eth0 1"
end "$plain_runtime" control

create "$runtime" cell
plug
check "the container starts" same 0 "$(start cell; echo $?)"
said=$(first_lines)
check "the command runs" contains "$said" ran
check "R16 without the interface" same "" "$(grep 'eth0 1' <<<"$said")"
check "a start that works says nothing" same "" "$(cat "$lab/err" "$log" 2>/dev/null)"
check "a second start is the runtime's to refuse" same 1 "$(start cell; echo $?)"
check "and harms nothing" same running "$("$runtime" state cell | jq -r .status)"
end "$runtime" cell
check "nothing is left of it" nothing_left

create "$runtime" plain
mv "$hook" "$hook.away"
check "without an interface to take away no hook is needed" same 0 "$(start plain; echo $?)"
mv "$hook.away" "$hook"
end "$runtime" plain

create "$runtime" failing
plug
printf '#!/bin/sh\necho "anchorhold: hook guard: no" >&2\nexit 1\n' >"$lab/failing"
chmod 755 "$lab/failing"
mv "$hook" "$hook.away"
cp "$lab/failing" "$hook"
check "R16 an interface that stays stops the container" refused failing \
    "eth0 was plugged in after create and cannot be taken away: anchorhold: hook guard: no"
check "and is torn down though its hook fails" same "" "$(ls "$lab/state/runs")"
mv "$hook.away" "$hook"
end "$runtime" failing
check "nothing is left of that" nothing_left

create "$runtime" planned
jq '.state = "planned"' "$(record_of)" >"$lab/record" && cp "$lab/record" "$(record_of)"
check "a run that is not enforced is not started" refused planned \
    "the run is planned, not enforced"
end "$runtime" planned
check "nothing is left of one that was not enforced" nothing_left

keeping=$lab/bin/$plain_name-keeping
printf '#!/bin/sh\ncase " $* " in *" delete "*) exit 1 ;; esac\nexec %s "$@"\n' "$plain_runtime" >"$keeping"
chmod 755 "$keeping"
create "$runtime" kept
jq '.state = "planned"' "$(record_of)" >"$lab/record" && cp "$lab/record" "$(record_of)"
policy "{runtime: \"$keeping\"}"
kept() {
    start kept
    same 1 $? && contains "$(cat "$lab/err")" \
        "the run is planned, not enforced; the container could not be deleted: delete it by force"
}
check "one that the runtime does not delete is said to be there" kept
check "as it is, and was not started" same created "$("$plain_runtime" state kept | jq -r .status)"
policy
end "$runtime" kept
check "nothing is left of one that was not deleted at first" nothing_left

create "$runtime" broken
echo '{' >"$(record_of)"
check "a run whose record cannot be read is not started" refused broken "read the run's record"
end "$runtime" broken
rm -rf "$lab"/state/runs/* # what nobody can read is nobody's to tear down
check "nothing is left of one that could not be read" nothing_left

create "$runtime" lost
mv "$lab"/state/runs/* "$lab/lost.record"
check "a container of ours whose record is gone is not started" refused lost \
    "the container is anchorhold's, but its record is not in $lab/state"
end "$runtime" lost
rm -r "$lab/lost.record"
check "nothing is left of one whose record was gone" nothing_left

create "$runtime" ended
"$plain_runtime" kill ended KILL
while [ "$("$plain_runtime" state ended | jq -r .status)" = created ]; do :; done
check "a container that has ended is the runtime's to refuse" same 1 "$(start ended; echo $?)"
check "and is not deleted for it" same stopped "$("$runtime" state ended | jq -r .status)"
end "$runtime" ended
check "nothing is left at the end" nothing_left
finish
