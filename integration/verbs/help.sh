#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our table of options has every one that the installed runtime's own help names, with its arity: a
# runtime that learnt a new one fails here, and not at somebody's create.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root "${AH_RUNTIME:-runc}" busybox jq getent ldd
enter_lab
make_rootfs "$lab/rootfs"
policy
refusal="is not one that this version knows"

# help_of [VERB]: "OPTION" or "OPTION VALUE" per line, from lines as
#    --bundle value, -b value  path to the root       (runc)
#    -b, --bundle=DIR          container bundle       (crun)
help_of() {
    local line spelling valued
    "$plain_runtime" "$@" --help 2>&1 | grep -E '^ +-' | sed -E 's/^ +//; s/  .*//' |
        while read -r line; do
            valued=
            [[ $line != *' value'* && $line != *[^[]=* ]] || valued=VALUE
            for spelling in $(tr ',' '\n' <<<"$line" | sed -E 's/ value$//; s/\[?=.*//'); do
                echo "$spelling" $valued
            done
        done
}

answer() {
    within 30 "$runtime" "$@" 2>&1 </dev/null
}

# knows WORD...: not refused by us for its words; for what is missing, perhaps.
knows() {
    local said
    said=$(answer "$@")
    [[ $said != *"$refusal"* ]] || same "" "$said"
}

# refuses WHAT WORD...: by us, for that word.
refuses() {
    local what=$1
    shift
    contains "$(answer "$@")" "option \"$what\" $refusal"
}

# A run of ours, so that exec looks at its words.
bundle own . sh -c 'exec sleep infinity'
within 60 "$runtime" create --bundle "$lab/b/own" own </dev/null >/dev/null 2>&1

# Behind an option that is read with its arity stands the subcommand, and its word is looked at.
named=0
while read -r option value; do
    named=$((named + 1))
    [[ $option == -@(h|v|V|\?) || $option == --@(help|usage|version) ]] ||
        check "global $option is known" refuses --frob "$option" $value create --frob
done < <(help_of)
check "the help named some global options" [ "$named" -ge 6 ]
check "a global option that nobody knows hides a create" refuses --frob --frob create
check "it hides one behind its value as well" refuses --frob --frob x create --bundle "$lab/b/own" x

for verb in create run restore; do
    while read -r option value; do
        check "$verb $option is known" knows "$verb" "$option" $value
        [ -z "$value" ] || check "$verb $option takes a value" refuses "$option" "$verb" "$option"
    done < <(help_of "$verb")
    check "$verb with an option that nobody knows" refuses --frob "$verb" --frob x
done

while read -r option value; do
    check "exec $option is known" knows exec "$option" own
    [ -n "$value" ] || continue
    check "exec $option takes a value" knows exec "$option" VALUE own
done < <(help_of exec)
while read -r option value; do
    check "update $option is known" knows update "$option" $value own
done < <(help_of update)
check "exec into a run of ours with an option that nobody knows" refuses --frob exec --frob own true
check "update of a run of ours with an option that nobody knows" refuses --frob update --frob own
check "start of a run of ours with an option that nobody knows" refuses --frob start --frob own
check "the run is not harmed by that" same created "$(answer state own | jq -r .status)"
within 60 "$runtime" delete --force own
finish
