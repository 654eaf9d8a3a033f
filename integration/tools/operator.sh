#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The subcommands answer what an operator asks at three in the morning: which runs there are, what
# holds for one, what would hold for a bundle, what this host can do, and what a crash left.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root "${AH_RUNTIME:-runc}" busybox jq ip nft /usr/bin/python3 pgrep
enter_lab
make_rootfs "$lab/rootfs"
policy
start_broker model
remember_kernel

create() { # ID: created, its first process waiting
    "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >/dev/null
}

is_refused_with() { # SENTENCE COMMAND...
    local wanted=$1 got
    shift
    got=$("$@" 2>&1 >/dev/null) && echo "it succeeded" && return 1
    same "$wanted" "$got"
}

# ---- explain ------------------------------------------------------------------------------------

bundle asks "$(asks_for model)" sh
before=$(sha256sum "$lab/b/asks/config.json")
explained=$("$runtime" explain --bundle "$lab/b/asks")
check "explain begins with the sentence" \
    same "Network: off — confined: egress sealed to the run's model broker" "${explained%%$'\n'*}"
check "explain shows the relay in front of the command" contains "$explained" \
    "--endpoint 8080=/dev/anchorhold/endpoint/model/broker.sock@"
check "explain touches nothing" same "$before" "$(sha256sum "$lab/b/asks/config.json")"
check "explain makes no run" same "[]" "$("$runtime" runs --json)"
bundle closed '.annotations["dev.anchorhold.egress"] = "maybe"' sh
check "explain refuses as create would" is_refused_with \
    "$("$runtime" create --bundle "$lab/b/closed" closed 2>&1 | sed 's/create closed/explain/')" \
    "$runtime" explain --bundle "$lab/b/closed"

# ---- runs and show ------------------------------------------------------------------------------

bundle one "$(asks_for model)" sh
bundle other . sh
create one
create other
check "runs lists what is there" same "one enforced relayed
other enforced severed" "$("$runtime" runs | awk 'NR > 1 {print $1, $2, $3}' | sort)"
check "runs --json holds whole records" same '["one","other"]' \
    "$("$runtime" runs --json | jq -c '[.[].id] | sort')"
check "show --json is the record" same "enforced relayed relay model 8080" \
    "$("$runtime" show --json one |
        jq -r '[.state, .posture, .technique, .endpoints[0].name, .endpoints[0].listen] | join(" ")')"
shown() { "$runtime" show "$1" | grep -v ^seen:; } # but for the time of the look
check "show takes any unique prefix" same "$(shown one)" "$(shown on)"
check "show takes the key" same "$(shown one)" "$(shown "$("$runtime" show --json one | jq -r .key)")"
check "show refuses a prefix of two" contains "$("$runtime" show o 2>&1)" "could be several runs"
check "show names what it does not find" is_refused_with \
    'anchorhold: show: no run is called "nobody" (invalid_request)' "$runtime" show nobody
"$runtime" delete --force one
check "an ended run can still be shown" same "ended" "$("$runtime" show --json one | jq -r .state)"
name=$("$runtime" show --json one | jq -r '.key + "." + .generation')
create one
check "a run of before is shown by KEY.GENERATION, as gc and pods print it" same "ended enforced" \
    "$("$runtime" show --json "$name" | jq -r .state) $("$runtime" show --json one | jq -r .state)"
check "runs --ended lists it, and runs does not" same "closed failed
one ended
one enforced
other enforced" "$({ "$runtime" runs --ended && "$runtime" runs; } | awk '$1 != "ID" {print $1, $2}' | sort)"
"$runtime" delete --force one
bundle refused '.annotations = {"dev.anchorhold.egress": "none"}' sh
check "control: a create is refused" is_refused_with \
    'anchorhold: create refused: annotation dev.anchorhold.egress: "none" is not off, allowlist or open (invalid_request)' \
    "$runtime" create --bundle "$lab/b/refused" refused
check "a refusal is on record, with its code" same "refused failed invalid_request" \
    "$("$runtime" show --json refused | jq -r '[.id, .state, .code] | join(" ")')"
check "show without ID is of the last run" same "$("$runtime" show refused)" "$("$runtime" show)"
check "so is denials" same "$("$runtime" denials refused)" "$("$runtime" denials)"
check "runs --ended has its state" contains "$("$runtime" runs --ended)" "refused  failed"

# ---- gc -----------------------------------------------------------------------------------------

check "gc leaves what is alive" same "" "$("$runtime" gc)"
init=$("$runtime" show --json other | jq .init.pid)
kill -KILL "$init"
tail --pid="$init" -f /dev/null
key=$("$runtime" show --json other | jq -r .key)
check "gc --dry-run says what it would do" same "would remove $key" "$("$runtime" gc --dry-run)"
check "and does not do it" same "enforced" "$("$runtime" show --json other | jq -r .state)"
check "gc does it" same "removed $key" "$("$runtime" gc)"
check "once" same "" "$("$runtime" gc)"
"$plain_runtime" delete --force other

# ---- doctor -------------------------------------------------------------------------------------

check "doctor finds this host fit" same \
    '{"can_filter":true,"can_gate":true,"can_isolate":true,"can_relay":true,"can_seal":true,"forwarding":false}' \
    "$("$runtime" doctor --json | jq -c '[.probes[] | {(.name): .yes}] | add')"
check "what it does not forward is said, and is no fault" same "0 ip_forward is 0; set net.ipv4.ip_forward=1" \
    "$(said=$("$runtime" doctor); echo "$? $(grep -o 'ip_forward is 0; [^,]*' <<<"$said")")"
echo 1 >/proc/sys/net/ipv4/ip_forward # the laboratory's
check "nor is it said when it does" same true \
    "$("$runtime" doctor --json | jq '.probes[] | select(.name == "forwarding").yes')"
mv "$lab/libexec/anchorhold/anchorhold-relay" "$lab/libexec/anchorhold/kept"
printf '#!/bin/sh\nexit 0\n' >"$lab/libexec/anchorhold/anchorhold-relay"
chmod 755 "$lab/libexec/anchorhold/anchorhold-relay"
check "doctor says no to a relay that does not do its work" same "false" \
    "$("$runtime" doctor --json | jq '.probes[] | select(.name == "can_relay").yes')"
check "with a remedy" contains "$("$runtime" doctor)" "remedy: "
check "and with a status" same 1 "$("$runtime" doctor >/dev/null; echo $?)"
bundle unable "$(asks_for model)" sh
check "an endpoint is then refused before anything starts" contains \
    "$("$runtime" create --bundle "$lab/b/unable" unable 2>&1)" "the relay does not run on this host, see anchorhold doctor"
mv "$lab/libexec/anchorhold/kept" "$lab/libexec/anchorhold/anchorhold-relay"

# ---- check, and what is not known ----------------------------------------------------------------

check "check refuses what nobody granted, and says why" same \
    "1 Network: off — confined: no egress|refused: 192.0.2.9 tcp 443, there is no egress" \
    "$(said=$("$runtime" check 192.0.2.9 2>&1); echo "$? ${said//$'\n'/|}")"
cat >"$lab/gated.json" <<'JSON'
{"default": "gated", "deny": ["no.x.test"], "profiles": {
   "gated": {"egress": "allowlist", "allow": ["**.x.test", {"to": "192.0.2.1",
     "ports": [{"port": 53, "protocol": "UDP"}, {"port": 5432}]}]},
   "packets": {"egress": "allowlist", "allow_by": "packets", "allow": ["**.x.test"]},
   "anybody": {"egress": "allowlist", "allow": ["*.co.uk"]}}}
JSON
gated() { "$runtime" --ah-policy "$lab/gated.json" "$@" 2>&1 | tail -n 1; }
check "check asks the gate's rules, and looks up no name" same \
    "reachable: a.b.x.test tcp 443, allowed by **.x.test tcp 443, where it leads when it is dialled" \
    "$(gated check a.b.x.test)"
for name in x.test no.x.test y.test; do
    check "and resolves no other name: $name" same \
        "refused: $name tcp 443, a name that is not listed resolves to nothing" "$(gated check $name)"
done
check "an address is judged as it will be" same \
    "reachable: 192.0.2.1 tcp 5432, allowed by 192.0.2.1/32 tcp 5432" "$(gated check 192.0.2.1:5432)"
check "packets have no wildcards" contains "$(gated --ah-profile packets check a.x.test)" \
    "a wildcard needs the gate, and the policy says"
check "no wildcard allows anybody" contains "$(gated --ah-profile anybody check a.co.uk)" \
    "at co.uk or right below it names belong to anybody"
bundle explained . sh
check "explain names what the gate leaves out" contains \
    "$("$runtime" --ah-policy "$lab/gated.json" explain --bundle "$lab/b/explained")" \
    "allow 192.0.2.1/32 udp 53 is missing: the gate carries no UDP"
check "a word too many is told the usage" is_refused_with \
    "anchorhold: runs: usage: anchorhold runs [--ended] [--all] [--json] (invalid_request)" "$runtime" runs --jason

# ---- import -------------------------------------------------------------------------------------

cat >"$lab/networkpolicy.json" <<'JSON'
{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "agents"},
 "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [
   {"to": [{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.8/29"]}}, {"podSelector": {}}],
    "ports": [{"protocol": "TCP", "port": 443}]}]}}
JSON
import() { "$runtime" import --from "$@"; }
import networkpolicy "$lab/networkpolicy.json" >"$lab/imported.json" 2>"$lab/lost"
check "import names what it could not keep" same \
    "not kept: spec.egress[0].to[1]: pods and namespaces have no addresses here; name ranges by ipBlock" \
    "$(cat "$lab/lost")"
answers() { "$runtime" --ah-policy "$lab/imported.json" check "$1" 2>&1 | tail -n 1; }
check "what it prints is a policy, which lets through what was let through" same \
    "reachable: 192.0.2.1 tcp 443, allowed by 192.0.2.0/24 tcp 443 except 192.0.2.8/29" "$(answers 192.0.2.1)"
check "and not what was excepted" same \
    "refused: 192.0.2.9 tcp 443, no rule allows it" "$(answers 192.0.2.9)"
check "it reads a pipe, and prints the same again" same "$(cat "$lab/imported.json")" \
    "$(import networkpolicy /dev/stdin <"$lab/networkpolicy.json" 2>/dev/null)"
check "YAML is refused with what makes JSON of it" contains \
    "$(echo 'kind: NetworkPolicy' | import networkpolicy /dev/stdin 2>&1)" \
    "kubectl create --dry-run=client -o json -f FILE"
check "a refusal prints no policy" same "1 " \
    "$(said=$(echo '{"network": {"allowedDomains": [], "deniedDomains": [1]}}' |
        import srt /dev/stdin 2>/dev/null); echo "$? $said")"
check "a format must be said" is_refused_with "anchorhold: import: usage: anchorhold import \
--from srt|networkpolicy|opensandbox FILE (invalid_request)" "$runtime" import "$lab/lost"

# ---- help ---------------------------------------------------------------------------------------

# helpless: calls us where nothing works: a broken policy, no runtime, no directory for the state.
printf '{' >"$lab/broken.json"
helpless() {
    "$runtime" --ah-policy "$lab/broken.json" --ah-runtime /nowhere --ah-state /nowhere "$@" </dev/null
}
check "there nothing else works" is_refused_with \
    "anchorhold: explain: look at the runtime \"/nowhere\": it is not there (ENOENT) (invalid_request)" \
    helpless explain
check "--ah-version is ours" same "0 anchorhold 0." "$(said=$(helpless --ah-version); echo "$? ${said:0:13}")"
overview=$(helpless --ah-help)
check "--ah-help works there" contains "$overview" "  --ah-profile NAME  "
helps() { # TOOL: its help is all it says
    local said
    said=$(helpless "$1" --help 2>"$lab/said") && same "" "$(cat "$lab/said")" &&
        contains "$said" "usage: anchorhold $1"
}
for tool in doctor explain check runs show denials verify precreate gc import; do
    check "$tool --help works there" helps $tool
    check "--ah-help lists $tool" contains "$overview" $'\n'"  $tool "
done
check "--help and --version are the runtime's" same \
    "$("$plain_runtime" --version; "$plain_runtime" --help | tail -n 1)" \
    "$("$runtime" --version; "$runtime" --help | tail -n 1)"

stop "$broker"
check "nothing is left" nothing_left
finish
