#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The features of a kernel are found out by trying them, and cases that need one it lacks are skipped
# by name, neither passed nor failed. A seccomp filter makes the lack here.
. "$(dirname "$0")/../lib/lab.sh"
needs root "$plain_name"
unset AH_FEATURES AH_HAS AH_WITHOUT # of this host
failed=0
counted=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
others() { grep -v "^$1 " <<<"$2"; }

here_has=$("$here/lib/features.sh" 2>&1)
check "every answer is yes or no" same "" "$(grep -vE '^[a-z0-9_]+ (yes|no)$' <<<"$here_has")"

# ---- no 32-bit calls ----------------------------------------------------------------------------

lacks=$("$AH_WITHOUT_I386" "$here/lib/features.sh" 2>&1)
check "killed at a 32-bit call: there are none" contains "$lacks"$'\n' $'ia32 no\nia32_program no\n'
check "and nothing else is lost by that" same \
    "$(others 'ia32[^ ]*' "$here_has")" "$(others 'ia32[^ ]*' "$lacks")"
check "it says so in words" same $'32-bit system calls\n1' \
    "$("$AH_WITHOUT_I386" "$here/lib/features.sh" ia32; echo $?)"

# A kernel that executes no such program: "Exec format error".
printf '\x7fELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\xff\xff' >"$work/foreign"
chmod 755 "$work/foreign"
check "a format that the kernel does not execute: no such program" same "" \
    "$(AH_HELLO_I386=$work/foreign "$here/lib/features.sh" | grep '^ia32_program yes')"
check "nor where it could not be built" same "" \
    "$(AH_HELLO_I386='' "$here/lib/features.sh" | grep '^ia32_program yes')"

# ---- what becomes of the cases ------------------------------------------------------------------

# names KIND: those cases of what a file printed.
names() { sed -nE "s/^($1) ([^#]*[^# ]).*/\2/p" | sort; }

"$here/network/severed.sh" >"$work/with" 2>&1
"$AH_WITHOUT_I386" "$here/network/severed.sh" >"$work/without" 2>&1
status=$?
check "a file without them does not fail" same "0 " "$status $(grep -B1 -A9 '^not ok' "$work/without")"
check "no case is lost" same \
    "$(names 'ok|skip' <"$work/with")" "$(names 'ok|skip' <"$work/without")"
check "what needs them is skipped, by name" same \
    "$({ names skip <"$work/with"; names ok <"$work/with" | grep '^B-58 the i386'; } | sort -u)" \
    "$(names skip <"$work/without")"
check "with the reason" same "" "$(grep '^skip B-58' "$work/without" | grep -v ' # needs 32-bit system calls$')"

# Without us, too: a case that was not tried is no proof that it holds.
turns_red() { # WORDS: that are denied
    AH_WITHOUT=$1 "$here/turns_red.sh" network/severed 2>&1
    echo $?
}
check "a marked case that is skipped does not keep a file from turning red" same \
    $'ok network/severed\n0' "$(turns_red "ia32 ia32_program")"
check "of a file that is skipped nothing turns red, and that is a skip" same \
    $'skip network/severed # needs veth links\n77' "$(turns_red veth)"

# ---- denied by hand -----------------------------------------------------------------------------

check "AH_WITHOUT denies what there is, and what stands on it" contains \
    "$(AH_WITHOUT="userns" "$here/lib/features.sh")" $'userns no\nuserns_unprivileged no'
echo "vsock no" >"$work/features"
check "AH_FEATURES is believed" same "AF_VSOCK sockets" "$(AH_FEATURES=$work/features "$here/lib/features.sh" vsock)"
check "a word that nobody knows is an error" same 99 \
    "$(AH_WITHOUT=nonsense "$here/lib/features.sh" >/dev/null 2>&1; echo $?)"
check "also when it is asked for" same 99 "$("$here/lib/features.sh" nonsense >/dev/null 2>&1; echo $?)"
check "nothing is known without attempt(1)" same 99 \
    "$(AH_ATTEMPT='' "$here/lib/features.sh" ia32 >/dev/null 2>&1; echo $?)"
AH_WITHOUT="userns_unprivileged" "$here/engines/rootless.sh" >"$work/whole" 2>&1
check "a file that has nothing to try is skipped with a line" same \
    "77 skip all other cases of engines/rootless # needs user namespaces of an ordinary user" \
    "$? $(<"$work/whole")"
finish
