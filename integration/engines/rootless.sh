#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rootless podman: whoever may not touch the host's network is confined all the same. The helper
# that gives a rootless container its network serves an empty namespace, the model answers, what
# needs the host's root is tightened or refused, nothing is left.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" podman conmon \
    setpriv useradd newuidmap slirp4netns
enter_lab
needs_host userns_unprivileged tun overlay
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
open_world

# ---- somebody -----------------------------------------------------------------------------------

# Known to the laboratory alone, with ids of its own for its containers.
mkdir "$lab/etc" "$lab/etc.work"
mount -t overlay -o "lowerdir=/etc,upperdir=$lab/etc,workdir=$lab/etc.work" overlay /etc
home=$lab/home
useradd --no-log-init --create-home --home-dir "$home" --shell /bin/sh somebody
uid=$(id -u somebody)
mine=/run/user/$uid
mkdir -p "$mine/brokers" && chown -R somebody "$mine" && chmod 700 "$mine"
# slirp4netns opens it, and a careful host keeps it closed.
mknod "$lab/tun" c 10 200 && chmod 666 "$lab/tun" && mount --no-mtab --bind "$lab/tun" /dev/net/tun

as_somebody() {
    setpriv --reuid "$uid" --regid "$(id -g somebody)" --init-groups env -i HOME="$home" \
        USER=somebody PATH="$PATH" TERM=dumb XDG_RUNTIME_DIR="$mine" \
        CONTAINERS_CONF="$lab/containers.conf" timeout $((60 * AH_SLOWNESS)) "$@"
}
in_podman() { as_somebody podman "$@"; }
podman_run() { in_podman run "$@"; }
settle() { settle_podman; }

policy "{ceiling: \"allowlist\", allow_by: \"packets\", tcp: \"veth\", tcp_endpoints: [\"host:9000\"],
         sockets: [\"$mine/brokers\", \"$brokers\"]}"
# The state is where a rootless one keeps it.
[ -n "$bare" ] || printf '#!/bin/sh\nexec %s --ah-policy %s "$@"\n' "$lab/bin/anchorhold" \
    "$lab/policy.json" >"$runtime"
set_up_podman "$runtime"
# Their own broker, and one of another user: a rootless shim can list no directory of mode 0711.
as_somebody mkdir -m 711 "$mine/brokers/model"
start_ready "$python" "$here/lib/step_broker.py" --user "$uid" --pause 0 \
    --socket "$mine/brokers/model/broker.sock" --log "$lab/broker.model.log"
start_broker other
chmod 755 "$brokers/other"
in_podman load --quiet --input "$lab/cell.tar" >/dev/null
podman_run --rm --runtime plain localhost/cell:1 true
settle
remember_kernel
state=$mine/anchorhold
nothing_of_somebodys() { # what stays there is the probes' answers and the last records
    local left
    settle
    left=$({
        list_kernel | diff "$lab/kernel.before" - | grep '^>'
        find "$state"/{runs,locks,subnets} -mindepth 1
        pgrep -la 'anchorhold|slirp4netns'
        find /run/anchorhold /dev/anchorhold 2>/dev/null
    })
    same "" "$left"
}
asks() { echo "dev.anchorhold.endpoints=model:8080=unix:$1/broker.sock"; }
model=(--annotation "$(asks "$mine/brokers/model")")

# ---- the helper serves an empty namespace -------------------------------------------------------

# It answers at 10.0.2.2 for the host's loopback.
helped=(--network slirp4netns:allow_host_loopback=true localhost/cell:1)
helpers_ways=(tcp=10.0.2.2:7000 tcp=203.0.113.2:7000 tcp=1.1.1.1:443 dns-udp=1.1.1.1 dns-tcp=8.8.8.8
    'sh=ip -4 addr show dev tap0')
plain_ways=$(podman_run --rm --runtime plain "${helped[@]}" attempt "${helpers_ways[@]}")
severed_ways=$(podman_run --rm "${helped[@]}" attempt "${helpers_ways[@]}")
podman_run --detach --name long "${model[@]}" "${helped[@]}" sleep infinity >/dev/null
exec_ways=$(in_podman exec long attempt "${helpers_ways[@]}")
record=$(cat "$state"/runs/*/record.json)
privileged=$(in_podman exec --privileged long true 2>&1)
environment=$(in_podman exec -e HTTP_PROXY=http://proxy.example:1 -e KEPT=yes long env)
in_podman rm --force --time 0 long >/dev/null
for way in "${helpers_ways[@]}"; do
    check "C-32 without us, $way" contains "$plain_ways" "$way reached"
    red check "C-32 refused, $way" refused_at_once "$severed_ways" "$way"
    red check "C-32 refused from an exec, $way" refused_at_once "$exec_ways" "$way"
done
red check "C-32 the record says so" same "enforced relayed relay" \
    "$(jq -r '"\(.state) \(.posture) \(.technique)"' <<<"$record")"
red check "C-32 the table inside holds as well" contains "$(jq -c .verified <<<"$record")" '"drop-table"'
red check "an exec --privileged is refused" contains "$privileged" "(bundle_voids_posture)"
red check "C-22 an exec sees no proxy variable" same "" "$(grep -i proxy <<<"$environment")"
check "C-22 and what else it was given" contains "$environment" KEPT=yes
check "nothing is left, nor of the helper" nothing_of_somebodys

# ---- the model ----------------------------------------------------------------------------------

# answers BROKER OPTION...: the model does.
answers() {
    local before output
    before=$(asked "$1")
    output=$(podman_run --rm "${@:2}" localhost/cell:1 attempt ask=8080)
    contains "$output" "ask=8080 reached" && same $((before + 1)) "$(asked "$1")" &&
        nothing_of_somebodys
}
red check "the answer arrives, from a broker of their own" answers model "${model[@]}"
red check "from another user's broker" answers other --annotation "$(asks "$brokers/other")"
chmod 711 "$brokers/other"
unlisted=$(podman_run --rm --annotation "$(asks "$brokers/other")" localhost/cell:1 true 2>&1)
red check "a directory that the engine's user cannot list, with the remedy" contains "$unlisted" \
    "the engine's user cannot list $brokers/other; chmod 0755 it, or chown it to that user (endpoint_"
chmod 755 "$brokers/other"
red check "with --network none" answers model "${model[@]}" --network none
red check "with --read-only" answers model "${model[@]}" --read-only
red check "with --init" answers model "${model[@]}" --init
red check "with --user 1000" answers model "${model[@]}" --user 1000
red check "with --userns keep-id" answers model "${model[@]}" --userns keep-id
red check "with --uidmap" answers model "${model[@]}" --uidmap 0:1:1000 --gidmap 0:1:1000
red check "with relay: child" answers model "${model[@]}" --annotation dev.anchorhold.relay=child

# ---- what needs the host's root -----------------------------------------------------------------

echo 1 >/proc/sys/net/ipv4/ip_forward
rm "$state"/ended/*
podman_run --rm --annotation dev.anchorhold.egress=allowlist \
    --annotation dev.anchorhold.allow=1.1.1.1 localhost/cell:1 true
red check "C-32 an allow list by packets is severed" contains "$(jq -r .sentence "$state"/ended/*)" \
    "Network: allowlist — severed: this host cannot filter"
refused() { # refused TEXT OPTION...
    local output
    output=$(podman_run --rm "${@:2}" localhost/cell:1 true 2>&1) && return 1
    contains "$output" "anchorhold: create " && contains "$output" "$1" && nothing_of_somebodys
}
red check "C-32 a tcp endpoint is refused" refused "(posture_unavailable)" \
    --annotation dev.anchorhold.endpoints=model:8080=tcp:host:9000
red check "--network host, with which podman binds the host's /sys, is refused" \
    refused "(bundle_voids_posture)" --network host
red check "R7 podman shows our line" refused "(invalid_request)" --annotation dev.anchorhold.egress=closed

# ---- the gate needs none of it ------------------------------------------------------------------

echo 0 >/proc/sys/net/ipv4/ip_forward
cp "$lab/policy.json" "$lab/packets.json"
jq 'del(.allow_by)' "$lab/packets.json" >"$lab/policy.json"
# The resolver out there says 1.1.1.1 to every question.
echo "nameserver 1.1.1.1" >/etc/resolv.conf # of the overlay
listed=(--annotation dev.anchorhold.egress=allowlist --annotation dev.anchorhold.allow=named.test)
gated_ways() { # OPTION...
    podman_run --rm "${listed[@]}" "$@" localhost/cell:1 sh -c 'nc named.test 443 </dev/null
        nc other.test 443 </dev/null; nc -w 9 1.1.1.1 443 </dev/null' 2>&1
}
by_gate() { # OPTION...
    local ways
    rm -f "$state"/ended/*
    ways=$(gated_ways "$@")

    same 1 "$(grep -c 'hello from outside' <<<"$ways")" && contains "$ways" "bad address 'other.test'" &&
        same "filtered gate" "$(jq -r '"\(.posture) \(.technique)"' "$state"/ended/*)" &&
        contains "$(jq -c '[.refused_names.names[].name]' "$state"/ended/*)" other.test &&
        nothing_of_somebodys
}
if only_where tproxy "a name is reached, and nothing else"; then
    red check "a name is reached, and nothing else" by_gate
    red check "with --network none" by_gate --network none
fi
cp "$lab/packets.json" "$lab/policy.json"

# A place of a container's "nobody" shows the number that the host's root shows there.
as_somebody mkdir "$mine/place"
cp "$lab/policy.json" "$mine/place/policy.json"
by_policy() {
    in_podman unshare "$lab/bin/anchorhold" --ah-policy "$mine/place/policy.json" create x 2>&1
}
in_podman unshare chown 65534 "$mine/place"
check "a policy that a container's nobody could write is refused" contains "$(by_policy)" \
    "policy: $mine/place belongs to uid 65534; chown it to root (invalid_policy)"
chown root "$mine/place"
check "and is none where the host's root has it" contains "$(by_policy)" "(invalid_request)"

# ---- the rest of a container's life -------------------------------------------------------------

session() { # session RUNTIME OPTION...
    as_somebody "$python" "$here/lib/terminal.py" command podman run --rm --runtime "$1" --interactive \
        --tty --hostname cell "${@:2}" localhost/cell:1 dash 2>&1
}
plain_session=$(session plain)
check "a terminal session reads as without us" same "$plain_session" "$(session anchorhold)"
check "also when the model is asked for" same "$plain_session" "$(session anchorhold "${model[@]}")"
check "and the terminal did something" contains "$plain_session" "interrupted: 130"
for status in 0 3 125 255; do
    check "B-41 exit $status" same $status \
        "$(podman_run --rm "${model[@]}" localhost/cell:1 sh -c "exit $status"; echo $?)"
done

lives() { in_podman exec "$1" attempt ask=8080 | grep 'ask=8080 reached'; }
stopped_and_started() {
    podman_run --detach --name again "${model[@]}" localhost/cell:1 \
        sh -c 'trap "exit 42" TERM; while :; do sleep 60 & wait; done' >/dev/null
    lives again || return
    in_podman stop --time 30 again >/dev/null
    same 42 "$(in_podman inspect --format '{{.State.ExitCode}}' again)" &&
        nothing_of_somebodys || return
    in_podman start again >/dev/null
    lives again || return
    in_podman rm --force --time 0 again >/dev/null
    nothing_of_somebodys
}
red check "stop, start again, remove" stopped_and_started

conmon_killed() {
    local name status
    for name in orphan stands; do
        podman_run --detach --name $name "${model[@]}" localhost/cell:1 sleep infinity
    done
    kill -KILL "$(in_podman inspect --format '{{.State.ConmonPid}}' orphan)"
    sweep && lives orphan && in_podman rm --force --time 0 orphan && sweep &&
        same 1 "$(find "$state/runs" -name record.json | wc -l)" && lives stands
    status=$?
    in_podman rm --force --time 0 stands
    [ $status = 0 ] && nothing_of_somebodys
}
sweep() { in_podman unshare "$runtime" gc; }
red check "B-43 SIGKILL of conmon, then gc: both runs live; podman rm, then gc: one does" conmon_killed
finish
