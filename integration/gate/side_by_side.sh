#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two runs at once, each with a gate of its own: neither has what the other may reach, and what one
# does to its gate the other does not notice.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/gate_cells.sh"
needs "${cell_needs[@]}" dnsmasq
enter_lab
needs_host tproxy ipv6
make_host_rootfs "$python"
enter_gate_world
policy '{ceiling: "allowlist"}'
remember_kernel

both="named.test:8443,*.wild.test"
many='.process.rlimits = [{type: "RLIMIT_NOFILE", hard: 4096, soft: 4096}]'
start_cell one "$(allows "named.test,$both" "$many")" || { not_ok "a run is started"; finish; }
start_cell two "$(allows "$both,other.test,third.test" "$many")" || { not_ok "another is started"; finish; }

# Their handles: named.test is .0 in both, other.test .1 and third.test .2 in the second alone.
check "they have a gate each" test "$(record_of one .gate.process.pid)" != "$(record_of two .gate.process.pid)"
said=$(probe one allowed unlisted third.test:443 198.19.1.0:443 198.19.1.1:443 198.19.1.2:443)
for way in allowed 198.19.1.0:443; do check "one reaches its own: $way" is_reached "$said" "$way"; done
for way in unlisted third.test:443 198.19.1.1:443 198.19.1.2:443; do
    check "one does not reach the other's: $way" is_refused "$said" "$way"
done
said=$(probe two allowed unlisted third.test:443 198.19.1.0:443 198.19.1.1:443 198.19.1.2:443)
for way in unlisted third.test:443 198.19.1.1:443 198.19.1.2:443; do
    check "two reaches its own: $way" is_reached "$said" "$way"
done
for way in allowed 198.19.1.0:443; do check "two does not reach the other's: $way" is_refused "$said" "$way"; done

: >"$lab/queries"
start_inside one flood || not_ok "one floods its gate"
check "one floods its gate: two is answered all that it asks" same all "$(probe two few)"
check "one itself is not" contains "$(probe one few)" "Connection reset"
outside=$(ip netns exec internet ss -Htn state established 'sport = :8443' | wc -l)
check "of the flood some comes out, not more than its bound" test "$outside" -gt 0 -a "$outside" -le 1024
asked=$(grep -o 'query\[A\] n[0-9]*\.wild' "$lab/queries" | sort -u | wc -l)
check "and of the names" test "$asked" -ge 20 -a "$asked" -lt 300
let_go
kill -KILL "$(record_of one .gate.process.pid)"
said=$(probe two right-sni third.test:443)
for way in right-sni third.test:443; do check "one's gate is killed: two reaches $way" is_reached "$said" "$way"; done
"$runtime" delete --force one
said=$(probe two right-sni allowed)
check "one is gone: two reaches what it did" is_reached "$said" right-sni
check "and nothing more" is_refused "$said" allowed
"$runtime" delete --force two
check "nothing is left" nothing_left
finish
