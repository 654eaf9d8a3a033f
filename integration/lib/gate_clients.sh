#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gate_clients.sh NAME CLIENT...: what programs say to a host. It runs inside, and prints
# "CLIENT ok" or "CLIENT failed: its last line" for each.
name=$1
shift
ca=/etc/lab.pem
export PATH=/usr/bin:/bin HOME=/dev/shm GIT_SSL_CAINFO=$ca NODE_EXTRA_CA_CERTS=$ca PGUSER=nobody PGDATABASE=postgres \
    GIT_SSH_COMMAND="ssh -i /etc/lab.key -p 2222 -o StrictHostKeyChecking=no -o LogLevel=ERROR"

go() {
    case $1 in
    curl) curl -sS --cacert $ca "https://$name:4443/page" ;;
    wget) /usr/bin/wget -q -O- --tries=1 --ca-certificate=$ca "https://$name:4443/page" ;;
    git-https) rm -rf /dev/shm/h && git clone -q "https://$name:4443/repo.git" /dev/shm/h && cat /dev/shm/h/page ;;
    git-ssh) rm -rf /dev/shm/s && git clone -q "ssh://root@$name/run/lab/served/repo.git" /dev/shm/s && cat /dev/shm/s/page ;;
    urllib) python3 -c 'import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2])
print(urllib.request.urlopen(sys.argv[1], context=context).read().decode())' "https://$name:4443/page" $ca ;;
    node) node -e 'fetch(process.argv[1]).then(r => r.text()).then(console.log,
        e => { console.error(e.cause.code); process.exit(1) })' "https://$name:4443/page" ;;
    psql) psql -h "$name" -Atc "select 'the page'" ;;
    musl) /bin/musl-client "$name" 443 ;;
    go) /bin/go-client "$name" 443 ;;
    esac
}

for client in "$@"; do
    if said=$(go "$client" 2>&1) && [ "$said" != "${said#*the page}" ]; then
        echo "$client ok"
    else
        echo "$client failed: $(echo "$said" | tail -n 1)"
    fi
done
