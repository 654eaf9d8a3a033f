# SPDX-License-Identifier: Apache-2.0
# A node of a laboratory: an own containerd with its CRI and a bridge for pods, and what a kubelet
# would ask of it. To be sourced after engines.sh and cells.sh.
# shellcheck shell=bash

cri_needs=("${cell_needs[@]}" iptables
    protoc containerd ctr /usr/lib/cni/bridge /usr/lib/cni/host-local /usr/lib/cni/loopback
    /usr/lib/cni/portmap)

cri_socket=/run/containerd/containerd.sock

cri() { # deadline=SECONDS before it: for each call
    "$here/lib/cri_call.py" "$lab/cri" --deadline "${deadline:-$((100 * AH_SLOWNESS))}" "$cri_socket" "$@"
}

# ---- the node -----------------------------------------------------------------------------------

# handler NAME BINARY [LINE]: one section of containerd's configuration.
handler() {
    cat <<CONF
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.$1]
  runtime_type = "io.containerd.runc.v2"
  ${3:-}
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.$1.options]
    BinaryName = "$2"
CONF
}

# The handlers of every node: below us, below us without the globs that let annotations pass, the
# runtime alone. More may be on stdin. This machine needs restrict_oom_score_adj
# (no CAP_SYS_RESOURCE); the streaming server must not ask the host for an address of its own.
globs='pod_annotations = ["dev.anchorhold.*"]
  container_annotations = ["dev.anchorhold.*"]'
write_node_config() {
    cat <<CONF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$lab/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "plain"
CONF
    handler plain "$plain_runtime"
    handler anchorhold "$runtime" "$globs"
    handler blind "$runtime"
    cat
}

# profile_handler PROFILE: as `ln -s anchorhold anchorhold-PROFILE` and a handler of that name.
profile_handler() {
    local binary=$lab/bin/runtime-$1
    ln -s anchorhold "$lab/bin/anchorhold-$1"
    sed "s,bin/anchorhold ,bin/anchorhold-$1 ," "$runtime" >"$binary"
    chmod 755 "$binary"
    handler "anchorhold-$1" "$binary" "$globs"
}

# CNI gives each pod a veth to a bridge, masquerading, 10.90.0.0/16, and host ports by DNAT.
write_cni_config() {
    mkdir -p "$lab/cni"
    cat >"$lab/cni/pods.conflist" <<'CONF'
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni-pods", "isGateway": true, "ipMasq": true, "ipam": {
    "type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "10.90.0.0/16"}]],
    "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CONF
}

# start_node < MORE-HANDLERS: with the images cell and pause; ready when it returns.
start_node() {
    local image
    needs_host bridge
    mkdir -p "$lab"/{pods,pause,containerd}
    cp "$AH_PAUSE" "$lab/pause/pause"
    make_image pause "$lab/pause" '{"Entrypoint": ["/pause"], "Cmd": null, "Env": null}'
    write_cni_config
    write_node_config >"$lab/containerd/config.toml"
    start_ready "$python" "$here/lib/cri.py" "$lab/cri"
    boot_containerd
    for image in pause cell; do
        ctr_namespace=k8s.io in_ctr images import "$lab/$image.tar" >/dev/null
    done
    cri ready localhost/pause:1 localhost/cell:1
}

restart_containerd() {
    stop_containerd
    boot_containerd
    cri ready localhost/pause:1 localhost/cell:1
}

# ---- pods ---------------------------------------------------------------------------------------

# A pod is called NAME, its containers POD/NAME; what is known of them is in files, for subshells.
id_of() {
    cat "$lab/pods/$1.id"
}

# run_pod POD HANDLER [JQ-FILTER]: as a kubelet words it.
run_pod() {
    mkdir -p "$lab/pods/$1"
    jq -n --arg name "$1" --arg cgroup "/$cgroup" --arg logs "$lab/pods/$1" \
        '{metadata: {name: $name, uid: ("uid-" + $name), namespace: "cells"}, hostname: $name,
          log_directory: $logs, dns_config: {servers: ["1.1.1.1"]}, annotations: {},
          linux: {cgroup_parent: $cgroup, security_context: {
              namespace_options: {pid: "CONTAINER"}, seccomp: {profile_type: "RuntimeDefault"}}}}
         | '"${3:-.}" >"$lab/pods/$1.json"
    cri runp "$lab/pods/$1.json" "$2" >"$lab/pods/$1.id"
}

remove_pod() { # POD: and what is in it
    cri stopp "$(id_of "$1")" && cri rmp "$(id_of "$1")"
}

# The paths of /proc and /sys that a kubelet hides from every container that asks for nothing else.
hidden_paths='masked_paths: ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
    readonly_paths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]'

word_container() { # POD/NAME JQ-FILTER WORD...: for create
    local file=$lab/pods/$1 pod=${1%/*} name=${1#*/} filter=$2 words
    shift 2
    words=$(jq -n '$ARGS.positional' --args -- "$@")
    jq -n --arg name "$name" --argjson words "$words" --argjson attempt "$(attempts "$pod/$name")" \
        '{metadata: {name: $name, attempt: $attempt}, image: {image: "localhost/cell:1"},
          command: $words, log_path: "\($name).\($attempt).log", annotations: {},
          linux: {resources: {cpu_shares: 2}, security_context: {
              namespace_options: {pid: "CONTAINER"}, '"$hidden_paths"'}}} | '"$filter" >"$file.json"
    echo >>"$file.attempts"
}

# create_container POD/NAME JQ-FILTER WORD...: one more of the same name is a restart, the next
# attempt.
create_container() {
    local pod=${1%/*}
    word_container "$@"
    cri create "$(id_of "$pod")" "$lab/pods/$1.json" "$lab/pods/$pod.json" >"$lab/pods/$1.id"
}

attempts() { # POD/NAME: so far
    cat "$lab/pods/$1.attempts" 2>/dev/null | wc -l
}

start_container() { # as create_container
    create_container "$@" && cri start "$(id_of "$1")"
}

# to_its_end POD/NAME JQ-FILTER WORD...: what it printed; its exit status. count=NUMBER before it: as
# many, one after the other; what all of them printed.
to_its_end() {
    local pod=${1%/*} status
    word_container "$@"
    cri run "${count:-1}" "$(id_of "$pod")" "$lab/pods/$1.json" "$lab/pods/$pod.json"
    status=$?
    logged "$1"
    return $status
}

logged() { # POD/NAME: what its latest attempt printed
    cut -d' ' -f4- "$lab/pods/$1.$(($(attempts "$1") - 1)).log"
}

# first_instructions COUNT POD/NAME: a container whose first instructions connect, twice, COUNT times
# started. They say so in a file: of what a container prints, containerd 1.6 loses the end now and then
# on a busy machine.
first_instructions() {
    local into=$lab/first
    mkdir -p "$into"
    : >"$into/said"
    count=$1 to_its_end "$2" ".mounts += [{containerPath: \"/first\", hostPath: \"$into\"}]" \
        attempt into=/first/said tcp=1.1.1.1:443 tcp=1.1.1.1:443 >/dev/null
    echo "$(grep -c '^tcp=.* reached' "$into/said") reached," \
        "$(grep -c '^tcp=.* refused' "$into/said") refused"
}

record_of() { # POD or POD/NAME
    "$runtime" show --json "$(id_of "$1")"
}

in_container() { # POD/NAME WORD...
    local name=$1
    shift
    cri exec "$(id_of "$name")" -- "$@"
}

# serve POD/NAME PORT [JQ-FILTER]: a container that answers every caller with its name; it listens
# when this returns.
serve() {
    start_container "$1" "${3:-.}" nc -ll -p "$2" -e echo "from $1"
    in_container "$1" sh -c "until nc 127.0.0.1 $2 </dev/null; do :; done" >/dev/null
}

call() { # POD/NAME ADDRESS PORT: what is served there, asked for from inside
    in_container "$1" nc -w 5 "$2" "$3"
}

# annotate MEMBERS: a jq filter for the annotations of a pod or container.
annotate() {
    echo ".annotations += {$1}"
}

asks() { # WORD VALUE: the same, one of ours
    annotate "\"dev.anchorhold.$1\": \"$2\""
}

# endpoint NAME PORT: in our short form.
endpoint() {
    echo "$1:$2=unix:$brokers/$1/broker.sock"
}

# Jq filters: for a container that wants to break out; for a pod and its containers alike.
greedy='.linux.security_context.capabilities.add_capabilities = ["NET_ADMIN", "NET_RAW", "MKNOD"]'
on_host='.linux.security_context.namespace_options.network = "NODE" | del(.hostname)'
privileged='.linux.security_context.privileged = true'

# settle: waits for the work that containerd leaves to its shims after a pod is removed.
settle() {
    local pid
    [ -z "$(cri pods)" ] || return
    for pid in $(pgrep -f '^[^ ]*containerd-shim-runc-v2 -namespace k8s.io'); do wait_for_end "$pid"; done
}

# As nothing_left, and what engine and plugins keep besides: shims, addresses, cgroups. crun leaves
# directories where the second hierarchy was, with no kernel object behind them.
node_is_clean() {
    nothing_left && same "" "$({
        cri pods
        cri containers
        find /run/cni -name '10.90.*'
        find /run/netns -name 'cni-*'
        find /sys/fs/cgroup -mindepth 2 -type d -path "*/$cgroup/*" ! -path '*/unified/*'
    })"
}
