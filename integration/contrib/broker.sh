#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The brokers of contrib/brokers as they are handed out, between a container that sends a dummy key
# and a provider with TLS. They are installed by README's commands and run by those of the systemd
# unit, which systemd itself only reads, and of the DaemonSet.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" nginx haproxy openssl setpriv useradd podman conmon
enter_lab
needs_host overlay
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
yes | head -c 20M >"$lab/rootfs/body"
policy '{default: "hostname", profiles: {
    hostname: {endpoints: [{name: "model", listen: 8080, to: "unix:/run/brokers/{hostname}/broker.sock"}]},
    id: {endpoints: [{name: "model", listen: 8080, to: "unix:/run/brokers/{id}/broker.sock"}]}}}'

# ---- the host -----------------------------------------------------------------------------------

mkdir "$lab/etc" "$lab/etc.work"
mount -t overlay -o "lowerdir=/etc,upperdir=$lab/etc,workdir=$lab/etc.work" overlay /etc
rm -rf /etc/anchorhold-broker /etc/systemd/system/anchorhold-broker@* # this host may have one
sed -i '/^anchorhold-broker:/d' /etc/{passwd,shadow,group,gshadow}
echo '127.0.0.1 localhost api.anthropic.com' >"$lab/hosts"
mount --no-mtab --bind "$lab/hosts" /etc/hosts
trusted=/etc/ssl/certs/ca-certificates.crt
unit=/etc/systemd/system/anchorhold-broker@.service
key=/etc/anchorhold-broker/key.conf

install_broker() { # by README's commands, but for apt and systemctl
    grep -E '^    .*sudo (useradd|install|tee)' "$lab/contrib/brokers/README.md" >"$lab/commands"
    same 5 "$(wc -l <"$lab/commands")" &&
        (cd "$lab" && sed 's/sudo //; s/sk-ant-\.\.\./the-real-key/' "$lab/commands" | bash -e)
}
check "README's commands install a broker" install_broker
check "its key is for root alone" same "0 600" "$(stat -c '%u %a' $key)"
check "nor does a worker read it" eval "! setpriv --reuid anchorhold-broker --clear-groups head -c 1 $key"

# The unit's commands, as systemd would run them; of RuntimeDirectory= and WorkingDirectory= what
# systemd.exec(5) says.
unit_says() { # WORD INSTANCE: a drop-in's word comes last
    cat $unit $unit.d/* 2>/dev/null | sed -n "s/^$1=//p" | tail -n 1 |
        sed "s/%i/$2/g; s/%p/anchorhold-broker/g"
}
run_by_unit() { # WORD INSTANCE
    (cd "$(unit_says WorkingDirectory "$2")" && unit_says "$1" "$2" | sh) 2>>"$lab/broker.log"
}
start_unit() { # INSTANCE
    local directory
    for directory in $(unit_says RuntimeDirectory "$1"); do
        mkdir -p "/run/$directory"
        chmod "$(unit_says RuntimeDirectoryMode "$1")" "/run/$directory"
    done
    run_by_unit ExecStartPre "$1" && run_by_unit ExecStart "$1"
}
pid_of() { # INSTANCE: nginx writes it just after its parent has ended
    local file
    file=$(unit_says PIDFile "$1")
    until [ -s "$file" ]; do :; done
    cat "$file"
}
end_unit() { # INSTANCE [SIGNAL]: the directories stay, as over a restart
    local master pid pids
    master=$(pid_of "$1")
    pids="$master $(pgrep -P "$master")" # the master first, or it starts another worker
    for pid in $pids; do kill -s "${2:-$(unit_says KillSignal "$1")}" "$pid"; done
    for pid in $pids; do wait_for_end "$pid"; done
} 2>/dev/null
stop_unit() { # INSTANCE
    end_unit "$1" && (cd /run && unit_says RuntimeDirectory "$1" | xargs rm -r)
}
read_by_systemd() {
    same "" "$(systemd-analyze verify "$unit" 2>&1)"
}
if command -v systemd-analyze >/dev/null; then
    check "systemd finds nothing wrong with the unit" read_by_systemd
else
    skip "systemd finds nothing wrong with the unit" "needs systemd-analyze"
fi

# ---- the provider -------------------------------------------------------------------------------

# certificate FILE NAME SIGNER EXTENSION...: a key and a certificate for it, in one file.
mkdir "$lab/tls"
certificate() {
    local at=$lab/tls/$1 name=$2 signer=$3
    shift 3
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout "$at.key" -out "$at.crt" \
        -config <(printf '[req]\ndistinguished_name=d\n[d]\n') -subj "/CN=$name" "${@/#/-addext=}" \
        ${signer:+-CA "$lab/tls/$signer.crt" -CAkey "$lab/tls/$signer.key"} 2>/dev/null
    cat "$at.crt" ${signer:+"$lab/tls/$signer.crt"} "$at.key" >"$at.pem"
}
authority=basicConstraints=critical,CA:TRUE
certificate root 'A root' '' "$authority"
certificate other 'Another root' '' "$authority"
certificate between 'Of the root' root "$authority"
certificate right api.anthropic.com between subjectAltName=DNS:api.anthropic.com
certificate wrong example.test between subjectAltName=DNS:example.test
certificate strange api.anthropic.com other subjectAltName=DNS:api.anthropic.com

start_provider() { # CERTIFICATE
    start_ready "$python" "$here/lib/provider.py" "$lab/tls/$1.pem" "$lab/provider.log"
    provider=$!
}

# ---- from inside --------------------------------------------------------------------------------

inside() { # INSTANCE WORD...
    local instance=$1
    shift
    bundle "$instance" ".hostname = \"$instance\"" "$@"
    in_cell "$instance" 2>&1
}
post=(wget -q -O - --header 'x-api-key: dummy' --header 'authorization: Bearer dummy'
    --header 'Cookie: dummy' --header 'X-Goog-Api-Key: dummy')
size=http://127.0.0.1:8080/size

is_served() { # INSTANCE
    same "2 bytes" "$(inside "$1" "${post[@]}" --post-data '{}' $size)"
}

keys_are_changed() {
    : >"$lab/provider.log"
    is_served agent &&
        same '["POST /size HTTP/1.1","api.anthropic.com",["the-real-key"],false]' \
            "$(jq -c '[.[0], (.[1] | map({(.[0] | ascii_downcase): .[1]}) | add.host),
                [.[1][] | select(.[0] | ascii_downcase == "x-api-key") | .[1]],
                (tostring | contains("dummy"))]' "$lab/provider.log")"
}

is_refused() { # and the provider hears nothing of it
    local said
    : >"$lab/provider.log"
    said=$(inside agent "${post[@]}" --post-data '{}' "$size")
    contains "$said" "HTTP/1.1 50" && same "" "$(<"$lab/provider.log")"
}

provider_is() { # CERTIFICATE
    stop "$provider"
    start_provider "$1"
}

judge_broker() { # TITLE
    red check "$1: the provider gets the broker's key, and nothing of the agent's" keys_are_changed
    red check "$1: each piece arrives before the next is written" contains \
        "$(inside agent attempt ask-stepwise=8080)" "5 pieces"
    red check "$1: a body of 20 MiB arrives" same "20971520 bytes" \
        "$(inside agent "${post[@]}" --post-file /body $size)"
    provider_is wrong
    red check "$1: a provider of another name gets nothing" is_refused
    provider_is strange
    red check "$1: a provider of another authority gets nothing" is_refused
    provider_is right
    red check "$1: the right one is asked again" is_served agent
}

cat "$lab/tls/root.crt" >$trusted
start_provider right
set_up_podman "$runtime"
in_podman load --quiet --input "$lab/cell.tar" >/dev/null
podman_run --rm --runtime plain localhost/cell:1 true # makes podman's bridge and mounts
settle() { settle_podman; }
settle
remember_kernel
check "the broker starts" start_unit agent
check "a directory of root's with mode 0711, a socket with 0666" same "0 711 0 666" \
    "$(stat -c '%u %a' /run/brokers/agent /run/brokers/agent/broker.sock | xargs)"
check "its workers have a uid of their own" same anchorhold-broker \
    "$(ps -o user:20= --ppid "$(pid_of agent)")"
judge_broker nginx

# ---- killed -------------------------------------------------------------------------------------

killed() {
    local cell status
    bundle killed '.hostname = "agent"' sh -c 'echo up; exec sleep infinity'
    start_ready in_cell killed
    cell=$!
    end_unit agent KILL
    if run_by_unit ExecStart agent; then
        echo "it starts beside a stale socket"
        return 1
    fi
    start_unit agent &&
        same "2 bytes" "$("$runtime" exec killed "${post[@]}" --post-data '{}' $size)"
    status=$?
    "$runtime" kill killed KILL
    wait "$cell"
    return $status
}
red check "after SIGKILL the unit's own command lets it start, and a live run finds it" killed
check "the broker ends" stop_unit agent
red check "without it a container is refused" contains \
    "$(inside agent true)" "no socket at /run/brokers/agent/broker.sock; start the broker first"

# ---- by HAProxy --------------------------------------------------------------------------------

put_haproxy() { # by the words at its head
    mkdir $unit.d
    sed -n 's/^#     //p' "$lab/contrib/brokers/haproxy.cfg" >$unit.d/haproxy.conf
    cp "$lab/contrib/brokers/haproxy.cfg" /etc/anchorhold-broker
    export KEY=the-real-key # as EnvironmentFile= has it
}
put_haproxy
check "the same by HAProxy starts" start_unit agent
judge_broker HAProxy
check "it ends" stop_unit agent
rm -r $unit.d

# ---- on a node of a cluster ---------------------------------------------------------------------

# The pod's own commands, with the files and the rights that a kubelet would give them.
"$python" -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))' \
    <"$lab/contrib/brokers/daemonset.yaml" >"$lab/daemonset.json"
of_pod() { jq -r ".spec.template.spec.$1" "$lab/daemonset.json"; }
work=/run/anchorhold-broker
start_pod() {
    local uid
    uid=$(of_pod securityContext.runAsUser)
    chgrp "$uid" $key && chmod 440 $key && install -d -g "$uid" -m 2770 $work &&
        mkdir -p /run/brokers/agents &&
        sh -c "$(of_pod 'initContainers[0].command[2]')" || return
    (cd "$(of_pod 'containers[0].workingDir')" && exec setpriv --reuid "$uid" --regid "$uid" \
        --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \
        sh -c "$(of_pod 'containers[0].command[2]')") 2>>"$lab/broker.log" &
    pod=$!
    until [ -s $work/nginx.pid ] || ! kill -0 $pod; do :; done 2>/dev/null
}
kill_pod() {
    pgrep -P "$pod" | xargs kill -KILL "$pod"
    wait "$pod"
    rm -r $work
} 2>/dev/null
start_pod
red check "on a node: served by a broker that is not root" is_served agents
kill_pod
start_pod
red check "on a node: served again after SIGKILL" is_served agents
kill_pod
rm -r /run/brokers/agents

# ---- one for each run ---------------------------------------------------------------------------

ask=("${post[@]}" --post-data '{}' "$size")
by_hostname() {
    start_unit job-42 &&
        same "2 bytes" "$(podman_run --rm --hostname job-42 localhost/cell:1 "${ask[@]}")" &&
        stop_unit job-42
}
by_id() {
    local id
    id=$(in_podman create localhost/cell:1 "${ask[@]}") && start_unit "$id" &&
        same "2 bytes" "$(in_podman start --attach "$id")" &&
        in_podman rm "$id" >/dev/null && stop_unit "$id"
}
red check "podman run, by hostname" by_hostname
policy '{default: "id", profiles: '"$(jq .profiles "$lab/policy.json")}"
red check "podman create, broker, podman start, by id" by_id
stop "$provider"
rmdir $work
check "nothing is left" nothing_left
finish
