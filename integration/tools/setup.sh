#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `setup` tells an engine of us and takes it back. Here is a host as README finds it, with the real
# engines; README's lines are pasted one after the other and end in a verified engine.
. "$(dirname "$0")/../lib/verify.sh"
needs strace
rm -rf /etc/anchorhold "$runtime"-*
rm "$lab/tools/docker"
export PATH=$lab/bin:$PATH

# ---- the host -----------------------------------------------------------------------------------

set_up_podman "$runtime"
unset CONTAINERS_CONF
mkdir -p /etc/containers/containers.conf.d /etc/docker /etc/crio/crio.conf.d
sed '/^anchorhold/d; /^runtime/d' "$lab/containers.conf" \
    >/etc/containers/containers.conf.d/50-lab.conf
set_up_docker '{}'
jq 'del(.runtimes)' "$lab/docker/daemon.json" >/etc/docker/daemon.json
ln -sf /etc/docker/daemon.json "$lab/docker/daemon.json"
unset DOCKER_CONFIG # podman reads it, too
mkdir "$lab/containerd"
ln -s /etc/containerd/config.toml "$lab/containerd/config.toml"
# A node's own configuration, before anybody tells it of us.
eval "$(declare -f write_node_config | sed '1s/.*/whole_node_config ()/')"
write_node_config() { whole_node_config </dev/null | sed '/runtimes.anchorhold\]/,$d'; }
start_node
start_docker
engine_objects() { :; }
settle() { settle_podman; }

# files_now: all that setup may touch.
files_now() {
    find /etc/containers /etc/docker /etc/containerd /etc/crio "$lab/bin" /etc/.anchorhold* \
        ! -type d -printf '%p %y %m %l ' \( -type f -exec sha256sum {} \; -o -printf '\n' \) 2>/dev/null | sort
}
files_now >"$lab/files.before"
as_before() { diff "$lab/files.before" <(files_now); }

said_by() { # WORD...: setup's lines
    "$runtime" setup "$@" 2>&1
}
refuses() { # SENTENCE WORD...
    same "anchorhold: setup: $1 (invalid_request)" "$(said_by "${@:2}")" && as_before
}

# ---- README, pasted -----------------------------------------------------------------------------

cd "$lab" || exit 1
sudo() { "$@"; }
meson() { :; } # this laboratory has us installed
# systemctl restart ENGINE
systemctl() {
    same restart "$1" || return
    case $2 in
        docker) stop_docker && start_docker ;;
        containerd) restart_containerd ;;
        *) return 1 ;;
    esac
}
# The lines of README's section Install, but for the package's.
sed -n '/^## Install$/,/^## Policy$/s/^    //p' "$lab/README.md" | grep -v build-deb >"$lab/pasted"
for engine in podman docker containerd; do
    check "README sets $engine up" grep -q "anchorhold setup $engine --write" "$lab/pasted"
    check "$engine: before, it is not set up" contains "$("$runtime" verify "$engine")" \
        "no_handler: its configuration does not name anchorhold"
done
check "nothing was written by asking" as_before
exec 3<"$lab/pasted"
while read -r line <&3; do
    eval "$line" >"$lab/said" 2>&1
    status=$?
    [[ $line != *doctor* ]] || continue # the laboratory's kernel may lack what others need
    check "README: $line" same "0 " "$status $([ $status = 0 ] || cat "$lab/said")"
    engine=${line##* }
    [[ $line != *" verify "* ]] || check "README: $engine runs a container of the profile confined" \
        same "confined locked" "$(trial "$engine" anchorhold-locked)"
done
exec 3<&-
asked=$(podman_run --rm --runtime anchorhold-locked --network none --rootfs "$lab/rootfs" \
    wget -qO- --post-data '{}' http://127.0.0.1:8080/v1/messages)
check "README: whoever runs below the profile has the model" contains "$asked" "Inside "

# ---- a second time, and back --------------------------------------------------------------------

files_now >"$lab/files.told"
second() { # ENGINE
    same "nothing to change" "$(said_by "$1" --write)" && diff "$lab/files.told" <(files_now)
}
for engine in podman docker containerd; do check "$engine: a second time changes nothing" second "$engine"; done
check "a file that was kept has the old bytes" same \
    "$(awk '$1 == "/etc/docker/daemon.json" { print $(NF - 1) }' "$lab/files.before")" \
    "$(sha256sum /etc/docker/daemon.json.before-anchorhold | cut -d' ' -f1)"
said_by podman --remove >/dev/null
check "a link that containerd's file names stays when podman lets it go" test -L "$runtime-locked"
check "and containerd is verified still" is_verified containerd
for engine in docker containerd; do said_by $engine --remove >/dev/null; done
check "all files are as before, byte for byte" as_before
check "and there is nothing to remove" same "nothing of setup's is there" "$(said_by docker --remove)"

# ---- what an administrator changed meanwhile ----------------------------------------------------

edited_docker() {
    said_by docker --write >/dev/null
    jq '.debug = true' /etc/docker/daemon.json >"$lab/edited" && cp "$lab/edited" /etc/docker/daemon.json
    said_by docker --remove >/dev/null
    same "true null" "$(jq -r '"\(.debug) \(.runtimes)"' /etc/docker/daemon.json)"
}
kept=/etc/docker/daemon.json.before-anchorhold
check "docker: another's change stays, and so does the file that was kept" edited_docker
check "docker: which is not overwritten" contains "$(said_by docker --write)" "$kept is there already; move it away"
mv $kept /etc/docker/daemon.json
check "docker: back again" as_before

made_anew() { # a node's file is written again and again, without us, and without an end of its last line
    cp -a /etc/containerd/config.toml "$lab/aside"
    printf '%s # no end' "$(<"$lab/aside")" | tee "$lab/anew" >/etc/containerd/config.toml
    for _ in 1 2; do
        contains "$(said_by containerd --write)" "systemctl restart containerd" || return
        containerd --config /etc/containerd/config.toml config dump | grep -q "$runtime-locked" || return
        cp "$lab/anew" /etc/containerd/config.toml
    done
    said_by containerd --write >/dev/null && said_by containerd --remove >/dev/null &&
        cmp "$lab/anew" /etc/containerd/config.toml
    local status=$?
    cp -a "$lab/aside" /etc/containerd/config.toml
    return $status
}
check "containerd: a file that is made anew is told again, and is as it was afterwards" made_anew
check "containerd: nothing is kept beside it" as_before

other_file() { # a daemon that runs reads another
    jq . /etc/docker/daemon.json >"$lab/other.json"
    refuses "dockerd was started with $lab/docker/daemon.json and does not read $lab/other.json; name that file by --config" \
        docker --config "$lab/other.json"
}
check "docker: a file that it does not read is refused" other_file
stop_docker
no_file() { # no daemon.json at all
    mv /etc/docker/daemon.json "$lab/daemon.json"
    said_by docker --write >/dev/null && jq -e '.runtimes["anchorhold-locked"]' /etc/docker/daemon.json >/dev/null &&
        said_by docker --remove >/dev/null && [ ! -e /etc/docker/daemon.json ]
    local status=$?
    mv "$lab/daemon.json" /etc/docker/daemon.json
    return $status
}
check "docker: a file that was not there goes again" no_file
check "docker: and nothing stays of it" as_before

# ---- what is refused ----------------------------------------------------------------------------

put_aside() { # FILE TEXT CHECK...: the check, with that text in the file
    cp -a "$1" "$lab/aside" && printf '%s' "$2" >"$1"
    files_now >"$lab/files.before"
    "${@:3}"
    local status=$?
    cp -a "$lab/aside" "$1"
    files_now >"$lab/files.before"
    return $status
}
broken() { said_by "$1" --write | grep -q '^anchorhold: .*(invalid_request)$' && same 1 "$(said_by "$1" --write | wc -l)" && as_before; }
check "docker: a file that is not JSON is refused in a line" put_aside /etc/docker/daemon.json '{"a": 1,' broken docker
check "containerd: a file that is not TOML is refused in a line" put_aside /etc/containerd/config.toml 'version = ' broken containerd
: >/etc/containers/containers.conf.d/anchorhold.conf
files_now >"$lab/files.before"
check "podman: another's file is not overwritten" refuses \
    "/etc/containers/containers.conf.d/anchorhold.conf is not setup's; move it away, or tell the engine by hand what setup prints" \
    podman --write
rm /etc/containers/containers.conf.d/anchorhold.conf
: >"$runtime-locked"
files_now >"$lab/files.before"
check "podman: nor another's program" refuses "$runtime-locked is there and is not this anchorhold; move it away" podman --write
rm "$runtime-locked"
files_now >"$lab/files.before"
check "a profile that the policy has not" refuses 'no profile "lokced"; the policy has locked, off' podman --profile lokced
check "two verbs" refuses "--write and --remove are not for one call" podman --write --remove
check "our own options" same "anchorhold: setup: the engine gives no --ah- options; leave them away, and name \
profiles by --profile (invalid_request)" "$("$runtime" --ah-profile=locked setup podman --write 2>&1)"
check "an engine that is none" refuses '"runc" is not podman, docker, containerd or crio' runc
check "crio: a drop-in, as printed" contains "$(said_by crio)" "[crio.runtime.runtimes.anchorhold-locked]"

# ---- killed between two steps -------------------------------------------------------------------

# The calls that change the disk. Killed before any other call is killed before the next of these.
calls='link linkat symlink symlinkat rename renameat unlink unlinkat mkdir mkdirat fsync'
engine_works() { # ENGINE: a container of the engine's own runtime, read by the files as they are
    case $1 in
        podman) podman_run --rm --runtime plain --network none --rootfs "$lab/rootfs" true ;;
        docker) jq -e . /etc/docker/daemon.json >/dev/null ;;
        containerd) containerd --config /etc/containerd/config.toml config dump >/dev/null ;;
    esac
}
undone() { # ENGINE VERB: as it is before setup ENGINE VERB
    if [ "$2" = --write ]; then said_by "$1" --remove; else said_by "$1" --write; fi >/dev/null
}
killed_at() { # ENGINE VERB CALL ORDINAL
    strace -qq -o /dev/null -e signal=none -e "trace=$3" -e "inject=$3:signal=KILL:when=$4" \
        "$runtime" setup "$1" "$2" >/dev/null 2>&1
    [ $? = 137 ] && engine_works "$1" && no_dangling
}
# Runs setup killed before each of its calls in turn. Then the engine has a configuration that it
# reads, and every program that is named there is there. Afterwards setup goes on, or is undone.
killed() { # ENGINE VERB
    local call ordinal points=0
    undone "$1" "$2"
    strace -qq -o "$lab/trace" -e signal=none -e "trace=${calls// /,}" "$runtime" setup "$1" "$2" >/dev/null || return
    undone "$1" "$2"
    for call in $calls; do
        for ((ordinal = 1; ordinal <= $(grep -c "^$call(" "$lab/trace"); ordinal++)); do
            points=$((points + 1))
            { killed_at "$1" "$2" "$call" $ordinal && said_by "$1" --remove >/dev/null && as_before &&
                { [ "$2" = --write ] || undone "$1" "$2"; } &&
                killed_at "$1" "$2" "$call" $ordinal && said_by "$1" "$2" >/dev/null &&
                said_by "$1" --remove >/dev/null && as_before; } || { echo "killed at $call $ordinal"; return 1; }
            [ "$2" = --write ] || undone "$1" "$2"
        done
    done
    said_by "$1" --remove >/dev/null
    [ $points -ge 2 ] || { echo "only $points points"; return 1; }
    as_before
}
# no_dangling: every program of ours that its files name is there.
no_dangling() {
    local program
    for program in $(grep -rhoE "\"$lab/bin/anchorhold[a-z-]*\"" /etc/containers /etc/docker /etc/containerd | tr -d '"'); do
        [ -x "$program" ] || { echo "$program is named and not there"; return 1; }
    done
}
for engine in podman docker containerd; do
    for verb in --write --remove; do check "$engine: $verb killed at every step" killed "$engine" "$verb"; done
done

kill "$(pgrep -f contrib/demo/broker.py)"
stop_containerd

# ---- a containerd of k3s', as far as files go ---------------------------------------------------

k3s_config=$lab/k3s/agent/etc/containerd/config.toml
mkdir -p "${k3s_config%/*}"
echo 'version = 3' >"$k3s_config"
k3s_template() {
    same "now: restart k3s or RKE2, then: anchorhold verify --config $k3s_config containerd" \
        "$(said_by containerd --config "$k3s_config" --write | tail -n 1)" &&
        grep -q 'runtimes.anchorhold-locked\]' "${k3s_config%/*}/config-v3.toml.tmpl" &&
        same "nothing to change" "$(said_by containerd --config "$k3s_config" --write)" &&
        same "version = 3" "$(<"$k3s_config")"
}
check "k3s: the template is written, which its file is made from" k3s_template
echo 'version = 2' >"$k3s_config"
check "k3s: one that was not rendered yet is said" contains "$(said_by containerd --config "$k3s_config")" \
    "config-v3.toml.tmpl is there and $k3s_config was not made from it; restart k3s or RKE2 first"
rm "$k3s_config"
said_by containerd --config "$k3s_config" --remove >"$lab/said"
check "k3s: it goes again, whatever else is there" same "" "$(ls "${k3s_config%/*}")"
check "k3s: with its links" as_before
finish
