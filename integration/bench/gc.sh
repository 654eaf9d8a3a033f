#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What gc costs beside live filtered runs: 0, 100, 400 and 1000 of them. AH_LIVE names other numbers.
# Prints a table, asserts no time.
run_by='meson compile -C BUILD bench-gc'
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root "${AH_RUNTIME:-runc}" busybox jq ip nft getent ldd "$python"
enter_lab
needs_host veth nf_tables
make_rootfs "$lab/rootfs"
policy '{ceiling: "allowlist", allow_by: "packets"}'
echo 1 >/proc/sys/net/ipv4/ip_forward
bundle live '.annotations += {"dev.anchorhold.egress": "allowlist",
                              "dev.anchorhold.allow": "192.0.2.0/24:443"}' sleep infinity

milliseconds() { # of one gc, the best of five
    "$python" -c 'import subprocess, sys, time
def one():
    begin = time.monotonic()
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - begin) * 1000
print("%.1f" % min(one() for _ in range(5)))' "$runtime" gc
}

echo "live runs   gc, ms"
made=0
for wanted in ${AH_LIVE:-0 100 400 1000}; do
    while [ "$made" -lt "$wanted" ]; do
        made=$((made + 1))
        "$runtime" create --bundle "$lab/b/live" "live$made" </dev/null >"$lab/log" 2>&1 ||
            { cat "$lab/log"; exit 1; }
    done
    printf '%9d %8s\n' "$wanted" "$(milliseconds)"
done
