#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names are asked of the host's own resolver, in bounded time, and the answer has one
# form. The laboratory's host has a hosts file and a name server that never answers.
. "$(dirname "$0")/../lib/lab.sh"

needs root jq /usr/bin/python3 unshare
enter_lab "$@"
hook=$lab/libexec/anchorhold/anchorhold-hook

# FILE TEXT: what the host has in /etc.
have() {
    printf '%s\n' "$2" >"$lab/$1"
    mount --no-mtab --bind "$lab/$1" "/etc/$1"
}
resolve() {
    "$hook" resolve "$@" 2>&1
    echo "status $?"
}
# NAME LINE NAME-TO-RESOLVE...
answers() {
    local name=$1 line=$2
    shift 2
    check "$name" same "$line"$'\nstatus 0' "$(resolve "$@")"
}

have hosts '127.0.0.1 localhost
192.0.2.9 two.example alias.example
192.0.2.10 two.example
2001:DB8:0:0::1 six.example
192.0.2.9 two.example
::ffff:192.0.2.7 mapped.example'
have nsswitch.conf 'hosts: files'
have resolv.conf 'nameserver 127.0.0.1'

answers "no name, no answer" '{}'
answers "a name has all its addresses, each once" \
    '{"two.example":["192.0.2.10","192.0.2.9"]}' two.example
answers "names are answered in the order of asking, who has no address with none" \
    '{"six.example":["2001:db8::1"],"none.example":[],"alias.example":["192.0.2.9"]}' \
    six.example none.example alias.example
answers "an IPv4 address in IPv6's clothes is one" '{"mapped.example":["192.0.2.7"]}' mapped.example

many=$(seq -f 'n%g.example' 300)
# shellcheck disable=SC2086
check "hundreds of names are answered" same 301 "$(resolve two.example $many | head -n 1 | jq length)"

have nsswitch.conf 'hosts: files dns'
exec {asked}< <(exec /usr/bin/python3 -c '
import socket
server = socket.socket(type=socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print("ready", flush=True)
while True:
    print(b"late" in server.recv(512), flush=True)')
server=$!
read -r -u "$asked"
begin=$SECONDS
answers "a name server that is silent keeps no other name back, and nobody for long" \
    '{"late.example":[],"two.example":["192.0.2.10","192.0.2.9"],"later.example":[]}' \
    late.example two.example later.example
check "it was given its time, and no more" test $((SECONDS - begin)) -ge 5 -a $((SECONDS - begin)) -le 8
read -r -u "$asked" was_asked
check "it was asked" same True "$was_asked"
check "nobody goes on asking" same "" "$(pgrep -f "$hook")"
kill $server

finish
