#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Docker's options: each does what it does below the runtime alone, or is refused by us in the words
# of who typed it.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/options.sh"
needs "${cell_needs[@]}" containerd ctr /usr/bin/docker dockerd docker-init iptables
enter_lab
make_rootfs "$lab/rootfs"
echo 'agent:x:1000:1000::/home:/bin/sh' >>"$lab/rootfs/etc/passwd"
echo 'staff:x:50:' >"$lab/rootfs/etc/group"
policy "{profiles: {model: {endpoints: [{name: \"model\", listen: 8080,
                                         to: \"unix:$brokers/model/broker.sock\"}]}}}"
open_world
start_broker model
start_containerd
set_up_docker "$(jq -n --arg path "$plain_runtime" --argjson ours "$(docker_runtime model)" \
    '{plain: {path: $path}, ours: $ours}')"
start_docker
tar -C "$lab/rootfs" --owner=0 --group=0 --numeric-owner -c . |
    in_docker import --change 'ENV PATH=/bin' - cell:1 >/dev/null
in_docker network create web >/dev/null
in_docker volume create kept >/dev/null
mkdir -p "$lab/share" && echo shared >"$lab/share/file" && chmod 777 "$lab/share"
echo 'FROM_FILE=yes' >"$lab/env"
docker_run plain --rm --network host cell:1 true # Docker names the host's namespace at the first
docker_run plain --detach --name base --ipc shareable --volume kept:/kept cell:1 sleep infinity >/dev/null
remember_kernel

engine_run() { # engine_run RUNTIME OPTION... -- SCRIPT
    local runtime=$1 options=()
    while shift && [ "$1" != -- ]; do options+=("$1"); done
    docker_run "$runtime" --rm "${options[@]}" cell:1 sh -c "exec 2>&1; $2"
}

# ---- names and the network ----------------------------------------------------------------------

option same 'grep given.test /etc/hosts' --add-host given.test:192.0.2.9
option same 'hostname; cat /proc/sys/kernel/domainname' --hostname box --domainname example.test
option same 'grep -c base /etc/hosts' --link base
# Nothing inside asks a resolver, so ours answers at once.
option "differs: $our_resolver" "$resolver" --dns 192.0.2.53
option "differs: $our_resolver" "$resolver" --dns-search example.test --dns-option ndots:2
# The network is gone, whichever it was.
option same "$links" --network none
option 'differs: lo' "$links" --network host
option 'differs: lo' "$links" --network bridge
option 'differs: lo' "$links" --network web --network-alias other
option 'differs: lo' "$links" --network container:base
alone=yes option 'differs: 00:00:00:00:00:00' 'cat /sys/class/net/*/address' --mac-address 02:42:ac:11:00:99
option same 'echo up' --publish 127.0.0.1::5555 --expose 6666 --publish-all

# ---- what is permitted --------------------------------------------------------------------------

option same "$bounding" --cap-drop ALL
option same "$bounding" --cap-drop NET_RAW --cap-add SYS_TIME
# The two that change a network go.
option 'differs: CapBnd:	00000000a80405fb' "$bounding" --cap-add NET_ADMIN
option 'refused: process.capabilities (--cap-add, --privileged): holds CAP_SYS_ADMIN over the host' \
    "$bounding" --cap-add SYS_ADMIN
option 'refused: process.capabilities (--cap-add, --privileged): holds CAP_SYS_PTRACE over the host' \
    "$bounding" --cap-add SYS_PTRACE
option 'refused: process.capabilities (--cap-add, --privileged): holds' "$bounding" --cap-add ALL
option 'refused: process.capabilities (--cap-add, --privileged): holds' "$bounding" --privileged
# A profile of ours stands where there is none.
option 'differs: Seccomp:	2' 'grep Seccomp: /proc/self/status' --security-opt seccomp=unconfined
option same 'grep NoNewPrivs /proc/self/status' --security-opt no-new-privileges \
    --security-opt apparmor=unconfined --security-opt label=disable
option 'refused: mounts[0] (--privileged, --security-opt): root inside can have the host run programs' \
    'echo up' --security-opt systempaths=unconfined
option same 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/msgmax' \
    --sysctl net.ipv4.ip_unprivileged_port_start=80 --sysctl kernel.msgmax=4096
option 'refused: linux.sysctl["net.ipv4.ip_forward"] (--sysctl): changes what a network namespace' \
    'echo up' --sysctl net.ipv4.ip_forward=1

# ---- namespaces and cgroups ---------------------------------------------------------------------

option same 'cat /proc/self/uid_map; readlink /proc/self/ns/cgroup' --userns host --cgroupns host
option same 'readlink /proc/self/ns/uts' --uts host
option same 'cat /proc/self/cgroup' --cgroupns private
option same 'grep -c /inner/ /proc/self/cgroup' --cgroup-parent "/$cgroup/inner"
option same 'grep -c " /dev/shm " /proc/self/mountinfo' --ipc private
option same 'grep -c " /dev/shm " /proc/self/mountinfo' --ipc shareable
option 'refused: linux.namespaces (--ipc=host): the ipc namespace is the host'"'s" 'echo up' --ipc host
option 'refused: .path (--ipc=container:): joins the ipc namespace' 'echo up' --ipc container:base
option 'refused: linux.namespaces (--pid=host): the pid namespace is the host'"'s" 'echo up' --pid host
option 'refused: .path (--pid=container:): joins the pid namespace' 'echo up' --pid container:base

# ---- devices ------------------------------------------------------------------------------------

option same 'echo x >/dev/nothing; ls -l /dev/nothing | cut -c 1' --device /dev/null:/dev/nothing
option 'refused: linux.devices[0] (--device, --privileged): hands in the device /dev/kmsg' 'echo up' \
    --device /dev/kmsg
option same 'echo up' --device-cgroup-rule 'c 1:3 rwm'
option 'refused: (--device, --device-cgroup-rule, --privileged): lets the container open the devices c 10:200' \
    'echo up' --device-cgroup-rule 'c 10:200 rwm'

# ---- the process --------------------------------------------------------------------------------

option same never --entrypoint /bin/echo
option same 'echo $WORD $FROM_FILE' --env WORD=said --env-file "$lab/env"
option 'differs: ' 'env | grep -i proxy; true' --env HTTP_PROXY=http://proxy.example:1
option same id --user 1000
option same id --user agent --group-add 50
option same pwd --workdir /tmp/inner
# Docker's tini says nothing about the process that it is not.
option same 'echo up' --init
option same tty --tty
option same 'ulimit -n; ulimit -c; cat /proc/self/oom_score_adj' --ulimit nofile=512:512 \
    --ulimit core=0 --oom-score-adj 500
option same 'echo up' --stop-signal INT --stop-timeout 3 --restart no --label one=two \
    --health-cmd true --log-driver none --pull never --platform linux/amd64 --sig-proxy=false
alone=yes option same 'echo up' --name named

# ---- limits -------------------------------------------------------------------------------------

option same "$(limit memory memory.limit_in_bytes memory.max)" --memory 64m --memory-reservation 32m \
    --memory-swap 64m
# The relay has a place of its own.
option 'differs: 51' "$(limit pids pids.max pids.max)" --pids-limit 50
option same "$(limit cpu cpu.shares cpu.weight); $(limit cpu cpu.cfs_quota_us cpu.max)" \
    --cpu-shares 512 --cpus 0.5
option same "$(limit cpuset cpuset.cpus cpuset.cpus)" --cpuset-cpus 0 --cpuset-mems 0

# ---- files --------------------------------------------------------------------------------------

option same 'touch /file; echo $?' --read-only
option same 'df -k /dev/shm | tail -n 1 | tr -s " " | cut -d " " -f 2' --shm-size 16m
option same "$(flags_of /scratch); $(flags_of /run)" --tmpfs /scratch --tmpfs /run:size=1m,mode=700
option same 'cat /share/file; touch /share/own' --volume "$lab/share:/share"
option same 'cat /share/file; touch /share/own; true' --volume "$lab/share:/share:ro"
option same 'touch /kept/own /anonymous/own' --volume kept:/kept --volume /anonymous
option same 'ls -d /kept' --volumes-from base
option same "cat /share/file; touch /kept/own; $(flags_of /scratch)" \
    --mount "type=bind,source=$lab/share,target=/share,readonly" \
    --mount type=volume,source=kept,target=/kept --mount type=tmpfs,target=/scratch
option 'refused: run/docker.sock:/docker.sock): is the engine'"'s socket /run/docker.sock" 'echo up' \
    --volume /var/run/docker.sock:/docker.sock
for directory in / /run /proc /sys /etc /dev; do
    option "refused: .source (-v $directory:/host): is the host's $directory; mount only what is needed" \
        'echo up' --volume "$directory:/host:ro"
done

in_docker rm --force base >/dev/null
check "nothing is left" nothing_left
finish
