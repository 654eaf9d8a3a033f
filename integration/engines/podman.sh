#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# podman --runtime: the model answers, nothing else does, errors reach podman's user, nothing is
# left, whatever podman was asked for besides.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}" \
    podman conmon /usr/lib/podman/netavark catatonit
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
make_image loose "$lab/rootfs" '{}' '{"dev.anchorhold.egress": "open"}'
mkdir -p "$lab/bare/bin" && cp "$lab/bin/attempt" "$lab/bare/bin/attempt"
make_image scratch "$lab/bare"
policy '{ceiling: "allowlist", allow_by: "packets", tcp: "veth", tcp_endpoints: ["host:9000"]}'
open_world
name_hosts
start_ready "$python" "$here/lib/world.py" tcp=9000
start_broker model
start_broker stepwise AH_STEPS=1
set_up_podman "$runtime"
for image in cell loose scratch; do
    in_podman load --quiet --input "$lab/$image.tar" >/dev/null
done
settle() { settle_podman; }
# With IPv6, and where root may ping, so that it is us who refuse both.
in_podman network create --ipv6 --disable-dns web >/dev/null
net=(--network web --sysctl "net.ipv4.ping_group_range=0 0")
# The first container makes podman's bridge, firewall and mounts; those are podman's.
podman_run --rm --runtime plain localhost/cell:1 true
podman_run --rm --runtime plain "${net[@]}" localhost/cell:1 true
settle
remember_kernel

asks() { echo "dev.anchorhold.endpoints=model:8080=unix:$brokers/$1/broker.sock"; }

# answers IMAGE OPTION...: the model does, in a container run with OPTION...
answers() {
    local image=$1 before output
    shift
    before=$(asked model)
    output=$(podman_run --rm --annotation "$(asks model)" "$@" "localhost/$image:1" \
        /bin/attempt ask=8080)
    contains "$output" "ask=8080 reached" && same $((before + 1)) "$(asked model)" && nothing_left
}

red check "the answer arrives" answers cell
red check "each piece arrives before the next is written" contains \
    "$(podman_run --rm --annotation "$(asks stepwise)" localhost/cell:1 attempt ask-stepwise=8080)" \
    "ask-stepwise=8080 reached: 5 pieces"
red check "with --read-only" answers cell --read-only
red check "with --user 1000 and no capability, no_new_privs" \
    answers cell --user 1000 --cap-drop all --security-opt no-new-privileges
red check "with --init" answers cell --init
red check "with relay: child" answers cell --annotation dev.anchorhold.relay=child
red check "with relay: child, --user 1000 and no capability, no_new_privs" answers cell \
    --annotation dev.anchorhold.relay=child --user 1000 --cap-drop all \
    --security-opt no-new-privileges
red check "with --tmpfs /run and /tmp" answers cell --tmpfs /run --tmpfs /tmp
red check "with --volume" answers cell --volume "$lab/b:/work:ro"
# runc's own threads count while it starts; crun has one.
red check "with --pids-limit 100" answers cell --pids-limit 100
podman_run --detach --name counted --pids-limit 100 --annotation "$(asks model)" localhost/cell:1 \
    sleep infinity >/dev/null
red check "the limit grows by the relay" same 101 \
    "$(find /sys/fs/cgroup -path "*$cgroup*" -name pids.max -exec cat {} + | grep -v max)"
in_podman rm --force --time 0 counted >/dev/null
# netavark trips over the link that was taken away, and leaves its bridge to its next teardown.
after_next() {
    settle() {
        podman_run --rm --runtime plain localhost/cell:1 true
        settle_podman
    }
    "$@"
    local status=$?
    settle() { settle_podman; }
    return $status
}
red check "with --uidmap" after_next answers cell --uidmap 0:200000:65536 --gidmap 0:200000:65536
red check "with --network none" answers cell --network none
red check "R22 with --network host" answers cell --network host
red check "with --security-opt seccomp=unconfined" answers cell --security-opt seccomp=unconfined
red check "in an image of one static program" answers scratch

told() { in_podman --runtime "$1" info --format '{{.Host.OCIRuntime.Version}}'; }
check "R25 podman info tells the version of the runtime itself" same "$(told plain)" "$(told anchorhold)"
check "control: it tells one" contains "$(told plain)" "$plain_name version "

# ---- every way out ------------------------------------------------------------------------------

declare -A severed relayed
greedy=(--cap-add NET_ADMIN --cap-add NET_RAW --cap-add MKNOD)
try_ways control podman_run --rm --runtime plain --network host --privileged localhost/cell:1
try_ways severed podman_run --rm "${greedy[@]}" --network host --security-opt seccomp=unconfined \
    localhost/cell:1
podman_run --detach --name long "${net[@]}" "${greedy[@]}" --annotation "$(asks model)" \
    localhost/cell:1 sleep infinity >/dev/null
try_ways relayed in_podman exec long
privileged=$(in_podman exec --privileged long true 2>&1)
environment=$(in_podman exec -e HTTP_PROXY=http://proxy.example:1 -e no_proxy=x -e KEPT=yes long env)
in_podman rm --force --time 0 long >/dev/null
check "nothing is left of it all" nothing_left
red judge severed ", severed, with --network host and no seccomp"
# But for what podman's own network and profile refuse as well.
red_but "loopback|link-local|::1|B-32|B-35|B-56" judge relayed ", from an exec"
red check "an exec --privileged is refused" contains "$privileged" "(bundle_voids_posture)"
red check "R24 C-22 an exec sees no proxy variable" same "" "$(grep -i proxy <<<"$environment")"
check "C-22 and what else it was given" contains "$environment" KEPT=yes

only_lo() { same lo "$(podman_run --rm "$@" localhost/cell:1 ls /sys/class/net)" && nothing_left; }
red check "its links: with podman's bridge, which is made before" only_lo
red check "R16 its links: with --uidmap, where podman plugs in after create" \
    after_next only_lo --uidmap 0:200000:65536 --gidmap 0:200000:65536
check "its links: without us, eth0 too" same "eth0
lo" "$(podman_run --rm --runtime plain localhost/cell:1 ls /sys/class/net)"
late=(--uidmap 0:200000:65536 --gidmap 0:200000:65536 localhost/cell:1
    attempt tcp=9.9.9.9:443 tcp=203.0.113.2:7000 'sh=ip -4 addr show dev eth0')
late_ways=$(podman_run --rm "${late[@]}")
plain_ways=$(podman_run --rm --runtime plain "${late[@]}")
for way in "${late[@]:6}"; do
    red check "with --uidmap: refused at once, $way" refused_at_once "$late_ways" "$way"
    check "with --uidmap: without us, $way" contains "$plain_ways" "$way reached"
done
podman_run --detach --name base --runtime plain localhost/cell:1 sleep infinity >/dev/null
remember_kernel
red check "R23 C-10 its links: in another container's network" only_lo --network container:base
in_podman rm --force --time 0 base >/dev/null
remember_kernel

red check "R20 C-03 an image cannot ask for open" same lo \
    "$(podman_run --rm localhost/loose:1 ls /sys/class/net)"

# ---- what is granted in podman's own network ----------------------------------------------------

# podman takes an annotation for a list unless it is quoted.
grants=(--annotation dev.anchorhold.egress=allowlist
    --annotation "\"dev.anchorhold.allow=$granted_rules\"")

caller() { # WORD NAMESPACE-COMMAND...: somebody asks for what listens inside by the published port
    start_ready in_podman exec "$name" attempt listen=0.0.0.0:5555
    "${@:2}" "$lab/bin/attempt" "tcp=$1"
}
nat_of_podman() { iptables-save -t nat | grep -v '^#'; }

podman_run --rm --name warm "${net[@]}" "${grants[@]}" "${greedy[@]}" -p 8088:5555 localhost/cell:1 true
settle
remember_kernel
nat_before=$(nat_of_podman)
name=plain
podman_run --detach --name plain --runtime plain "${net[@]}" -p 8088:5555 localhost/cell:1 \
    sleep infinity >/dev/null
plain_ways=$(in_podman exec plain attempt tcp=9.9.9.9:443 tcp=203.0.113.2:7000 dns-udp=1.1.1.1)
from_outside=$(caller 203.0.113.2:8088 nsenter --net=/run/netns/internet)
in_podman rm --force --time 0 plain >/dev/null
for way in tcp=9.9.9.9:443 tcp=203.0.113.2:7000 dns-udp=1.1.1.1; do
    check "in place: without us, $way" contains "$plain_ways" "$way reached"
done
check "B-55 in place: without us it is read from outside" contains "$from_outside" reached
settle

name=place
podman_run --detach --name place --add-host given.test:192.0.2.9 "${net[@]}" "${greedy[@]}" -p 8088:5555 "${grants[@]}" localhost/cell:1 \
    sleep infinity >/dev/null
record=$(echo "$lab"/state/runs/*/record.json)
red check "in place: the record says so" same 'enforced filtered in-place' \
    "$(jq -r '"\(.state) \(.posture) \(.technique)"' "$record")"
red_but ": granted," judge_granted "in place, from an exec" \
    "$(in_podman exec place attempt "${granted_ways[@]}" "${refused_ways[@]}")"
red check "in place: resolv.conf is ours, and cannot be written" same "nameserver 127.0.0.1
options timeout:1 attempts:1" "$(in_podman exec place sh -c \
    'echo nameserver 9.9.9.9 >/etc/resolv.conf; cat /etc/resolv.conf' 2>/dev/null)"
check "in place: hosts has the name that was granted" contains \
    "$(in_podman exec place cat /etc/hosts | tr '\t' ' ')" "1.1.1.1 allowed.test"
check "in place: and podman's own entries stay" contains "$(in_podman exec place cat /etc/hosts)" given.test
red check "in place: a privileged exec is refused" contains \
    "$(in_podman exec --privileged place true 2>&1)" "(bundle_voids_posture)"
check "in place: the published port is reached from the node" contains \
    "$(caller 127.0.0.1:8088 env)" reached
check "in place: by any address of the node" contains "$(caller 203.0.113.2:8088 env)" reached
red check "B-55 in place: and not from outside" contains \
    "$(caller 203.0.113.2:8088 nsenter --net=/run/netns/internet)" refused
red check "in place: what was denied can be read" contains "$("$lab/bin/anchorhold" \
    --ah-state "$lab/state" denials "$(jq -r .id "$record")")" 9.9.9.9
in_podman rm --force --time 0 place >/dev/null
check "in place: nothing is left" nothing_left
check "in place: podman's own rules are as they were" same "$nat_before" "$(nat_of_podman)"
red_but ": granted," judge_granted "in place" "$(podman_run --rm "${net[@]}" "${grants[@]}" "${greedy[@]}" \
    localhost/cell:1 attempt "${granted_ways[@]}" "${refused_ways[@]}")"
check "in place: nothing is left of that either" nothing_left

seals=(--annotation dev.anchorhold.endpoints=model:8080=tcp:host:9000)
sealed=$(podman_run --rm "${seals[@]}" "${greedy[@]}" localhost/cell:1 \
    attempt tcp=127.0.0.1:8080 tcp=1.1.1.1:443 tcp=203.0.113.2:7000 net-capabilities)
red check "sealed: the broker's port answers" contains "$sealed" "tcp=127.0.0.1:8080 reached"
for way in tcp=1.1.1.1:443 tcp=203.0.113.2:7000 net-capabilities; do
    red check "sealed: refused, $way" refused_at_once "$sealed" "$way"
done
check "sealed: nothing is left" nothing_left

# ---- the rest of a container's life -------------------------------------------------------------

session() { # session RUNTIME WORD...
    local name=$1
    shift
    within 60 "$python" "$here/lib/terminal.py" command podman run --cgroup-parent "/$cgroup" --rm \
        --runtime "$name" --interactive --tty --hostname cell "$@" localhost/cell:1 dash 2>&1
}
exec_session() { # exec_session RUNTIME
    podman_run --detach --name "typed-$1" --runtime "$1" localhost/cell:1 sleep infinity >/dev/null
    within 60 "$python" "$here/lib/terminal.py" command podman exec --interactive --tty "typed-$1" \
        dash 2>&1
    in_podman rm --force --time 0 "typed-$1" >/dev/null
}
plain_session=$(session plain)
check "a terminal session reads as without us" same "$plain_session" "$(session anchorhold)"
check "also when the model is asked for" \
    same "$plain_session" "$(session anchorhold --annotation "$(asks model)")"
check "an exec's terminal reads as without us" \
    same "$(exec_session plain)" "$(exec_session anchorhold)"
check "and the terminal did something" contains "$plain_session" "interrupted: 130"

for status in 0 3 125 255; do
    check "B-41 exit $status" same $status \
        "$(podman_run --rm --annotation "$(asks model)" localhost/cell:1 sh -c "exit $status"; echo $?)"
done

stopped_and_started() {
    podman_run --detach --name again --annotation "$(asks model)" localhost/cell:1 \
        sh -c 'trap "exit 42" TERM; attempt ask=8080; while :; do sleep 60 & wait; done' >/dev/null
    until in_podman logs again 2>/dev/null | grep -q ask=8080; do :; done # its trap is set
    in_podman stop --time 30 again >/dev/null
    same 42 "$(in_podman inspect --format '{{.State.ExitCode}}' again)" && nothing_left || return
    in_podman start again >/dev/null
    in_podman exec again attempt ask=8080 | grep 'ask=8080 reached' || return
    in_podman rm --force --time 0 again >/dev/null
    nothing_left
}
red check "stop, start again, remove" stopped_and_started

# ---- errors -------------------------------------------------------------------------------------

# refused RUNTIME: podman shows our line, and leaves nothing.
refused() {
    local output status
    output=$(podman_run --rm --runtime "$1" --annotation dev.anchorhold.egress=closed \
        localhost/cell:1 true 2>&1)
    status=$?
    same 126 $status && contains "$output" "anchorhold: create " &&
        contains "$output" "(invalid_request)" && nothing_left
}
red check "R7 podman shows our line, from the log" refused anchorhold
red check "R7 podman shows our line, from stderr" refused anchorhold-text
check "a command that is not there, severed: 127" same 127 \
    "$(podman_run --rm localhost/cell:1 /nonexistent >/dev/null 2>&1; echo $?)"
check "a command that is not there, relayed: 127" same 127 \
    "$(podman_run --rm --annotation "$(asks model)" localhost/cell:1 /nonexistent >/dev/null 2>&1; echo $?)"

# misses STATUS NAME TEXT: podman run --detach, as without us.
misses() {
    local output status
    output=$(podman_run --detach --rm --annotation "$(asks model)" localhost/cell:1 "$2" 2>&1)
    status=$?
    same "$1" $status && contains "$output" "$3" && nothing_left
}
check "C-60 run --detach misses a command: 127" misses 127 nosuch \
    'exec: "nosuch": executable file not found in $PATH'
check "C-60 run --detach misses a path: 127" misses 127 /nosuch 'no such file or directory'
check "C-60 run --detach misses a program: 126" misses 126 /etc/passwd 'permission denied'
podman_run --detach --rm --runtime plain localhost/cell:1 nosuch >/dev/null 2>&1
check "C-60 run --detach misses a command: without us too" same 127 $?

# SIGKILL of the shim while create waits in a hook of the user's.
killed_at_create() {
    local shim
    mkfifo "$lab/reached" "$lab/released"
    mkdir "$lab/hooks.d"
    cat >"$lab/bin/pause" <<CODE
#!/bin/sh
cut -d' ' -f4 /proc/\$PPID/stat >$lab/reached
read -r word <$lab/released
CODE
    chmod 755 "$lab/bin/pause"
    jq -n --arg path "$lab/bin/pause" '{version: "1.0.0", hook: {path: $path},
        when: {always: true}, stages: ["createRuntime"]}' >"$lab/hooks.d/pause.json"
    podman_run --name cut --hooks-dir "$lab/hooks.d" --annotation "$(asks model)" localhost/cell:1 \
        sleep 60 >"$lab/cut.out" 2>&1 &
    read -r shim <"$lab/reached"
    kill -KILL "$shim"
    echo go >"$lab/released"
    wait $!
    in_podman rm --force --time 0 cut >/dev/null 2>&1
    "$plain_runtime" list --quiet | xargs --no-run-if-empty -n 1 "$plain_runtime" delete --force
    "$runtime" gc && nothing_left
}
red check "B-43 SIGKILL of the shim at create, then gc" killed_at_create

# Nobody calls delete then: podman rm only kills.
conmon_killed() {
    local name
    for name in orphan stands; do
        podman_run --detach --name $name --annotation "$(asks model)" localhost/cell:1 sleep infinity
    done
    kill -KILL "$(in_podman inspect --format '{{.State.ConmonPid}}' orphan)"
    "$runtime" gc && lives orphan && in_podman rm --force --time 0 orphan && "$runtime" gc &&
        same 1 "$(find "$lab/state/runs" -name record.json | wc -l)" && lives stands
    local status=$?
    in_podman rm --force --time 0 stands
    "$plain_runtime" list --quiet | xargs --no-run-if-empty -n 1 "$plain_runtime" delete --force
    [ $status = 0 ] && nothing_left
}
lives() { in_podman exec "$1" attempt ask=8080 | grep 'ask=8080 reached'; }
red check "B-43 SIGKILL of conmon, then gc: both runs live; podman rm, then gc: one does" conmon_killed
finish
