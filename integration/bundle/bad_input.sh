#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A wish that cannot be honoured is refused before anything starts: one clear error on both
# channels, exit 1, config.json as it was, nothing left.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
start_broker model
start_broker other
remember_kernel

bad=$lab/b/bad
log=$lab/log.json
options=()

# A bundle that is fine, of a root that asks for its model. Its first hook shows whether a runtime
# ever saw it, its command whether a process ever ran.
bundle bad "$(asks_for model) | .root.readonly = false
    | .hooks.prestart = [{path: \"$(command -v touch)\", args: [\"touch\", \"$lab/seen\"]}]" \
    touch /ran
mv "$bad/config.json" "$lab/fine.json"
fine_bundle() { # [FILTER]: after that edit
    rm -rf "$bad/config.json"
    jq "${1:-.}" "$lab/fine.json" >"$lab/edited.json" && cp "$lab/edited.json" "$bad/config.json"
}

create_bad() {
    rm -f "$lab/seen" "$bad/rootfs/ran"
    within 10 "$runtime" --log "$log" --log-format json \
        create --bundle "$bad" "${options[@]}" bad </dev/null >"$lab/out" 2>"$lab/err"
}

# one_error CODE VERB: stderr and log hold the same line, once.
one_error() {
    local lines line
    mapfile lines <"$lab/err"
    [ ! -s "$lab/out" ] || { echo "stdout: $(<"$lab/out")"; return 1; }
    [[ ${lines[*]} == "anchorhold: $2"*" ($1)"$'\n' ]] || { echo "stderr: ${lines[*]}"; return 1; }
    line=${lines[0]%$'\n'}
    same 1 ${#lines[@]} && same "error"$'\n'"$line" "$(jq -r '.level, .msg' "$log")" &&
        [ ${#line} -lt 1024 ] &&
        ! [[ ${line,,} =~ permission\ denied|no\ such\ file|not\ permitted|executable\ file ]]
}

# is_refused CODE [VERB]: create of the bad bundle.
is_refused() {
    local before after status
    rm -f "$log"
    before=$([ ! -f "$bad/config.json" ] || sha256sum "$bad/config.json")
    create_bad
    status=$?
    after=$([ ! -f "$bad/config.json" ] || sha256sum "$bad/config.json")
    [ $status = 1 ] || "$plain_runtime" delete --force bad
    same 1 $status && one_error "$1" "${2:-create bad}: " && same "$before" "$after" &&
        [ ! -e "$lab/seen" ] && [ ! -e "$bad/rootfs/ran" ] && nothing_left
}

is_accepted() { # [FILTER]
    fine_bundle "${1:-.}"
    create_bad && [ -e "$lab/seen" ] && "$runtime" start bad && "$runtime" delete --force bad ||
        { cat "$lab/err"; return 1; }
}

# refuses CODE NAME FILTER: the fine bundle, after one edit.
refuses() {
    fine_bundle "$3" || { not_ok "$2" "the filter is wrong"; return; }
    red check "$2" is_refused "$1"
}

# refuses_text CODE NAME COMMAND...: the fine bundle, after COMMAND ran in its directory.
refuses_text() {
    local code=$1 name=$2
    shift 2
    fine_bundle
    (cd "$bad" && "$@")
    red check "$name" is_refused "$code"
}

ask() { # ask JSON-OR-SHORT-FORM: a filter that replaces the endpoints
    annotate dev.anchorhold.endpoints "$1"
}

annotate() { # annotate KEY VALUE
    echo ".annotations[\"$1\"] = \"${2//\"/\\\"}\""
}

check "the bundle that all these are made from is accepted" is_accepted

# ---- annotations --------------------------------------------------------------------------------

socket=$brokers/model/broker.sock
refuses invalid_request "R20 an unknown key under our prefix" "$(annotate dev.anchorhold.egres off)"
refuses invalid_request "C-03 our key with a blank behind it" \
    "$(annotate 'dev.anchorhold.egress ' off)"
refuses invalid_request "C-03 our key in capitals" "$(annotate DEV.ANCHORHOLD.EGRESS off)"
refuses invalid_request "R20 an egress that does not exist" "$(annotate dev.anchorhold.egress closed)"
refuses invalid_request "a profile that does not exist" "$(annotate dev.anchorhold.profile nobody)"
refuses invalid_request "an unknown word for require" "$(annotate dev.anchorhold.require maybe)"
refuses invalid_request "B-48 port 0" "$(ask "model:0=unix:$socket")"
refuses invalid_request "B-48 port 65536" "$(ask "model:65536=unix:$socket")"
refuses invalid_request "C-28 a port that is a word" "$(ask "model:abc=unix:$socket")"
refuses invalid_request "one port twice" "$(ask "model:80=unix:$socket, search:80=unix:$socket")"
refuses invalid_request "one name twice" "$(ask "model:80=unix:$socket, model:81=unix:$socket")"
refuses invalid_request "an endpoint member nobody knows" \
    "$(ask '[{"name": "model", "listen": 80, "to": "unix:'"$socket"'", "via": "x"}]')"
refuses invalid_request "an endpoint list that is no JSON" "$(ask '[{"name": "model"')"
refuses invalid_request "a path with .. in it" "$(ask "model:80=unix:$brokers/../x/broker.sock")"
refuses invalid_request "a tcp endpoint that the policy does not name" "$(ask model:80=tcp:host:80)"
refuses invalid_request "B-48 an address that is none" \
    "$(annotate dev.anchorhold.allow 10.1.2.300/24)"
refuses invalid_request "B-57 a forged edit mark" \
    "$(annotate dev.anchorhold.run 0123456789ab.0123456789abcdef)"

# ---- sockets ------------------------------------------------------------------------------------

mkdir -p "$lab/outside" "$brokers/file" "$brokers/link" "$brokers/tight" "$brokers/silent" \
    "$brokers/loose" "$brokers/directory/broker.sock"
touch "$brokers/file/broker.sock"
ln -s "$brokers/model/broker.sock" "$brokers/link/broker.sock"
ln -s "$lab/outside" "$brokers/out"
for at in "$lab/outside" "$brokers/silent" "$brokers/loose" "$brokers/tight"; do
    "$python" -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])' \
        "$at/broker.sock"
done
at() { ask "model:8080=unix:$1/broker.sock"; }
refuses endpoint_unavailable "C-43 no socket" "$(at "$brokers/none")"
refuses endpoint_unavailable "C-43 a directory instead of a socket" "$(at "$brokers/directory")"
refuses endpoint_unavailable "C-43 a file instead of a socket" "$(at "$brokers/file")"
refuses endpoint_unavailable "C-43 a symlink instead of a socket" "$(at "$brokers/link")"
refuses endpoint_unavailable "C-43 a symlink out of the permitted directory" "$(at "$brokers/out")"
refuses endpoint_unavailable "C-43 nobody listens" "$(at "$brokers/silent")"
refuses invalid_request "a socket outside the permitted directories" "$(at "$lab/outside")"
start_broker loose
chmod 777 "$brokers/loose"
refuses endpoint_unavailable "a directory that others may write" "$(at "$brokers/loose")"
start_broker tight
chmod 600 "$brokers/tight/broker.sock"
refuses endpoint_unavailable "C-62 a socket that the command's user may not use" \
    "$(at "$brokers/tight") | .process.user = {uid: 1000, gid: 1000}"
# Two runs' sockets in one directory: the mount would hand over both.
start_ready "$python" "$here/lib/step_broker.py" --user 64001 --socket "$brokers/loose/second.sock"
chmod 711 "$brokers/loose"
refuses endpoint_unavailable "a directory that holds a second socket" "$(at "$brokers/loose")"
check "C-43 nothing was created where a socket was missing" test ! -e "$brokers/none"

# ---- config.json as text ------------------------------------------------------------------------

insert() { # insert TEXT: as the first member
    sed -i "1s|{|{ $1,|" config.json
}
nest() { # nest DEPTH OPEN CLOSE
    "$python" - "$@" <<'CODE'
import sys
depth, opening, closing = int(sys.argv[1]), sys.argv[2], sys.argv[3]
text = open("config.json").read()
with open("config.json", "w") as file:
    file.write('{"zz":' + opening * depth + "1" + closing * depth + "," + text.strip()[1:])
CODE
}
fill() { # 100 MB of one string
    "$python" -c 'text = open("config.json").read().strip()
open("config.json", "w").write("{\"zz\":\"" + "a" * 100_000_000 + "\"," + text[1:])'
}
replace() { printf "$1" >config.json; }
refuses_text config_ambiguous "R11 C-50 linux twice" insert '"linux": {}'
refuses_text config_ambiguous "R11 C-50 hooks twice" insert '"hooks": null'
refuses_text config_ambiguous "R11 C-50 process twice" insert '"process": null'
refuses_text config_ambiguous "R11 C-50 namespaces twice" \
    sed -i 's/"namespaces":/"namespaces": [], &/' config.json
refuses_text config_ambiguous "R11 C-50 an annotation twice" \
    sed -i 's/"annotations": {/&"dev.anchorhold.endpoints": "", /' config.json
refuses_text config_ambiguous "a key in another case: Linux" insert '"Linux": {}'
refuses_text config_ambiguous "a key in another case: hooK\\u017f" insert '"hook\\u017f": {}'
refuses_text config_ambiguous "a key in another case: hoo\\u212as" insert '"hoo\\u212as": {}'
refuses_text config_ambiguous "C-52 a key that is no UTF-8" insert '"z\xff": 1'
refuses_text config_ambiguous "C-67 10,000 arrays in each other" nest 10000 '[' ']'
refuses_text config_ambiguous "C-67 10,000 objects in each other" nest 10000 '{"a":' '}'
refuses_text config_ambiguous "C-67 1,000,000 arrays in each other" nest 1000000 '[' ']'
refuses_text invalid_request "R11 C-64 100 MB" fill
refuses_text config_ambiguous "C-64 truncated" truncate -s -100 config.json
refuses_text config_ambiguous "C-64 empty" truncate -s 0 config.json
refuses_text config_ambiguous "C-64 null" replace null
refuses_text config_ambiguous "C-64 an array" replace '[]'
refuses_text config_ambiguous "C-64 a byte order mark" sed -i '1s/^/\xef\xbb\xbf/' config.json
refuses_text config_ambiguous "C-64 a comment" sed -i '1s|{|{ // why|' config.json
refuses_text config_ambiguous "C-64 text behind the document" sh -c 'echo x >>config.json'
refuses_text config_ambiguous "C-64 a comma too many" sed -i '1s/{/{ "zz": [1,],/' config.json
refuses_text invalid_request "C-53 no config.json" rm config.json
refuses_text invalid_request "C-64 a directory named config.json" \
    sh -c 'rm config.json; mkdir config.json'
refuses_text invalid_request "C-64 a FIFO named config.json" \
    sh -c 'rm config.json; mkfifo config.json'
refuses_text invalid_request "R11 C-53 a symlink named config.json" \
    sh -c "mv config.json $lab/x; ln -s $lab/x config.json"

# ---- sections -----------------------------------------------------------------------------------

# Without namespaces a runtime would use the host's: the laboratory's, here. We give it its own.
is_confined() { # FILTER
    local kind namespaces
    bundle none "$1" sh -c 'for kind in net pid mnt ipc uts; do readlink /proc/self/ns/$kind; done'
    namespaces=$(in_cell none)
    for kind in net pid mnt ipc uts; do
        grep "$kind:" <<<"$namespaces" || return
        ! grep -F "$(readlink /proc/self/ns/$kind)" <<<"$namespaces" || return
    done
    nothing_left
}
refuses bundle_voids_posture "C-54 no linux section" 'del(.linux)'
refuses bundle_voids_posture "C-54 linux is null" '.linux = null'
refuses bundle_voids_posture "C-54 linux is empty" '.linux = {}'
check "C-54 namespaces is null" is_confined '.linux.namespaces = null'
refuses config_ambiguous "C-54 namespaces is an object" '.linux.namespaces = {}'
refuses config_ambiguous "C-54 annotations is an array" '.annotations = []'
refuses config_ambiguous "C-54 an annotation is a number" '.annotations.a = 1'
refuses config_ambiguous "C-54 args is a string" '.process.args = "sh"'
refuses config_ambiguous "C-54 args is empty" '.process.args = []'
refuses config_ambiguous "C-54 mounts is a string" '.mounts = "x"'
refuses config_ambiguous "C-54 no process" 'del(.process)'
refuses config_ambiguous "C-54 env holds a number" '.process.env += [1]'
refuses invalid_request "B-57 two network namespaces" '.linux.namespaces += [{type: "network"}]'
refuses invalid_request "B-57 two pid namespaces" '.linux.namespaces += [{type: "pid"}]'
refuses bundle_voids_posture "B-57 an annotation that steers the runtime" \
    '.annotations["run.oci.seccomp_bpf_data"] = "x"'
refuses bundle_voids_posture "the host's processes" \
    'del(.linux.namespaces[] | select(.type == "pid"))'
refuses bundle_voids_posture "R17 CAP_SYS_ADMIN" '.process.capabilities.bounding += ["CAP_SYS_ADMIN"]'
refuses bundle_voids_posture "the host's /run" \
    '.mounts += [{destination: "/mnt", type: "bind", source: "/run", options: ["rbind"]}]'

# ---- the command line, the policy, the bundle's file system -------------------------------------

fine_bundle
options=(--frob x)
red check "R3 C-12 an option nobody knows" is_refused invalid_request create
options=()

# What the technique that was asked for cannot do is refused, never taken for something looser.
for wish in '{tcp: "veth", endpoints: [{name: "model", listen: 80, to: "tcp:192.0.2.1:80"}]}' \
    '{egress: "open", endpoints: [{name: "model", listen: 80, to: "tcp:host:80"}]}' \
    '{egress: "allowlist", allow_by: "packets", allow: ["*.github.com"]}'; do
    policy "{profiles: {wish: $wish}, default: \"wish\"}"
    refuses posture_unavailable "there is no way: $wish" 'del(.annotations)'
done
policy

broken_policy() { # broken_policy NAME COMMAND...
    local name=$1
    shift
    "$@"
    fine_bundle
    red check "$name" is_refused invalid_policy
    rm -f "$lab/policy.json"
    policy
}
broken_policy "B-47 a policy that is no JSON" sh -c "echo '{' >$lab/policy.json"
broken_policy "B-47 a policy that is null" sh -c "echo null >$lab/policy.json"
broken_policy "B-47 a policy member nobody knows" policy '{ceilling: "open"}'
broken_policy "a policy that others may write" chmod 666 "$lab/policy.json"
broken_policy "a policy that is not root's" chown 64001 "$lab/policy.json"

fine_bundle
mount --no-mtab --bind "$bad" "$bad"
mount --no-mtab -o remount,bind,ro "$bad"
remember_kernel
red check "R10 C-53 a read-only bundle" is_refused network_setup_failed
umount "$bad"
remember_kernel

# Under a default that leaves containers alone, one that asks not to be is refused whatever fails.
policy '{default: "open"}'
fine_bundle "$(annotate dev.anchorhold.egress off)"
stateless() {
    local status
    "$lab/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state "$lab/none/state" \
        create --bundle "$bad" bad >"$lab/out" 2>"$lab/err" </dev/null
    status=$?
    [ $status = 1 ] || "$plain_runtime" delete --force bad
    same 1 $status && contains "$(<"$lab/err")" "anchorhold: create bad: " &&
        [ ! -e "$lab/seen" ] && nothing_left
}
check "off is not open where the state directory cannot be made" stateless
policy

# ---- how it is said -----------------------------------------------------------------------------

fine_bundle "$(annotate dev.anchorhold.egress $'\e]0;evil\a\n\u202e')"
red check "B-60 escapes in what is quoted" is_refused invalid_request
check "B-60 no control character reaches the terminal" same "" "$(tr -d '\n -~' <"$lab/err")"

echo '{"level":"info","msg":"before"}' >"$log"
create_bad
check "C-30 what the log held stays" \
    same "before anchorhold" "$(jq -r .msg "$log" | cut -d: -f1 | paste -sd' ')"
rm "$log"
"$runtime" --log "$lab/log.text" create --bundle "$bad" bad 2>/dev/null
check "C-30 a text log gets one line of text" \
    grep -E '^time="[^"]*" level=error msg="anchorhold: create bad: ' "$lab/log.text"
check "C-30 a log that cannot be written changes nothing" same 1 \
    "$("$runtime" --log "$lab/none/log" create --bundle "$bad" bad 2>/dev/null; echo $?)"
check "R2 C-44 restore is refused" contains \
    "$("$runtime" restore --bundle "$bad" --image-path "$lab" bad 2>&1)" "anchorhold: restore bad: "

check "nothing is left" nothing_left
# ---- an edit mark under a policy that leaves containers alone -----------------------------------

policy '{default: "open", annotations: false, profiles: {open: {}}}'
check "the bundle runs open where no annotation is read" is_accepted
check "open: a member that the runtime ignores is the runtime's matter" is_accepted \
    '.linux.resources.CPU = {}'
refuses_text config_ambiguous "open: linux twice could hide a namespace to join" insert '"linux": {}'
refuses_text config_ambiguous "open: so could Linux" insert '"Linux": {}'
refuses invalid_request "B-57 a forged edit mark, where no annotation is read" \
    "$(annotate dev.anchorhold.run 0123456789ab.0123456789abcdef)"
policy '{default: "open", profiles: {open: {}}}'
check "a mark is refused where the state directory cannot be made" contains \
    "$(bundle marked "$(annotate dev.anchorhold.run x)" echo it ran
       "$lab/bin/anchorhold" --ah-policy "$lab/policy.json" --ah-state /nowhere/x run \
           --bundle "$lab/b/marked" marked 2>&1 </dev/null)" /nowhere
finish
