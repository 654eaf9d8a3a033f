#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bundle that could make the posture's sentence false is refused and told where, or recorded as
# the policy wants it; what is merely another channel is recorded; an ordinary bundle runs.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
mkdir -p "$lab/rootfs/mnt"
touch "$lab/rootfs/file"
policy

# serve PATH [COMMAND...]: something listens at PATH; COMMAND goes in front (nsenter ...).
serve() {
    mkdir -p "$(dirname "$1")"
    start_ready "${@:2}" "$python" -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("up", flush=True)
while True: s.accept()' "$1"
}

mounted() { # mounted SOURCE OPTION...: a filter; at /mnt, or at /file what is no directory
    local place=/file
    [ ! -d "$1" ] || place=/mnt
    echo ".mounts += [{destination: \"$place\", type: \"bind\", source: \"$1\",
        options: (\"${*:2}\" | split(\" \"))}]"
}

# is_dangerous: runs the bundle called void by the bare runtime; its first word must be "reached".
is_dangerous() {
    contains "$(within 60 "$plain_runtime" run --bundle "$lab/b/void" void </dev/null)" reached
}

is_refused() { # is_refused CODE BEGINNING
    local line status
    # Through a file: what was accepted after all would hold a pipe open.
    within 30 "$runtime" create --bundle "$lab/b/void" void >"$lab/said" 2>&1 </dev/null
    status=$?
    line=$(<"$lab/said")
    [ $status = 1 ] || "$plain_runtime" delete --force void
    same 1 $status && contains "$line" "anchorhold: create void: $2" &&
        contains "$line" " ($1)" && nothing_left
}

# voids NAME PLACE FILTER PROBE: the probe, a shell's words, says "reached" when the danger is real.
voids() {
    local writable='.root.readonly = false'
    bundle void "$writable | $3" sh -c "$4"
    check "without us: $1" is_dangerous
    check "refused: $1" is_refused bundle_voids_posture "$2"
}

# runs FILTER PROBE: the probe's output, under us. The only run that `show` then knows.
runs() {
    rm -f "$lab/state"/ended/*
    bundle fine ".root.readonly = false | $1" sh -c "$2"
    in_cell fine 2>&1
}

# recorded FIELD: of the run that ended last.
recorded() {
    "$runtime" show --json fine | jq -c "$1"
}

# ---- what the host has --------------------------------------------------------------------------

ip netns add other
mkdir -p "$lab"/{alias,proc,tree/deep,volume,pod,nfs}
ln -s /run "$lab/link"
ln -s /proc/self/root/run "$lab/magic"
mount --no-mtab --bind / "$lab/alias"
mount --no-mtab -t proc proc "$lab/proc"
mount --no-mtab -t proc proc "$lab/tree/deep"
serve /run/podman/podman.sock nsenter --net=/run/netns/other
mount --no-mtab --bind /run/podman "$lab/pod"
serve "$lab/engine/x/docker.sock"
serve "$lab/engine2/deep/db.sock"
serve "$lab/elsewhere/silent/db.sock" nsenter --net=/run/netns/other
remember_kernel

# ---- mounts -------------------------------------------------------------------------------------

voids "the root under an alias" "mounts[7].source" "$(mounted "$lab/alias" bind ro)" \
    '[ -x /mnt/usr/bin/env ] && echo reached'
voids "/run behind a symlink" "mounts[7].source" "$(mounted "$lab/link" rbind ro)" \
    '[ -d /mnt/lab ] && echo reached'
voids "/run behind a magic link" "mounts[7].source" "$(mounted "$lab/magic" rbind ro)" \
    '[ -d /mnt/lab ] && echo reached'
voids "the state directory's parent" "mounts[7].source" "$(mounted "$lab" bind ro)" \
    '[ -d /mnt/bin ] && echo reached'
voids "a second mount of /proc" "mounts[7].source" "$(mounted "$lab/proc" bind ro)" \
    '[ -e /mnt/1/environ ] && echo reached'
voids "a file of /proc" "mounts[7].source" "$(mounted "$lab/proc/1/cmdline" bind ro)" \
    'cat /file >/dev/null && echo reached'
voids "/proc mounted below a directory" "mounts[7].source" "$(mounted "$lab/tree" rbind ro)" \
    '[ -e /mnt/deep/1/environ ] && echo reached'
voids "a network namespace" "mounts[7].source" "$(mounted /run/netns/other bind ro)" \
    '[ "$(stat -fc %t /file)" = 6e736673 ] && echo reached'
voids "the devices of the host" "mounts[7].type" \
    '.mounts += [{destination: "/mnt", type: "devtmpfs", source: "devtmpfs"}]' \
    '[ -c /mnt/null ] && echo reached'
voids "a layer of an overlay" "mounts[7].options[0]" \
    '.mounts += [{destination: "/mnt", type: "overlay", source: "overlay",
        options: ["lowerdir=/etc:'"$lab/volume"'"]}]' \
    '[ -e /mnt/passwd ] && echo reached'
voids "a layer behind a comma" "mounts[7].options[0]" \
    '.mounts += [{destination: "/mnt", type: "overlay", source: "overlay",
        options: ["index=off,lowerdir=/etc:'"$lab/volume"'"]}]' \
    '[ -e /mnt/passwd ] && echo reached'
voids "B-30 an engine's socket" "mounts[7].source" "$(mounted /run/podman/podman.sock bind ro)" \
    '[ -S /file ] && echo reached'
voids "B-30 the same, in a directory under an alias" "mounts[7].source" \
    "$(mounted "$lab/pod" bind ro)" '[ -S /mnt/podman.sock ] && echo reached'
voids "B-30 one known by its name, deep in a directory" "mounts[7].source" \
    "$(mounted "$lab/engine" bind ro)" '[ -S /mnt/x/docker.sock ] && echo reached'
voids "shared propagation" "mounts[7].options[2]" "$(mounted "$lab/volume" bind ro rshared)" \
    'echo reached'
voids "a /proc/sys that root can write" "mounts[0]" 'del(.linux.readonlyPaths)
    | .process.capabilities = {}' ': >>/proc/sys/kernel/core_pattern && echo reached'
voids "a root that is the host's" "root.path" ".root = {path: \"$lab/alias\", readonly: true}" \
    'echo reached'

# ---- what is swapped between our look and the mount -----------------------------------------------

# The runtime, with something done just before: as an attacker would who won the race.
after() { # after COMMAND: for what follows; its name says whose table of options it has
    printf '#!/bin/sh\ncase " $* " in *" create "*) %s ;; esac\nexec %s "$@"\n' "$1" \
        "$plain_runtime" >"$lab/bin/$plain_name-late"
    chmod 755 "$lab/bin/$plain_name-late"
    policy "{runtime: \"$lab/bin/$plain_name-late\"}"
}

# is_swapped PLACE DESTINATION FILTER COMMAND
is_swapped() {
    rm -rf "$lab/home"
    install -d -o 1000 "$lab/home" "$lab/home/project" "$lab/home/evil"
    cp -al "$lab/rootfs" "$lab/home/rootfs"
    cp -al "$lab/rootfs" "$lab/home/other"
    touch "$lab/home/evil/reached" "$lab/home/other/mnt/reached"
    after "$4"
    bundle void ".root.readonly = false | $3" sh -c 'ls /mnt'
    is_refused network_setup_failed \
        "$1: what is mounted at $2 is not what was looked at; it was replaced meanwhile"
}
project=$lab/home/project
swap="mv $project $project.away; ln -s $lab/home/evil $project"
at_mnt() { echo ".mounts += [{destination: \"/mnt\", source: \"$1\", options: [\"bind\"]}]"; }
check "a volume that became a link" is_swapped "mounts[7].source" /mnt "$(at_mnt "$project")" "$swap"
check "a volume that was not there" is_swapped "mounts[7].source" /mnt \
    "$(at_mnt "$lab/home/later")" "ln -s $lab/home/evil $lab/home/later"
check "a root that was exchanged" is_swapped root.path / ".root.path = \"$lab/home/rootfs\"" \
    "mv $lab/home/rootfs $lab/home/away; mv $lab/home/other $lab/home/rootfs"
# The mount goes astray through a link in another volume, and the source is moved to where it
# should be: it is the right file, but it is not mounted.
check "a mount that went astray" is_swapped "mounts[8].source" /mnt/in \
    "$(at_mnt "$lab/home/evil") | .mounts += [{destination: \"/mnt/in\", source: \"$project\",
        options: [\"bind\"]}] | .hooks.createRuntime = [{path: \"/bin/sh\", args: [\"sh\", \"-c\",
        \"rm $lab/home/evil/in; mv $project $lab/home/evil/in\"]}]" "ln -s /bin $lab/home/evil/in"
# The root is there twice: it is seen once more below /mnt.
check "a volume that became a link, where the root is seen twice" is_swapped "mounts[8].source" \
    /mnt/evil ".root.path = \"$lab/home/rootfs\" | $(mounted "$lab/home" rbind rw) |
        .mounts += [{destination: \"/mnt/evil\", source: \"$project\", options: [\"bind\"]}]" "$swap"
bundle void "$(at_mnt "$project")" sh -c 'ls /mnt'
rm -rf "$lab/home"
install -d -o 1000 "$lab/home" "$project" "$lab/home/evil"
touch "$lab/home/evil/reached"
eval "$swap"
check "control: without us the link is followed" contains "$(without_us void .)" reached
policy

rm -rf "$lab/home"
install -d -o 1000 -m 700 "$lab/home" "$project" "$lab/home/below" "$project/below"
touch "$lab/home/below/there"
[ -e "$lab/rootfs/var" ] || mkdir "$lab/rootfs/var"
ln -sfn ../run "$lab/rootfs/var/run"
check "private directories of a user's, one in the other, through the image's links" same there \
    "$(runs ".process.user = {uid: 1000, gid: 0} | $(at_mnt "$project") | .mounts += [
        {destination: \"/run\", type: \"tmpfs\", source: \"tmpfs\"},
        {destination: \"/var/run/x\", source: \"$lab/home/below\", options: [\"bind\"]},
        {destination: \"/mnt/below\", source: \"$lab/home/below\", options: [\"bind\"]}]" \
        '[ -e /run/x/there ] && ls /mnt/below')"
check "and the record says that they were compared" same true \
    "$(recorded '.verified | contains(["sources"])')"
mkdir "$lab/above" && cp -al "$lab/rootfs" "$lab/above/rootfs"
twice=".root.path = \"$lab/above/rootfs\" | $(mounted "$lab/above" rbind rw)"
check "a directory above the root, with all that is mounted in it" same "file there" \
    "$(runs "$twice" '[ -f /mnt/rootfs/file ] && echo file there')"
check "and the root itself" same "file there" \
    "$(runs "$twice | $(mounted "$lab/above/rootfs" bind rw)" '[ -f /mnt/file ] && echo file there')"
check "and the record says that these were compared as well" same true \
    "$(recorded '.verified | contains(["sources"])')"

# ---- namespaces, capabilities, devices, sysctls, annotations -------------------------------------

without() { echo "del(.linux.namespaces[] | select(.type == \"$1\"))"; }
voids "the host's processes" "linux.namespaces" "$(without pid)" \
    "[ \$(readlink /proc/self/ns/pid) = '$(readlink /proc/self/ns/pid)' ] && echo reached"
voids "the host's ipc" "linux.namespaces" "$(without ipc)" \
    "[ \$(readlink /proc/self/ns/ipc) = '$(readlink /proc/self/ns/ipc)' ] && echo reached"
voids "another's ipc" "linux.namespaces[2].path" \
    '(.linux.namespaces[] | select(.type == "ipc")).path = "/proc/1/ns/ipc"' \
    "[ \$(readlink /proc/self/ns/ipc) = '$(readlink /proc/self/ns/ipc)' ] && echo reached"
voids "CAP_SYS_ADMIN" "process.capabilities" \
    '.process.capabilities |= map_values(. + ["CAP_SYS_ADMIN"])' \
    'mount -t tmpfs none /mnt && echo reached'
voids "CAP_SYS_PTRACE in the bounding set alone" "process.capabilities" \
    '.process.capabilities.bounding += ["CAP_SYS_PTRACE"]' \
    'grep -q "CapBnd:.*8" /proc/self/status && echo reached'
tun='{type: "c", major: 10, minor: 200'
voids "a device" "linux.devices[0]" ".linux.devices = [$tun, path: \"/dev/net/tun\"}]" \
    '[ -c /dev/net/tun ] && echo reached'
voids "a rule that opens devices" "linux.resources.devices[1]" \
    '.linux.resources.devices += [{allow: true, type: "c", access: "rwm"}]
     | .process.capabilities |= map_values(. + ["CAP_MKNOD"])' \
    'mknod /mnt/k c 10 229 && : </mnt/k && echo reached'
voids "a sysctl that opens loopback" 'linux.sysctl["net.ipv4.conf.all.route_localnet"]' \
    '.linux.sysctl["net.ipv4.conf.all.route_localnet"] = "1"' \
    '[ $(cat /proc/sys/net/ipv4/conf/all/route_localnet) = 1 ] && echo reached'
voids "B-57 an annotation that steers crun" 'annotations["run.oci.hooks.stderr"]' \
    ".annotations[\"run.oci.hooks.stderr\"] = \"$lab/written\"" 'echo reached'

# ---- whatever the policy says -------------------------------------------------------------------

never() { # never NAME PLACE FILTER
    bundle void "$3" sh
    check "refused: $1" is_refused invalid_request "$2: "
}
policy '{voids: "record"}'
never "B-57 a second namespace of a type" "linux.namespaces[5]" \
    '.linux.namespaces += [{type: "ipc", path: "/proc/1/ns/ipc"}]'
never "C-10 a namespace that is none" "linux.namespaces[1].path" \
    '(.linux.namespaces[] | select(.type == "network")).path = "/etc/passwd"'

# ---- recorded instead ---------------------------------------------------------------------------

check "recorded: the host's processes" contains "$(runs "$(without pid)" 'echo ran')" ran
check "the record names the void" same \
    '["linux.namespaces (--pid=host): the pid namespace is the host'"'"'s; add {\"type\":\"pid\"}"]' \
    "$(recorded .voids)"
check "the sentence bears it" contains "$(recorded .sentence)" ", but voided by linux.namespaces"
policy

# ---- not refused --------------------------------------------------------------------------------

check "an ordinary volume, written to" same written \
    "$(runs "$(mounted "$lab/volume" rbind rw)" 'echo written >/mnt/file && cat /mnt/file')"
check "a writable bind is named" same true \
    "$(recorded ".other_channels | contains([\"mounts[7].source: $lab/volume is writable at /mnt\"])")"
check "stdio is named" same true "$(recorded '.other_channels | contains(["stdio"])')"
check "an ordinary bundle has no void" same '[]' "$(recorded .voids)"
check "and a sentence without one" same '"Network: off — confined: no egress"' "$(recorded .sentence)"
check "a hook that runs after ours is named" same true \
    "$(runs '.hooks.createContainer = [{path: "/bin/sh", args: ["sh", "-c", "cat >/dev/null"]}]' true
        recorded '.other_channels | contains(["hooks.createContainer[0]: /bin/sh runs after"])')"
check "B-31 a socket deep in a volume" contains \
    "$(runs "$(mounted "$lab/engine2" bind ro)" '[ -S /mnt/deep/db.sock ] && echo there')" there
check "B-31 that socket is named" same true \
    "$(recorded ".other_channels | contains([\"$lab/engine2/deep/db.sock can be connected to\"])")"
check "B-31 a socket of another network namespace" contains \
    "$(runs "$(mounted "$lab/elsewhere/silent" bind ro)" '[ -S /mnt/db.sock ] && echo there')" there
check "B-31 that socket is named as well" same true \
    "$(recorded '.other_channels | contains(["silent/db.sock can be connected to"])')"
own_users='.linux.namespaces += [{type: "user"}]
    | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
    | .linux.gidMappings = .linux.uidMappings
    | .process.capabilities |= map_values(. + ["CAP_SYS_ADMIN"])'
check "R17 CAP_SYS_ADMIN in a user namespace of its own" contains \
    "$(runs "$own_users | .root.readonly = true" 'echo ran')" ran
check "a /proc that only others than root could write is advised about" same true \
    "$(runs 'del(.linux.readonlyPaths) | .process.user = {uid: 1000, gid: 1000}
        | .process.noNewPrivileges = true
        | .process.capabilities = {}' true
        recorded '.advice | any(startswith("mounts[0]: root inside can have the host run programs"))')"

# ---- the network namespace ----------------------------------------------------------------------

netns='(.linux.namespaces[] | select(.type == "network"))'
own_network() { # own_network FILTER: neither the host's nor the other one, and lo is up
    local seen
    seen=$(runs "$1" 'readlink /proc/self/ns/net; ip link show lo')
    contains "$seen" "LOOPBACK,UP" && ! grep -F "$(readlink /proc/self/ns/net)" <<<"$seen" &&
        ! grep -F "[$(stat -Lc %i /run/netns/other)]" <<<"$seen"
}
check "R23 C-10 a joined namespace is replaced" own_network "$netns.path = \"/run/netns/other\""
check "C-10 the record names what stood there" same '"/run/netns/other"' "$(recorded .replaced_netns)"
check "R22 C-10 the host's is replaced" own_network "del($netns)"
check "C-10 the record says so" same '"the host'"'"'s"' "$(recorded .replaced_netns)"
check "C-10 a fresh one stays" own_network .
check "C-10 nothing was replaced" same '""' "$(recorded .replaced_netns)"
asked='.annotations["dev.anchorhold.require"] = "asked"'
bundle void "$asked | $netns.path = \"/run/netns/other\"" sh
check "R23 C-10 under require: asked it is refused" is_refused posture_unavailable \
    "its network namespace (/run/netns/other) would be replaced"
bundle void "$asked | del($netns)" sh
check "R22 C-10 so is the host's" is_refused posture_unavailable \
    "its network namespace (the host's) would be replaced"
bundle void "$asked" true
check "C-10 and a fresh one is not" same 0 "$(in_cell void >/dev/null 2>&1; echo $?)"

# ---- writable parents ---------------------------------------------------------------------------

# loosened PATH PART-OF-THE-SENTENCE: with PATH writable by others, create says so.
loosened() {
    local mode line status
    bundle void . sh
    mode=$(stat -c %a "$1")
    chmod o+w "$1"
    line=$("$runtime" create --bundle "$lab/b/void" void 2>&1 </dev/null)
    status=$?
    chmod "$mode" "$1"
    [ $status = 1 ] || "$plain_runtime" delete --force void
    same 1 $status && contains "$line" "$2"
}
check "a directory above the bundle" loosened "$lab/b" "$lab/b can be written by others than root"
check "a directory above the helpers" loosened "$lab/libexec" \
    "$lab/libexec can be written by others than root"
bundle void . sh
chmod o+w "$lab/b/void/config.json"
check "config.json" is_refused invalid_request "read config.json"

# ---- brokers ------------------------------------------------------------------------------------

start_broker model
check "B-52 a broker of its own uid, not dumpable" same '[]' \
    "$(runs "$(asks_for model)" true; recorded .advice)"
serve "$brokers/root/broker.sock"
chmod 711 "$brokers/root"
chmod 666 "$brokers/root/broker.sock"
check "B-52 a broker that the container could be is advised about" contains \
    "$(runs "$(asks_for root)" true; recorded '.advice[0]')" "give the broker a uid of its own"

check "nothing is left" nothing_left
finish
