#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Docker, one runtime per profile: the model answers, nothing else does, no network comes late,
# errors reach docker's user, nothing is left, and containers outlive what runs them as ever.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}" containerd ctr \
    /usr/bin/docker dockerd iptables useradd
enter_lab
make_rootfs "$lab/rootfs"
profiles() {
    jq -n --arg brokers "$brokers" --arg granted "$granted_rules" '
        def asks(name): {endpoints: [{name: "model", listen: 8080,
                                      to: "unix:\($brokers)/\(name)/broker.sock"}]};
        ($granted | split(", ")) as $granted
        | {model: asks("model"), stepwise: asks("stepwise"), absent: asks("absent"),
           named: asks("{hostname}"),
           granted: {egress: "allowlist", allow_by: "packets", allow: $granted},
           sealed: {tcp: "veth", endpoints: [{name: "model", listen: 8080, to: "tcp:host:9000"}]},
           open: {}}'
}
policy "{tcp_endpoints: [\"host:9000\"], profiles: $(profiles)}"
# A runtime by its name alone finds its policy in /etc.
mkdir "$lab/etc" "$lab/etc.work"
mount -t overlay -o "lowerdir=/etc,upperdir=$lab/etc,workdir=$lab/etc.work" overlay /etc
mkdir -p /etc/anchorhold
cp "$lab/policy.json" /etc/anchorhold/policy.json
named=anchorhold
[ -z "$bare" ] || named=runtime
for profile in off model; do ln -s $named "$lab/bin/anchorhold-$profile"; done
open_world
name_hosts
start_ready "$python" "$here/lib/world.py" tcp=9000
start_broker model
start_broker stepwise AH_STEPS=1

# ---- dockerd ------------------------------------------------------------------------------------

runtimes() {
    local profile
    jq -n --arg path "$plain_runtime" '{plain: {path: $path}}'
    for profile in off model stepwise absent named granted sealed open; do
        jq -n --arg name "$profile" --argjson runtime "$(docker_runtime "$profile")" \
            '{($name): $runtime}'
    done
    for profile in off model; do
        jq -n --arg name "anchorhold-$profile" --arg bin "$lab/bin" '{($name): {path: "\($bin)/\($name)"}}'
    done
}
start_containerd
set_up_docker "$(runtimes | jq -s add)"
start_docker
# Images: a careless one with proxies for every process, one for user 1000, one static program.
image() { # image NAME ROOTFS CHANGE...
    local name=$1 rootfs=$2 change changes=()
    shift 2
    for change in 'ENV PATH=/bin' 'ENV HTTP_PROXY=http://proxy.example:3128' \
        'ENV https_proxy=http://proxy.example:3128' 'CMD ["sh"]' "$@"; do
        changes+=(--change "$change")
    done
    tar -C "$rootfs" --owner=0 --group=0 --numeric-owner -c . |
        in_docker import "${changes[@]}" - "$name:1" >/dev/null
}
mkdir -p "$lab/bare/bin" && cp "$lab/bin/attempt" "$lab/bare/bin/attempt"
image cell "$lab/rootfs"
image poor "$lab/rootfs" 'USER 1000:1000'
image scratch "$lab/bare"
both=()
! host_has ipv6 || both=(--ipv6 --subnet fd00:d0c:0:1::/64)
in_docker network create "${both[@]}" web >/dev/null
ip -n internet route add fd00:d0c::/48 via 2001:db8:113::2 # without a masquerade
docker_run plain --rm cell:1 true
docker_run plain --rm --network host cell:1 true # Docker names the host's namespace at the first
remember_kernel

# answers RUNTIME OPTION... IMAGE: the model does, in a container run so.
answers() {
    local before output
    before=$(asked model)
    output=$(docker_run "$1" --rm "${@:2}" /bin/attempt ask=8080)
    contains "$output" "ask=8080 reached" && same $((before + 1)) "$(asked model)" && nothing_left
}

red check "a profile by runtimeArgs: the answer arrives" answers model cell:1
red check "each piece arrives before the next is written" contains \
    "$(docker_run stepwise --rm cell:1 attempt ask-stepwise=8080)" "ask-stepwise=8080 reached: 5 pieces"
red check "a broker by --hostname" answers named --hostname model cell:1
red check "without it there is none for such a run" contains "$(docker_run named --rm cell:1 true 2>&1)" \
    "start the broker first (endpoint_unavailable)"
red check "with --read-only" answers model --read-only cell:1
red check "with --user 1000, no capability, no_new_privs" \
    answers model --user 1000 --cap-drop all --security-opt no-new-privileges cell:1
red check "with --tmpfs /run and --volume" answers model --tmpfs /run --volume "$lab/b:/work:ro" cell:1
red check "with --pids-limit 100" answers model --pids-limit 100 cell:1
red check "with --security-opt seccomp=unconfined" answers model --security-opt seccomp=unconfined cell:1
red check "with --network none" answers model --network none cell:1
red check "R22 with --network host" answers model --network host cell:1
red check "with --network web and a published port" answers model --network web -p 8088:5555 cell:1
red check "in an image of user 1000" answers model poor:1
red check "in an image of one static program" answers model scratch:1

by_name() { # its state is where a runtime without options keeps it
    local output
    output=$(docker_run anchorhold-model --rm cell:1 attempt ask=8080) &&
        contains "$output" "ask=8080 reached" &&
        same lo "$(docker_run anchorhold-off --rm cell:1 ls /sys/class/net)" &&
        same "" "$(find /run/anchorhold/{runs,locks,subnets} -mindepth 1)"
    local status=$?
    rm -rf /run/anchorhold
    [ $status = 0 ] && nothing_left
}
red check "a profile by the runtime's name" by_name

# ---- every way out ------------------------------------------------------------------------------

declare -A severed unconfined execd
greedy=(--cap-add NET_ADMIN --cap-add NET_RAW --cap-add MKNOD)
# --privileged asks for more than a host without CAP_SYS_RESOURCE has.
try_ways control docker_run plain --rm --network host --cap-add ALL --cap-drop SYS_RESOURCE \
    --device-cgroup-rule 'a *:* rwm' --security-opt seccomp=unconfined cell:1
try_ways severed docker_run off --rm "${greedy[@]}" cell:1
try_ways unconfined docker_run off --rm "${greedy[@]}" --network host \
    --security-opt seccomp=unconfined cell:1
docker_run model --detach --name long --network web "${greedy[@]}" cell:1 sleep infinity >/dev/null
try_ways execd in_docker exec long
privileged=$(in_docker exec --privileged long true 2>&1)
environment=$(in_docker exec --env HTTP_PROXY=http://proxy.example:1 --env KEPT=yes long env)
in_docker rm --force long >/dev/null
check "nothing is left of it all" nothing_left
# The ways that Docker's own network and profile refuse as well.
theirs="loopback|link-local|::1|B-27|B-32|B-56"
red_but "$theirs" judge severed ", severed"
red judge unconfined ", severed, with --network host and no seccomp"
red_but "$theirs" judge execd ", from an exec"
red check "an exec --privileged is refused" contains "$privileged" "(bundle_voids_posture)"
red check "R24 C-22 an exec sees no proxy variable" same "" "$(grep -i proxy <<<"$environment")"
check "C-22 and what else it was given" contains "$environment" KEPT=yes
red check "C-14 nor does the command" same "" \
    "$(docker_run off --rm --env ALL_PROXY=socks5h://proxy.example:1 cell:1 env | grep -i proxy)"

# ---- Docker's networks --------------------------------------------------------------------------

# dockerd plugs its network in by a hook of its own, where create would wait for it.
links() { docker_run "$1" --rm "${@:2}" cell:1 ls /sys/class/net | xargs; }
red check "R18 its links, on docker0" same lo "$(links off)"
red check "R18 its links, on a user-defined network" same lo "$(links model --network web)"
docker_run plain --detach --name base cell:1 sleep infinity >/dev/null
red check "R23 C-10 its links, in another container's network" same lo "$(links off --network container:base)"
check "C-10 without us, in another container's network" \
    same "eth0 lo" "$(links plain --network container:base)"
in_docker rm --force base >/dev/null
check "its links: without us, on docker0" same "eth0 lo" "$(links plain)"
docker_run off --name kept --network web cell:1 true
red check "R18 C-36 Docker's hook is in the record" contains "$(jq -r '.removed_hooks[]' \
    "$(grep -l "\"$(in_docker inspect --format '{{.Id}}' kept)\"" "$lab"/state/ended/*)")" /
check "R18 docker rm of it" in_docker rm kept
check "nothing is left of those" nothing_left

# The resolver at 127.0.0.11 is there on every user-defined network, and answers from the host.
network_ways=(tcp=1.1.1.1:443 tcp=203.0.113.2:7000 dns-udp=1.1.1.1 dns-udp=127.0.0.11
    dns-tcp=127.0.0.11 'sh=getent ahosts example.test' "sh=ip -4 addr show dev eth0"
    "sh=ip -4 addr show dev eth1")
# live RUNTIME NETWORK: a container that lives in NETWORK, and is plugged into another one.
live() {
    docker_run "$1" --detach --name "live-$1" --network "$2" cell:1 sleep infinity >/dev/null
    in_docker network connect web "live-$1"
}
in_docker network create other >/dev/null
declare -A answers
for profile in plain off model; do
    live $profile other
    answers[$profile]=$(in_docker exec live-$profile attempt "${network_ways[@]}")
done
for way in "${network_ways[@]}"; do
    check "network connect: without us, $way" contains "${answers[plain]}" "$way reached"
    for profile in off model; do
        red check "R16 network connect: refused under $profile, $way" \
            refused_at_once "${answers[$profile]}" "$way"
    done
done
red check "network connect: the model still answers" \
    contains "$(in_docker exec live-model attempt ask=8080)" "ask=8080 reached"
for profile in plain off model; do
    check "network disconnect, $profile" in_docker network disconnect web "live-$profile"
    in_docker rm --force "live-$profile" >/dev/null
done
in_docker network rm other >/dev/null
check "network connect: nothing is left" nothing_left
check "an open profile keeps Docker's network, resolver and all" contains \
    "$(docker_run open --rm --network web cell:1 attempt dns-udp=127.0.0.11)" reached

# ---- what is granted ----------------------------------------------------------------------------

record_of() { # record_of NAME: of the container that lives
    grep -l "\"$(in_docker inspect --format '{{.Id}}' "$1")\"" "$lab"/state/runs/*/record.json
}
# Docker's own network is filtered in place, on whichever network. Its seccomp profile refuses user
# namespaces as well, so it stays away.
greedy+=(--security-opt seccomp=unconfined)
for network in bridge web; do
    tried=$(docker_run granted --rm --network $network "${greedy[@]}" cell:1 \
        attempt "${granted_ways[@]}" "${refused_ways[@]}")
    red_but ": granted," judge_granted "granted, on $network" "$tried"
done
check "granted: nothing is left" nothing_left

caller() { # NAME ADDRESS NAMESPACE-COMMAND...: asks for what listens inside by the published port
    start_ready in_docker exec "$1" attempt listen=0.0.0.0:5555
    "${@:3}" "$lab/bin/attempt" "tcp=$2:8088"
}
outside=(nsenter --net=/run/netns/internet)
docker_run plain --detach --name plain --publish 8088:5555 cell:1 sleep infinity >/dev/null
check "B-55 a published port: without us it is reached from outside" contains \
    "$(caller plain 203.0.113.2 "${outside[@]}")" reached
in_docker rm --force plain >/dev/null
docker_run granted --detach --name place --network web --publish 8088:5555 "${greedy[@]}" cell:1 \
    sleep infinity >/dev/null
in_docker network connect bridge place
red check "granted: the record says so" same "enforced filtered in-place" \
    "$(jq -r '"\(.state) \(.posture) \(.technique)"' "$(record_of place)")"
red_but ": granted," judge_granted "granted, from an exec and after network connect" \
    "$(in_docker exec place attempt "${granted_ways[@]}" "${refused_ways[@]}")"
resolver=(dns-udp=127.0.0.11 dns-tcp=127.0.0.11)
closed=$(in_docker exec place attempt "${resolver[@]}")
for way in "${resolver[@]}"; do
    red check "granted: the resolver is closed, $way" refused_at_once "$closed" "$way"
done
check "granted: a published port is reached from the node" contains \
    "$(caller place 127.0.0.1 env)" reached
red check "B-55 granted: and not from outside" contains \
    "$(caller place 203.0.113.2 "${outside[@]}")" refused
in_docker restart --time 0 place >/dev/null
red_but ": granted," judge_granted "granted, after a restart" \
    "$(in_docker exec place attempt "${granted_ways[@]}" "${refused_ways[@]}")"
in_docker rm --force place >/dev/null
check "granted: nothing is left of that either" nothing_left

# With --network host there is none of Docker's: a link of its own, which Docker's firewall drops.
stands_in_the_way() {
    local output
    output=$(docker_run granted --rm --network host cell:1 true 2>&1) && return 1
    contains "$output" "another firewall drops it on the host's hook forward" &&
        contains "$output" "let links ah* in (network_setup_failed)" && nothing_left
}
red check "granted, with a link of its own: Docker's forward policy is named" stands_in_the_way
iptables -I DOCKER-USER -i ah+ -j ACCEPT
iptables -I DOCKER-USER -o ah+ -j ACCEPT
remember_kernel
tried=$(docker_run granted --rm --network host "${greedy[@]}" cell:1 \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")
red_but ": granted," judge_granted "granted, with a link of its own" "$tried"
check "granted, with a link of its own: nothing is left" nothing_left
sealed=$(docker_run sealed --rm "${greedy[@]}" cell:1 attempt tcp=127.0.0.1:8080 tcp=1.1.1.1:443 \
    tcp=203.0.113.2:7000)
red check "sealed: the broker's port answers" contains "$sealed" "tcp=127.0.0.1:8080 reached"
for way in tcp=1.1.1.1:443 tcp=203.0.113.2:7000; do
    red check "sealed: refused, $way" refused_at_once "$sealed" "$way"
done
check "sealed: nothing is left" nothing_left

# ---- the rest of a container's life -------------------------------------------------------------

session() { # session RUNTIME
    within 60 "$python" "$here/lib/terminal.py" command "$docker" run --rm --runtime "$1" --interactive \
        --tty --hostname cell cell:1 dash 2>&1
}
plain_session=$(session plain)
check "a terminal session reads as without us" same "$plain_session" "$(session off)"
check "also when the model is asked for" same "$plain_session" "$(session model)"
check "and the terminal did something" contains "$plain_session" "interrupted: 130"
for status in 0 3 125 255; do
    check "B-41 exit $status" same $status "$(docker_run model --rm cell:1 sh -c "exit $status"; echo $?)"
done

lives() { # lives NAME: as confined as ever, and served
    same "enforced relayed" "$(jq -r '"\(.state) \(.posture)"' "$(record_of "$1")")" &&
        contains "$(in_docker exec "$1" attempt ask=8080)" "ask=8080 reached" &&
        same lo "$(in_docker exec "$1" ls /sys/class/net)"
}
until_told=(sh -c 'trap "exit 42" TERM; echo up; while :; do sleep 60 & wait; done')
start_long() { # start_long NAME OPTION...
    docker_run model --detach --name "$@" cell:1 "${until_told[@]}" >/dev/null
}
remove() { in_docker rm --force "$1" >/dev/null && nothing_left; }

again() {
    start_long again && lives again || return
    in_docker stop --time 30 again >/dev/null
    same 42 "$(in_docker inspect --format '{{.State.ExitCode}}' again)" && nothing_left || return
    in_docker network connect web again
    in_docker start again >/dev/null && lives again || return
    in_docker restart --time 30 again >/dev/null && lives again && remove again
}
red check "stop, connect, start and restart with the same id" again

killed() { # not before its command hears of it: init is deaf to what has no handler yet
    start_ready docker_run model --name killed cell:1 "${until_told[@]}" 2>/dev/null &&
        in_docker kill --signal TERM killed >/dev/null &&
        same 42 "$(in_docker wait killed)" && remove killed
}
check "kill" killed

paused() {
    start_long paused && in_docker pause paused >/dev/null || return
    same paused "$(in_docker inspect --format '{{.State.Status}}' paused)" &&
        in_docker unpause paused >/dev/null && lives paused && remove paused
}
red check "pause and unpause" paused

updated() { # dockerd hands the new limits over on stdin; crun 1.8 chokes on some, without us too
    docker_run plain --detach --name plain --pids-limit 100 cell:1 sleep infinity >/dev/null
    in_docker update --pids-limit 90 plain
    local status=$?
    in_docker rm --force plain >/dev/null
    start_long updated --pids-limit 100
    same 101 "$(pids_of updated)" || return
    in_docker update --pids-limit 90 updated
    same $status $? && lives updated || return
    [ $status != 0 ] || same 91 "$(pids_of updated)" || return # the relay keeps its place
    remove updated
}
pids_of() {
    find /sys/fs/cgroup -path "*$cgroup/$(in_docker inspect --format '{{.Id}}' "$1")*" -name pids.max \
        -exec cat {} +
}
red check "update" updated

healthy() {
    local events watcher word
    exec {events}< <(exec timeout $((60 * AH_SLOWNESS)) "$docker" events --format '{{.Status}}' \
        --filter event=health_status)
    watcher=$!
    start_long healthy --health-interval 1s \
        --health-cmd 'attempt ask=8080 && ! env | grep -i proxy'
    read -r word <&"$events"
    kill "$watcher" # which holds what check reads
    exec {events}<&-
    same "health_status: healthy" "$word" && remove healthy
}
red check "a health check is confined and served like an exec" healthy

same_id_twice() { # R12: a ctr namespace beside Docker's knows the same id
    local id
    start_long twice || return
    id=$(in_docker inspect --format '{{.Id}}' twice)
    make_image cell "$lab/rootfs"
    in_ctr images import "$lab/cell.tar" >/dev/null
    ctr_run "$runtime" --detach --cgroup "/$cgroup/ctr" localhost/cell:1 "$id" sleep infinity
    same 2 "$(find "$lab/state/runs" -name record.json | wc -l)" || return
    in_ctr tasks kill --signal KILL "$id"
    in_ctr tasks delete --force "$id" >/dev/null 2>&1
    in_ctr containers delete "$id"
    lives twice && remove twice
}
red check "R12 one id in Docker's namespace and in another" same_id_twice

# ---- errors -------------------------------------------------------------------------------------

# refused TEXT RUNTIME OPTION...: docker shows our line, and nothing is left.
refused() {
    local output status
    output=$(docker_run "${@:2}" --rm cell:1 true 2>&1)
    status=$?
    same 125 $status && contains "$output" "OCI runtime create failed: anchorhold: create " &&
        contains "$output" "$1" && nothing_left
}
red check "R7 docker shows our line: nobody listens" refused "(endpoint_unavailable)" absent
red check "R7 docker shows our line: --privileged" refused "(bundle_voids_posture)" off --privileged
red check "R7 docker shows our line: --pid host" refused "(bundle_voids_posture)" off --pid host
red check "R7 docker shows our line: Docker's own socket" refused "(bundle_voids_posture)" off \
    --volume /run/docker.sock:/run/docker.sock
status_of() { docker_run "$1" --rm cell:1 nosuch >/dev/null 2>&1; echo $?; }
check "a command that is not there, severed: as without us" same "$(status_of plain)" "$(status_of off)"
check "a command that is not there, relayed: 127" same 127 "$(status_of model)"

# ---- what runs them is killed -------------------------------------------------------------------

shim_of() { pgrep -f "containerd-shim.* -id $(in_docker inspect --format '{{.Id}}' "$1")"; }

shim_killed() {
    kill -KILL "$(shim_of broken)"
    in_docker wait broken >/dev/null
    "$runtime" gc && lives stands && in_docker rm broken >/dev/null
}
start_long stands
remember_kernel
start_long broken
red check "B-43 SIGKILL of containerd-shim, then gc: another run lives" shim_killed
red check "B-43 and nothing is left of the first" same 1 "$(find "$lab/state/runs" -name record.json | wc -l)"

for signal in KILL TERM; do
    stop_docker $signal
    red check "B-43 SIG$signal of dockerd: gc" "$runtime" gc
    start_docker
    red check "B-43 SIG$signal of dockerd, gc, dockerd again: the run lives" lives stands
done
in_docker rm --force stands >/dev/null
remember_kernel # dockerd wrote its own rules anew

# While create waits below us, so does dockerd.
killed_at_create() {
    local shim
    wait_at_create
    touch "$lab/wait"
    policy "{runtime: \"$waiting\", profiles: $(profiles)}"
    docker_run model --name cut cell:1 true >"$lab/cut.out" 2>&1 &
    reach_create && kill -KILL "$shim"
    wait $!
    in_docker rm --force cut >/dev/null
    "$runtime" gc && nothing_left
}
red check "B-43 SIGKILL of the shim at create, then gc" killed_at_create
in_docker network rm web >/dev/null

# ---- with users of their own --------------------------------------------------------------------

stop_docker
host_has userns || stop_containerd
needs_host userns
policy "{tcp_endpoints: [\"host:9000\"], profiles: $(profiles)}"
useradd --no-log-init somebody # with ids for containers
jq '."userns-remap" = "somebody"' "$lab/docker/daemon.json" >"$lab/daemon.json"
mv "$lab/daemon.json" "$lab/docker/daemon.json"
start_docker
image cell "$lab/rootfs"
docker_run plain --rm cell:1 true
remember_kernel
check "userns-remap: without us, its network" same "eth0 lo" "$(links plain)"
red check "userns-remap: its links" same lo "$(links off)"
red check "userns-remap: the answer arrives" answers model cell:1
red_but ": granted," judge_granted "userns-remap: granted" "$(docker_run granted --rm "${greedy[@]}" \
    --sysctl "net.ipv4.ping_group_range=0 0" cell:1 \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")"
check "userns-remap: nothing is left" nothing_left
stop_docker
stop_containerd
finish
