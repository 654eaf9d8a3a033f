# SPDX-License-Identifier: Apache-2.0
# The world around a cell: an internet, the host's services, brokers; and bundles run by hand.
# shellcheck shell=bash

python=/usr/bin/python3

# The needs (lab.sh) of a file that runs cells. It adds its own.
# shellcheck disable=SC2034
cell_needs=(root "${AH_RUNTIME:-runc}" busybox jq ip nft getent ldd "$python" pgrep)

# start_ready COMMAND...: in the background, until its first line; $! is its pid. What it writes
# after that line is nobody's.
start_ready() {
    local line
    rm -f "$lab/ready" # what an earlier command says last is not read as this one's first line
    mkfifo "$lab/ready"
    "$@" >"$lab/ready" &
    read -r line <"$lab/ready"
}

stop() { # stop PID
    kill "$1"
    wait "$1" 2>/dev/null
}

# ---- outside ------------------------------------------------------------------------------------

resolvers=(1.1.1.1 8.8.8.8 9.9.9.9 208.67.222.222)

# A second namespace plays the internet, routed behind the laboratory; the laboratory serves what
# careless hosts serve. Without us all of it is within reach of a container on the host's network.
open_world() {
    local address
    needs_host veth
    ip netns add internet
    ip link add up0 type veth peer name down0 netns internet
    ip addr add 203.0.113.2/24 dev up0
    ip addr add 2001:db8:113::2/64 dev up0 nodad
    ip link set up0 up
    ip -n internet link set lo up
    ip -n internet addr add 203.0.113.1/24 dev down0
    ip -n internet addr add 2001:db8:113::1/64 dev down0 nodad
    ip -n internet addr add 2606:4700:4700::1111/128 dev lo nodad
    for address in "${resolvers[@]}" 169.254.169.254; do
        ip -n internet addr add "$address/32" dev lo
    done
    ip -n internet addr add fe80::99/64 dev down0 nodad
    ip -n internet link set down0 up
    ip route add default via 203.0.113.1
    ip route add default via 2001:db8:113::1
    # Engines copy this one into containers.
    echo 'nameserver 1.1.1.1' >"$lab/resolv.conf"
    [ ! -f /etc/resolv.conf ] || mount --no-mtab --bind "$lab/resolv.conf" /etc/resolv.conf
    echo 0 0 >/proc/sys/net/ipv4/ping_group_range
    start_ready "$python" "$here/lib/world.py" tcp=7000 abstract=host-service netns=/run/netns/internet \
        tcp=22 tcp=80 tcp=443 tcp=853 udp=1.1.1.1:9 "${resolvers[@]/#/dns=}"
}

# start_broker NAME [VARIABLE=VALUE...]: serves /run/brokers/NAME/broker.sock as a uid of its own.
broker_uid=64001
start_broker() {
    local name=$1
    shift
    start_ready env "$@" "$python" "$here/lib/step_broker.py" --user "$broker_uid" --pause 0 \
        --socket "$brokers/$name/broker.sock" --log "$lab/broker.$name.log"
    broker=$!
}

# asked NAME: prints how often the model was asked.
asked() {
    grep -c 'POST /v1/messages 200' "$lab/broker.$1.log"
}

# ---- bundles ------------------------------------------------------------------------------------

# bundle ID JQ-FILTER WORD...: $lab/b/ID, from the runtime's own `spec`, running WORD...
bundle() {
    local id=$1 filter=$2
    shift 2
    rm -rf "${lab:?}/b/$id"
    mkdir -p "$lab/b/$id"
    cp -al "$lab/rootfs" "$lab/b/$id/rootfs"
    [ -f "$lab/config.json" ] || (cd "$lab" && "$plain_runtime" spec)
    jq --arg cgroup "/$cgroup/$id" --argjson proxies "$proxy_env" \
        '.process.terminal = false | .process.args = $ARGS.positional | .process.env += $proxies
         | .linux.cgroupsPath = $cgroup | '"$filter" \
        "$lab/config.json" --args -- "$@" >"$lab/b/$id/config.json"
}

# asks_for BROKER...: a jq filter; the first answers at port 8080, the next at 8081.
asks_for() {
    local name port=8080 list=
    for name in "$@"; do
        list+="${list:+, }$name:$port=unix:$brokers/$name/broker.sock"
        port=$((port + 1))
    done
    echo ".annotations += {\"dev.anchorhold.endpoints\": \"$list\"}"
}

# in_cell ID: `run` to its end with nothing on stdin; its output is the container's.
in_cell() {
    within 60 "$runtime" run --bundle "$lab/b/$1" "$1" </dev/null
}

# without_us ID FILTER: the same bundle, changed by FILTER, under the runtime alone.
without_us() {
    jq "$2" "$lab/b/$1/config.json" >"$lab/b/$1/edited"
    mv "$lab/b/$1/edited" "$lab/b/$1/config.json"
    within 60 "$plain_runtime" run --bundle "$lab/b/$1" "$1" </dev/null
}

# On the host's network and with the devices a careless runtime hands out, every attempt must
# succeed.
in_the_open() {
    without_us "$1" 'del(.linux.namespaces[] | select(.type == "network"))
        | .linux.resources.devices += [{allow: true, access: "rwm"}]'
}

# ---- nothing left -------------------------------------------------------------------------------

list_kernel() {
    ip -o link | cut -d: -f2
    nft --stateless list ruleset 2>/dev/null # it comments on tables of iptables-nft
    # podman mounts its own storage over itself now and then.
    awk '$2 != "/var/lib/containers/storage/overlay" {print $2}' /proc/self/mounts | sort
    find /proc/[0-9]*/ns/net -printf '%l\n' 2>/dev/null | sort -u | grep .
}

remember_kernel() {
    list_kernel >"$lab/kernel.before"
}

settle() { :; } # an engine that cleans up behind our back is waited for here

wait_for_end() { # PID: of any process
    "$python" -c 'import os, select, sys
try:
    select.select([os.pidfd_open(int(sys.argv[1]))], [], [])
except ProcessLookupError:
    pass' "$1"
}

# No kernel object, mount, process, lock, reservation, temporary file, no run.
nothing_left() {
    local left
    settle
    left=$({
        list_kernel | diff "$lab/kernel.before" - | grep '^>'
        find "$lab/state"/{runs,locks,subnets} -mindepth 1 2>/dev/null
        find "$lab/b" -maxdepth 2 -type f ! -name config.json
        pgrep -la anchorhold
        find /dev /run -path "$lab" -prune -o -name '*anchorhold*' -print
    })
    same "" "$left"
}
