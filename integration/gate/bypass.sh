#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ways round a gate, tried by a program in a real container. Each is refused there, at once, and each
# that leads anywhere without us does so in the same container on the host's network.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/gate_cells.sh"
needs "${cell_needs[@]}" dnsmasq
enter_lab
needs_host tproxy ipv6
make_host_rootfs "$python"
enter_gate_world --host-record=mapped.v6,::ffff:127.0.0.1 --host-record=lo6.v6,::1 \
    --host-record=nat.v6,64:ff9b::a9fe:a9fe --address=/meta.test/169.254.169.254 \
    --address=/ten.test/10.9.9.9 --address=/own.test/203.0.113.2 \
    --host-record=lo.test,127.0.0.1 --cname=alias.test,lo.test
start_ready "$python" "$here/lib/world.py" tcp=443 # the host's
policy '{ceiling: "allowlist"}'

# An image that asks for all that helps.
careless='.process.capabilities = (.process.capabilities | with_entries(.value += ["CAP_NET_ADMIN", "CAP_NET_RAW"]))'
leading=lo.test,lo6.v6,mapped.v6,meta.test:80,ten.test,nat.v6,own.test,alias.test
list="named.test,named.test:8443,*.wild.test,$leading"

addresses=(v4 v6 v4-in-v6 address-of-allowed port-22 metadata private host doh dot resolver-udp
    resolver-tcp host-resolver udp udp-to-allowed ping raw packet transparent mark)
names=(unlisted subdomain longer behind apex deeper top idn nul bytes long-labels case)
types=(txt aaaa)
leads=(to-loopback to-loopback6 to-mapped to-metadata to-private to-translated to-host to-alias)
beside=(other-port wrong-sni wrong-sni-bytes wrong-sni-records wrong-sni-first-byte wrong-sni-version
    oversized)
own=(unassigned next-handle listener listener-port listener6 responder-port label-of-64)
allowed=(allowed upper trailing-dot wild right-sni right-sni-bytes right-sni-records no-sni mixed-case)

out_there() { grep -ci "$1" "$lab/queries"; } # WORD: how often it was asked for outside
remember_kernel

# ---- below us -----------------------------------------------------------------------------------

start_cell c "$(allows "$list" "$careless")" || { not_ok "a run is started"; finish; }
check "it is served by a gate" same gate "$(record_of c .technique)"
said=$(probe c "${addresses[@]}" "${names[@]}" "${types[@]}" "${leads[@]}" "${beside[@]}" "${own[@]}" \
    "${allowed[@]}")
for way in "${addresses[@]}" "${names[@]}" "${types[@]}" "${leads[@]}" "${beside[@]}" "${own[@]}"; do
    check "$way is refused" is_refused "$said" "$way"
done
for way in "${allowed[@]}"; do check "$way is reached" is_reached "$said" "$way"; done
check "nothing of a name that no rule lists is asked for outside" same "0 0 0" \
    "$(out_there secret) $(out_there other) $(out_there xn--)"
check "nor how a listed one is spelled" same 0 "$(grep -c 'NaMeD\|NAMED' "$lab/queries")"
check "nor any other type of it" same "" "$(grep -o 'query\[[A-Z]*\]' "$lab/queries" |
    grep -v 'query\[A\]\|query\[AAAA\]')"
check "what is listed is asked for" test "$(out_there 'named.test')" -gt 0

# ---- the gate is paused -------------------------------------------------------------------------

outside() { ip netns exec internet ss -Htn state established 'sport = :8443' | wc -l; }
told() { # WORD...: it does each
    local word line
    for word in "$@"; do
        echo "$word" >&8
        read -r line <&9
        same "$word" "$line" || return
    done
}
gate=$(record_of c .gate.process.pid)
start_inside c hold || not_ok "a program inside holds a connection"
kill -STOP "$gate"
before=$(out_there late.wild)
check "a gate is paused: what is begun gets no answer, from nobody" told begin quiet
said=$(probe c v4 resolver-udp udp metadata)
for way in v4 resolver-udp udp metadata; do check "$way is still refused" is_refused "$said" "$way"; done
check "nothing has come out" same "$before 1" "$(out_there late.wild) $(outside)"
check "still nobody has answered" told quiet
kill -CONT "$gate"
check "it goes on: both are answered, by the gate" told end

# ---- the gate is killed -------------------------------------------------------------------------

kill -KILL "$gate"
wait_for_end "$gate"
check "a gate is killed: a reset, and refusals at once; servers inside get nothing" told lost
let_go
start_inside c take || not_ok "a program inside takes the gate's ports"
tool gc >"$lab/gc" 2>&1
check "its ports are taken: no gate starts, and gc says so" contains "$(cat "$lab/gc")" EADDRINUSE
said=$(probe c v4 allowed wild right-sni mixed-case)
for way in v4 allowed wild right-sni mixed-case; do
    check "its ports are taken: $way is refused" is_refused "$said" "$way"
done
let_go >"$lab/last"
check "and whoever has them gets nothing" same nobody "$(cat "$lab/last")"
check "they are free again: gc starts it" tool gc
said=$(probe c allowed v4)
check "allowed is reached again" is_reached "$said" allowed
check "v4 is not" is_refused "$said" v4
"$runtime" delete --force c
check "nothing is left" nothing_left

# ---- an empty list ------------------------------------------------------------------------------

start_cell e "$(allows '' "$careless")" || not_ok "a run with an empty list is started"
said=$(probe e v4 v6 metadata resolver-udp unlisted allowed wild)
for way in v4 v6 metadata resolver-udp unlisted allowed wild; do
    check "an empty list: $way is refused" is_refused "$said" "$way"
done
"$runtime" delete --force e

# ---- the control --------------------------------------------------------------------------------

bundle o "$(allows "$list" "$careless")" "$python" -B /t/gate_probe.py "${addresses[@]}" "${names[@]}" \
    "${types[@]}" "${leads[@]}" "${beside[@]}" "${allowed[@]}"
said=$(in_the_open o 2>&1)
for way in "${addresses[@]}" "${names[@]}" "${leads[@]}" "${beside[@]}" "${allowed[@]}"; do
    check "without us $way is reached" is_reached "$said" "$way"
done
for word in SeCrEt-case secret-aaaa secret-own secret-txt secret-xxx; do
    check "without us $word gets out" grep -q "$word" "$lab/queries"
done
finish
