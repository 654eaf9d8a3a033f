#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A node's installer that is killed between any two steps leaves a node whose engine works, and a
# second call goes on from there.
. "$(dirname "$0")/../lib/installer.sh"

bundled "$lab/bundled" /opt/anchorhold
cp -r "$lab/bundled" "$lab/newer"
echo newer >"$lab/newer/libexec/anchorhold/lib/more.so"

# Every program that changes a file counts, and the installer is killed before the one of number $1.
mkdir "$lab/steps"
cat >"$lab/steps/mv" <<STEP
#!/bin/sh
count=\$((\$(cat $lab/step) + 1))
echo \$count >$lab/step
if [ \$count = "\$(cat $lab/last)" ]; then kill -KILL "\$(cat $lab/installer.pid)" \$PPID; exit; fi
PATH=\${PATH#*:} exec "\${0##*/}" "\$@"
STEP
chmod 755 "$lab/steps/mv"
for program in cp ln mkdir rm rmdir chmod; do ln "$lab/steps/mv" "$lab/steps/$program"; done
killed_at() { # NUMBER INSTALLER-WORD...: 137 when it was
    echo 0 >"$lab/step"
    echo "$1" >"$lab/last"
    shift
    # shellcheck disable=SC2016
    PATH=$lab/steps:$PATH within 60 sh -c 'echo $$ >"$0" && exec "$@"' "$lab/installer.pid" \
        "$lab/install.sh" --root "$node" --from "$lab/bundled" "$@" >"$lab/said" 2>&1 </dev/null
}
engine_works() { # containerd reads its file, and what handlers name is there and runs
    local binary
    effective >"$lab/effective" || { echo "containerd does not read its file"; return 1; }
    handlers "$lab/effective" "$cri" | while read -r _ _ binary _; do
        [ "$binary" = - ] && continue
        chroot "$node" "$binary" runs >/dev/null || { echo "$binary does not run"; return 1; }
        contains "$(hook_says)" "usage: anchorhold-hook" || return
    done
}
survives() { # WHEN: killed at this step of an installation, another over it, and the way back
    local status
    killed_at "$1" --policy "$lab/node.json" install
    status=$?
    engine_works && contains "$(set_up --from "$lab/newer")" installed && engine_works || return
    killed_at "$1" --policy "$lab/node.json" --profiles night install # over another one
    status="$status $?"
    engine_works || return
    killed_at "$1" uninstall
    status="$status $?"
    engine_works && contains "$(installer uninstall)" installed && same "$before" "$(tree)" || return
    [ "$status" != "0 0 0" ] || touch "$lab/ended"
}
clear_node
configure <<<"$kubeadm"
before=$(tree) step=0
until [ -e "$lab/ended" ]; do
    step=$((step + 1))
    check "killed before step $step of each, the engine works and all goes on" survives "$step"
    [ "$step" -lt 99 ] || break
done
check "there were steps" [ "$step" -gt 20 ]

umount "$node/usr/bin/containerd" "$node/proc"
check "nothing is left" nothing_left
finish
