#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# containerd, by ctr run --runc-binary: the model answers, nothing else does, errors reach ctr's
# user, nothing is left, whatever ctr was asked for besides.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}" containerd ctr \
    /usr/lib/cni/bridge
enter_lab
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
make_image poor "$lab/rootfs" '{"User": "1000:1000"}'
mkdir -p "$lab/bare/bin" && cp "$lab/bin/attempt" "$lab/bare/bin/attempt"
make_image scratch "$lab/bare"
policy '{ceiling: "allowlist", allow_by: "packets", tcp: "veth", tcp_endpoints: ["host:9000"]}'
open_world
name_hosts
start_ready "$python" "$here/lib/world.py" tcp=9000
start_broker model
start_broker stepwise AH_STEPS=1
start_containerd
for image in cell poor scratch; do in_ctr images import "$lab/$image.tar" >/dev/null; done
ctr_run "$plain_runtime" --rm localhost/cell:1 warm true
remember_kernel

# run OPTION... -- IMAGE ID WORD...: below us, to its end.
cell() { logged ctr_run "$runtime" --rm "$@"; }
cell_without_us() { logged ctr_run "$plain_runtime" --rm "$@"; }
exec_in() { logged in_ctr tasks exec --exec-id "$@"; } # EXEC-ID ID WORD...

# ctr 1.6 leaves off reading when it hears of the end, and on a busy machine what was said last is
# lost; what containerd's shim writes into a file is whole.
logged() { # COMMAND...: of ctr, which takes --log-uri behind its third word
    local file status
    file=$(mktemp "$lab/said.XXXXXX")
    "${@:1:3}" --log-uri "file://$file" "${@:4}" </dev/null
    status=$?
    cat "$file"
    rm "$file"
    return $status
}
asks() { echo "dev.anchorhold.endpoints=model:8080=unix:$brokers/$1/broker.sock"; }

# answers IMAGE OPTION...: the model does, in a container run with OPTION...
answers() {
    local image=$1 before output
    shift
    before=$(asked model)
    output=$(cell --annotation "$(asks model)" "$@" "localhost/$image:1" answers \
        /bin/attempt ask=8080)
    contains "$output" "ask=8080 reached" && same $((before + 1)) "$(asked model)" && nothing_left
}

red check "the answer arrives" answers cell
red check "each piece arrives before the next is written" contains \
    "$(cell --annotation "$(asks stepwise)" localhost/cell:1 step attempt ask-stepwise=8080)" \
    "ask-stepwise=8080 reached: 5 pieces"
red check "with --read-only" answers cell --read-only
red check "with --seccomp" answers cell --seccomp
red check "with --net-host" answers cell --net-host
red check "with --mount" answers cell --mount "type=bind,src=$lab/b,dst=/work,options=rbind:ro"
red check "with --memory-limit" answers cell --memory-limit 67108864
red check "in an image of user 1000" answers poor
red check "in an image of one static program" answers scratch
red check "C-03 a label asks like an annotation" contains \
    "$(cell --label "$(asks model)" localhost/cell:1 label attempt ask=8080)" "ask=8080 reached"

# ---- every way out ------------------------------------------------------------------------------

declare -A severed profiled execd
greedy=(--cap-add CAP_NET_ADMIN --cap-add CAP_NET_RAW --cap-add CAP_MKNOD)
try_ways control cell_without_us --net-host --privileged localhost/cell:1 control
try_ways severed cell "${greedy[@]}" --net-host localhost/cell:1 severed
try_ways profiled cell "${greedy[@]}" --seccomp --net-host localhost/cell:1 profiled
ctr_run "$runtime" --detach "${greedy[@]}" --net-host --annotation "$(asks model)" \
    localhost/cell:1 long sleep infinity
try_ways execd exec_in all long
environment=$(exec_in env long env)
in_ctr tasks kill --signal KILL long
in_ctr tasks delete --force long >/dev/null 2>&1
in_ctr containers delete long
check "nothing is left of it all" nothing_left
red judge severed ", severed, with --net-host"
red_but "B-27|B-56" judge profiled ", with --seccomp --net-host"
red judge execd ", from an exec, with --net-host"
red check "C-22 an exec sees no proxy variable" same "" "$(grep -i proxy <<<"$environment")"
check "C-22 but it sees its environment" contains "$environment" PATH=/bin

# ---- what is granted ----------------------------------------------------------------------------

grants=(--annotation dev.anchorhold.egress=allowlist
    --annotation "dev.anchorhold.allow=$granted_rules")
echo 1 >/proc/sys/net/ipv4/ip_forward
answers=$(cell "${grants[@]}" "${greedy[@]}" localhost/cell:1 veth \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")
red_only ": granted,|net-cap|sh=echo|sh=ip" judge_granted "by a link of its own" "$answers"
check "by a link of its own: nothing is left" nothing_left
ctr_run "$runtime" --detach "${grants[@]}" "${greedy[@]}" --net-host localhost/cell:1 long \
    sleep infinity
red_but ": granted,|sh=echo" judge_granted "from an exec, with --net-host" "$(exec_in ways long \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")"
in_ctr tasks kill --signal KILL long
in_ctr tasks delete --force long >/dev/null 2>&1
in_ctr containers delete long
check "nothing is left of the exec" nothing_left

sealed=$(cell --annotation dev.anchorhold.endpoints=model:8080=tcp:host:9000 "${greedy[@]}" \
    --net-host localhost/cell:1 sealed \
    attempt tcp=127.0.0.1:8080 tcp=1.1.1.1:443 tcp=203.0.113.2:7000)
red check "sealed: the broker's port answers" contains "$sealed" "tcp=127.0.0.1:8080 reached"
for way in tcp=1.1.1.1:443 tcp=203.0.113.2:7000; do
    red check "sealed: refused, $way" refused_at_once "$sealed" "$way"
done
check "sealed: nothing is left" nothing_left

# As a CRI does it: a namespace, the plugins, then the container.
six='[{"subnet": "fd00:90::/64"}]' six_route='{"dst": "::/0"}'
host_has ipv6 || six='' six_route=''
cni() { # ADD|DEL
    CNI_COMMAND=$1 CNI_CONTAINERID=cell CNI_NETNS=/run/netns/cell CNI_IFNAME=eth0 \
        CNI_PATH=/usr/lib/cni /usr/lib/cni/bridge <<CONF
{"cniVersion": "0.4.0", "name": "cells", "type": "bridge", "bridge": "cni-cells",
 "isGateway": true, "ipMasq": true, "ipam": {"type": "host-local", "dataDir": "/run/cni",
 "ranges": [[{"subnet": "10.90.0.0/16"}]${six:+, $six}],
 "routes": [{"dst": "0.0.0.0/0"}${six_route:+, $six_route}]}}
CONF
}
ip netns add cell
ip -n cell link set lo up
cni ADD >"$lab/cni.add"
ip netns exec cell sh -c 'echo 0 0 >/proc/sys/net/ipv4/ping_group_range'
remember_kernel
plugged=$(ip -n cell addr show dev eth0; ip -n cell route; ip -n cell -6 route)
control=$(cell_without_us --with-ns network:/run/netns/cell localhost/cell:1 bare \
    attempt tcp=9.9.9.9:443 tcp=203.0.113.2:7000)
for way in tcp=9.9.9.9:443 tcp=203.0.113.2:7000; do
    check "in a CNI's network: without us, $way" contains "$control" "$way reached"
done
red_but ": granted," judge_granted "in a CNI's network" "$(cell "${grants[@]}" "${greedy[@]}" \
    --with-ns network:/run/netns/cell localhost/cell:1 placed \
    attempt "${granted_ways[@]}" "${refused_ways[@]}")"
red check "in a CNI's network: it is as it was" same "$plugged" \
    "$(ip -n cell addr show dev eth0; ip -n cell route; ip -n cell -6 route)"
check "in a CNI's network: nothing is left" nothing_left
check "in a CNI's network: the plugins take it away as ever" cni DEL
ip netns del cell
ip link del cni-cells
remember_kernel

# ---- the rest of a container's life -------------------------------------------------------------

session() { # session RUNTIME OPTION...
    local binary=$1
    shift
    within 60 "$python" "$here/lib/terminal.py" command ctr --namespace "$cgroup" run \
        --runc-binary "$binary" --rm --tty "$@" localhost/cell:1 typed dash 2>&1
}
plain_session=$(session "$plain_runtime")
check "a terminal session reads as without us" same "$plain_session" "$(session "$runtime")"
check "also when the model is asked for" \
    same "$plain_session" "$(session "$runtime" --annotation "$(asks model)")"
check "and the terminal did something" contains "$plain_session" "interrupted: 130"

for status in 0 3 125 255; do
    check "B-41 exit $status" same $status "$(cell --annotation "$(asks model)" localhost/cell:1 \
        status sh -c "exit $status"; echo $?)"
done

# R12: containerd keeps ids apart by namespace; so do we.
same_id_twice() {
    local name
    for name in one two; do
        ctr_namespace=$cgroup-$name in_ctr images import "$lab/cell.tar" >/dev/null
        ctr_namespace=$cgroup-$name ctr_run "$runtime" --detach --annotation "$(asks model)" \
            --cgroup "/$cgroup/$name" localhost/cell:1 same sleep infinity
    done
    end one && ctr_namespace=$cgroup-two exec_in x same attempt ask=8080 |
        grep "ask=8080 reached"
    local status=$?
    end two && [ $status = 0 ] && nothing_left
}
end() { # end NAMESPACE-SUFFIX
    local ctr_namespace=$cgroup-$1
    in_ctr tasks kill --signal KILL same
    in_ctr tasks delete --force same >/dev/null 2>&1
    in_ctr containers delete same
}
red check "R12 one id in two namespaces" same_id_twice

# ---- errors -------------------------------------------------------------------------------------

refused() { # ctr shows our line, and nothing is left
    local output
    output=$(cell --annotation dev.anchorhold.egress=closed localhost/cell:1 refused true 2>&1) &&
        return 1
    contains "$output" "OCI runtime create failed: anchorhold: create refused: " &&
        contains "$output" "(invalid_request)" && nothing_left
}
red check "R7 ctr shows our line" refused

# SIGKILL of the shim while create waits in a hook; ctr has no hooks, so the runtime waits.
killed_at_create() {
    local shim
    wait_at_create
    touch "$lab/wait"
    policy "{runtime: \"$waiting\"}"
    cell --annotation "$(asks model)" localhost/cell:1 cut true >"$lab/cut.out" 2>&1 &
    reach_create && kill -KILL "$shim"
    wait $!
    "$runtime" gc && nothing_left
}
red check "B-43 SIGKILL of the shim at create, then gc" killed_at_create
stop_containerd
finish
