# SPDX-License-Identifier: Apache-2.0
# A node's root directory, and the installer that is run on it. To be sourced first.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$here/lib/engines.sh"
. "$here/lib/cells.sh"
needs "${cell_needs[@]}" containerd patchelf
install_sh=$(<"$here/../contrib/kubernetes/install.sh") # before its folder may be hidden
tmpfiles_conf=$(<"$here/../contrib/systemd/anchorhold.tmpfiles.conf")
enter_lab
make_rootfs "$lab/rootfs"
printf '%s\n' "$install_sh" >"$lab/install.sh"
chmod 755 "$lab/install.sh"
printf '%s\n' "$tmpfiles_conf" >"$lab/tmpfiles.conf"
policy '{default: "off", profiles: (["off", "agent", "ci", "night", "day"] | map({key: ., value: {cri: true}}) | from_entries)}'
remember_kernel

# ---- a node -------------------------------------------------------------------------------------

node=$lab/node
main=$node/etc/containerd/config.toml
make_rootfs "$node"
mkdir -p "$node"/{opt,run,usr/bin,usr/sbin}
mount --no-mtab --bind /proc "$node/proc"
add_libraries "$node" "$lab/libexec/anchorhold/anchorhold-hook"
add_libraries "$node" "$(command -v containerd)"
touch "$node/usr/bin/containerd"
cat >"$node/bin/systemctl" <<'SYSTEMCTL'
#!/bin/sh
case $1 in
    cat) exec cat /containerd.unit 2>/dev/null ;;
    is-active) [ "$3" = "$(cat /active.unit)" ]; exit ;;
esac
[ ! -e /systemctl.fails ] || exit 1
echo "$*" >>/systemctl.log
SYSTEMCTL
printf '#!/bin/sh\necho runc version 0\n' >"$node/usr/sbin/runc"
chmod 755 "$node/bin/systemctl" "$node/usr/sbin/runc"

clear_node() { # [VERSION]: as before any installation; containerd is the real one, or says VERSION
    ! mountpoint -q "$node/usr/bin/containerd" || umount "$node/usr/bin/containerd"
    rm -rf "${node:?}"/{opt,run,var,etc/containerd,etc/crio,etc/anchorhold,etc/tmpfiles.d} "$node/sys/fs"
    rm -f "$node"/{systemctl.log,containerd.unit,active.unit} "$node"/usr/bin/{restorecon,systemd-tmpfiles,k3s}
    mkdir -p "$node"/{opt,run,var}
    if [ -n "${1:-}" ]; then
        printf '#!/bin/sh\necho containerd example.test/containerd %s 0123abc\n' "$1" >"$lab/containerd.says"
    else
        cp "$(command -v containerd)" "$lab/containerd.says"
    fi
    chmod 755 "$lab/containerd.says"
    mount --no-mtab --bind "$lab/containerd.says" "$node/usr/bin/containerd"
}
configure() { # from standard input
    mkdir -p "$node/etc/containerd"
    cat >"$main"
    chmod 640 "$main"
}
jq 'del(.runtime)' "$lab/policy.json" >"$lab/node.json"
installer() { within 60 "$lab/install.sh" --root "$node" --from "$lab" "$@" 2>&1 </dev/null; }
set_up() { installer --policy "$lab/node.json" "$@" install; }
tree() { # what a node has, to the byte
    (
        cd "$node" || exit
        find etc opt var -printf '%p %y %m %U:%G %l\n' | sort
        find etc opt var -type f -exec sha256sum {} + | sort -k2
    )
}
exact_tree() { # nor is a file another one or written again
    (cd "$node" && find etc opt var -type d -print -o -printf '%p %i %T@\n' | sort)
}
# refused_unchanged WORDS COMMAND...: it fails, saying so, and changes nothing.
refused_unchanged() {
    local before after said wanted=$1
    shift
    before=$(exact_tree)
    said=$("$@") && echo "it succeeded" && return 1
    after=$(exact_tree)
    contains "$said" "$wanted" && same "$before" "$after"
}
changes_nothing() {
    local before
    before=$(exact_tree)
    same installed "$("$@")" && same "$before" "$(exact_tree)"
}
effective() { chroot "$node" containerd config dump; }
handlers() { # FILE PLUGIN: "NAME BINARY GLOBS" each, as TOML has them
    "$python" - "$@" <<'PYTHON'
import sys, tomllib
path, plugin = sys.argv[1:]
runtimes = tomllib.load(open(path, "rb"))["plugins"][plugin]["containerd"]["runtimes"]
for name, runtime in runtimes.items():
    globs = runtime.get("pod_annotations", []) + runtime.get("container_annotations", [])
    print(name, runtime["runtime_type"], runtime.get("options", {}).get("BinaryName") or "-", *globs)
PYTHON
}
cri=io.containerd.grpc.v1.cri
ours() { # NAMES: what handlers() says of them
    local name
    for name in "$@"; do
        echo "$name io.containerd.runc.v2 /opt/anchorhold/bin/$name dev.anchorhold.* dev.anchorhold.*"
    done
}
three=(anchorhold anchorhold-agent anchorhold-ci)
installs_and_restores() { # TITLE OPTION...: from install to uninstall, all that holds everywhere
    local title=$1 before
    shift
    before=$(tree)
    check "$title: it installs" contains "$(set_up "$@")" installed
    check "$title: the shim runs" contains "$(chroot "$node" /opt/anchorhold/bin/anchorhold runs)" POSTURE
    check "$title: a second time changes nothing" changes_nothing set_up "$@"
    "${judge:-true}"
    check "$title: uninstall" contains "$(installer uninstall)" uninstalled
    check "$title: leaves what was there" same "$before" "$(tree)"
    check "$title: uninstall again is nothing" same "not installed" "$(installer uninstall)"
}

# What kubeadm, EKS and AKS leave.
# shellcheck disable=SC2034
kubeadm='version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "example.test/pause:1" # pinned
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true'

# bundled DIRECTORY PREFIX: a tree whose hook finds its loader and libraries at PREFIX alone.
bundled() {
    local helpers=$1/libexec/anchorhold loader
    mkdir -p "$1/bin" "$helpers/lib"
    cp "$lab/bin/anchorhold" "$1/bin"
    cp "$lab/libexec/anchorhold/"* "$helpers"
    loader=$(patchelf --print-interpreter "$helpers/anchorhold-hook")
    { echo "$loader" && ldd "$helpers/anchorhold-hook" | awk '$2 == "=>" { print $3 }'; } |
        xargs cp -L -t "$helpers/lib"
    patchelf --set-interpreter "$2/libexec/anchorhold/lib/${loader##*/}" --force-rpath \
        --set-rpath "$2/libexec/anchorhold/lib" "$helpers/anchorhold-hook"
}
hook_says() { chroot "$node" /opt/anchorhold/libexec/anchorhold/anchorhold-hook 2>&1; }
