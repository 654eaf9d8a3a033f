#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A node whose containerd has a CRI section and was started with --config, as kubeadm's is: the installer
# finds its file, and says that the node is verified when pods below each handler leave their record,
# and not before.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/node.sh"
needs "${cri_needs[@]}"
install_sh=$(<"$here/../contrib/kubernetes/install.sh") # before its folder may be hidden
enter_lab
needs_host overlay
printf '%s\n' "$install_sh" >"$lab/install.sh"
chmod 755 "$lab/install.sh"
make_rootfs "$lab/rootfs"
make_image cell "$lab/rootfs"
mkdir "$lab/etc" "$lab/etc.work"
mount -t overlay -o "lowerdir=/etc,upperdir=$lab/etc,workdir=$lab/etc.work" overlay /etc
rm -rf /etc/anchorhold /etc/crio
policy '{default: "off", profiles: {off: {cri: true}, agent: {cri: true}, ci: {cri: true}}}'

# The handlers of other tests' nodes are not this one's.
eval "$(declare -f write_node_config | sed '1s/write_node_config/write_config/')"
write_node_config() { write_config </dev/null | sed '/runtimes.anchorhold\]/,/BinaryName/d; /runtimes.blind\]/,/BinaryName/d'; }
mkdir -p /etc/containerd
cp "$here/lib/node.sh" /etc/containerd/config.toml # not even TOML: nobody reads it
start_node </dev/null
run_pod bystander plain
node=$lab/containerd/config.toml
before=$(sha256sum "$node")
# shellcheck disable=SC2218 # node.sh's
settle
remember_kernel

installer() { within 120 "$lab/install.sh" --from "$lab" --prefix "$lab/opt/anchorhold" "$@" 2>&1 </dev/null; }
not_verified() { # TEXT
    local said
    said=$(installer verify) && echo "it is verified: $said" && return 1
    contains "$said" "$1"
}
check "a node without us is not verified" not_verified "not installed"
check "the file is the one that containerd was started with" contains \
    "$(installer --policy "$lab/policy.json" install)" "restart containerd"
check "it has the handlers now" same 3 "$(grep -c "BinaryName = \"$lab/opt" "$node")"
check "the usual one is as it was" cmp "$here/lib/node.sh" /etc/containerd/config.toml
check "before containerd has read it the node is not verified" not_verified "containerd is not verified"
restart_containerd
check "then it is" same verified "$(installer verify | tail -n 1)"
rm "$lab/opt/anchorhold/bin/anchorhold-agent"
ln -s "$plain_runtime" "$lab/opt/anchorhold/bin/anchorhold-agent"
check "a handler that leads elsewhere is found out" not_verified "ALARM"
rm "$lab/opt/anchorhold/bin/anchorhold-agent"
check "install puts that right" contains "$(installer --policy "$lab/policy.json" install)" installed
check "and the node is verified" same verified "$(installer verify | tail -n 1)"
check "gc has nothing to do" same "" "$(installer gc)"
check "it goes" contains "$(installer uninstall)" uninstalled
check "containerd's file is what it was" same "$before" "$(sha256sum "$node")"
restart_containerd
run_pod plain plain
check "and pods run as before" [ -s "$lab/pods/plain.id" ]
remove_pod plain
nothing_of_it_left() {
    # shellcheck disable=SC2218
    settle
    same "" "$({
        list_kernel | diff "$lab/kernel.before" - | grep '^>'
        find /run/anchorhold/{runs,locks,subnets} /opt/anchorhold "$lab/opt" -mindepth 1 2>/dev/null
        find /var/tmp -maxdepth 1 -name 'anchorhold-verify-*'
        pgrep -la anchorhold
        cri pods | grep -vxF "$(id_of bystander)"
        in_ctr namespaces list --quiet | grep anchorhold
    })"
}
check "nothing is left" nothing_of_it_left
remove_pod bystander
stop_containerd
finish
