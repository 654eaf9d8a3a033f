#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Agents find their model by their environment: no proxy stands in the way, neither in the
# command's nor in an exec's, the profile's variables are there, and everything else is as it was.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
open_world
start_broker model
remember_kernel
agent_policy() {
    policy '{annotation_profiles: ["agent"],
             profiles: {agent: {env: {ANTHROPIC_BASE_URL: "http://127.0.0.1:8080"},
                                endpoints: [{name: "model", listen: 8080,
                                             to: "unix:'"$brokers"'/model/broker.sock"}]}}}'
}
agent_policy

# Values that only a proxy variable holds, so that no spelling can hide; one comes twice.
spellings='["HTTP_PROXY=", "http_proxy=", "Https_Proxy=", "ALL_PROXY=", "all_proxy=", "no_proxy=",
            "NO_PROXY=", "FTP_PROXY=", "ws_proxy=", "WSS_PROXY=", "grpc_proxy=", "HTTP_PROXY=",
            "npm_config_https_proxy=", "NPM_CONFIG_PROXY=", "npm_config_noproxy=",
            "NODE_USE_ENV_PROXY="]'
proxies=".process.env += ($spellings | map(. + \"socks5h://user:hunter2@proxy.example:1\"))"
by_profile='.annotations["dev.anchorhold.profile"] = "agent"'

count_proxies() { grep -c hunter2; }

# printed_env ID FILTER: what env(1) prints in the container.
printed_env() {
    bundle "$1" "$2" env
    in_cell "$1"
}

for posture in severed relayed; do
    filter=$proxies
    [ $posture = severed ] || filter="$proxies | $by_profile"
    red check "C-14 no proxy variable reaches the command, $posture" \
        same 0 "$(printed_env proxies "$filter" | count_proxies)"
done
bundle proxies "$proxies" env
check "C-14 without us they all do" same 15 "$(without_us proxies . | count_proxies)"

# The client that no NO_PROXY keeps from its proxy: it uses the variable if there is one.
client='[ -z "${HTTP_PROXY:-}${http_proxy:-}${ALL_PROXY:-}" ] || exit 1; attempt ask=8080'
bundle client "$proxies | $by_profile" sh -c "$client"
check "B-23 C-23 the model is asked directly" contains "$(in_cell client)" "ask=8080 reached"
red check "the profile's variable is there" \
    contains "$(printed_env profile "$by_profile")" "ANTHROPIC_BASE_URL=http://127.0.0.1:8080"
check "the profile's variable replaces the image's" same 1 "$(printed_env replaced \
    "$by_profile | .process.env += [\"ANTHROPIC_BASE_URL=https://api.example\"]" |
    grep -c ANTHROPIC_BASE_URL)"

# Compares what the runtime is handed, byte for byte, but for what we change. crun and runc disagree
# about some of these themselves, so a runtime that only keeps what it got stands in.
cat >"$lab/bin/$plain_name-keeping" <<CODE
#!/bin/sh
for word; do [ "\$last" = --bundle ] && cp "\$word/config.json" $lab/handed; last=\$word; done
CODE
chmod 755 "$lab/bin/$plain_name-keeping"
odd='["A=1", "A=2", "NOEQ", "=x", "B=line1\nline2", "C=\u0001", "PATH=", "Ä=ö", "proxy=mine",
      "HTTP_PROXY", "MY_HTTP_PROXY=mine"]'
policy "{runtime: \"$lab/bin/$plain_name-keeping\"}"
handed_env() {
    bundle odd ".process.env = $odd" true
    in_cell odd >/dev/null
    jq -c .process.env "$lab/handed"
}
red check "C-59 odd entries stay, in order, with their bytes" \
    same "$(jq -nc "$odd | map(select(. != \"HTTP_PROXY\")) +
        [\"ANCHORHOLD_README=/dev/anchorhold/README\"]")" "$(handed_env)"

agent_policy

# ---- exec ---------------------------------------------------------------------------------------

# Without us it would be on the host's network, where all of this is within reach.
bundle long "$proxies | $by_profile | del(.linux.namespaces[] | select(.type == \"network\"))" \
    sh -c 'echo up; exec sleep infinity'
start_ready in_cell long
jq -n --argjson proxies "$spellings" '{cwd: "/", args: ["env"], user: {uid: 0, gid: 0},
    env: (["PATH=/bin", "KEPT=yes"] + ($proxies | map(. + "hunter2")))}' >"$lab/process.json"
digest=$(sha256sum "$lab/process.json")
by_file=$("$runtime" exec --process "$lab/process.json" long)
# crun takes these variables for all there are, so PATH is among them.
by_flag=$("$runtime" exec --env HTTP_PROXY=http://hunter2:1 --env all_proxy=hunter2 \
    --env KEPT=yes --env PATH=/bin long env)
red check "R24 C-22 no proxy variable by exec --process" same 0 "$(count_proxies <<<"$by_file")"
red check "R24 C-22 no proxy variable by exec --env" same 0 "$(count_proxies <<<"$by_flag")"
check "what else exec --process asks for stays" contains "$by_file" KEPT=yes
check "what else exec --env asks for stays" contains "$by_flag" KEPT=yes
red check "the profile's variable reaches an exec" contains "$by_file" ANTHROPIC_BASE_URL=http
red check "an exec asks the model" \
    contains "$("$runtime" exec long attempt ask=8080)" "ask=8080 reached"
# A variable that a program sets for itself, by a file or by hand, changes nothing outside.
in_shell() { "$runtime" exec long sh -c "$1" 2>&1; }
dotfile='export HTTPS_PROXY=http://203.0.113.1:443'
red check "C-49 a proxy that a dot-file names is out of reach at once" contains \
    "$(in_shell "$dotfile; attempt tcp=\${HTTPS_PROXY#http://}")" "Network is unreachable"
for variables in 'HTTP_PROXY= ALL_PROXY= NO_PROXY=' 'http_proxy= no_proxy=*' \
    'HTTP_PROXY=http://1.1.1.1:80 NO_PROXY=*'; do
    red check "B-22 $variables opens nothing" contains \
        "$(in_shell "$variables attempt tcp=1.1.1.1:80")" "Network is unreachable"
    red check "B-22 $variables keeps nobody from the model" contains \
        "$(in_shell "$variables attempt ask=8080")" "ask=8080 reached"
done
check "the engine's process file is its own" same "$digest" "$(sha256sum "$lab/process.json")"
check "an exec's status is the command's" same 42 "$("$runtime" exec long sh -c 'exit 42'; echo $?)"
shown=$("$runtime" show --json long)
red check "the record names what was removed" same true \
    "$(jq '["ALL_PROXY", "HTTP_PROXY", "Https_Proxy"] - .removed_env == []' <<<"$shown")"
check "the record holds no value" same 0 "$(count_proxies <<<"$shown")"
"$runtime" kill long KILL
wait $!

# An agent that cannot write /tmp says nothing and exits 0, so the record says it instead.
bundle tmp "$by_profile | .process.user = {uid: 1000, gid: 1000}" \
    sh -c 'echo up; exec sleep infinity'
rm -rf "$lab/b/tmp/rootfs/tmp" && mkdir -m 755 "$lab/b/tmp/rootfs/tmp"
start_ready in_cell tmp
shown=$("$runtime" show --json tmp)
check "the record warns of a /tmp that its user cannot write" \
    contains "$(jq -r '.advice[]' <<<"$shown")" "/tmp"
"$runtime" kill tmp KILL
wait $!

check "nothing is left" nothing_left
finish
