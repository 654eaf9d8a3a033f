#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# down and gc leave nothing of a run, whoever died at whatever moment. They touch nothing of a run
# that lives, and no teardown ever makes a namespace looser.
. "$(dirname "$0")/../lib/hooks.sh"

host_before=$(nft list ruleset; ip -o link; ip route)

# ---- poststop, as runtimes call it --------------------------------------------------------------

cell
key=$(printf '%012x' $made)
down
worked "C-46 down with no run is silent"
(state=$lab/none down; check "down with no state directory is silent" same "0 " "$status $said")
check "and makes none" same "" "$(ls -d "$lab/none" 2>/dev/null)"

plan
up
before=$(ruleset; record .)
generation=ffffffffffffffff down
worked "down for another generation is silent"
down
worked "down while the init lives is silent"
check "and the run stands as it stood" same "$before" "$(ruleset; record .)"
end_cell
down
worked "down after the init ended is silent"
nothing_left "nothing of the run is left"
check "its last record says how it was" same 'ended ["netns","drop-table","links","listeners"]' \
    "$(last '"\(.state) \(.verified)"')"
down
worked "C-46 down twice is silent"

# A runtime that does not wait for what it killed. 7 is poll(2): the hook waits for the init.
cell
plan
up
"$hook" --state "$state" down "$key" "$generation" </dev/null &
waiting=$!
until [[ $(cat "/proc/$waiting/syscall" 2>/dev/null) =~ ^7\ |^$ ]]; do :; done
kill -KILL "$init"
wait "$waiting"
check "an init that is still dying is given its moment" same 0 $?
nothing_left "and its run goes"

cell
plan
up
end_cell
for _ in 1 2 3 4 5 6; do
    "$hook" --state "$state" down "$key" "$generation" </dev/null 2>>"$lab/parallel" &
    downs+=($!)
done
for one in "${downs[@]}"; do
    wait "$one" || not_ok "one of six downs at once failed"
done
check "C-46 six downs at once are silent" same "" "$(cat "$lab/parallel")"
nothing_left "and leave nothing"

for text in '{"id":"c"}' '{"id":"c","pid":0,"status":"stopped"}' '{"status":"creating"}' '' 'no json'; do
    cell
    plan
    up
    end_cell
    call down < <(printf %s "$text")
    worked "down is told '$text' and does its work"
    nothing_left "nothing is left after it"
done

cell
plan
up
end_cell
"$hook" --state "$state" down "$key" "$generation" <&- 2>&- >&-
check "down without any descriptor works" same 0 $?
nothing_left "and leaves nothing"

# A planned or failed run is its creator's, who waits to hear.
cell
plan
down
worked "down of a run whose creator lives is silent"
check "and leaves it to its creator" same planned "$(record .state)"
plan '.creator.start += 1'
down
nothing_left "a planned run without a creator goes"
check "recorded as failed" same "failed delegate_failed" "$(last '"\(.state) \(.code)"')"
plan '.id = "x"'
up
down
check "the reason of a failed up waits for its creator" same failed "$(record .state)"
creator_dies
down
check "and is kept when he is gone" same 'failed the runtime calls this container "c"' \
    "$(last '"\(.state) \(.reason)"')"
end_cell

# The pid is another process's now.
cell
plan
up
edit '.init.start += 1'
down
nothing_left "C-38 a pid that was given to another process keeps nothing"
end_cell

# Something cannot be removed.
cell
plan
up
end_cell
mkdir "$state/runs/$key/inside/busy"
mount -t tmpfs none "$state/runs/$key/inside/busy"
down
check "C-16 what cannot be removed is said, and down exits 0" contains "$status $said" \
    "0 anchorhold: hook down $key: "
check "it leaves a tombstone with the reason" contains "$(record '"\(.state) \(.reason)"')" \
    "ended remove $state/runs/$key/inside"
umount "$state/runs/$key/inside/busy"
down
nothing_left "C-16 the next one finishes it"

# A descriptor of the namespace is parked with somebody.
cell
plan
up
exec {parked}<"/proc/$init/ns/net"
before=$(nsenter --net="/proc/self/fd/$parked" nft list ruleset)
end_cell
down
nothing_left "C-40 B-59 a namespace that somebody keeps open keeps nothing of ours outside"
check "and stays as tight as it was" same "$before" "$(nsenter --net="/proc/self/fd/$parked" nft list ruleset)"
exec {parked}<&-

# ---- never looser: every state, owner alive or gone ---------------------------------------------

for was in planned enforced ended failed; do
    for creator in 0 1; do
        for owner in 0 1; do
            cell
            plan
            up
            edit ".state = \"$was\" | .creator.start += $creator | .init.start += $owner"
            before=$(ruleset; links)
            down
            check "down of $was, creator off by $creator, init off by $owner, loosens nothing" \
                same "0  $before" "$status $said $(ruleset; links)"
            rm -rf "$state/runs/$key"
            end_cell
        done
    done
done

# ---- the sweep ----------------------------------------------------------------------------------

rm -rf "$state"/{runs,ended}/*
cell
plan
up
living=$key
lives=$init
cell
plan
up
end_cell
ended=$key
cell
plan '.creator.start += 1'
orphan=$key
end_cell
whole() { (cd "$state" && find . -printf '%p %m %s %i\n' | sort && cat runs/*/record.json); }
before=$(whole)
check "a dry run says what would go" same "would remove $ended would remove $orphan" "$(gc --dry-run | xargs)"
check "and changes nothing" same "$before" "$(whole)"
check "a sweep takes what has no owner" same "removed $ended removed $orphan" "$(gc | xargs)"
check "and nothing else" same "$living" "$(ls "$state/runs")"
check "twice is the same as once" same "" "$(gc)"
init=$lives
before=$(ruleset; links)
mv "$state/runs/$living" "$lab/lost"
check "a run whose record was lost is cut by no sweep (C-38)" same "  $before" "$(gc)  $(ruleset; links)"
mv "$lab/lost" "$state/runs/$living"
end_cell
check "it goes when its init has gone" same "removed $living" "$(gc)"
nothing_left "and nothing is left"

# ---- killed at every step -----------------------------------------------------------------------

# PATTERN: from the first call that matches on, each call that changes something outside of the
# process, as "name ordinal", the way strace's inject counts. Killed before any other call is
# killed before the next of these.
steps() {
    awk -F'(' -v from="$1" '
        { n[$1]++; if ($0 ~ from) on = 1 }
        on && (/O_CREAT/ || $1 ~ /^(flock|write|fchmod|rename|unlink|unlinkat|rmdir|mkdir|sendto)$/) {
            print $1, n[$1]
        }' "$lab/trace"
}

cell
plan
up strace -qq -o "$lab/trace" -e signal=none -e trace='!exit_group'
end_cell
down
steps locks >"$lab/steps"
rm -rf "$state"/ended/*
bad=
while read -r name ordinal; do
    cell
    plan
    up strace -qq -o /dev/null -e signal=none -e "trace=$name" -e "inject=$name:signal=KILL:when=$ordinal"
    [ "$status" = 137 ] || bad+="$name $ordinal: not killed; "
    recorded planned || recorded enforced || bad+="$name $ordinal: state $(record .state); "
    tight=$(ruleset)
    # Its creator dies as well; nobody calls anything but the sweep.
    creator_dies
    gc >/dev/null || bad+="$name $ordinal: gc failed; "
    [ "$tight" = "$(ruleset)" ] || bad+="$name $ordinal: the namespace changed; "
    end_cell
    gc >/dev/null || bad+="$name $ordinal: the second gc failed; "
    [ -z "$(left)" ] || bad+="$name $ordinal: $(left); "
done <"$lab/steps"
check "up was killed at each of its steps" test "$(wc -l <"$lab/steps")" -gt 15
check "R14 C-04 and nothing was left of any" same "" "$bad"

cell
plan
up
end_cell
cp -a "$state/runs/$key" "$lab/kept"
down strace -qq -o "$lab/trace" -e signal=none -e trace='!exit_group'
steps runs >"$lab/steps"
bad=
while read -r name ordinal; do
    rm -rf "$state"/{runs,ended,locks}/*
    cp -a "$lab/kept" "$state/runs/$key"
    down strace -qq -o /dev/null -e signal=none -e "trace=$name" -e "inject=$name:signal=KILL:when=$ordinal"
    [ "$status" = 137 ] || bad+="$name $ordinal: not killed; "
    down
    [ -z "$(left)" ] || bad+="$name $ordinal: $(left); "
    ended_on_record || bad+="$name $ordinal: no last record; "
done <"$lab/steps"
check "down was killed at each of its steps" test "$(wc -l <"$lab/steps")" -gt 10
check "B-43 and the next one finished every time" same "" "$bad"

check "the host is as it was" same "$host_before" "$(nft list ruleset; ip -o link; ip route)"
finish
