#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real agents in our containers: each asks its model, runs the command the model wants, hands back
# what that said and gives the model's answer, whatever proxies its environment names; the broker
# alone hears of it. Asked to, it calls the tools of MCP servers inside too, one on a pipe and one on
# a port of the loopback. AH_AGENTS is a root file system into whose /agents npm installed them.
#
# Never judged by an exit status: an agent that gets nowhere says nothing and exits 0.
run_by='integration/agents/run'
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}" node \
    podman conmon /usr/lib/podman/netavark nginx openssl
[ -d "${AH_AGENTS:-}/agents" ] || missing "AH_AGENTS, which integration/agents/run fills"
enter_lab
runs=3 # of each kind that is timed
proxy_port=3128
hostile=http://203.0.113.1:$proxy_port
recipes=$(cd "$here/../contrib/agents" && pwd)
# What the recipes have in the environment, as far as an agent does not work without.
recipe_env=$(jq '.profiles["gemini-cli"].env + {ANTHROPIC_BASE_URL: "http://127.0.0.1:8080"}' \
    "$recipes/gemini-cli/policy.json")
proxy_env=$(jq -n --arg proxy "$hostile" '["PATH=/usr/bin:/bin", "HOME=/home/agent",
    "ANTHROPIC_API_KEY=sk-none", "OPENAI_API_KEY=sk-none",
    (("http", "https", "all", "ws", "wss") | "\(.)_proxy=\($proxy)",
     "\(ascii_upcase)_PROXY=\($proxy)")]')

# A model that codex has not heard of is given plain tools; some of its own write programs instead.
declare -A agents=(
    [codex]='codex exec -m walls --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox
        -c model_provider=ours -c model_providers.ours.name=ours
        -c model_providers.ours.base_url=http://127.0.0.1:8080/v1
        -c model_providers.ours.wire_api=responses -c model_providers.ours.env_key=OPENAI_API_KEY'
    [claude]='claude --allowedTools Bash,mcp__near,mcp__far -p'
    [gemini]='gemini --yolo -p'
    [opencode]='opencode run'
)
# How many look-ups the relay answers of those that an agent makes at its start: a pattern.
some='[1-9][0-9]*'
declare -A lookups=([codex]=$some [claude]=$some [gemini]='[0-9]+' [opencode]=$some)

# ---- the image ----------------------------------------------------------------------------------

# What MCP's clients are told: a server that they start, and one that is there.
mcp_word=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
mcp_command=$(jq -n --arg word "$mcp_word" '["node", "/agents/mcp.mjs", "stdio", $word, "/tmp/mcp.log"]')
mcp_url=http://127.0.0.1:7777/mcp

with_mcp() { jq --argjson command "$mcp_command" --arg url $mcp_url "$@"; }

# The files that the recipes put into HOME: in /agents/plain; in /agents/mcp the same with servers of
# MCP in them.
make_homes() {
    local plain=$image/agents/plain mcp=$image/agents/mcp
    mkdir -p "$plain"/{.gemini,.config/opencode} "$mcp"/{.codex,.gemini,.config/opencode}
    cp "$recipes/gemini-cli/settings.json" "$plain/.gemini"
    cp "$recipes/opencode/opencode.json" "$plain/.config/opencode"
    with_mcp '.mcpServers = {near: {command: $command[0], args: $command[1:]}, far: {httpUrl: $url}}' \
        <"$plain/.gemini/settings.json" >"$mcp/.gemini/settings.json"
    with_mcp '.mcp = {near: {type: "local", command: $command}, far: {type: "remote", url: $url}}' \
        <"$plain/.config/opencode/opencode.json" >"$mcp/.config/opencode/opencode.json"
    with_mcp '.mcpServers = {near: {command: $command[0], args: $command[1:]},
                             far: {type: "http", url: $url}}' <<<'{}' >"$mcp/.claude.json"
    with_mcp -r '"[mcp_servers.near]", "command = \($command[0] | tojson)",
        "args = \($command[1:] | tojson)", "[mcp_servers.far]", "url = \($url | tojson)"' \
        <<<'{}' >"$mcp/.codex/config.toml"
}

# busybox, and what agents ask for besides: node and bash, copied, since what is mounted below a root
# file system voids it. npm has put the agents in already.
image=$lab/image
add_libraries() { # PROGRAM: what it is linked to
    local library
    for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
        mkdir -p "$image$(dirname "$library")"
        cp -L "$library" "$image$library"
    done
}
make_agents_image() {
    local file
    mkdir -p "$image" "$lab/rootfs" # the latter is nobody's, but bundle() copies it
    mount --no-mtab --bind "$AH_AGENTS" "$image"
    make_rootfs "$image"
    mkdir -p "$image"/{usr,home/agent}
    ln -sfn ../bin "$image/usr/bin"
    chmod 1777 "$image/home/agent" # runc 1.1 gives a tmpfs the mode of what it covers
    cp -L "$(command -v bash)" "$(command -v node)" "$image/bin"
    for file in "$image"/{bin/bash,bin/node,agents/node_modules/.bin/*}; do add_libraries "$file"; done
    # Debian's node keeps some of its own modules beside it.
    for file in $(node -p 'process.config.variables.node_builtin_shareable_builtins.join(" ")'); do
        [[ $file != /* ]] || cp -L --parents "$file" "$image"
    done
    echo 'agent:x:1000:1000::/home/agent:/bin/sh' >"$image/etc/passwd"
    # The program that the model runs. A word that is nowhere else shows that it ran.
    secret=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
    cat >"$image/agents/look" <<LOOK
outside=\$(timeout 5 bash -c ': </dev/tcp/1.1.1.1/443 && echo reached' 2>&1 | sed -n '\$s/.*: //; \$p')
echo "$secret uid \$(id -u) links \$(cut -d: -s -f1 /proc/net/dev | tr -d ' \n') outside \$outside"
LOOK
    make_homes
    cp "$here/agents/mcp.mjs" "$image/agents"
    # Runs the agent with the files of a home, and a server of MCP where they name one. Then shows what
    # the servers heard, and what became of all that was tried: the namespace counts.
    cat >"$image/agents/run" <<RUN
cp -r /agents/\$1/. "\$HOME"
if [ \$1 = mcp ]; then
    mkfifo /tmp/ready
    node /agents/mcp.mjs http $mcp_word /tmp/mcp.log 7777 >/tmp/ready &
    read -r line </tmp/ready
fi
shift
"\$@" </dev/null
[ ! -f /tmp/mcp.log ] || sed 's/^/mcp heard: /' /tmp/mcp.log
RUN
    cat >>"$image/agents/run" <<'RUN'
awk '$1 == "Ip:" || $1 == "Tcp:" || $1 == "Udp:" {
    if ($1 in names) { split(names[$1], name); for (at = 2; at <= NF; ++at) count[$1 name[at]] = $at }
    else names[$1] = $0
} END { print "counted: " int(count["Udp:InDatagrams"] / 2) " look-ups answered, " count["Udp:NoPorts"] \
    " had no port, " count["Ip:OutNoRoutes"] " packets had no route" }' /proc/net/snmp
RUN
}

make_agents_image
open_world
start_ready nsenter --net=/run/netns/internet "$python" "$here/agents/broker.py" \
    --port $proxy_port --user 64002 --log "$lab/proxy.log"
start_ready "$python" "$here/agents/broker.py" --socket "$brokers/model/broker.sock" --user 64001 \
    --log "$lab/broker.log"
start_ready "$python" "$here/agents/broker.py" --port 9000 --user 64001 --log "$lab/broker.log"
set_up_podman "$runtime"
settle() { settle_podman; }
podman_run --rm --runtime plain --rootfs "$image" true 2>/dev/null # makes what is podman's and stays
remember_kernel

# ---- a run --------------------------------------------------------------------------------------

# agent_policy ENDPOINT MEMBERS: the default profile gives the model and where it is.
agent_policy() {
    policy '{default: "agent", profiles: {agent: {env: '"$recipe_env"',
             endpoints: [{name: "model", listen: 8080, to: "'"$1"'"}]}}} + '"${2:-{\}}"
}

# The members that engines add to a bundle.
like_an_engine='.root.path = "'$image'" | .process.cwd = "/home/agent"
    | .process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = true
    | .process.capabilities = {bounding: [], effective: [], inheritable: [], permitted: [],
                               ambient: []}
    | .mounts += [("/tmp", "/home/agent" | {destination: ., type: "tmpfs", source: "tmpfs",
                                            options: ["nosuid", "nodev", "mode=1777"]}),
                  {destination: "/etc/resolv.conf", type: "bind", source: "'$lab/resolv.conf'",
                   options: ["rbind", "ro"]}]'

home=plain
agent_words() { echo "sh /agents/run $home /agents/node_modules/.bin/${agents[$1]}"; }

agent_bundle() { # AGENT [FILTER]
    local words
    read -ra words -d '' <<<"$(agent_words "$1")"
    bundle "$1" "$like_an_engine${2:+ | $2}" "${words[@]}" "Look around."
}

# Prints how many packets reached the world outside, whoever sent them.
packets_outside() {
    nsenter --net=/run/netns/internet awk '$1 == "Ip:" && !seen++ { next } $1 == "Ip:" { print $4 }' \
        /proc/net/snmp
}

forget() { truncate -s 0 "$lab"/{broker,proxy}.log; }

# The broker was asked, and never as a proxy is.
asked_plainly() {
    local requests
    requests=$(jq -r '.request // empty' "$lab/broker.log")
    contains "$requests" "POST /v1" && ! grep -vE '^[A-Z]+ /' <<<"$requests"
}

# timed COMMAND...: its output to $spoken, $took is in milliseconds.
timed() {
    local began
    began=$(date +%s%N)
    spoken=$("$@" 2>"$lab/stderr")
    took=$((($(date +%s%N) - began) / 1000000))
}

with_proxies() { # COMMAND...: in an environment as the engine may have it
    (
        export "http_proxy=$hostile" "HTTP_PROXY=$hostile" "https_proxy=$hostile" \
            "HTTPS_PROXY=$hostile" "ALL_PROXY=$hostile" "all_proxy=$hostile"
        "$@"
    )
}

by_hand() { # AGENT
    agent_bundle "$1"
    with_proxies in_cell "$1"
}

openly() { # AGENT
    agent_bundle "$1" ".process.env += ($recipe_env | to_entries | map(\"\(.key)=\(.value)\"))"
    in_the_open "$1"
}

by_podman() { # AGENT [OPTION...]: what podman has in its environment, it gives to its containers
    local words
    read -ra words -d '' <<<"$(agent_words "$1")"
    with_proxies podman_run --rm --user 1000:1000 --cap-drop all \
        --security-opt no-new-privileges --workdir /home/agent --tmpfs /tmp --tmpfs /home/agent \
        --env HOME=/home/agent --env ANTHROPIC_API_KEY=sk-none --env OPENAI_API_KEY=sk-none \
        "${@:2}" --rootfs "$image" "${words[@]}" "Look around."
}

openly_by_podman() { # AGENT
    local words
    mapfile -t words < <(jq -r 'to_entries[] | "--env", "\(.key)=\(.value)"' <<<"$recipe_env")
    by_podman "$1" --runtime plain "${words[@]}"
}

whole_story() { # for when a case fails
    printf '%s\n' "$spoken"
    tail -n 20 "$lab/stderr" "$lab"/{broker,proxy}.log | cut -c1-600
}

median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }

counted() { sed -n 's/^counted: //p' <<<"$spoken"; }

# judge_agent AGENT TITLE START LINKS LOOK-UPS: START runs it; says how long that took. LOOK-UPS is a
# pattern of how many the relay has answered.
judge_agent() {
    local title="$1, $2" links=$4 lookups=$5 number took times='' look packets
    look="$secret uid 1000 links $links outside Network is unreachable"
    for number in $(seq $runs); do
        forget
        packets=$(packets_outside)
        timed "$3" "$1"
        times+="$took"$'\n'
        check "$title: the answer arrives, run $number" told "The walls say: $look"
        check "$title: its model heard what the command said, run $number" same "$look" \
            "$(jq -r 'select(.turn == "answer").heard' "$lab/broker.log")"
        check "$title: the broker was asked as if it were local, run $number" asked_plainly
        check "$title: look-ups the relay answered, run $number" \
            grep -E "^$lookups look-ups answered" <(counted)
        check "$title: nobody else heard of it, run $number" same "$packets" "$(packets_outside)"
    done
    printf '# %s, below %s: %s ms (median of %d); %s\n' "$title" "$plain_name" \
        "$(printf %s "$times" | median)" $runs "$(counted)"
}

# judge_mcp AGENT: the tools of both servers are called, and what they say reaches the model.
judge_mcp() {
    local title="$1, with servers of MCP" took packets way
    forget
    packets=$(packets_outside)
    home=mcp
    timed by_hand "$1"
    home=plain
    for way in stdio http; do
        check "$title: the one by $way heard the call" told \
            "mcp heard: $way tools/call ask_$way {\"what\":\"who is there\"}"
        check "$title: what it said is in the answer" told "$way says $mcp_word"
        check "$title: and reached the model" contains \
            "$(jq -r 'select(.turn == "answer").heard' "$lab/broker.log")" "$way says $mcp_word"
    done
    check "$title: nobody else heard of it" same "$packets" "$(packets_outside)"
    echo "# $title, below $plain_name: $took ms"
}

told() { # TEXT
    contains "$spoken" "$1" || { whole_story; return 1; }
}

# Without us, on the laboratory's network: the prompt goes to whom the environment names.
judge_control() { # AGENT TITLE START LINKS
    local title="$1, $2 without us" took packets
    forget
    packets=$(packets_outside)
    timed "$3" "$1"
    check "$title: the answer is the proxy's" \
        told "The walls say: $secret uid 1000 links $4 outside reached"
    check "$title: the proxy heard the prompt" grep -E \
        'POST http://127.0.0.1:8080/v1|CONNECT 127.0.0.1:8080' "$lab/proxy.log"
    check "$title: the world was asked" [ "$packets" -lt "$(packets_outside)" ]
    echo "# $title, below $plain_name: $took ms"
}

# ---- a provider behind nginx --------------------------------------------------------------------

# contrib's nginx.conf, with another provider than the one it names: of that one we have no key.
open_provider() {
    local of=$lab/provider at=$brokers/nginx/nginx
    mkdir -p "$of" "$brokers/nginx" && chmod 0711 "$brokers/nginx"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout "$of/key" -out "$of/crt" 2>/dev/null &&
        cat "$of/crt" "$of/key" >"$of/pem" &&
        echo 'proxy_set_header x-api-key "the-real-key";' >"$of/key.conf" &&
        sed "s,https://api.anthropic.com,https://localhost:4443,; s,/etc/ssl/certs/ca-certificates.crt,$of/crt,
            s,^user .*,user daemon;," "$here/../contrib/brokers/nginx.conf" >"$of/nginx.conf" || return
    start_ready "$python" "$here/agents/broker.py" --port 4443 --tls "$of/pem" --user 64003 \
        --log "$lab/broker.log"
    (cd "$brokers/nginx" && exec nginx -c "$of/nginx.conf" -p "$of/" -e stderr -g 'daemon off;') \
        2>"$lab/nginx.log" &
    until [ -S "$brokers/nginx/broker.sock" ]; do :; done
}

judge_nginx() { # AGENT
    local look="$secret uid 1000 links lo outside Network is unreachable"
    agent_policy "unix:$brokers/nginx/broker.sock"
    forget
    timed by_hand "$1"
    check "$1, through nginx: the answer arrives" told "The walls say: $look"
    check "$1, through nginx: the provider saw nginx' key and never the agent's" same the-real-key \
        "$(jq -r 'select(.request | startswith("POST")?).key' "$lab/broker.log" | sort -u)"
    echo "# $1, through nginx, below $plain_name: $took ms"
}

# ---- the cells ----------------------------------------------------------------------------------

open_provider
socket=unix:$brokers/model/broker.sock
for agent in ${AH_WHICH:-codex claude gemini opencode}; do
    if [ ! -e "$AH_AGENTS/agents/node_modules/.bin/$agent" ]; then
        echo "# SKIPPED: $agent could not be had from the registry"
        continue
    fi
    agent_policy "$socket"
    judge_agent "$agent" relayed by_hand lo "${lookups[$agent]}"
    judge_mcp "$agent"
    [ "$agent" != claude ] || judge_nginx claude
    judge_agent "$agent" "relayed, by podman" by_podman lo "${lookups[$agent]}"
    agent_policy "$socket" '{dns: "none"}'
    judge_agent "$agent" 'relayed with "dns": "none"' by_hand lo 0
    agent_policy tcp:host:9000 '{tcp: "veth", tcp_endpoints: ["host:9000"]}'
    judge_agent "$agent" sealed by_hand loeth0 "${lookups[$agent]}"
    judge_control "$agent" "by hand" openly loup0
    judge_control "$agent" "by podman" openly_by_podman loeth0
done
check "nothing is left" nothing_left
finish
