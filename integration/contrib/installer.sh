#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The node's installer adds what is ours, leaves what is not, says what it cannot do before it does
# anything, and takes away no program that a live run needs.
#
# Each kind of node is a folder with a root's files. What is written for containerd 1.x is read by
# the real containerd 1.6. What is written for containerd 2.x, k3s, RKE2 and CRI-O is parsed as TOML
# and no more: none of them runs here. Nor does SELinux, or a kubelet.
. "$(dirname "$0")/../lib/installer.sh"

# ---- containerd 1.x -----------------------------------------------------------------------------

lived_in='# ours since 2019, ask Bob before you touch it
version = 2   # two
oom_score = -999
frobnicate = "yes"

[plugins."io.containerd.internal.v1.opt"]
  path = "/opt/containerd" # not ours
[metrics]
  address = "127.0.0.1:1338"
[unheard.of]
  key = [1, 2]'
clear_node
configure <<<"$lived_in"
judge() {
    check "1.x: what was there stays, to the byte" same "$lived_in" "$(head -c ${#lived_in} "$main")"
    check "1.x: with its mode" same 640 "$(stat -c %a "$main")"
    effective >"$lab/effective"
    check "1.x: containerd has the handlers, and its own" same \
        "$(ours "${three[@]}")"$'\n'"runc io.containerd.runc.v2 -" \
        "$(handlers "$lab/effective" "$cri" | sort)"
    check "1.x: containerd has what was there" same "-999 /opt/containerd 127.0.0.1:1338" \
        "$("$python" -c 'import sys, tomllib
c = tomllib.load(sys.stdin.buffer)
print(c["oom_score"], c["plugins"]["io.containerd.internal.v1.opt"]["path"], c["metrics"]["address"])' \
            <"$lab/effective")"
}
judge=judge installs_and_restores "1.x, a file that imports nothing"

clear_node
configure <<'CONF'
version = 2
imports = [
  "/etc/containerd/one.toml", # [brackets]
  '/etc/containerd/config.d/*.toml',
]
CONF
echo 'oom_score = -1' >"$node/etc/containerd/one.toml"
judge() {
    check "1.x: containerd has the handlers beside what is imported" same "$(ours "${three[@]}")" \
        "$(handlers <(effective) "$cri" | grep -v ^runc | sort)"
    check "1.x: and they are in no folder" [ ! -e "$node/etc/containerd/config.d" ]
}
judge=judge installs_and_restores "1.x, a folder of imports"

clear_node
configure <<'CONF'
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
CONF
mkdir -p "$node/etc/containerd/conf.d"
echo "[plugins.\"$cri\".cni]" >"$node/etc/containerd/conf.d/other.toml"
whole=$(<"$main")
judge() {
    check "1.x: an imported CRI section is the one that containerd takes" same "$(ours "${three[@]}")" \
        "$(handlers <(effective) "$cri" | grep -v ^runc | sort)"
    check "1.x: so the lines are there" same "$whole" "$(<"$main")"
}
judge=judge installs_and_restores "1.x, an imported CRI section"

rm "$node/etc/containerd/conf.d/other.toml"
echo 'disabled_plugins = ["io.containerd.snapshotter.v1.aufs"] # not io.containerd.grpc.v1.cri' >"$node/etc/containerd/conf.d/other.toml"
check "1.x: a word of it is no section" contains "$(set_up)" installed
printf '[plugins."%s".containerd.runtimes.x.options]\nBinaryName = "/opt/anchorhold/bin/anchorhold-ci"\n' \
    "$cri" >"$node/etc/containerd/conf.d/other.toml"
check "1.x: uninstall sees a handler in any file" contains "$(installer uninstall)" \
    "conf.d/other.toml still names /opt/anchorhold/bin/anchorhold-ci"
check "1.x: and leaves it its program" [ -x "$node/opt/anchorhold/bin/anchorhold-ci" ]
rm "$node/etc/containerd/conf.d/other.toml"
check "1.x: and goes without it" contains "$(installer uninstall)" uninstalled

clear_node
configure <<'CONF'
version = 2
imports = ["conf.d/*.toml"]
CONF
judge() { check "1.x: a relative pattern leads it nowhere" [ ! -e "$node/etc/containerd/conf.d" ]; }
judge=judge installs_and_restores "1.x, a relative pattern"

clear_node
configure <<<'version = 2
imports = ['
check "a file that cannot be read is not added to" refused_unchanged "config.toml: line" set_up

clear_node
kubeadm_is_told() {
    effective >"$lab/effective"
    check "$1: containerd has the handlers" same \
        "$(ours "${three[@]}")"$'\n'"runc io.containerd.runc.v2 -" "$(handlers "$lab/effective" "$cri" | sort)"
    check "$1: they drive cgroups as its own does" same 4 "$(grep -c 'SystemdCgroup = true' "$lab/effective")"
    check "$1: and the section is whole" contains "$(<"$lab/effective")" example.test/pause:1
}
configure <<<"$kubeadm"
judge() {
    kubeadm_is_told kubeadm
    check "kubeadm: other profiles take the place of these" contains "$(set_up --profiles night)" installed
    check "kubeadm: and no more than these" same "$(ours anchorhold anchorhold-night)" \
        "$(handlers <(effective) "$cri" | grep -v ^runc | sort)"
    sed -i 's/# pinned/# by hand/' "$main"
    check "kubeadm: what others change since stays" contains "$(set_up; cat "$main")" "# by hand"
    sed -i 's/# by hand/# pinned/' "$main"
}
judge=judge installs_and_restores "kubeadm, EKS, AKS (1.x with a CRI section)"

configure <<<"$kubeadm"
set_up >"$lab/said"
check "1.x: lines of ours that were changed are not guessed at" contains \
    "$(sed -i '/^# END anchorhold/d' "$main"; installer uninstall)" "were changed; take out by hand"
sed -i 's/^# BEGIN anchorhold.*/# mine now/' "$main"
installer uninstall >"$lab/said"
check "1.x: uninstall waits for the hand that made them its own" contains "$(<"$lab/said")" \
    "config.toml still names /opt/anchorhold/bin/anchorhold"
check "1.x: lines that are there by hand will do" contains "$(set_up)" installed
kubeadm_is_told "1.x, by hand"
check "1.x: a second time changes nothing" changes_nothing set_up
configure <<<"$kubeadm"
check "1.x: and goes when they do" contains "$(installer uninstall)" uninstalled

clear_node
configure < <(printf '%s\n[debug]' "$kubeadm")
judge=true installs_and_restores "1.x, a last line without an end"
clear_node
configure <<<"version = 2
[plugins.\"$cri\"]
containerd = {runtimes = {runc = {runtime_type = \"io.containerd.runc.v2\"}}}"
check "1.x: a table that is closed cannot be added to" refused_unchanged "our lines cannot be added at its end" set_up
clear_node
configure <<<"# generated by a tool, DO NOT EDIT
$kubeadm"
check "a file that is made anew is not edited" refused_unchanged 'says "do not edit"' set_up
clear_node
configure <<<"$kubeadm
disabled_plugins = []"
sed -i '1i disabled_plugins = ["cri"] # as the package of Docker has it' "$main"
sed -i '$d' "$main"
check "nor one without CRI" refused_unchanged "switches CRI off" set_up

clear_node
configure <<<'[plugins.cri.cni]
  bin_dir = "/usr/lib/cni"'
judge() {
    check "version 1: containerd has the handlers, by its own name" contains \
        "$(handlers "$main" cri)" "$(ours "${three[@]}")"
}
judge=judge installs_and_restores "1.x, a file of version 1"

clear_node
configure <<<"version = 2
[plugins.\"$cri\".cni]
  bin_dir = \"/usr/lib/cni\""
judge() { check "1.x: runc is named where nobody does" contains "$(handlers <(effective) "$cri")" "runc io"; }
judge=judge installs_and_restores "1.x, a CRI section without runtimes"

clear_node
judge() {
    check "none, 1.x: containerd has the handlers, and its own" same \
        "$(ours "${three[@]}")"$'\n'"runc io.containerd.runc.v2 -" "$(handlers <(effective) "$cri" | sort)"
}
judge=judge installs_and_restores "none, 1.x"

# ---- containerd 2.x -----------------------------------------------------------------------------

v3=io.containerd.cri.v1.runtime
clear_node v2.2.0
judge() {
    check "none, 2.x: of its own version" same "version = 3" "$(grep ^version "$main")"
    check "none, 2.x: the handlers" same "$(ours "${three[@]}")" "$(handlers "$main" "$v3" | grep -v ^runc)"
}
judge=judge installs_and_restores "none, 2.x"

clear_node v2.1.4
configure <<'CONF'
version = 3
imports = ['/etc/containerd/conf.d/*.toml']

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = true
CONF
whole=$(<"$main")
judge() {
    check "2.x: the file is as it was" same "$whole" "$(<"$main")"
    check "2.x: the handlers, and no other" same "$(ours anchorhold anchorhold-night)" \
        "$(handlers "$node/etc/containerd/conf.d/anchorhold.toml" "$v3")"
    check "2.x: they drive cgroups as its own does" same 2 \
        "$(grep -c 'SystemdCgroup = true' "$node/etc/containerd/conf.d/anchorhold.toml")"
}
judge=judge installs_and_restores "2.x" --profiles night

clear_node v2.0.0
configure < <(printf 'version = 3 # and no newline')
judge() {
    check "2.x: the handlers, in its own file" same "$(ours "${three[@]}")" "$(handlers "$main" "$v3" | grep -v ^runc)"
}
judge=judge installs_and_restores "2.x, a file that imports nothing"

clear_node v2.0.0
configure <<<"$kubeadm"
judge() { check "2.x with version 2: so are the lines" contains "$(handlers "$main" "$cri")" "$(ours anchorhold)"; }
judge=judge installs_and_restores "2.x with version 2"

clear_node
configure <<<"$kubeadm"
printf '#!/bin/sh\necho version = 2\n' >"$lab/containerd.says"
check "a containerd that does not know them" contains "$(set_up)" "does not know our handlers by /etc/containerd/config.toml"
check "has its file back" same "$kubeadm" "$(<"$main")"
printf '#!/bin/sh\n[ "$1" = --version ] || { echo "no such table" >&2; exit 1; }\n' >"$lab/containerd.says"
check "one that cannot read its file says why" contains "$(set_up)" "taken out again: no such table"
check "and has it back" same "$kubeadm" "$(<"$main")"

# ---- which file containerd reads ----------------------------------------------------------------

elsewhere=$node/var/lib/vendor/c.toml
configure_elsewhere() { mkdir -p "${elsewhere%/*}" && cat >"$elsewhere"; }
# runs WORD...: a containerd that runs on the node with these words, until `ends`.
mkdir -p "$node/daemon"
mkfifo "$node/daemon/ends"
printf '#!/bin/sh\nread -r _ </daemon/ends\n' >"$node/daemon/containerd"
chmod 755 "$node/daemon/containerd"
runs() {
    chroot "$node" /daemon/containerd "$@" &
    until [ "$(cat "/proc/$!/comm")" = containerd ]; do :; done
    daemons="${daemons:-} $!"
}
ends() {
    local pid
    for pid in $daemons; do kill "$pid" && wait_for_end "$pid"; done
    daemons=''
}
clear_node
configure <<<"$kubeadm"
configure_elsewhere <<<"$kubeadm"
runs --log-level debug --config /var/lib/vendor/c.toml --address /run/c.sock
runs config dump # no daemon
judge() {
    check "--config elsewhere: containerd has the handlers there" contains \
        "$(handlers <(chroot "$node" containerd --config /var/lib/vendor/c.toml config dump) "$cri")" \
        "$(ours anchorhold)"
    check "--config elsewhere: the file that nobody reads is as it was" same "$kubeadm" "$(<"$main")"
}
judge=judge installs_and_restores "--config elsewhere, a process"
runs -c /etc/containerd/config.toml
check "two containerds with a file each" refused_unchanged "there are several configurations of containerd" set_up
judge=judge installs_and_restores "two, and --config" --config /var/lib/vendor/c.toml
ends
runs --config="\$CONFIG"
check "a command that says nothing" refused_unchanged 'configuration is "$CONFIG"' set_up
ends
runs --config=relative.toml
check "nor does a relative path" refused_unchanged 'configuration is "relative.toml"' set_up
ends
cat >"$node/containerd.unit" <<'UNIT'
# /lib/systemd/system/containerd.service
[Service]
ExecStart=/usr/bin/containerd
# /etc/systemd/system/containerd.service.d/vendor.conf
[Service]
ExecStart=
ExecStart=/usr/bin/containerd \
  --config "/var/lib/vendor/c.toml"
UNIT
judge=judge installs_and_restores "--config elsewhere, a unit"
echo 'ExecStart=/usr/bin/containerd --config ${CONFIG}' >>"$node/containerd.unit"
check "a unit that says nothing" refused_unchanged 'configuration is "${CONFIG}"' set_up
echo 'ExecStart=/usr/bin/start-it' >>"$node/containerd.unit"
check "nor does one that starts something else" refused_unchanged 'configuration is "?"' set_up
rm "$node/containerd.unit"

# ---- k3s and RKE2 --------------------------------------------------------------------------------

rancher() { # DISTRIBUTION VERSION: as it has rendered it
    clear_node
    umount "$node/usr/bin/containerd"
    chmod -x "$node/usr/bin/containerd"
    folder=$node/var/lib/rancher/$1/agent/etc/containerd
    mkdir -p "$folder"
    local section
    section="plugins.'$([ "$2" = 2 ] && echo "$cri" || echo "$v3")'.containerd.runtimes.runc"
    cat >"$folder/config.toml" <<CONF
# File generated by $1. DO NOT EDIT. Use config.toml.tmpl instead.
version = $2
[$section]
  runtime_type = "io.containerd.runc.v2"
[$section.options]
  SystemdCgroup = true
CONF
    echo "${3:-$1-agent}" >"$node/active.unit"
}
k3s_says() {
    printf '#!/bin/sh\necho k3s version %s\n' "$1" >"$node/usr/bin/k3s"
    chmod 755 "$node/usr/bin/k3s"
}
rendered() { # TEMPLATE: what comes of it
    sed -e "/{{ template/{r $folder/config.toml
        d}" -e '/{{/d' "$1"
}
rancher k3s 3
mkdir -p "$node/daemon/k3s"
runs -c /var/lib/rancher/k3s/agent/etc/containerd/config.toml -a /run/k3s/containerd/containerd.sock
judge() {
    check "k3s: what it has rendered is as it was" contains "$(<"$folder/config.toml")" "SystemdCgroup"
    check "k3s: its base comes first" same '{{ template "base" . }}' "$(head -n 1 "$folder/config-v3.toml.tmpl")"
    check "k3s: then the handlers" same "$(ours "${three[@]}")" \
        "$(handlers <(rendered "$folder/config-v3.toml.tmpl") "$v3" | grep -v ^runc)"
    check "k3s: they drive cgroups as its own does" same 3 "$(grep -c 'SystemdCgroup = true' "$folder/config-v3.toml.tmpl")"
    check "k3s: and no other file" [ ! -e "$main" ]
}
judge=judge installs_and_restores "k3s (containerd 2.x), no template"
check "k3s: its unit is restarted" contains "$(set_up --restart)" "restarted k3s-agent"
check "k3s: and no other" same "try-restart k3s-agent" "$(<"$node/systemctl.log")"
ends

rancher rke2 2
own_template='version = 2
{{- if .NodeConfig }}
[x] # theirs
{{end}}'
printf '%s' "$own_template" >"$folder/config.toml.tmpl"
judge() {
    check "RKE2: a template that is there has the handlers" same "$(ours "${three[@]}")" \
        "$(handlers <(rendered "$folder/config.toml.tmpl") "$cri")"
    check "RKE2: behind what was there" contains "$(<"$folder/config.toml.tmpl")" "$own_template"$'\n# BEGIN'
}
judge=judge installs_and_restores "RKE2 (containerd 1.x), a template of its own"
mv "$folder/config.toml.tmpl" "$folder/config-v3.toml.tmpl"
check "RKE2: a template that was not rendered yet" refused_unchanged "restart k3s or RKE2 first" set_up

rancher k3s 2
k3s_says v1.26.1+k3s1
check "k3s: one that may know no base" refused_unchanged "older than 1.28" set_up
k3s_says v1.30.2+k3s1
judge() {
    check "k3s, 1.x: the handlers" same "$(ours "${three[@]}")" "$(handlers <(rendered "$folder/config.toml.tmpl") "$cri" | grep -v ^runc)"
}
judge=judge installs_and_restores "k3s (containerd 1.x), no template"
rm "$folder/config.toml"
mkdir -p "$folder/../../../../rke2/agent/etc/containerd"
echo 'version = 3' | tee "$folder/config.toml" >"$folder/../../../../rke2/agent/etc/containerd/config.toml"
check "k3s and RKE2 that both do not run" refused_unchanged "there are several configurations" set_up
chmod +x "$node/usr/bin/containerd"

# ---- other roots --------------------------------------------------------------------------------

clear_node
mkdir -p "$node/etc/vendor"
configure <<<"$kubeadm"
mv "$main" "$node/etc/vendor/c.toml"
ln -s ../../etc/vendor/c.toml "$main"
judge() {
    check "a link: stays one" [ -h "$main" ]
    check "a link: containerd has the handlers" contains "$(handlers <(effective) "$cri")" "$(ours anchorhold)"
}
judge=judge installs_and_restores "config.toml is a link"
rm "$node/etc/vendor/c.toml"
check "a link that leads nowhere" refused_unchanged "config.toml is a link that leads nowhere" set_up
rm -r "$node/etc/vendor"

clear_node
configure <<<"$kubeadm"
rmdir "$node/opt"
mkdir "$node/var/opt"
ln -s var/opt "$node/opt"
judge() {
    check "ostree: the programs are where the link leads" [ -x "$node/var/opt/anchorhold/bin/anchorhold" ]
    check "ostree: and handlers name them there" contains "$(handlers <(effective) "$cri")" \
        "/var/opt/anchorhold/bin/anchorhold-agent"
    check "ostree: they run" contains "$(chroot "$node" /var/opt/anchorhold/bin/anchorhold-agent runs)" POSTURE
}
judge=judge installs_and_restores "ostree, /opt is a link"
rm "$node/opt"

clear_node
configure <<<"$kubeadm"
mount --no-mtab --bind "$node/usr" "$node/usr"
mount --no-mtab -o remount,bind,ro "$node/usr"
judge=true installs_and_restores "/usr is read-only"
umount "$node/usr"
mount --no-mtab -t tmpfs -o ro none "$node/opt"
check "/opt is read-only" refused_unchanged "name another place for the programs with --prefix" set_up
judge() {
    check "--prefix: handlers name it" contains "$(handlers <(effective) "$cri")" "/var/lib/ours/bin/anchorhold-ci"
}
mkdir -p "$node/var/lib"
at_prefix() {
    local before
    before=$(tree)
    check "--prefix: it installs" contains "$(set_up --prefix /var/lib/ours)" installed
    check "--prefix: a second time changes nothing" changes_nothing set_up --prefix /var/lib/ours
    judge
    check "--prefix: uninstall" contains "$(installer --prefix /var/lib/ours uninstall)" uninstalled
    check "--prefix: leaves what was there" same "$before" "$(tree)"
}
at_prefix
umount "$node/opt"

clear_node
configure <<<"$kubeadm"
mkdir -p "$node/sys/fs/selinux"
echo 1 >"$node/sys/fs/selinux/enforce"
check "SELinux: without a tool that is said" contains "$(set_up)" "SELinux is on and the node has"
installer uninstall >"$lab/said"
printf '#!/bin/sh\necho "$*" >>/run/restorecon.log\n' >"$node/usr/bin/restorecon"
chmod 755 "$node/usr/bin/restorecon"
check "SELinux: it installs" contains "$(set_up)" installed
check "SELinux: programs have their labels before they are tried, files when they are there" same \
    "-RF /opt/anchorhold/staged
-RF /etc/anchorhold/policy.json
-RF /etc/containerd/config.toml" "$(<"$node/run/restorecon.log")"

clear_node
configure <<<"$kubeadm"
printf '#!/bin/sh\n' >"$node/usr/bin/systemd-tmpfiles"
chmod 755 "$node/usr/bin/systemd-tmpfiles"
judge() {
    check "tmpfiles: as in contrib/systemd" same "$(grep ^d "$lab/tmpfiles.conf")" \
        "$(<"$node/etc/tmpfiles.d/anchorhold.conf")"
    check "tmpfiles: and now" same "711" "$(stat -c %a "$node/run/brokers")"
}
judge=judge installs_and_restores "tmpfiles"

# ---- a hook with its own libraries ---------------------------------------------------------------

bundled "$lab/bundled" /opt/anchorhold
bundled "$lab/astray" /usr/anchorhold
clear_node
configure <<<"$kubeadm"
check "libraries for another place" refused_unchanged "but not for /opt/anchorhold" set_up --from "$lab/astray"
judge() {
    check "a bundled hook: it runs" contains "$(hook_says)" "usage: anchorhold-hook"
    mv "$node/opt/anchorhold/libexec/anchorhold/lib" "$node/aside"
    check "a bundled hook: not without its libraries" contains "$(hook_says)" "failed to run"
    mv "$node/aside" "$node/opt/anchorhold/libexec/anchorhold/lib"
    cp -r "$lab/bundled" "$lab/newer"
    echo newer >"$lab/newer/libexec/anchorhold/lib/more.so"
    check "a bundled hook: new libraries take the old ones' place" contains \
        "$(set_up --from "$lab/newer"; ls "$node/opt/anchorhold/libexec/anchorhold/lib/")" more.so
    check "a bundled hook: which are gone" same 1 \
        "$(find "$node/opt/anchorhold/libexec/anchorhold" -name 'lib-*' | grep -c .)"
    check "a bundled hook: it still runs" contains "$(hook_says)" "usage: anchorhold-hook"
}
judge=judge installs_and_restores "a bundled hook" --from "$lab/bundled"

# ---- CRI-O --------------------------------------------------------------------------------------

clear_node
umount "$node/usr/bin/containerd"
chmod -x "$node/usr/bin/containerd"
check "no engine" refused_unchanged "neither containerd nor CRI-O" set_up
mkdir -p "$node/etc/crio/crio.conf.d"
echo '[crio.runtime]' >"$node/etc/crio/crio.conf"
echo 'default_runtime = "crun"' | tee "$node/etc/crio/crio.conf.d/10-crun.conf" >>"$node/etc/crio/crio.conf"
judge() {
    check "CRI-O: the handlers" same 'anchorhold /opt/anchorhold/bin/anchorhold oci
anchorhold-agent /opt/anchorhold/bin/anchorhold-agent oci
anchorhold-ci /opt/anchorhold/bin/anchorhold-ci oci' "$("$python" -c 'import sys, tomllib
for name, one in tomllib.load(sys.stdin.buffer)["crio"]["runtime"]["runtimes"].items():
    print(name, one["runtime_path"], one["runtime_type"])' \
        <"$node/etc/crio/crio.conf.d/anchorhold.conf")"
}
judge=judge installs_and_restores "CRI-O"

# ---- whose a file is ----------------------------------------------------------------------------

chmod +x "$node/usr/bin/containerd"
clear_node v2.2.0
configure <<<'version = 3
imports = ["/etc/containerd/conf.d/*.toml"]'
mkdir -p "$node/etc/containerd/conf.d" "$node/etc/anchorhold"
echo 'version = 3 # mine' >"$node/etc/containerd/conf.d/anchorhold.toml"
check "a file of that name is not overwritten" refused_unchanged "anchorhold.toml is not setup's" set_up
rm "$node/etc/containerd/conf.d/anchorhold.toml"
cp "$lab/node.json" "$node/etc/anchorhold/policy.json"
jq '.ceiling = "allowlist"' "$lab/node.json" >"$lab/other.json"
check "nor is a policy" refused_unchanged "policy.json is not ours" installer --policy "$lab/other.json" install
check "one that is there will do" contains "$(installer install)" installed
mkdir "$node/opt/anchorhold.old"
mv "$node"/opt/anchorhold/installed "$node/opt/anchorhold.old"
check "nor is a folder" refused_unchanged "/opt/anchorhold is there" set_up
mv "$node"/opt/anchorhold.old/installed "$node/opt/anchorhold"
mv "$node/opt/anchorhold" "$node/opt/away"
mkdir -p "$node/opt/anchorhold/staged/bin" # as far as a first installation came that was killed
check "but what was only staged is no hindrance" contains "$(installer --from "$lab/nowhere" install 2>&1)" \
    "nowhere/libexec/anchorhold/anchorhold-hook is missing"
check "and uninstall takes it away" same "not installed" "$(installer uninstall)"
check "all of it" [ ! -e "$node/opt/anchorhold" ]
mv "$node/opt/away" "$node/opt/anchorhold"
echo '# by hand' >>"$node/etc/containerd/conf.d/anchorhold.toml"
check "a file of setup's is written anew, as it says" contains "$(set_up --profiles night)" \
    "wrote /etc/containerd/conf.d/anchorhold.toml"

clear_node v2.2.0
check "a policy is written" contains "$(set_up)" "wrote /etc/anchorhold/policy.json"
check "and written anew when it is ours" contains "$(installer --policy "$lab/other.json" install)" \
    "wrote /etc/anchorhold/policy.json"
echo >>"$node/etc/anchorhold/policy.json"
check "one that was changed since is not" refused_unchanged "policy.json is not ours, or was changed" \
    set_up
check "and outlives us" contains "$(installer uninstall)" "left /etc/anchorhold/policy.json"

# ---- programs and restarts ----------------------------------------------------------------------

clear_node v2.2.0
mkdir -p "$lab/broken"/{bin,libexec}
cp -r "$lab/bin/anchorhold" "$lab/broken/bin"
cp -r "$lab/libexec/anchorhold" "$lab/broken/libexec"
printf '#!/no/such/loader\n' >"$lab/broken/libexec/anchorhold/anchorhold-hook"
check "a hook that the node cannot run" refused_unchanged "anchorhold-hook does not run on this node" \
    set_up --from "$lab/broken"
check "a handler without a profile" refused_unchanged 'no profile "never"' set_up --profiles never
echo '{"ceiling": "high"}' >"$lab/other.json"
check "a policy that the shim refuses" refused_unchanged "(invalid_policy)" \
    installer --policy "$lab/other.json" install
check "no policy for the profiles" refused_unchanged 'no profile "agent"' installer install
check "an empty root is not the host's" contains "$("$lab/install.sh" --root '' uninstall 2>&1)" \
    "--root needs a value"
for name in relay 'no:name' Big; do
    check "no profile: $name" contains "$(set_up --profiles "$name")" "is no name of a profile"
done
check "without --restart it says what is to be done" contains "$(set_up)" "restart containerd"
installer uninstall >"$lab/said"
check "a change is followed by a restart" contains "$(set_up --restart)" "restarted containerd"
check "of that engine" same "try-restart containerd" "$(<"$node/systemctl.log")"
set_up --restart >"$lab/said"
check "and by no second" same "try-restart containerd" "$(<"$node/systemctl.log")"
touch "$node/systemctl.fails"
set_up --restart --profiles night >"$lab/said"
check "a restart that failed is a failure" [ $? != 0 ]
rm "$node/systemctl.fails"
check "which the next call makes good" contains "$(set_up --restart --profiles night)" \
    "restarted containerd"

# ---- live runs ----------------------------------------------------------------------------------

# The installed shim, with the node's state.
shim() {
    "$node/opt/anchorhold/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state "$node/run/anchorhold" "$@"
}
bundle lives . sh -c 'exec sleep infinity'
shim create --bundle "$lab/b/lives" lives </dev/null >/dev/null 2>&1
check "a run of the installed shim is live" contains "$(shim runs)" lives
check "uninstall refuses while it is, and changes nothing" refused_unchanged \
    "runs are live and need us; nothing was removed" installer uninstall
check "an upgrade goes under it" contains "$(set_up --profiles 'night day')" installed
check "it starts" shim start lives
check "it ends as ever" shim delete --force lives
check "the hook was there for it" same "" "$(shim runs | tail -n +2)"
open=$node/run/containerd/io.containerd.runtime.v2.task/k8s.io/open
mkdir -p "$open"
echo '{"binary_name":"/opt/anchorhold/bin/anchorhold-agent"}' >"$open/options.json" # as containerd 1.6 has it
check "a run without a record counts as well" refused_unchanged "task/k8s.io/open/options.json" \
    installer uninstall
rm -r "$open"
bundle dies . sh
shim create --bundle "$lab/b/dies" dies </dev/null >/dev/null 2>&1
init=$(shim show --json dies | jq .init.pid)
kill -KILL "$init"
wait_for_end "$init"
check "a run that was killed is listed" contains "$(shim runs)" dies
check "then uninstall goes, and that one is not in its way" contains "$(installer uninstall)" uninstalled
"$plain_runtime" delete --force dies 2>/dev/null # its hook is gone
check "and leaves no program" same "" "$(find "$node/opt" -mindepth 1)"

umount "$node/usr/bin/containerd" "$node/proc"
check "nothing is left" nothing_left
finish
