#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With egress open and nothing to add we cannot be told from the runtime itself: the same
# command lines give the same bytes, statuses, files and descriptors.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
needs root "${AH_RUNTIME:-runc}" busybox jq getent ldd /usr/bin/python3
enter_lab "$@"
make_rootfs "$lab/rootfs"
policy '{profiles: {open: {egress: "open"}}}'
# A child, not an exec: somebody has to be the init that takes in what runtimes leave to it.
/usr/bin/python3 "$here/process/passthrough.py" "$plain_runtime" "$lab" "$cgroup" "${bare:-shim}"
