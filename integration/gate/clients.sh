#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real clients in a container that a gate serves: each reaches a name that is listed, at once fails at
# one that is not, and reaches that one too without us. And servers inside, beside the gate.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
. "$(dirname "$0")/../lib/gate_cells.sh"
needs "${cell_needs[@]}" dnsmasq openssl curl wget git
enter_lab
needs_host tproxy ipv6

# ---- what the host has of them ------------------------------------------------------------------

clients=(curl wget git-https urllib)
programs=("$python" curl wget git)
not_here=()
has() { # CLIENT NEED PROGRAM...
    local program
    for program in "${@:3}"; do
        command -v "$program" >/dev/null && continue
        not_here+=("$1 needs $2")
        return 1
    done
    clients+=("$1")
}
sshd=$(PATH=$PATH:/usr/sbin command -v sshd)
has git-ssh sshd "${sshd:-sshd}" ssh ssh-keygen && programs+=(ssh)
has node node node && programs+=(node)
postgres=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
has psql postgres "$postgres/postgres" "$postgres/initdb" "$postgres/psql" && programs+=("$postgres/psql")
has musl musl-gcc musl-gcc

# ---- the internet -------------------------------------------------------------------------------

make_host_rootfs "${programs[@]}"
enter_gate_world --address=/resolver.test/1.1.1.1
outside() { ip netns exec internet "$@"; }
wait_for_port() { # PORT
    within 60 sh -c "until ip netns exec internet ss -Htln | grep -q ':$1 '; do :; done"
}
mkdir "$lab/served"
echo 'the page' >"$lab/served/page"
{
    git init -q "$lab/work"
    cp "$lab/served/page" "$lab/work"
    git -C "$lab/work" add page
    git -C "$lab/work" -c user.name=lab -c user.email=lab@lab.test commit -qm page
    git clone -q --bare "$lab/work" "$lab/served/repo.git"
    git -C "$lab/served/repo.git" update-server-info
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=lab \
        -addext 'subjectAltName=DNS:named.test,DNS:other.test' -keyout "$lab/tls.key" \
        -out "$lab/rootfs/etc/lab.pem"
} >"$lab/log" 2>&1 || not_ok "a repository and a certificate are made" "$(cat "$lab/log")"
start_ready outside "$python" "$here/lib/files_over_tls.py" 4443 "$lab/served" "$lab/rootfs/etc/lab.pem" "$lab/tls.key"

if [[ " ${clients[*]} " == *" git-ssh "* ]]; then
    mkdir /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$lab/hostkey"
    ssh-keygen -q -t ed25519 -N '' -f "$lab/rootfs/etc/lab.key"
    outside "$sshd" -f /dev/null -D -p 2222 -h "$lab/hostkey" -o "AuthorizedKeysFile=$lab/rootfs/etc/lab.key.pub" \
        -o UsePAM=no -o StrictModes=no -o PidFile=none 2>"$lab/sshd" &
    wait_for_port 2222
fi
if [[ " ${clients[*]} " == *" psql "* ]]; then
    install -d -o 65534 -g 65534 "$lab/pg"
    as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env -C /)
    "${as_nobody[@]}" "$postgres/initdb" --no-sync -A trust -U nobody -D "$lab/pg" >"$lab/log" 2>&1 || cat "$lab/log"
    echo 'host all all 0.0.0.0/0 trust' >>"$lab/pg/pg_hba.conf"
    outside "${as_nobody[@]}" "$postgres/postgres" -D "$lab/pg" \
        -h 203.0.113.10,203.0.113.11 -k '' >"$lab/postgres" 2>&1 &
    wait_for_port 5432
fi
[[ " ${clients[*]} " != *" musl "* ]] ||
    musl-gcc -static -o "$lab/rootfs/bin/musl-client" "$here/programs/static_client.c" ||
    not_ok "a static client is built"

# ---- clients ------------------------------------------------------------------------------------

policy '{ceiling: "allowlist"}'
remember_kernel
list='named.test,named.test:2222,named.test:4443,named.test:5432,resolver.test:53'
start_cell c "$(allows "$list")" || { not_ok "a run is started"; finish; }
answer_of() { grep "^$2 " <<<"$1" || echo "$2: no answer"; } # ANSWERS CLIENT
works() { same "$2 ok" "$(answer_of "$@")"; }
fails() { contains "$(answer_of "$@")" "$2 failed"; }

said=$(in_run c sh /t/gate_clients.sh named.test "${clients[@]}")
for client in "${clients[@]}"; do check "$client reaches a name that is listed" works "$said" "$client"; done
said=$(in_run c sh /t/gate_clients.sh other.test "${clients[@]}")
for client in "${clients[@]}"; do check "$client fails at one that is not" fails "$said" "$client"; done
check "none of them has asked anybody outside for it" same 0 "$(grep -c other "$lab/queries")"

# ---- servers inside -----------------------------------------------------------------------------

said=$(probe c beside)
check "servers inside at 0.0.0.0:443 and 53, TCP and UDP, work beside names at those ports" \
    same "beside reached" "$said"
"$runtime" delete --force c
check "nothing is left" nothing_left

# ---- the control --------------------------------------------------------------------------------

bundle o "$(allows "$list" '.process.env = ["PATH=/usr/bin:/bin"]')" sh /t/gate_clients.sh other.test "${clients[@]}"
said=$(in_the_open o 2>&1)
for client in "${clients[@]}"; do check "without us $client reaches it" works "$said" "$client"; done
for lack in "${not_here[@]}"; do skip "${lack%% *} reaches a name that is listed" "${lack#* }"; done
finish
