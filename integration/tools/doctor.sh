#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `doctor` finds the engines of this host and reads the files of each as the engine does: which of them
# is told of us, in which file, and what is wrong. Not told is no failure, told wrongly is one.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" containerd
cp_containerd=$(command -v containerd)
enter_lab
policy
bin=$lab/bin/anchorhold
for profile in agent ci; do ln -s anchorhold "$bin-$profile"; done

# ---- a host without engines, and without their files --------------------------------------------

cp "$cp_containerd" "$lab/containerd.real"
for folder in /etc /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin; do
    mkdir -p "$lab/over$folder"/{upper,work}
    mount -t overlay -o "lowerdir=$folder,upperdir=$lab/over$folder/upper,workdir=$lab/over$folder/work" \
        overlay "$folder"
done
clear_host() {
    rm -f /usr/{bin,sbin,local/bin,local/sbin}/{podman,dockerd,containerd,crio}
    rm -rf /etc/{containers,docker,containerd,crio}
}
engine() { # PATH [TEXT]: an engine's program that says TEXT, whatever it is asked
    printf '#!/bin/sh\necho "%s"\n' "${2:-}" >"$1"
    chmod 755 "$1"
}
write() { # PATH: from standard input
    mkdir -p "$(dirname "$1")"
    cat >"$1"
}
unset CONTAINERS_CONF CONTAINERS_CONF_OVERRIDE
mount -t tmpfs tmpfs /usr/share/containers 2>/dev/null # podman's own file, where podman is

remember_kernel

doctor() { "$runtime" doctor "$@"; }
of() { # ENGINE FILTER: of what is said of it
    doctor --json | jq -rc --arg name "$1" ".engines[] | select(.name == \$name) | $2"
}
# is ENGINE STATUS SET-UP RUNTIMES FINDINGS: doctor's exit status, whether the engine is set up, its
# "NAME FILE" of ours and its "FINDING RUNTIME" each, with ";" between them.
is() {
    local said status
    said=$(doctor --json)
    status=$?
    same "$2 $3|$4|$5" "$status $(jq -r --arg name "$1" '.engines[] | select(.name == $name) |
        "\(.set_up)|\([.runtimes[] | select(.ours) | "\(.name) \(.file)"] | join(";"))|" +
        ([.findings[] | select(.name != "no_handler") | "\(.name) \(.runtime)"] | join(";"))' <<<"$said")"
}
row() { # ENGINE: the rows of it, with single spaces
    doctor | awk -v name="$1" '/^[^ ]/ { on = $1 == name } on { $1 = $1; print }'
}

clear_host
check "no engine is found where there is none" same "[]" "$(doctor --json | jq -c .engines)"
check "which is no failure" doctor

# ---- the policy's profiles ----------------------------------------------------------------------

# profiles: each that is said something of, "NAME FIT: SAYS"; and doctor's exit status.
profiles() {
    local said status
    said=$(doctor --json)
    status=$?
    echo "$status$(jq -r '.profiles[] | select(.says != "") | " | \(.name) \(.fit): \(.says)"' <<<"$said")"
}
says_of() { # ENDPOINT-TO [MEMBERS]: of a profile "it" with this endpoint
    policy "{profiles: {it: ({endpoints: [{name: \"model\", listen: 8080, to: \"$1\"}]} + ${2:-{\}})}}"
    profiles
}
long=$(printf 's%.0s' {1..108})
check "a policy without faults" same 0 "$(policy; profiles)"
check "a socket for each run is nobody's fault yet" same 0 "$(says_of "unix:$brokers/{id}/broker.sock")"
check "a broker that is not started is said, and no fault" same \
    "0 | it true: endpoint model: no socket at $brokers/all/broker.sock; start the broker first" \
    "$(says_of "unix:$brokers/all/broker.sock")"
check "nor is one by hostname" same 0 "$(says_of "unix:$brokers/{hostname}/broker.sock")"
check "a socket whose name is too long with an id" contains "$(says_of "unix:$brokers/all/{id}${long:64}.sock")" \
    "1 | it false: endpoint model: the socket's name has 113 bytes"
check "a socket below a file" contains "$(says_of unix:/etc/passwd/broker.sock)" "1 | it false: endpoint model: "
check "a file that is no socket" contains "$(says_of unix:/etc/passwd)" "1 | it false: endpoint model: "
check "a port of another host, to which no link leads" contains "$(says_of tcp:elsewhere:9000 '{tcp: "veth"}')" \
    "1 | it false: endpoint model: tcp:elsewhere:9000 needs the gate, as the policy"
check "a port where names are refused" contains \
    "$(policy '{profiles: {it: {endpoints: [{name: "model", listen: 53, to: "unix:/run/b/{id}/s"}]}}}'; profiles)" \
    "1 | it false: endpoint model: port 53 is where names are refused"
check "a wildcard that packets cannot honour" contains "$(policy '{allow_by: "packets",
        profiles: {it: {egress: "allowlist", allow: ["*.example.test"]}}}'; profiles)" \
    "1 | it false: allow *.example.test tcp 443: a wildcard"
check "a wildcard in pods, which the gate does not serve" contains "$(policy '{
        profiles: {it: {cri: true, egress: "allowlist", allow: ["*.example.test"]}}}'; profiles)" \
    "1 | it false: allow *.example.test tcp 443: a wildcard needs the gate, which does not serve pods"
check "a wildcard that allows anybody" contains \
    "$(policy '{profiles: {it: {egress: "allowlist", allow: ["*.com"]}}}'; profiles)" \
    "1 | it false: allow *.com: at com or right below it names belong to anybody"
check "a variable's name that cannot be: that profile is named" contains \
    "$(policy '{profiles: {it: {env: {"A=B": "c"}}}}'; doctor | tr -s ' ')" \
    'policy NO policy '"$lab/policy.json: profiles.it.env[\"A=B\"]: not the name of a variable"
check "people are told which profile it is" contains "$(says_of unix:/etc/passwd >"$lab/n"; doctor | tr -s ' ')" \
    "profile it NO endpoint model: "
policy

# ---- podman -------------------------------------------------------------------------------------

drop_in=/etc/containers/containers.conf.d/50-site.conf
engine /usr/local/bin/podman
check "podman: not told is no, and no failure" is podman 0 false "" ""
check "podman: and says what to do" same "podman no not told of anchorhold; \
anchorhold setup podman --write, or its hook as contrib/podman/README.md says" "$(row podman)"
check "podman: is found in /usr/local/bin" same /usr/local/bin/podman "$(of podman .program)"
echo "# anchorhold = [\"$bin\"]" | write /etc/containers/containers.conf
check "podman: a comment tells it nothing" is podman 0 false "" ""
write $drop_in <<CONF
[engine.runtimes]
anchorhold = ["$bin"]
anchorhold-ci = ["$bin-ci"]
CONF
check "podman: told in a drop-in of any name" is podman 0 true "anchorhold $drop_in;anchorhold-ci $drop_in" ""
check "podman: that file is named" same "podman yes anchorhold, anchorhold-ci in $drop_in; \
whether it is called: anchorhold verify podman" "$(row podman)"
check "podman: the files it reads, in order" same "[\"/etc/containers/containers.conf\",\"$drop_in\"]" \
    "$(of podman .files)"
mv $drop_in ${drop_in%.conf}.off
check "podman: a file of another ending is not read" is podman 0 false "" ""
mv ${drop_in%.conf}.off $drop_in
mv $drop_in /etc/elsewhere.conf
ln -s /etc/elsewhere.conf $drop_in
check "podman: a link is followed" is podman 0 true "anchorhold $drop_in;anchorhold-ci $drop_in" ""
rm $drop_in /etc/elsewhere.conf
printf '[engine.runtimes]\nx = ["%s"]\n' "$bin" | write $drop_in
write /etc/containers/containers.conf.d/90.conf <<<'[engine.runtimes]
x = ["/usr/sbin/runc"]'
check "podman: a later file takes it back" is podman 1 false "" "not_effective x"
check "podman: and is named" contains "$(row podman)" \
    "remedy: take it out there, or name anchorhold in /etc/containers/containers.conf.d/90.conf"
rm /etc/containers/containers.conf.d/90.conf
check "podman: else not" is podman 0 true "x $drop_in" ""
printf '[engine]\nruntim = "%s"\n' "$bin" | write $drop_in
check "podman: a misspelt key is a failure" is podman 1 false "" "key_misspelt engine"
check "podman: and said" same "podman NO told wrongly
key_misspelt: $drop_in names $bin in [engine] runtim, which is no key of its
remedy: write runtime instead of runtim" "$(row podman)"
printf '[engine]\nruntime = "%s"\n' "$bin" | write $drop_in
check "podman: spelt rightly it is none" is podman 0 true "$bin $drop_in" ""
printf '[runtimes]\nx = ["%s"]\n' "$bin" | write $drop_in
check "podman: a wrong section" is podman 1 false "" "wrong_section x"
printf '[engine.runtimes]\nanchorhold-gone = ["%s"]\n' "$bin-gone" | write $drop_in
check "podman: a program that is not there" is podman 1 false "anchorhold-gone $drop_in" \
    "shim_missing anchorhold-gone"
write $drop_in <<<'[engine'
check "podman: a file that cannot be parsed" is podman 1 false "" "config_unreadable "
mkdir "$lab/other" && cp -r "$lab/bin" "$lab/libexec" "$lab/other"
printf '[engine.runtimes]\nx = ["%s"]\n' "$lab/other/bin/anchorhold" | write $drop_in
check "podman: another installation of ours is none of our business" is podman 0 true "x $drop_in" ""
rm -r "$lab/other"

clear_host
engine /usr/local/bin/podman
hook=/etc/containers/oci/hooks.d/anchorhold.json
sed "s,/usr/local/bin,$lab/bin," "$lab/podman/hooks.d/anchorhold.json" | write $hook
check "podman: a hook where podman does not look" is podman 1 false "" "hook_not_read $hook"
write /etc/containers/containers.conf.d/anchorhold-hook.conf <"$lab/podman/anchorhold-hook.conf"
check "podman: told by its hook" is podman 0 true "" ""
check "podman: that hook is named" same "podman yes hook $hook; whether it is called: anchorhold verify podman" \
    "$(row podman)"
sed -i "s,$lab/bin,/nonexistent," $hook
check "podman: a hook whose program is not there" is podman 1 false "" "shim_missing $hook"

# ---- Docker -------------------------------------------------------------------------------------

clear_host
daemon=/etc/docker/daemon.json
engine /usr/sbin/dockerd
check "docker: found in /usr/sbin, not told" is docker 0 false "" ""
check "docker: where" same /usr/sbin/dockerd "$(of docker .program)"
check "docker: also where PATH lacks that folder" same /usr/sbin/dockerd "$(PATH=/usr/bin of docker .program)"
mkdir "$lab/opt" && mv /usr/sbin/dockerd "$lab/opt"
check "docker: found on PATH" same "$lab/opt/dockerd" "$(PATH=$lab/opt:$PATH of docker .program)"
check "docker: else not" same "" "$(of docker .program)"
mv "$lab/opt/dockerd" /usr/sbin
write $daemon <<<"{\"runtimes\": {\"anchorhold\": {\"path\": \"$bin\", \"runtimeArgs\": [\"--ah-profile=ci\"]}}}"
check "docker: told" is docker 0 true "anchorhold $daemon" ""
write $daemon <<<"{\"runtimes\": {\"anchorhold\": {\"pth\": \"$bin\"}}}"
check "docker: a misspelt key" is docker 1 false "anchorhold $daemon" "key_misspelt anchorhold"
write $daemon <<<'{"runtimes": {"anchorhold": {"path": "/usr/sbin/runc"}}}'
check "docker: our name on another program" is docker 1 false "anchorhold $daemon" "other_program anchorhold"
write $daemon <<<'{"labels": ["anchorhold"]}'
check "docker: our name as a text tells it nothing" is docker 0 false "" ""
rm /usr/sbin/dockerd
check "docker: its file shows it as well" same "" "$(of docker .program)"

# ---- containerd ---------------------------------------------------------------------------------

clear_host
main=/etc/containerd/config.toml
engine /usr/local/sbin/containerd "containerd github.com/containerd/containerd/v2 v2.1.0 0123abc"
check "containerd: not told" is containerd 0 false "" ""
site=/etc/containerd/conf.d/50-site.toml
handler() { # NAME
    printf '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.%s.options]\n%s = "%s"\n' \
        "$1" "${2:-BinaryName}" "$bin"
}
handler anchorhold | write $site
write $main <<<'version = 2'
check "containerd: what nothing imports is not read" is containerd 0 false "" ""
write $main <<<'version = 2
imports = ["conf.d/*.toml"]'
check "containerd: told in an imported file" is containerd 0 true "anchorhold $site" ""
check "containerd: the files it reads" same "[\"$main\",\"$site\"]" "$(of containerd .files)"
handler anchorhold BinaryNam | write $site
check "containerd: a misspelt key in it" is containerd 1 false "anchorhold $site" "key_misspelt anchorhold"
handler anchorhold | write $site
{ echo 'imports = ["/etc/containerd/conf.d/one.toml"]' && handler x; } | write /etc/containerd/conf.d/40.toml
{ echo 'version = 2' && handler y; } | write /etc/containerd/conf.d/one.toml
check "containerd: imports of imports" is containerd 0 true \
    "anchorhold $site;x /etc/containerd/conf.d/40.toml;y /etc/containerd/conf.d/one.toml" ""
# The real containerd 1.x reads the same files, for comparison.
cp "$lab/containerd.real" /usr/local/sbin/containerd
dumped() {
    /usr/local/sbin/containerd --config $main config dump | "$python" -c 'import sys, tomllib
plugins = tomllib.load(sys.stdin.buffer)["plugins"]
runtimes = plugins["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]
print(*sorted(name for name in runtimes if runtimes[name].get("options", {}).get("BinaryName")))'
}
if /usr/local/sbin/containerd --version | grep -q ' v\{0,1\}1\.'; then
    check "containerd 1.x: has nothing of a relative pattern" same "" "$(cd / && dumped)"
    check "containerd 1.x: nor has doctor" is containerd 0 false "" ""
    sed -i 's,conf.d/,/etc/containerd/&,' $main
    check "containerd 1.x: has the last file's" same "y" "$(dumped)"
    check "containerd 1.x: and doctor says so" is containerd 1 false "y /etc/containerd/conf.d/one.toml" \
        "not_effective x;not_effective anchorhold"
    rm /etc/containerd/conf.d/{one,40}.toml
    check "containerd 1.x: one file" same "anchorhold" "$(dumped)"
    check "containerd 1.x: alone is right" is containerd 0 true "anchorhold $site" ""
fi
{ echo 'version = 2' && handler runc; } | write $main
check "containerd: its files with a section for CRI" same "[\"$main\"]" "$(of containerd .cri_files)"
echo 'version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri"]' | write $main
check "containerd: a word of it is no section" same "[]" "$(of containerd .cri_files)"
check "containerd: a file without one" is containerd 0 false "" ""
write $main <<<'version = 2
imports = ["/etc/containerd/gone.toml"]'
check "containerd: it does not start without what it imports" is containerd 1 false "" "config_unreadable "

# ---- CRI-O --------------------------------------------------------------------------------------

clear_host
crio=/etc/crio/crio.conf.d/20-site
engine /usr/bin/crio
check "crio: not told" is crio 0 false "" ""
printf '[crio.runtime.runtimes.anchorhold]\nruntime_path = "%s"\n' "$bin" | write $crio
check "crio: told in a drop-in" is crio 0 true "anchorhold $crio" ""
printf '[crio.runtime.runtimes.anchorhold]\nruntime_pth = "%s"\n' "$bin" | write $crio
check "crio: a misspelt key" is crio 1 false "anchorhold $crio" \
    "key_misspelt anchorhold;shim_missing anchorhold"

# ---- who asks -----------------------------------------------------------------------------------

chmod 600 $crio
chmod 711 /etc/crio/crio.conf.d /etc/crio
as_user() {
    setpriv --reuid 1000 --regid 1000 --clear-groups "$bin" --ah-state "$lab/user" doctor --json |
        jq -rc '.engines[] | select(.name == "crio") | "\(.set_up) \(.says)"'
}
mkdir "$lab/user" && chown 1000:1000 "$lab/user"
check "a user who may not read it is told so" contains "$(as_user)" "; ask as root"
rm -r "$lab/user"

clear_host
check "nothing is left" nothing_left
finish
