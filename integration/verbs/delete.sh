#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# delete is the runtime's, with its words and its status; what we made for the run goes when the
# container is gone and not before, whatever else is broken.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
remember_kernel
hook=$lab/libexec/anchorhold/anchorhold-hook

cell() { # cell ID [GLOBAL OPTION...]: created and started
    local id=$1
    shift
    bundle "$id" . sh -c 'echo up; exec sleep infinity'
    "$runtime" "$@" create --bundle "$lab/b/$id" "$id" </dev/null >/dev/null 2>&1 &&
        "$runtime" "$@" start "$id"
}
kill_cell() { # kill_cell ID [GLOBAL OPTION...]
    local id=$1
    shift
    "$plain_runtime" "$@" kill "$id" KILL
    while [ "$("$plain_runtime" "$@" state "$id" | jq -r .status)" = running ]; do :; done
}
runs() { find "$lab/state/runs" -mindepth 1 -maxdepth 1 | wc -l; }
gone() { # gone ID: for the runtime and for us
    ! "$plain_runtime" state "$1" 2>/dev/null && same 0 "$(runs)" && nothing_left
}
said() { sed -E 's/time="[^"]*"//' <<<"$1"; }
like_the_runtime() { # like_the_runtime WORD...: of a container that is not there
    same "$("$plain_runtime" "$@" 2>&1; echo $?)" "$("$runtime" "$@" 2>&1; echo $?)" ||
        same "$(said "$("$plain_runtime" "$@" 2>&1; echo $?)")" \
            "$(said "$("$runtime" "$@" 2>&1; echo $?)")"
}

cell cell
wanted=$("$plain_runtime" delete cell 2>&1; echo $?)
got=$("$runtime" delete cell 2>&1; echo $?)
check "a container that runs is refused by the runtime" same "$(said "$wanted")" "$(said "$got")"
check "and stays ours" same 1 "$(runs)"
check "and confined" same 0 "$("$runtime" exec cell env | grep -ci proxy=)"
kill_cell cell
check "one that has ended is deleted" same 0 "$("$runtime" delete cell; echo $?)"
check "with all that we made for it" gone cell
check "and its last record is kept" same ended "$(jq -r .state "$lab"/state/ended/*.json)"
check "R15 a second delete is as the runtime's" like_the_runtime delete cell
check "R15 a forced one as well" like_the_runtime delete --force cell

cell cell
check "a container that runs is deleted by force" same 0 "$("$runtime" delete --force cell; echo $?)"
check "and is gone" gone cell
bundle cell . true
"$runtime" create --bundle "$lab/b/cell" cell </dev/null >/dev/null 2>&1
check "one that never started is deleted by force" same 0 "$("$runtime" delete -f cell; echo $?)"
check "and is gone as well" gone cell

cell cell
check "R6 R26 an engine's clean-up has no environment" same 0 "$(
    env -i "$lab/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state "$lab/state" \
        delete --force cell; echo $?)"
check "and leaves nothing" gone cell

cell cell
kill_cell cell
# Not taken away: crun writes to a hook that is not there, and may die of that (SIGPIPE).
mv "$hook" "$hook.away"
printf '#!/bin/sh\ncat >/dev/null\nexit 1\n' >"$hook"
chmod 755 "$hook"
check "R15 with a hook that fails the container is deleted" same 0 \
    "$("$runtime" delete cell 2>/dev/null; echo $?)"
check "and torn down" gone cell
mv "$hook.away" "$hook"

cell cell
kill_cell cell
echo '{' >"$(echo "$lab"/state/runs/*/record.json)"
check "R15 with a record that nobody can read it is deleted" same 0 \
    "$("$runtime" delete cell; echo $?)"
check "for the runtime at least" same 1 "$("$plain_runtime" state cell >/dev/null 2>&1; echo $?)"
rm -rf "$lab"/state/runs/*

cell cell
kill_cell cell
chmod 777 "$lab/state"
check "R15 with a state directory that nobody trusts it is deleted" same 0 \
    "$("$runtime" delete cell; echo $?)"
chmod 711 "$lab/state"
rm -rf "$lab"/state/runs/*

cell cell
kill_cell cell
cp "$lab/policy.json" "$lab/policy.good"
echo '{' >"$lab/policy.json"
check "with a broken policy it is deleted" same 0 "$("$runtime" delete cell; echo $?)"
check "and torn down as well" gone cell
cp "$lab/policy.good" "$lab/policy.json"

# One id under two roots is two containers (containerd has a root for each of its namespaces).
cell cell --root "$lab/one"
bundle other . sleep infinity
"$runtime" --root "$lab/two" create --bundle "$lab/b/other" cell </dev/null >/dev/null 2>&1
check "one id under two roots is two runs" same 2 "$(runs)"
"$runtime" --root="$lab/two" delete --force cell
check "deleting one leaves the other" same 1 "$(runs)"
check "which is as confined as before" same 0 \
    "$("$runtime" --root "$lab/one" exec cell env | grep -ci proxy=)"
kill_cell cell --root "$lab/one"
"$runtime" --root "$lab/one" delete cell
check "and goes on its own" gone cell

if [[ $plain_name == crun ]]; then
    cell many-1
    cell many-2
    check "crun deletes by a pattern" same 0 \
        "$("$runtime" delete --force --regex 'many-.*'; echo $?)"
    check "and all of them are torn down" gone many-1
fi
finish
