#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures the cost of a run's own link, at 0, 100 and 1000 live runs. AH_ROUNDS (30) says how often.
run_by='meson compile -C BUILD bench-network'
. "$(dirname "$0")/../lib/lab.sh"
needs root nft ip /usr/bin/python3
enter_lab
mkdir -m 711 "$lab/state"
mkdir -m 700 "$lab/state"/{runs,locks,ended,subnets}
echo 1 >/proc/sys/net/ipv4/ip_forward
ulimit -n 8192
/usr/bin/python3 "$here/bench/network.py" "$lab/libexec/anchorhold/anchorhold-hook" "$lab/state" \
    "${AH_ROUNDS:-30}" 0 100 1000
