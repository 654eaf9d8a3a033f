# SPDX-License-Identifier: Apache-2.0
# An engine that is told of us wrongly runs plain runc and says nothing. `verify` finds out: the
# right configuration has no finding, every wrong one has its own and, where a container ran without
# us, an alarm; nothing of the throw-away containers is left, ever. Here is a host with us installed,
# for the tests of one engine each: verify, verify_containerd, verify_docker and verify_podman in
# tools/.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$here/lib/engines.sh"
. "$here/lib/cells.sh"
. "$here/lib/node.sh"
needs "${cri_needs[@]}" podman conmon /usr/lib/podman/netavark /usr/bin/docker dockerd
enter_lab
needs_host overlay
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
open_world
wait_at_create
# Engines find us, our policy and our state where an installation has them; what they are asked by
# is found on PATH.
runtime=$lab/bin/anchorhold
for profile in agent agnt ci own; do ln -s anchorhold "$runtime-$profile"; done
mkdir "$lab/etc" "$lab/etc.work" "$lab/tools"
mount -t overlay -o "lowerdir=/etc,upperdir=$lab/etc,workdir=$lab/etc.work" overlay /etc
mkdir -p /etc/anchorhold
ln -s /usr/bin/docker "$lab/tools/docker"
export PATH=$lab/tools:$PATH
policy "{runtime: \"$waiting\", profiles: {off: {cri: true}, agent: {cri: true},
    ci: {egress: \"allowlist\", allow_by: \"packets\", allow: [\"1.1.1.1\"]},
    own: {cri: true, endpoints: [{name: \"model\", listen: 8080,
                                  to: \"unix:$brokers/{id}/broker.sock\"}]}}}"
cp "$lab/policy.json" /etc/anchorhold/policy.json

# ---- what is said -------------------------------------------------------------------------------

is_verified() { # VERIFY-WORD...
    local said
    said=$("$runtime" verify "$@")
    same "0 verified" "$? ${said%%: *}" || { echo "$said"; return 1; }
    nothing_of_it_left
}

# finds NAMES TEXT VERIFY-WORD...: those findings and no other, TEXT in what is said of them, each
# with a remedy; exit 1, and an alarm when one of them is. (How people are told: the unit tests.)
finds() {
    local names=$1 text=$2 verdict=not_verified json
    shift 2
    [[ $names != *no_record* ]] || verdict=alarm
    json=$("$runtime" verify --json "$@")
    same "1 $verdict $names" \
        "$? $(jq -r '"\(.verdict) \([.findings[].name] | unique | join(" "))"' <<<"$json")" &&
        contains "$(jq -r '.findings[].says' <<<"$json")" "$text" &&
        same 0 "$(jq '[.findings[] | select(.remedy == "")] | length' <<<"$json")" &&
        nothing_of_it_left
}

trial() { # VERIFY-WORD...: what came of the first, and the profile it got
    "$runtime" verify --json "$@" | jq -r '.ways[0] | "\(.trial) \(.profile)"'
}

ways() { # VERIFY-WORD...: what came of each way, "WAY: WORD;" one behind the other
    "$runtime" verify --json "$@" | jq -r '[.ways[] | "\(.way): \(.trial)"] | join("; ")'
}

engine_objects() { :; } # what an engine holds that may be of a throw-away container
nothing_of_it_left() {
    local left
    settle
    left=$({
        list_kernel | diff "$lab/kernel.before" - | grep '^>'
        find /run/anchorhold/{runs,locks,subnets} -mindepth 1 2>/dev/null
        find /var/tmp -maxdepth 1 -name 'anchorhold-verify-*'
        pgrep -la anchorhold
        engine_objects
    })
    same "" "$left"
}

# interrupted VERIFY-WORD...: ^C while create waits below us. bash would have it ignored.
interrupted() {
    touch "$lab/wait"
    env --default-signal=INT "$runtime" verify "$@" >"$lab/interrupted" 2>&1 &
    read -r -t $((60 * AH_SLOWNESS)) _ <"$lab/reached" || return
    rm "$lab/wait"
    kill -INT $!
    echo go >"$lab/released"
    wait $!
    same "130 " "$? $(<"$lab/interrupted")" && nothing_of_it_left
}

# without_policy CHECK...: meanwhile there is none; broken_policy: one that cannot be read.
without_policy() {
    mv /etc/anchorhold/policy.json "$lab/kept.json"
    "$@"
    local status=$?
    mv "$lab/kept.json" /etc/anchorhold/policy.json
    return $status
}
broken_policy() {
    cp /etc/anchorhold/policy.json "$lab/kept.json"
    echo '{"version": 1, "ceilling": "off"}' >/etc/anchorhold/policy.json
    "$@"
    local status=$?
    cp "$lab/kept.json" /etc/anchorhold/policy.json
    return $status
}
