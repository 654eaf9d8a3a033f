#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# However a creation is spelled: where the runtime runs the bundle we confine the same one,
# and what could make it read another file is refused. Whatever is wrong with what is ours
# refuses creation and nothing else.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy '{profiles: {open: {egress: "open"}, told: {env: {TOLD: "yes"}}}}'
remember_kernel

# The command says which bundle it is of, and how many proxies it sees: none in a cell.
say='echo "$0 $(env | grep -ci _proxy=)"'
for id in it other "a b" create; do
    bundle "$id" . sh -c "$say" "$id"
done
b=$lab/b
cd "$b" || exit 1

# spelled WORD...: both run it, from the directory of the bundles.
spelled() {
    local wanted got
    wanted=$(within 30 "$plain_runtime" "$@" </dev/null 2>&1)
    got=$(within 30 "$runtime" "$@" </dev/null 2>&1)
    check "control: $* runs a bundle with its proxies" [ "${wanted##* }" = 3 ]
    check "R1 $* runs it without" same "${wanted% *} 0" "$got"
}
# nobody WORD...: the runtime does not run it, nor do we, whoever says so.
ran() { "$@" 2>/dev/null </dev/null | grep -E '^(it|other) [0-9]'; }
nobody() {
    check "control: $* is refused by the runtime" same "" "$(ran "$plain_runtime" "$@")"
    check "R1 $* is run by nobody" same "" "$(ran "$runtime" "$@")"
}
# ours RULE WORD...: the runtime would run it; we refuse, in one line.
ours() {
    local rule=$1 said status
    shift
    said=$("$runtime" "$@" 2>&1)
    status=$?
    check "$rule $* is refused by us" eval 'same 1 $status && same 1 "$(grep -c . <<<"$said")" &&
        contains "$said" "anchorhold: " && contains "$said" "(invalid_request)"'
}

spelled run --bundle it x
spelled run --bundle=it x
spelled run -b it x
spelled run --bundle "$b/it/" x
spelled run --bundle "a b" x
spelled run --bundle "./a b/" x
spelled run --bundle other --bundle it x
spelled run -b it -- x
spelled run --bundle create create
spelled --root "$lab/create" run --bundle it x
spelled --log "$lab/run" --log-format json run --bundle it create
spelled -- run --bundle it x
cd "$b/it" || exit 1
spelled run x
spelled run -- x
cd "$b" || exit 1

if [[ $plain_name == crun ]]; then
    spelled run -bit x
    spelled run --bund it x
    spelled run --b=it x
    spelled run --no-p -bit x
    nobody run x --bundle it
    nobody run -b=it x
    check "control: the runtime runs what another file says" same "it 3" \
        "$(ran "$plain_runtime" run -f "$b/it/config.json" -b other x)"
    ours R4 run -f "$b/it/config.json" -b other x
    ours R4 run -bother -f"$b/it/config.json" x
    ours R4 run --conf="$b/it/config.json" -b other x
    ours R4 run --config "$b/it/config.json" -b other x
else
    spelled run -bundle it x
    spelled run -b=it x
    spelled run x --bundle it
    spelled run x -b=it
    spelled -debug=false run --no-pivot=false -b it x
    nobody run -bit x
    nobody run --bund it x
    nobody run -d x --bundle it
    nobody run --config "$b/it/config.json" -b other x
fi
nobody run --frob --bundle it x
ours R3 run --frob --bundle it x
ours R3 --frob run --bundle it x

# ---- our own words ------------------------------------------------------------------------------

own=("$lab/bin/anchorhold" --ah-state "$lab/state")
run_own() { within 30 "${own[@]}" "$@" </dev/null 2>&1; }
in_policy=(--ah-policy "$lab/policy.json")
it=(run --bundle it x)

check "a profile is chosen by an option, behind the runtime's own" same "it 3" \
    "$(run_own --debug "${in_policy[@]}" --ah-profile open "${it[@]}" | grep -v level=)"
ln -s anchorhold "$lab/bin/anchorhold-open"
check "or by the name that the shim is called under" same "it 3" \
    "$(own[0]=$lab/bin/anchorhold-open && run_own "${in_policy[@]}" "${it[@]}")"
check "an option wins over the name" same "it 0" \
    "$(own[0]=$lab/bin/anchorhold-open && run_own "${in_policy[@]}" --ah-profile=off "${it[@]}")"
check "the names of our own programs choose none" same "it 0" "$(
    ln -s anchorhold "$lab/bin/anchorhold-gate"
    own[0]=$lab/bin/anchorhold-gate && run_own "${in_policy[@]}" "${it[@]}")"
# By another name, so that only the file itself tells.
ln "$lab/bin/anchorhold" "$lab/bin/$plain_name-ours"
ourselves() { # ourselves PLACE WORD...
    local said
    said=$(run_own "${in_policy[@]}" --ah-runtime "$lab/bin/$plain_name-ours" "${@:2}")
    same "1 anchorhold: $1: runtime \"$lab/bin/$plain_name-ours\" is anchorhold itself; name runc \
or crun (invalid_request)" "$? $said"
}
check "R6 we do not take ourselves for the runtime: run" ourselves "run x" "${it[@]}"
check "R6 we do not take ourselves for the runtime: state" ourselves state state x
check "a profile that is not there is refused" contains \
    "$(run_own "${in_policy[@]}" --ah-profile=nowhere "${it[@]}")" "(invalid_"

# wrong WORD...: refuses creation, and the runtime still answers.
wrong() {
    local said
    said=$(run_own "$@" "${it[@]}")
    check "creation is refused with $*" eval 'contains "$said" "anchorhold: run x: " &&
        same 1 "$(grep -c . <<<"$said")"'
    check "the runtime still answers with $*" same "$("$plain_runtime" --version)" \
        "$(run_own "$@" --version)"
}
wrong "${in_policy[@]}" --ah-frob
wrong "${in_policy[@]}" --ah-profile=
wrong "${in_policy[@]}" --ah-profile 'a"b'
wrong "${in_policy[@]}" "--ah-profile=a b"
wrong --ah-policy "$lab/nowhere.json" --ah-runtime "$plain_runtime"
echo '{' >"$lab/broken.json"
wrong --ah-policy "$lab/broken.json" --ah-runtime "$plain_runtime"
cp "$lab/policy.json" "$lab/writable.json" && chmod 666 "$lab/writable.json"
wrong --ah-policy "$lab/writable.json" --ah-runtime "$plain_runtime"
# Docker's shell splits a path with a blank.
check "a path that a shell has split starts nothing" same "" \
    "$(run_own --ah-policy "$lab/my" policy.json "${it[@]}" | grep '^it ')"
check "R21 without a policy file at the default place nothing is open" same "it 0" \
    "$(run_own --ah-runtime "$plain_runtime" "${it[@]}")"

# ---- the runtime of a run whose policy broke ----------------------------------------------------

# Another name than the default search would find, as an administrator's own build has.
cp "$plain_runtime" "$lab/bin/${plain_name}-own"
jq --arg runtime "$lab/bin/${plain_name}-own" '.runtime = $runtime' "$lab/policy.json" >"$lab/own.json"
bundle long . sh -c 'exec sleep infinity'
run_own --ah-policy "$lab/own.json" create --bundle long long >/dev/null
mv "$lab/bin/${plain_name}-own" "$lab/bin/${plain_name}-moved"
printf '#!/bin/sh\necho own >&2\nexec %s "$@"\n' "$lab/bin/${plain_name}-moved" \
    >"$lab/bin/${plain_name}-own"
chmod 755 "$lab/bin/${plain_name}-own"
echo '{' >"$lab/own.json"
for words in "state long" "start long" "kill long KILL" "delete --force long"; do
    check "with a broken policy its own runtime is asked to $words" contains \
        "$(run_own --ah-policy "$lab/own.json" $words)" own
done
check "nothing is left" nothing_left
finish
