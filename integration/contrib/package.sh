#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package puts down what it says, takes all of it away again, and does not take its
# programs from under a run that lives.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root "$plain_name" busybox jq ip nft getent ldd pgrep meson dpkg-buildpackage dh deb-systemd-helper
if [ -z "${AH_LAB_CGROUP:-}" ]; then # inside, the sources may be hidden
    packages=$(mktemp -d)
    trap 'rm -rf "$packages"' EXIT
    # as quick as can be
    AH_SAID=$(AH_PREBUILT=$AH_BUILD DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1 \
        "$here/../contrib/build-deb" "$packages" 2>&1) || { echo "$AH_SAID"; exit 1; }
    AH_DEB=$(echo "$packages"/anchorhold_*.deb)
    # What there is to copy, of whole folders.
    AH_EXAMPLES=$(cd "$here/../contrib" &&
        find agents brokers ci containerd crio demo docker kubernetes podman polic* security unmanaged \
            -type f ! -name '*.pyc' -printf './usr/share/doc/anchorhold/examples/%p\n' | LC_ALL=C sort)
    AH_VERSION=$(meson introspect --projectinfo "$AH_BUILD" | jq -r .version)
    export AH_DEB AH_EXAMPLES AH_SAID AH_VERSION
fi
enter_lab
needs_host overlay
make_rootfs "$lab/rootfs"

# The package gets the host's own folders, database and all, with a layer over each: what the layers
# hold is what has changed. No other package's scripts run.
for part in usr etc var; do
    mkdir -p "$lab/host/$part" "$lab/over/$part" "$lab/spare/$part"
    mount --no-mtab --bind "/$part" "$lab/host/$part" # without what is mounted below
    mount --no-mtab -t overlay overlay \
        -o "lowerdir=$lab/host/$part,upperdir=$lab/over/$part,workdir=$lab/spare/$part" "/$part"
done
package() { DEBIAN_FRONTEND=noninteractive dpkg --no-triggers "$@" 2>&1 </dev/null; }
changed() {
    (cd "$lab/over" && find . ! -type d ! -path './var/lib/dpkg/*' ! -path './var/log/*' | sort)
}
remember_kernel
runtime=/usr/bin/anchorhold
same_files() { diff <(echo "$installed") <(changed); }

# ---- installed ----------------------------------------------------------------------------------

installed='./etc/systemd/system/timers.target.wants/anchorhold-gc.timer
./usr/bin/anchorhold
./usr/lib/systemd/system/anchorhold-gc.service
./usr/lib/systemd/system/anchorhold-gc.timer
./usr/lib/tmpfiles.d/anchorhold.conf
./usr/libexec/anchorhold/anchorhold-gate
./usr/libexec/anchorhold/anchorhold-hook
./usr/libexec/anchorhold/anchorhold-relay
./usr/share/anchorhold/policy.schema.json
./usr/share/anchorhold/record.schema.json
./usr/share/bash-completion/completions/anchorhold
./usr/share/doc/anchorhold/NEWS.md.gz
./usr/share/doc/anchorhold/README.md.gz
./usr/share/doc/anchorhold/SECURITY.md.gz
./usr/share/doc/anchorhold/changelog.gz
./usr/share/doc/anchorhold/copyright
'"$AH_EXAMPLES"'
./usr/share/lintian/overrides/anchorhold
./usr/share/man/man1/anchorhold-relay.1.gz
./usr/share/man/man5/anchorhold-policy.json.5.gz
./usr/share/man/man8/anchorhold-hook.8.gz
./usr/share/man/man8/anchorhold.8.gz
./var/lib/systemd/deb-systemd-helper-enabled/anchorhold-gc.timer.dsh-also
./var/lib/systemd/deb-systemd-helper-enabled/timers.target.wants/anchorhold-gc.timer'
check "its build says where it is, and no word of missing man pages" same "$AH_DEB" "$AH_SAID"
check "it has the version of the programs" same "$AH_VERSION" "$(dpkg-deb -f "$AH_DEB" Version)"
check "it installs" package --install "$AH_DEB"
check "these files are there, and no other is touched" same_files
check "the timer's service calls the installed program" same "ExecStart=$runtime gc" \
    "$(grep ExecStart /usr/lib/systemd/system/anchorhold-gc.service)"
check "no example names another place" same "" \
    "$(grep -rlE '/usr/local/(bin|libexec)/anchorhold' /usr/share/doc/anchorhold/examples)"

bundle one . attempt lo
check "a container runs with it, severed where there is no policy" contains "$(in_cell one)" "lo"
check "and that is in its record" same "ended Network: off — confined: no egress" \
    "$("$runtime" show --json one | jq -r '.state + " " + .sentence')"

# ---- with a live run ----------------------------------------------------------------------------

mkdir -p /etc/anchorhold
echo '{"sockets": ["/run/brokers"]}' >/etc/anchorhold/policy.json
installed="./etc/anchorhold/policy.json
$installed"
start_broker model
bundle live "$(asks_for model)" sh -c 'exec sleep infinity'
"$runtime" create --bundle "$lab/b/live" live </dev/null >/dev/null
"$runtime" start live
answers() { contains "$("$runtime" exec live attempt ask=8080)" "ask=8080 reached"; }
refused_removal() {
    local said
    said=$(package --remove anchorhold) && echo "it was removed" && return 1
    contains "$said" "anchorhold: containers run under it; stop them, then remove it:" &&
        contains "$said" "live " && same_files
}
check "a live run is served" answers
check "its programs are not removed from under it" refused_removal
check "it is served as before" answers
relay_before=$(stat -c %i /usr/libexec/anchorhold/anchorhold-relay)
check "they are replaced by another version's" package --install "$AH_DEB"
check "which are other files" \
    [ "$relay_before" != "$(stat -c %i /usr/libexec/anchorhold/anchorhold-relay)" ]
check "it is served as before, through those" answers
check "and ends as ever" "$runtime" delete --force live

stays() { # WORDS
    local said
    said=$(package --remove anchorhold) && echo "it was removed" && return 1
    contains "$said" "$1" && same_files
}
unread=/run/anchorhold/runs/0123456789ab
mkdir -p $unread/inside
echo '{"schema": 99}' >$unread/record.json
start_ready unshare --mount sh -c "mount --no-mtab --bind $unread/inside /mnt && echo up
    exec sleep infinity"
user=$!
check "a run in use whose record cannot be read holds it up" stays "unreadable 0123456789ab"
stop $user
rm -rf $unread
mkdir -p /run/user/1000/anchorhold/runs/0123456789ab
check "so does one of a user's" stays /run/user/1000/anchorhold/runs/0123456789ab
rm -r /run/user
task=/run/containerd/io.containerd.runtime.v2.task/k8s.io/open
mkdir -p "$task"
echo '{"binary_name":"/usr/bin/anchorhold-open"}' >"$task/options.json"
check "and one without a record, of containerd's" stays "$task/options.json"
rm -r /run/containerd

# ---- removed ------------------------------------------------------------------------------------

bundle dead . sh
"$runtime" create --bundle "$lab/b/dead" dead </dev/null >/dev/null
init=$("$runtime" show --json dead | jq .init.pid)
kill -KILL "$init"
wait_for_end "$init"
check "a run that was killed does not stand in the way" package --remove anchorhold
"$plain_runtime" delete --force dead 2>/dev/null # its hook is gone
check "only configuration is left" same "$(grep -v '^./usr/' <<<"$installed")" "$(changed)"
purged_beside_another() {
    : >/usr/local/bin/anchorhold # by meson install, say
    contains "$(package --purge anchorhold)" "another installation has them" &&
        [ -f /etc/anchorhold/policy.json ]
    local status=$?
    rm /usr/local/bin/anchorhold
    return $status
}
check "purged beside another installation, that one's policy stays" purged_beside_another
package --install "$AH_DEB" >/dev/null
package --remove anchorhold >/dev/null
purged() { package --purge anchorhold && same "" "$(changed)"; }
check "purged, nothing is" purged
check "nor a folder" same "" "$(find "$lab/over" -name 'anchorhold*' ! -path '*/var/lib/dpkg/*')"
check "nor a word in dpkg's database" same "" "$(dpkg-query -W -f '${Package}\n' | grep anchorhold)"

stop "$broker"
check "nothing is left" nothing_left
finish
