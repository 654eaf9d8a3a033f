#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The node's installer adds what is ours, leaves what is not, says what it cannot do before it does
# anything, and takes away no program that a live run needs.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" containerd
install_sh=$(<"$here/../contrib/kubernetes/install.sh") # before its folder may be hidden
enter_lab
make_rootfs "$lab/rootfs"
printf '%s\n' "$install_sh" >"$lab/install.sh"
chmod 755 "$lab/install.sh"
policy '{profiles: {agent: {}, ci: {}, night: {}, day: {}}}'
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
[ ! -e /systemctl.fails ] || exit 1
echo "$*" >>/systemctl.log
SYSTEMCTL
printf '#!/bin/sh\necho runc version 0\n' >"$node/usr/sbin/runc"
chmod 755 "$node/bin/systemctl" "$node/usr/sbin/runc"

clear_node() { # [VERSION]: as before any installation; containerd is the real one, or says VERSION
    ! mountpoint -q "$node/usr/bin/containerd" || umount "$node/usr/bin/containerd"
    rm -rf "$node"/{opt,etc/containerd,etc/crio,etc/anchorhold,systemctl.log,run}/*
    rm -rf "$node"/etc/{containerd,crio,anchorhold} "$node/systemctl.log"
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
        find etc opt -printf '%p %y %m %U:%G %l\n' | sort
        find etc opt -type f -exec sha256sum {} + | sort -k2
    )
}
exact_tree() { # nor is a file another one or written again
    (cd "$node" && find etc opt -type d -print -o -printf '%p %i %T@\n' | sort)
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
check "1.x: a file that imports nothing is not touched unasked" refused_unchanged \
    'put at its beginning: imports = ["/etc/containerd/conf.d/anchorhold.toml"]' set_up
judge() {
    check "1.x: what was there stays, to the byte" same "$lived_in" "$(tail -n +2 "$main")"
    check "1.x: with its mode" same 640 "$(stat -c %a "$main")"
    check "1.x: one line more" same 'imports = ["/etc/containerd/conf.d/anchorhold.toml"]' \
        "$(head -n 1 "$main" | sed 's/ #.*//')"
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
judge=judge installs_and_restores "1.x, --add-imports" --add-imports

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
    check "1.x: the drop-in lies where containerd looks" same "$(ours "${three[@]}")" \
        "$(handlers <(effective) "$cri" | grep -v ^runc | sort)"
    check "1.x: and nowhere else" [ ! -e "$node/etc/containerd/conf.d" ]
}
judge=judge installs_and_restores "1.x, a folder of imports" --add-imports

clear_node
configure <<'CONF'
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
CONF
mkdir -p "$node/etc/containerd/conf.d"
echo "[plugins.\"$cri\".cni]" >"$node/etc/containerd/conf.d/other.toml"
check "1.x: another's imported CRI section would be lost" refused_unchanged conf.d/other.toml set_up

rm "$node/etc/containerd/conf.d/other.toml"
echo 'disabled_plugins = ["x"] # not io.containerd.grpc.v1.cri' >"$node/etc/containerd/conf.d/other.toml"
check "1.x: a word of it is no section" contains "$(set_up)" installed
printf '[plugins."%s".containerd.runtimes.x.options]\nBinaryName = "/opt/anchorhold/bin/anchorhold-ci"\n' \
    "$cri" >"$node/etc/containerd/conf.d/other.toml"
check "1.x: uninstall sees a handler in any file" refused_unchanged \
    "conf.d/other.toml still names /opt/anchorhold/bin/anchorhold-ci" installer uninstall
rm "$node/etc/containerd/conf.d/other.toml"
check "1.x: and goes without it" contains "$(installer uninstall)" uninstalled

clear_node
configure <<'CONF'
version = 2
imports = ["conf.d/*.toml"]
CONF
check "1.x: a relative pattern leads it nowhere" refused_unchanged "imports no directory" set_up

clear_node
configure <<<'version = 2
imports = ['
check "a file that cannot be read is not added to" refused_unchanged "config.toml: line" set_up

clear_node
kubeadm='version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "example.test/pause:1" # pinned
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true'
configure <<<"$kubeadm"
check "1.x: a file with a CRI section is not imported over" refused_unchanged \
    "lets an imported section replace a whole one" set_up --add-imports
set_up | sed '1d' >>"$main" # the lines it says are to be added
effective >"$lab/effective"
check "1.x: added by hand, containerd has the handlers" same \
    "$(ours "${three[@]}")"$'\n'"runc io.containerd.runc.v2 -" "$(handlers "$lab/effective" "$cri" | sort)"
check "1.x: they drive cgroups as its own does" same 4 "$(grep -c 'SystemdCgroup = true' "$lab/effective")"
check "1.x: and the section is whole" contains "$(<"$lab/effective")" example.test/pause:1
check "1.x: then it installs" contains "$(set_up)" installed
check "1.x: without a drop-in" [ ! -e "$node/etc/containerd/conf.d" ]
check "1.x: a second time changes nothing" changes_nothing set_up
check "1.x: uninstall waits for the hand that added them" refused_unchanged \
    "still names /opt/anchorhold/bin/anchorhold" installer uninstall
configure <<<"$kubeadm"
check "1.x: and goes then" contains "$(installer uninstall)" uninstalled

clear_node
configure <<<"[plugins.\"$cri\".cni]"
check "a version 1 is left alone" refused_unchanged "containerd config migrate" set_up
clear_node
configure <<<"version = 2
[plugins.\"$cri\".cni]
  bin_dir = \"/usr/lib/cni\""
check "the lines to add name runc where nobody does" contains "$(set_up)" "containerd.runtimes.runc]"

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
    check "none, 2.x: of its own version" same "version = 3" "$(head -n 1 "$main")"
    check "none, 2.x: the handlers" same "$(ours "${three[@]}")" \
        "$(handlers "$node/etc/containerd/conf.d/anchorhold.toml" "$v3")"
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
configure <<<'version = 3'
check "2.x: a file that imports nothing is not touched unasked" refused_unchanged "--add-imports" \
    set_up
judge=true installs_and_restores "2.x, --add-imports" --add-imports

clear_node v2.0.0
configure < <(printf 'version = 3 # and no newline')
judge=true installs_and_restores "2.x, a last line without an end" --add-imports

clear_node v2.0.0
configure <<<"$kubeadm"
judge() {
    check "2.x with version 2: the drop-in is no newer" same 2 \
        "$(sed -n 's/^version = //p' "$node/etc/containerd/conf.d/anchorhold.toml")"
}
judge=judge installs_and_restores "2.x with version 2" --add-imports

clear_node v2.1.4
mkdir "$node/etc/containerd"
ln -s /usr/share/config.toml "$main"
check "a link would lead out of the node" refused_unchanged "config.toml is a link on this node" set_up

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
mkdir -p "$node/etc/containerd/conf.d" "$node/etc/anchorhold"
echo 'version = 3 # mine' >"$node/etc/containerd/conf.d/anchorhold.toml"
check "a file of that name is not overwritten" refused_unchanged "anchorhold.toml is not ours" set_up
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
check "a file of ours that was changed is not overwritten" refused_unchanged "changed since" \
    set_up --profiles night
check "nor taken away" refused_unchanged "anchorhold.toml was changed since" installer uninstall

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
