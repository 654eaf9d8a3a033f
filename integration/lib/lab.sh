# SPDX-License-Identifier: Apache-2.0
# Helpers for every test here: needs, a laboratory, named cases, bundles, a broker.
#
# A file runs in a laboratory of its own: fresh mount, network, pid, ipc and uts namespaces in
# which /run and /var/lib are empty and "the host" is what the laboratory sees. So files can run
# side by side, engines run with their default paths, and whatever a killed test leaves dies with
# its pid namespace. That we leave nothing is asserted before that, not by that.
#
# ANCHORHOLD_MUST_RUN=1: a missing need is an error (99) instead of a skip (77). What the kernel of
# this host lacks (features.sh) is never an error: the cases that ask for it are skipped by name.
# AH_BARE=1: the runtime itself is put where the shim should be; then a file must fail.
# shellcheck shell=bash
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) # integration/
lab=/run/lab
brokers=/run/brokers
plain_name=${AH_RUNTIME:-runc} # the runtime that the product calls: runc or crun
. "$here/lib/features.sh"
AH_SLOWNESS=$("$here/lib/slowness.sh")
export AH_SLOWNESS
bare=${AH_BARE:-}

missing() {
    echo "# needs $1"
    [ "${ANCHORHOLD_MUST_RUN:-}" = 1 ] && exit 99
    exit 77
}

# needs WORD...: root, or a command on PATH.
needs() {
    local word
    for word in "$@"; do
        if [ "$word" = root ]; then
            [ "$(id -u)" = 0 ] || missing root
        else
            command -v "$word" >/dev/null || missing "$word"
        fi
    done
}

# The paths of what was built are meson's to say. A file that is called by hand has none.
file_name=$(realpath --relative-to "$here" "$0")
file_name=${file_name%.sh} # as integration/run takes it
if [ -z "${AH_SHIM:-}" ] && [[ $file_name != ../* ]]; then
    missing "a build; run it by ${run_by:-integration/run $file_name}"
fi

# within SECONDS COMMAND...: ends a command that hangs, after so long on a quick machine and longer
# on a slow one. No case depends on it.
within() { timeout $(($1 * AH_SLOWNESS)) "${@:2}"; }

needs gojq
jq() { gojq "$@"; } # a tenth of the time, and a run of all files calls it 5,000 times

# ---- the laboratory -----------------------------------------------------------------------------

# Runs the file again inside; returns only there.
enter_lab() {
    if [ -n "${AH_LAB_CGROUP:-}" ]; then
        furnish_lab
        return
    fi
    local stage inside status
    stage=$(mktemp -d)
    set -m # or & would have it ignore INT and read nothing
    AH_LAB_CGROUP=ah-test-$$ AH_LAB_STAGE=$stage unshare --mount --net --uts --ipc --pid --fork \
        --kill-child --mount-proc bash "$0" "$@" &
    set +m
    inside=$!
    # unshare ignores INT and TERM; its child, the laboratory's init, takes everything along.
    trap 'pkill -KILL -P $inside || kill -KILL $inside' HUP INT TERM
    wait $inside
    status=$?
    wait $inside 2>/dev/null # a signal ends the first wait, not the laboratory
    rmdir "$stage"
    remove_cgroups
    exit $status
}

# Cgroups are the one thing a laboratory shares with the host. A killed laboratory's go with the
# next one's; a directory with something alive in it does not go.
remove_cgroups() {
    local directory owner
    for directory in /sys/fs/cgroup/{,*/}ah-test-*; do
        owner=${directory##*-}
        [ ! -d "$directory" ] || [ "$owner" != $$ ] && [ -d "/proc/$owner" ] && continue
        find "$directory" -depth -type d -delete 2>/dev/null
    done
}

furnish_lab() {
    local cgroup2=/sys/fs/cgroup/unified
    cgroup=$AH_LAB_CGROUP
    # The sources may lie below what is hidden next, so what is needed of them comes along.
    mount -t tmpfs -o mode=755 tmpfs "$AH_LAB_STAGE"
    mkdir -p "$AH_LAB_STAGE"/{lab/bin,lab/libexec/anchorhold,lab/b,lab/demo,lab/contrib,brokers}
    cp -r "$here" "$AH_LAB_STAGE/lab/integration"
    cp "$here"/../contrib/demo/* "$AH_LAB_STAGE/lab/demo"
    cp -r "$here/../contrib/podman" "$AH_LAB_STAGE/lab"
    cp -r "$here"/../contrib/{agents,brokers,demo,policies} "$AH_LAB_STAGE/lab/contrib"
    cp "$here/../README.md" "$AH_LAB_STAGE/lab"
    install_product "$AH_LAB_STAGE/lab"
    mount --no-mtab --move "$AH_LAB_STAGE" /run
    mount -t tmpfs -o mode=755 tmpfs /var/lib
    mount -t tmpfs -o mode=1777 tmpfs /var/tmp
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    # crun refuses the hybrid layout; without the second hierarchy it sees plain cgroup v1.
    if mountpoint -q "$cgroup2"; then umount "$cgroup2"; fi
    hostname lab
    skipped=0
    ip link set lo up
    here=$lab/integration
    cd "$lab" || exit 1
    failed=0
    counted=0
}

# The binaries as an installation lays them out. Tests call $runtime, which
# is the shim. With AH_BARE it is $plain_runtime, which is runc or crun, so that a suite can be seen
# to turn red.
install_product() {
    plain_runtime=$(command -v "$plain_name")
    attempt=${AH_ATTEMPT:-}
    [ -z "$attempt" ] || cp "$attempt" "$1/bin/attempt"
    [ ! -x "${AH_HELLO_I386:-}" ] || cp "$AH_HELLO_I386" "$1/bin/hello-i386"
    if [ -n "${AH_SHIM:-}" ]; then
        cp "$AH_SHIM" "$1/bin/anchorhold"
        cp "$AH_HOOK" "$AH_RELAY" "$AH_GATE" "$1/libexec/anchorhold"
    fi
    {
        echo '#!/bin/sh'
        if [ -n "$bare" ]; then
            echo "exec $plain_runtime \"\$@\""
        else
            echo "exec $lab/bin/anchorhold --ah-policy $lab/policy.json \\"
            echo "    --ah-state $lab/state \"\$@\""
        fi
    } >"$1/bin/runtime"
    chmod 755 "$1/bin/runtime"
    runtime=$lab/bin/runtime
}

# policy JSON-MEMBERS: writes the policy of this laboratory, with its runtime filled in.
policy() {
    jq -n --arg runtime "$plain_runtime" --arg brokers "$brokers" \
        "{version: 1, runtime: \$runtime, sockets: [\$brokers]} + ${1:-{\}}" >"$lab/policy.json"
}

# ---- cases --------------------------------------------------------------------------------------

# red CASES...: a command that makes cases which cannot hold without us. With AH_BARE their lines
# carry a mark, and turns_red.sh wants to see each of them fail that this host can try.
red() {
    local needs_us='*'
    "$@"
}

# red_only 'PART|PART' CASES...: of those, the cases in whose name a part is.
red_only() {
    local needs_us="*@($1)*"
    "${@:2}"
}

# red_but 'PART|PART' CASES...: of those, the cases in whose name no part is.
red_but() {
    local needs_us="!(*@($1)*)"
    "${@:2}"
}

mark_of() { # NAME: what follows it on its line
    # shellcheck disable=SC2053
    [ -z "$bare" ] || [[ $1 != ${needs_us-} ]] || echo " # needs us"
}

ok() {
    counted=$((counted + 1))
    echo "ok $1$(mark_of "$1")"
}

not_ok() {
    counted=$((counted + 1))
    failed=$((failed + 1))
    echo "not ok $1$(mark_of "$1")"
    [ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/#   /'
}

# check NAME COMMAND...: the case holds when the command succeeds; its output shows when not.
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$output"; fi
}

# skip NAME WHY: the case could not be tried on this host; neither passed nor failed.
skip() {
    skipped=$((${skipped:-0} + 1))
    echo "skip $1 # $2$(mark_of "$1")"
}

# check_where "WORD..." NAME COMMAND...: the case, where the host has these features.
check_where() {
    # shellcheck disable=SC2086
    if host_lacks $1; then skip "$2" "needs $lacking"; else check "${@:2}"; fi
}

# only_where "WORD..." NAME...: fails where the host lacks one of these features, and has then
# skipped the cases of these names.
only_where() {
    local name
    # shellcheck disable=SC2086
    host_lacks $1 || return 0
    shift
    for name in "$@"; do skip "$name" "needs $lacking"; done
    return 1
}

# needs_host WORD...: without these features there is nothing that this file could try.
needs_host() {
    host_lacks "$@" || return 0
    red skip "all other cases of $file_name" "needs $lacking"
    [ "${failed:-0}" = 0 ] || finish
    [ "${counted:-0}" = 0 ] || exit 0
    exit 77
}

same() { # same WANTED GOT
    [ "$1" = "$2" ] || { printf 'wanted: %q\ngot:    %q\n' "$1" "$2"; return 1; }
}

contains() { # contains TEXT PART
    [[ $1 == *"$2"* ]] || { printf 'no %q in: %s\n' "$2" "$1"; return 1; }
}

# The file's verdict; its last line.
finish() {
    [ $((counted + ${skipped:-0})) -gt 0 ] || not_ok "some case ran"
    [ "$failed" = 0 ]
    exit
}
