#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A container that asked for its model reaches it at 127.0.0.1:8080 as if it were there, whatever
# the container may and has, and gets nothing else by it.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/ways.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy
open_world
start_broker model
start_broker other
start_broker stepwise AH_STEPS=1
remember_kernel

# answered ID TIMES: the whole answer, and the model was really asked.
answered() {
    local output before after
    before=$(asked "$2")
    output=$(in_cell "$1")
    after=$(asked "$2")
    contains "$output" "window." && contains "$output" "ask=8080 reached" &&
        same "$((before + 1))" "$after"
}

# ---- before the command -------------------------------------------------------------------------

poor='.process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = true
      | .process.capabilities = {bounding: [], effective: [], inheritable: [], permitted: [],
                                 ambient: []}'
# denied: the mode of a socket stands in for a security module that denies it to the relay.
denied() { # FILTER
    local output=$lab/denied.out init
    start_broker shut
    bundle denied "$(asks_for shut) | $1" sh -c 'echo the command ran'
    "$runtime" create --bundle "$lab/b/denied" denied </dev/null >"$output" 2>&1
    chown 12345 "$brokers/shut/broker.sock"
    chmod 0600 "$brokers/shut/broker.sock"
    init=$("$plain_runtime" state denied | jq .pid)
    "$runtime" start denied
    wait_for_end "$init"
    "$runtime" delete denied
    stop "$broker"
    same "anchorhold-relay: connect for endpoint \"8080=/dev/anchorhold/endpoint/shut/broker.sock\": \
the broker's socket does not let this user in: its mode, or a security module of the host" \
        "$(sed 's/@[0-9:]*//' "$output")"
}
check "C-42 a broker that may not be connected to is told before the command runs" denied "$poor"
check "C-42 also to a root whose capabilities would let it in: the relay has none" denied \
    '.process.capabilities[] += ["CAP_DAC_OVERRIDE"]'

# ---- the answer ---------------------------------------------------------------------------------

bundle plain "$(asks_for model)" attempt ask=8080
red check "the answer arrives" answered plain model

bundle stepwise "$(asks_for stepwise)" attempt ask-stepwise=8080
red check "each piece arrives before the next is written" \
    contains "$(in_cell stepwise)" "ask-stepwise=8080 reached: 5 pieces"

bundle poor "$(asks_for model) | $poor" attempt ask=8080
red check "C-62 the answer arrives for uid 1000 without capabilities, no_new_privs" answered poor model

bundle writable "$(asks_for model) | .root.readonly = false" attempt ask=8080
red check "the answer arrives on a writable root" answered writable model

bundle scratch "$(asks_for model) | $poor | .root.readonly = true" /attempt ask=8080
rm -rf "$lab/b/scratch/rootfs"
mkdir "$lab/b/scratch/rootfs"
cp "$lab/bin/attempt" "$lab/b/scratch/rootfs/attempt"
red check "C-15 the answer arrives in an image of one static program" answered scratch model

# A file system that cannot be written at all, below the mounts too.
bundle frozen "$(asks_for model)" attempt ask=8080
mount --no-mtab --bind "$lab/b/frozen/rootfs" "$lab/b/frozen/rootfs"
mount --no-mtab -o remount,bind,ro "$lab/b/frozen/rootfs"
red check "C-15 the answer arrives on a read-only file system" answered frozen model
umount "$lab/b/frozen/rootfs"

bundle two "$(asks_for model other)" attempt ask=8080 ask=8081
two=$(in_cell two)
check "two endpoints, the first" contains "$two" "ask=8080 reached"
check "two endpoints, the second" contains "$two" "ask=8081 reached"

# Mounts of the bundle's own, which come before ours.
for at in /run /dev/shm /tmp //run/../run /etc; do
    bundle covered "$(asks_for model) | .mounts += [{destination: \"$at\", type: \"tmpfs\",
                                                    source: \"tmpfs\"}]" attempt ask=8080
    red check "C-09 the answer arrives with a tmpfs on $at" answered covered model
done

# In its restarted broker a container finds another inode, by the same directory.
restarted() {
    local cell status
    start_broker restarting
    bundle restarting "$(asks_for restarting)" sh -c 'echo up; exec sleep infinity'
    start_ready in_cell restarting
    cell=$!
    stop "$broker"
    start_broker restarting
    "$runtime" exec restarting attempt ask=8080 | grep "ask=8080 reached"
    status=$?
    "$runtime" kill restarting KILL
    wait "$cell"
    stop "$broker"
    return $status
}
red check "C-24 the answer arrives after the broker was restarted" restarted

# ---- nothing else by it -------------------------------------------------------------------------

bundle one "$(asks_for model)" attempt ask=8081 "sh=test -e $brokers/other/broker.sock"
one=$(in_cell one)
check "B-38 another run's broker, by port" contains "$one" "ask=8081 refused"
check "B-38 another run's broker, by path" contains "$one" "other/broker.sock refused"

# Root in the container, with the capabilities to override file modes. Without us the same
# directory is bound as engines bind volumes.
directory=/dev/anchorhold/endpoint/model
bind_at() { # bind_at BROKER [OPTION]: a jq filter
    echo ".mounts += [{destination: \"$directory\", type: \"bind\", source: \"$brokers/$1\",
                      options: [\"rbind\", \"${2:-rw}\"]}]"
}
meddling=(
    "B-36 plant a file beside the socket | sh=touch $directory/beside"
    "B-36 change the socket's mode | sh=chmod 600 $directory/broker.sock"
    "B-36 move the socket away | sh=mv $directory/broker.sock $directory/moved"
    "B-36 unlink the socket | sh=rm $directory/*e*"
)
meddler='.process.capabilities |= map_values(. + ["CAP_DAC_OVERRIDE", "CAP_FOWNER"])'
bundle meddler "$meddler | $(asks_for model)" \
    attempt "sh=test -S $directory/broker.sock" "${meddling[@]#* | }"
declare -A meddled
take_answers meddled < <(in_cell meddler)
check "B-36 the socket is there to meddle with" \
    contains "${meddled["sh=test -S $directory/broker.sock"]:-}" reached
start_broker spare
take_answers control < <(without_us meddler "$(bind_at spare)")
for way in "${meddling[@]}"; do check "${way% | *}" blocked meddled "${way#* | }"; done

list_mounts='awk "{ print \$5 }" /proc/self/mountinfo | sort'
bundle mounts "$(asks_for model)" sh -c "$list_mounts"
with_us=$(in_cell mounts)
more=$(without_us mounts . | diff - <(echo "$with_us") | grep '^>' |
    grep -vE '^> /dev/anchorhold/(README|relay|run|endpoint/model)$')
check "no other host path is mounted" same "" "$more"
bundle sights "$(asks_for model)" sh -c "find $directory"
check "the socket's directory holds the socket alone" same 2 "$(in_cell sights | wc -l)"

# ---- the relay's own skin -----------------------------------------------------------------------

sibling='sleep 60 & sh -c "exec attempt trace=$!"; kill $!'
bundle relay "$(asks_for model) | $poor" \
    sh -c "attempt bind-port=8080 bind-port=9999 trace=1; $sibling; kill -KILL 1; attempt ask=8080"
relay=$(in_cell relay)
red check "B-37 bind the relay's port" contains "$relay" "bind-port=8080 refused"
check "B-37 bind the relay's port: another port can be had" \
    contains "$relay" "bind-port=9999 reached"
red check "B-37 trace the relay" contains "$relay" "trace=1 refused"
check "B-37 trace the relay: a sibling can be traced" \
    grep "trace=[0-9]* reached" <<<"$relay"
check "B-37 kill the relay: the model still answers" contains "$relay" "ask=8080 reached"

# The command line holds the pattern itself, so it is written in two halves.
peek='grep -c "hunt""er2" /proc/1/environ; grep -c "hunt""er2" /proc/1/cmdline
      readlink /proc/self/exe; pwd'
bundle secret "$(asks_for model) | .process.env += [\"TOKEN=hunter2\"] | .process.cwd = \"/home\"" \
    sh -c "$peek"
secret=$(in_cell secret 2>/dev/null)
bare_secret=$(without_us secret . 2>/dev/null)
red check "B-50 no secret in the relay's environment or arguments" \
    same 0 "$(head -n -2 <<<"$secret" | grep -c '^1$')"
check "B-50 no secret: without us process 1 holds it" same 1 "$(head -n 1 <<<"$bare_secret")"
check "B-51 /proc/self/exe and the working directory are the program's own" \
    same "$(tail -n 2 <<<"$bare_secret")" "$(tail -n 2 <<<"$secret")"

start_broker careless AH_DUMPABLE=1
remember_kernel
theirs='.process.user = {uid: '"$broker_uid"', gid: '"$broker_uid"'}'
directory=/dev/anchorhold/endpoint/careless
bundle thief "$(asks_for careless) | $theirs" \
    attempt "peer-descriptor=$directory/broker.sock" "park-namespace=$directory/broker.sock"
thief=$(in_cell thief)
robbed=$(without_us thief "$(bind_at careless ro)")
check_where peer_pidfd "B-52 take a descriptor of a broker with our uid" \
    contains "$thief" "broker.sock refused: Operation not permitted ("
check_where peer_pidfd "B-52 take a descriptor of a broker: without us it can be had" \
    contains "$robbed" "broker.sock reached: descriptor"
check "B-59 a namespace parked in the broker" grep "park-namespace=.* reached" <<<"$thief"
check "B-59 a namespace parked in the broker leaves nothing of ours" nothing_left

# ---- being called -------------------------------------------------------------------------------

call_in() { # from the host's own namespace and from the internet
    "$lab/bin/attempt" tcp=127.0.0.1:9100 tcp=203.0.113.2:9100
    nsenter --net=/run/netns/internet "$lab/bin/attempt" tcp=203.0.113.2:9100
}
bundle callee "$(asks_for model)" attempt listen=0.0.0.0:9100
start_ready in_cell callee
called=$(call_in)
"$runtime" kill callee KILL
wait $!
start_ready in_the_open callee
answered_call=$(call_in)
wait $!
check "B-55 nobody outside reads what listens inside" same 0 "$(grep -c reached <<<"$called")"
check "B-55 without us somebody does" contains "$answered_call" "reached"

check "nothing is left" nothing_left
finish
