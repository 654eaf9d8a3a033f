#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The probes find out what the host can do by doing it, and a "no" says what failed and what to do
# about it. They are asked through doctor, which never takes an old answer.
. "$(dirname "$0")/../lib/hooks.sh"

relay=$lab/libexec/anchorhold/anchorhold-relay
mv "$relay" "$relay.whole"

# PROBE [WRAPPER...]: "yes", or "no STEP ERRNO: REMEDY".
answer() {
    local probe=$1
    shift
    "$@" "$lab/bin/anchorhold" --ah-state "$state" doctor --json 2>&1 |
        jq -r --arg probe "$probe" '.probes[] | select(.name == $probe) |
            if .yes then "yes" else "no \(.step) \(.errno): \(.remedy)" end'
}
# NAME ANSWER [COMMAND...]: after the command has put a relay there.
relay_is() {
    local name=$1 wanted=$2
    shift 2
    rm -f "$relay"
    "$@"
    check "$name" same "$wanted" "$(answer can_relay)"
}
whole() { cp "$relay.whole" "$relay"; }
script() { printf '#!/bin/sh\n%s\n' "$1" >"$relay" && chmod 755 "$relay"; }
moded() { whole && chmod "$1" "$relay"; }

before=$(ip -o link; nft list ruleset)
relay_is "our relay can" yes whole
check "this host can isolate" same yes "$(answer can_isolate)"
same_version="install the anchorhold-relay of this version"
relay_is "one that runs the command cannot" "no the relay did not refuse a port that is held 0: $same_version" \
    script 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
relay_is "one that dies cannot" "no the relay did not refuse a port that is held 0: $same_version" \
    script 'kill -KILL $$'
relay_is "one that hangs cannot" "no wait for the probe: connection timed out (ETIMEDOUT) 110: see the step and its errno" \
    script 'exec sleep infinity'
check "and does not stay" same "" "$(pgrep -x sleep)"
relay_is "one that is not for this machine cannot" \
    "no execute the relay 8: install the anchorhold-relay of this version and this machine's architecture" \
    eval 'head -c 4096 /dev/zero >"$relay"; chmod 755 "$relay"'
relay_is "one that is no program cannot" "no $relay is no program 0: install anchorhold-relay anew" moded 644
relay_is "one that was put right again can" yes whole
mount -t tmpfs -o noexec tmpfs "$lab/libexec/anchorhold/"
cp "$AH_RELAY" "$AH_HOOK" "$lab/libexec/anchorhold/" 2>/dev/null
check "one on a filesystem without exec cannot, and that is the reason" same \
    "no $relay is on a filesystem mounted noexec 0: install anchorhold-relay on a filesystem without noexec" \
    "$(answer can_relay)"
umount "$lab/libexec/anchorhold/"

refuse() { strace -f -qq -o /dev/null -e trace=unshare -e "inject=unshare:error=$1" "${@:2}"; }
check "a host that may not" same \
    "no unshare(CLONE_NEWNET) 1: run as root with CAP_SYS_ADMIN and CAP_NET_ADMIN" "$(answer can_isolate refuse EPERM)"
check "a host that has no more" same \
    "no unshare(CLONE_NEWNET) 28: raise user.max_net_namespaces" "$(answer can_isolate refuse ENOSPC)"
check "a host that has none" same \
    "no unshare(CLONE_NEWNET) 22: use a kernel with CONFIG_NET_NS" "$(answer can_isolate refuse EINVAL)"
for circumstance in ENOMEM EAGAIN EMFILE; do
    rm -f "$state/probes.json"
    said=$(answer can_isolate refuse $circumstance)
    check "$circumstance is no answer of the host's: said" contains "$said" "no unshare(CLONE_NEWNET) "
    check "and not kept" same "" "$(ls "$state/probes.json" 2>&1 | grep -v 'No such file')"
done
answer can_isolate refuse EPERM >/dev/null
check "what the host answers is kept" test -e "$state/probes.json"
check "an unshare that does nothing is seen through" same \
    "no compare the namespaces 0: see the step and its errno" \
    "$(answer can_isolate strace -f -qq -o /dev/null -e trace=unshare -e inject=unshare:retval=0)"
check "without a namespace the relay is asked on the host's loopback" same yes "$(answer can_relay refuse EPERM)"
check "an engine that ignores its children disturbs nothing" same "yes yes" \
    "$(ignoring() { (trap '' CHLD; exec "$@"); }; answer can_isolate ignoring) $(ignoring() { (trap '' CHLD; exec "$@"); }; answer can_relay ignoring)"
check "the probes leave nothing" same "$before" "$(ip -o link; nft list ruleset)"
check "no lock either" same "" "$(left)"
finish
