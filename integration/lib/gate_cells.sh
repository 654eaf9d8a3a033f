# SPDX-License-Identifier: Apache-2.0
# Containers that a gate serves, with the host's programs inside, and names for them outside.
# shellcheck shell=bash

# enter_gate_world ANSWER...: dnsmasq's options. Every name of .test is there.
enter_gate_world() {
    local address
    open_world
    for address in 203.0.113.10 203.0.113.11 10.9.9.9; do
        ip -n internet addr add "$address/32" dev lo
    done
    ip -n internet addr add 64:ff9b::a9fe:a9fe/128 dev lo nodad
    ip netns exec internet dnsmasq --conf-file=/dev/null --user=root --pid-file="$lab/dnsmasq.pid" \
        --no-resolv --no-hosts --bind-interfaces --listen-address=203.0.113.1 --log-queries \
        --log-facility="$lab/queries" --local=/test/ --address=/test/203.0.113.11 --address=/named.test/203.0.113.10 \
        --address=/wild.test/203.0.113.10 "$@"
    echo 'nameserver 203.0.113.1' >"$lab/resolv.conf"
    start_ready "$python" "$here/lib/world.py" netns=/run/netns/internet echo=8443 udp=203.0.113.10:9
    echo 0 >/proc/sys/net/ipv4/ip_forward
}

# make_host_rootfs PROGRAM...: $lab/rootfs, and in $host_mounts a filter that mounts these programs
# of the host's into it, with the libraries. A bundle may not mount the runtime, nor what is above it.
make_host_rootfs() {
    local program places=()
    make_rootfs "$lab/rootfs"
    mkdir -p "$lab/rootfs"/{root,run,t,usr/bin}
    echo 'nameserver 203.0.113.1' >"$lab/rootfs/etc/resolv.conf"
    for program in "$@"; do
        places+=("$(realpath "$(command -v "$program")")" "/usr/bin/${program##*/}")
    done
    host_mounts=$(jq -cn '[["/usr/lib", "/usr/lib"], ["/usr/share", "/usr/share"], ["/run/lab/integration/lib", "/t"],
        ($ARGS.positional | range(0; length; 2) as $i | [.[$i], .[$i + 1]])]' --args -- "${places[@]}")
    host_mounts=".mounts += [$host_mounts[] |
        {destination: .[1], source: .[0], type: \"bind\", options: [\"rbind\", \"ro\"]}]"
}

# allows RULES [FILTER]
allows() {
    echo "$host_mounts | .annotations += {\"dev.anchorhold.egress\": \"allowlist\",
        \"dev.anchorhold.allow\": \"$1\"} ${2:+| $2}"
}

# start_cell ID FILTER: a container that stays.
start_cell() {
    bundle "$1" "$2" sleep infinity
    within 60 "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >"$lab/log" 2>&1 &&
        "$runtime" start "$1" >>"$lab/log" 2>&1 || { cat "$lab/log"; return 1; }
}
in_run() { within 120 "$runtime" exec "$1" "${@:2}" </dev/null 2>&1; }    # ID WORD...
probe() { in_run "$1" env "AH_SLOWNESS=$AH_SLOWNESS" "$python" -B /t/gate_probe.py "${@:2}"; } # ID WAY...

tool() { "$lab/bin/anchorhold" --ah-state "$lab/state" "$@"; }
key_of() { tool show --json "$1" | jq -r .key; } # ID
record_of() { jq -r "$2" <"$lab/state/runs/$(key_of "$1")/record.json"; }                 # ID FILTER

answer_of() { grep "^$2 " <<<"$1" || echo "$2: no answer"; } # ANSWERS WAY
is_refused() { contains "$(answer_of "$@")" "$2 refused"; }
is_reached() { same "$2 reached" "$(answer_of "$@")"; }

start_inside() { # ID WORD: of gate_probe.py; it is spoken with by the two pipes
    [ -p "$lab/say" ] || mkfifo "$lab/say" "$lab/hear"
    within 120 "$runtime" exec "$1" env "AH_SLOWNESS=$AH_SLOWNESS" "$python" -B /t/gate_probe.py "$2" <"$lab/say" >"$lab/hear" &
    inside=$!
    exec 8>"$lab/say" 9<"$lab/hear"
    read -r line <&9
    same holds "$line"
}
let_go() { # prints what it still says
    exec 8>&-
    cat <&9
    exec 9<&-
    wait "$inside"
}
