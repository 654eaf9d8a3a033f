# SPDX-License-Identifier: Apache-2.0
# Engines of a laboratory: images made on the spot, podman, an own containerd.
# shellcheck shell=bash

# The environment that a careless base image hands to every process of its containers.
proxy_env='["PATH=/bin", "HTTP_PROXY=http://proxy.example:3128",
            "https_proxy=http://proxy.example:3128", "ALL_PROXY=socks5h://proxy.example:1080"]'

# make_rootfs DIR: busybox under all its names, and two glibc programs: one that asks for names, and
# a shell that edits no lines.
make_rootfs() {
    local program
    mkdir -p "$1"/{bin,dev,etc,proc,sys,tmp,home}
    chmod 1777 "$1/tmp"
    cp "$(command -v busybox)" "$1/bin/busybox"
    "$1/bin/busybox" --install "$1/bin"
    for program in getent dash; do
        program=$(command -v "$program")
        cp "$program" "$1/bin"
        add_libraries "$1" "$program"
    done
    [ ! -f "$lab/bin/attempt" ] || cp "$lab/bin/attempt" "$1/bin/attempt"
    echo 'root:x:0:0:root:/:/bin/sh' >"$1/etc/passwd"
    echo 'nameserver 1.1.1.1' >"$1/etc/resolv.conf"
}

add_libraries() { # ROOT PROGRAM: what PROGRAM is linked with
    ldd "$2" 2>/dev/null | grep -o '/[^ ]*' | xargs -r cp -L --parents -t "$1"
}

# add_blob LAYOUT FILE: files FILE under its digest and prints the descriptor's members.
add_blob() {
    local digest
    digest=$(sha256sum "$2" | cut -d' ' -f1)
    mkdir -p "$1/blobs/sha256"
    cp "$2" "$1/blobs/sha256/$digest"
    jq -n --arg digest "sha256:$digest" --argjson size "$(stat -c %s "$2")" \
        '{digest: $digest, size: $size}'
}

# make_image NAME ROOTFS [CONFIG-MEMBERS] [MANIFEST-ANNOTATIONS]: $lab/NAME.tar, an OCI archive of
# localhost/NAME:1 that both engines import.
make_image() {
    local work=$lab/image.$1 layer image manifest type=application/vnd.oci.image
    mkdir -p "$work/layout"
    tar -C "$2" --owner=0 --group=0 --numeric-owner -cf "$work/layer" .
    layer=$(add_blob "$work/layout" "$work/layer")
    jq -n --argjson layer "$layer" --argjson env "$proxy_env" --argjson more "${3:-{\}}" \
        '{architecture: "amd64", os: "linux", config: ({Env: $env, Cmd: ["sh"]} + $more),
          rootfs: {type: "layers", diff_ids: [$layer.digest]}}' >"$work/config"
    image=$(add_blob "$work/layout" "$work/config")
    jq -n --arg type $type --argjson layer "$layer" --argjson image "$image" \
        --argjson notes "${4:-{\}}" \
        '{schemaVersion: 2, mediaType: ($type + ".manifest.v1+json"),
          config: ({mediaType: ($type + ".config.v1+json")} + $image),
          layers: [{mediaType: ($type + ".layer.v1.tar")} + $layer], annotations: $notes}' \
        >"$work/manifest"
    manifest=$(add_blob "$work/layout" "$work/manifest")
    jq -n --arg type $type --arg name "localhost/$1:1" --argjson manifest "$manifest" \
        '{schemaVersion: 2, manifests: [{mediaType: ($type + ".manifest.v1+json"),
          annotations: {"org.opencontainers.image.ref.name": $name,
                        "io.containerd.image.name": $name}} + $manifest]}' \
        >"$work/layout/index.json"
    echo '{"imageLayoutVersion":"1.0.0"}' >"$work/layout/oci-layout"
    tar -C "$work/layout" -cf "$lab/$1.tar" .
}

# ---- what a container in an engine's own network was granted ------------------------------------

granted_rules='1.1.1.1, 8.8.8.8:80, allowed.test:22'
granted_ways=(tcp=1.1.1.1:443 tcp=8.8.8.8:80 tcp=1.1.1.1:22 'sh=getent ahosts allowed.test')
refused_ways=(tcp=1.1.1.1:80 tcp=8.8.8.8:443 tcp=9.9.9.9:443 tcp=203.0.113.1:80 tcp=203.0.113.2:7000
    udp=1.1.1.1:9 dns-udp=1.1.1.1 dns-tcp=8.8.8.8 ping=1.1.1.1 tcp-in-userns=9.9.9.9:443
    'tcp=[2606:4700:4700::1111]:443' 'sh=getent ahosts example.test' net-capabilities
    'sh=echo 9.9.9.9 evil.test >>/etc/hosts'
    'sh=ip route add 198.51.100.0/24 dev lo')

# name_hosts: what the host's resolver knows besides.
name_hosts() {
    cp /etc/hosts "$lab/hosts"
    echo '1.1.1.1 allowed.test' >>"$lab/hosts"
    mount --no-mtab --bind "$lab/hosts" /etc/hosts
}

# judge_granted TITLE ANSWERS: all that was granted is reached, all else is refused at once.
judge_granted() {
    local way
    for way in "${granted_ways[@]}"; do
        check "$1: granted, $way" contains "$2" "$way reached"
    done
    for way in "${refused_ways[@]}"; do
        check "$1: refused at once, $way" refused_at_once "$2" "$way"
    done
}

refused_at_once() { # ANSWERS WORD: and not by silence, nor after it
    local line took
    while [[ ${line:-} != "$2 refused"* ]]; do
        IFS= read -r line || { echo "no line '$2 refused' in: $1"; return 1; }
    done <<<"$1"
    took=${line##*\(}
    took=${took% ms)}
    [[ $line != *"Connection timed out"* && $took =~ ^[0-9]+$ && $took -lt $((1000 * AH_SLOWNESS)) ]] ||
        { echo "$line"; return 1; }
}

# ---- what stops on the way -----------------------------------------------------------------------

# wait_at_create: makes $waiting, a runtime which stops at create while $lab/wait is there,
# writes the shim's pid to $lab/reached and goes on when $lab/released is written.
wait_at_create() {
    waiting=$lab/bin/$plain_name-waiting
    mkfifo "$lab/reached" "$lab/released"
    cat >"$waiting" <<CODE
#!/bin/sh
case " \$* " in *" create "*)
    if [ -e $lab/wait ]; then
        echo \$PPID >$lab/reached
        read -r word <$lab/released
    fi
esac
exec $plain_runtime "\$@"
CODE
    chmod 755 "$waiting"
}

# reach_create: returns when such a create is there; $shim is the shim's pid. Opened for writing
# too, a pipe to which nobody comes does not hold us up for ever.
reach_create() {
    read -r -t $((20 * AH_SLOWNESS)) shim <>"$lab/reached"
}

# ---- podman -------------------------------------------------------------------------------------

# set_up_podman RUNTIME: three runtimes, "anchorhold-text" as podman treats one of which it does not
# know that it logs in JSON. The copy-and-paste configuration of contrib/, plus what a host without
# CAP_SYS_RESOURCE or systemd needs.
set_up_podman() {
    mkdir -p -m 1777 "$lab/networks"
    cat >"$lab/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "anchorhold"
runtime_supports_json = ["anchorhold", "plain"]
[engine.runtimes]
anchorhold = ["$1"]
anchorhold-text = ["$1"]
plain = ["$plain_runtime"]
[network]
network_config_dir = "$lab/networks" # not the host's; rootless podman writes there, too
CONF
    export CONTAINERS_CONF=$lab/containers.conf HOME=/root
}

# A podman can hang for ever on a lock that a killed one held.
in_podman() {
    within 60 podman "$@"
}

# settle_podman: waits for what outlives `podman run`: conmon of a container that is gone, and the
# cleanup that it calls.
settle_podman() {
    local pids pid live
    pids=$(pgrep -x conmon; pgrep -f 'podman .*container cleanup')
    [ -n "$pids" ] || return
    live=$(in_podman ps --quiet --no-trunc)
    for pid in $pids; do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "${live:-none}" || wait_for_end "$pid"
    done
}

podman_run() {
    in_podman run --cgroup-parent "/$cgroup" "$@"
}

# ---- containerd ---------------------------------------------------------------------------------

# start_containerd: without a CRI.
start_containerd() {
    mkdir -p "$lab/containerd"
    cat >"$lab/containerd/config.toml" <<CONF
version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri"]
CONF
    boot_containerd
}

# boot_containerd: by the configuration that is there; listens when it returns; $containerd is its
# pid.
boot_containerd() {
    local line log
    exec {log}< <(exec containerd --config "$lab/containerd/config.toml" 2>&1)
    containerd=$!
    while read -r -u "$log" line; do
        [[ $line == *"containerd successfully booted"* ]] && break
    done
    cat <&"$log" >>"$lab/containerd/log" &
    exec {log}<&-
}

stop_containerd() {
    kill "$containerd"
    wait_for_end "$containerd"
}

in_ctr() {
    within 60 ctr --namespace "${ctr_namespace:-$cgroup}" "$@"
}

ctr_run() { # ctr_run RUNTIME OPTION... IMAGE ID COMMAND...
    local binary=$1
    shift
    in_ctr run --runc-binary "$binary" "$@"
}

# ---- Docker -------------------------------------------------------------------------------------

docker=/usr/bin/docker # whatever other client stands on PATH

# docker_runtime PROFILE: a runtime of daemon.json, by runtimeArgs.
docker_runtime() {
    [ -z "$bare" ] || { jq -n --arg path "$runtime" '{path: $path}'; return; }
    jq -n --arg path "$lab/bin/anchorhold" --arg lab "$lab" --arg profile "$1" \
        '{path: $path, runtimeArgs: ["--ah-policy=\($lab)/policy.json", "--ah-state=\($lab)/state",
                                     "--ah-profile=\($profile)"]}'
}

# set_up_docker RUNTIMES: daemon.json, with what a host without CAP_SYS_RESOURCE needs and what
# keeps its cgroups apart.
set_up_docker() {
    local ipv6=false
    ! host_has ipv6 || ipv6=true
    mkdir -p "$lab/docker"
    jq -n --argjson ipv6 $ipv6 --arg cgroup "/$cgroup" --argjson runtimes "$1" \
        '{containerd: "/run/containerd/containerd.sock", "live-restore": true,
          "cgroup-parent": $cgroup, "exec-opts": ["native.cgroupdriver=cgroupfs"],
          "default-ulimits": {nofile: {Name: "nofile", Soft: 1024, Hard: 1024}},
          runtimes: $runtimes}
         | if $ipv6 then .ipv6 = true | ."fixed-cidr-v6" = "fd00:d0c::/64" else . end' >"$lab/docker/daemon.json"
    export DOCKER_CONFIG=$lab/docker/client HOME=/root
}

# start_docker: on a containerd that runs; ready when it returns; $dockerd is its pid.
start_docker() {
    local line log
    exec {log}< <(exec dockerd --config-file "$lab/docker/daemon.json" 2>&1)
    dockerd=$!
    while read -r -u "$log" line; do
        echo "$line" >>"$lab/docker/log"
        [[ $line == *"API listen on"* ]] && break
    done
    cat <&"$log" >>"$lab/docker/log" &
    exec {log}<&-
}

stop_docker() { # stop_docker [SIGNAL]
    kill -"${1:-TERM}" "$dockerd"
    wait_for_end "$dockerd"
}

in_docker() {
    within 60 "$docker" "$@"
}

docker_run() { # docker_run RUNTIME OPTION... IMAGE WORD...
    in_docker run --runtime "$@"
}
