#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Records outlast the host's next start where the policy keeps them, and what becomes of that place
# holds up no teardown. Root sees the runs of rootless engines, and what users put in the place of
# their records neither hangs nor misleads.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs root "${AH_RUNTIME:-runc}" busybox jq ip nft setpriv
enter_lab
make_rootfs "$lab/rootfs"
kept=/var/lib/anchorhold
policy "{records: \"$kept\"}"
remember_kernel

listed() { # WORD...: ids and states
    "$runtime" runs "$@" | awk '$1 != "ID" { print $1, $2 }' | sort
}
advice_of() { "$runtime" show --json "$1" | jq -r '.advice | last'; }
leave() { # ID: a run whose first process is killed, and nobody calls delete
    local init
    bundle "$1" . sh
    "$runtime" create --bundle "$lab/b/$1" "$1" </dev/null >/dev/null
    init=$("$runtime" show --json "$1" | jq .init.pid)
    kill -KILL "$init"
    wait_for_end "$init"
}

# ---- kept ---------------------------------------------------------------------------------------

bundle one . true
"$runtime" run --bundle "$lab/b/one" one </dev/null
bundle refused '.annotations = {"dev.anchorhold.egress": "none"}' sh
"$runtime" create --bundle "$lab/b/refused" refused </dev/null >/dev/null 2>&1
before=$("$runtime" show --json one)
check "an ended run is listed once, and so is a refusal" same "one ended
refused failed" "$(listed --ended)"
check "the folder is root's alone, and so are its files" same "700 600 600" \
    "$(stat -c %a "$kept" "$kept"/* | paste -sd' ')"
mv "$lab/state" "$lab/state.before" # /run is empty after the host's next start
check "after a start of the host both are still listed" same "one ended
refused failed" "$(listed --ended)"
check "control: the state directory is not there" [ ! -e "$lab/state" ]
check "show has the record as it was" same "$before" "$("$runtime" show --json one)"
check "show without ID has the last one" same refused "$("$runtime" show --json | jq -r .id)"
check "so have denials" contains "$("$runtime" denials one)" "DESTINATION"
"$runtime" run --bundle "$lab/b/one" one </dev/null
check "runs of then and now are listed together" same "one ended
one ended
refused failed" "$(listed --ended)"
policy '{default: "nobody"}'
check "with a broken policy the state directory still answers" same "one ended" "$(listed --ended)"
policy
check "without the member nothing is kept" same 3 \
    "$(bundle two . true && "$runtime" run --bundle "$lab/b/two" two </dev/null && find "$kept" -type f | wc -l)"

# ---- in the way ---------------------------------------------------------------------------------

policy "{records: \"$lab/small/kept\"}"
leave lost
key=$("$runtime" show --json lost | jq -r .key)
check "gc tears down a run whose record cannot be kept, and says so" same "removed $key
$key: its record is not kept; anchorhold show says why" "$("$runtime" gc)"
check "the record says why" contains "$(advice_of lost)" \
    "this record is not kept in $lab/small/kept: make directory $lab/small/kept: "
"$plain_runtime" delete --force lost 2>/dev/null
mkdir "$lab/small"
mount --no-mtab -t tmpfs -o size=16k,mode=755 small "$lab/small"
mkdir "$lab/small/kept"
cat /dev/zero >"$lab/small/full" 2>/dev/null
check "a full disk holds up no delete" "$runtime" run --bundle "$lab/b/one" one
check "and the record says so" contains "$(advice_of one)" "no space left"
check "nothing half written lies there" same "" "$(ls "$lab/small/kept")"
umount "$lab/small"
policy "{records: \"$kept\"}"
chmod 777 "$kept"
said=$("$runtime" runs --ended 2>&1 >/dev/null)
check "a folder that others can write to is not believed" same \
    "records that are kept: $kept is writable by others; chmod go-w it" "$said"
chmod 700 "$kept"
check "control: it is when they cannot" same "" "$("$runtime" runs --ended 2>&1 >/dev/null)"

# ---- rootless engines ---------------------------------------------------------------------------

theirs=/run/user/1000/anchorhold
mkdir -p $theirs/runs
chown -R 1000:1000 /run/user/1000
record_of() { # KEY FILTER
    jq --arg key "$1" ".key = \$key | .state = \"enforced\" | $2" <<<"$before"
}
put() { # KEY: stdin becomes that record of the user's
    mkdir $theirs/runs/"$1"
    cat >$theirs/runs/"$1"/record.json
    chown -R 1000:1000 $theirs/runs/"$1"
}
record_of 111111111111 '.id = "mine\n0  false\u001b[2J" | .owner = 0 | .init = {pid: 1, start: 1}' |
    put 111111111111
leave ours
all() { within 60 "$runtime" runs --all "$@"; }
check "runs --all says whose each run is" same "0 ours
1000 mine\x0a0" "$(all | awk '$1 != "OWNER" && $1 ~ /^[0-9]+$/ { print $1, $2 }')"
check "without control characters, on one line each" same 4 "$(all | tr -d '\033' | wc -l)"
check "a claim that a process lives is looked into" contains "$(all)" "enforced, but "
check "programs are told too" same '[["mine\n0  false\u001b[2J",1000],["ours",null]]' \
    "$(all --json | jq -c '[.[] | [.id, .owner]] | sort')"
check "runs alone lists root's only" same "ours" "$(listed | awk '{ print $1 }')"
mkfifo -m 666 $theirs/fifo
mkdir $theirs/runs/{222222222222,333333333333,444444444444}
mv $theirs/fifo $theirs/runs/222222222222/record.json
ln -s "$lab/state/runs/$("$runtime" show --json ours | jq -r .key)/record.json" \
    $theirs/runs/333333333333/record.json
truncate -s 1T $theirs/runs/444444444444/record.json
chown -hR 1000:1000 $theirs
left() { all | sed -n 's/^left out uid 1000: //p'; }
check "a FIFO, a link and a file without end are left out, and named" same "3 0 ours 1000 mine" \
    "$(left | grep -c '^open 333333333333/record.json\|^222222222222/record.json is no regular file\|^read 444444444444/record.json') $(
        all | awk '$1 ~ /^[0-9]+$/ { print $1, substr($2, 1, 4) }' | paste -sd' ')"
check "and no fault of root's" same 0 "$(all >/dev/null; echo $?)"
mount --no-mtab -t ramfs none $theirs/runs/111111111111
check "another mount is not entered" contains "$(left)" "open 111111111111/record.json: "
umount $theirs/runs/111111111111
mount --no-mtab -t ramfs none /run/user/1000
check "nor a directory over which a user has mounted" same "/run/user/1000 is no tmpfs but ramfs" "$(left)"
umount /run/user/1000
check "control: then it is read again" contains "$(all)" "mine"
refused() { setpriv --reuid 1000 --clear-groups "$@" 2>&1 >/dev/null; }
check "only root may ask" contains "$(refused "$AH_SHIM" --ah-state "$lab/nobodys" runs --all)" \
    "--all reads the files of other users; run it as root (invalid_request)"
rm -r /run/user
"$runtime" gc >/dev/null
"$plain_runtime" delete --force ours 2>/dev/null

check "nothing is left" nothing_left
finish
