# SPDX-License-Identifier: Apache-2.0
# The ways out of a container, as attempt(1) tries them, and how answers are judged.
# shellcheck shell=bash

# "CASE | ATTEMPT": case numbers are those of the list of bypasses.
ways=(
    "B-04 a public address, port 80 | tcp=1.1.1.1:80"
    "B-04 a public address, port 443 | tcp=1.1.1.1:443"
    "B-06 a protocol of one's own | tcp=1.1.1.1:22"
    "B-07 a resolver by UDP, 1.1.1.1 | dns-udp=1.1.1.1"
    "B-07 a resolver by UDP, 8.8.8.8 | dns-udp=8.8.8.8"
    "B-07 a resolver by TCP, 9.9.9.9 | dns-tcp=9.9.9.9"
    "B-07 a resolver by TCP, 208.67.222.222 | dns-tcp=208.67.222.222"
    "B-08 DNS over TLS | tcp=1.1.1.1:853"
    "B-10 a name, by glibc | sh=getent ahosts example.test"
    "B-10 a name, by busybox | sh=nslookup example.test"
    "B-17 the cloud's metadata service | tcp=169.254.169.254:80"
    "B-19 a service on the host's loopback | tcp=127.0.0.1:7000"
    "B-19 a service on the host's address | tcp=203.0.113.2:7000"
    "B-20 IPv6, global | tcp=[2606:4700:4700::1111]:443"
    "B-20 IPv6, link-local | tcp=[fe80::99%up0]:443"
    "B-20 IPv6, the host's ::1 | tcp=[::1]:7000"
    "B-20 IPv6, a mapped IPv4 address | tcp=[::ffff:1.1.1.1]:443"
    "B-21 ICMP echo, ping socket | ping=1.1.1.1"
    "B-21 ICMP echo, raw socket | raw-ping=1.1.1.1"
    "B-21 UDP to any port | udp=1.1.1.1:9"
    "B-25 a table in the firewall | nft-table=evil"
    "R17 B-26 an interface, veth | sh=ip link add evil1 type veth"
    "B-26 an address | sh=ip addr add 198.51.100.1/32 dev lo"
    "B-26 a route | sh=ip route add 198.51.100.0/24 dev lo"
    "B-26 an interface, tun | tun=/tmp"
    "B-27 from a user namespace of its own | tcp-in-userns=1.1.1.1:443"
    "B-28 CAP_NET_ADMIN or CAP_NET_RAW in any set | net-capabilities"
    "B-32 the host's abstract sockets | abstract=host-service"
    "B-33 vsock | socket=40:1"
    "B-34 another family, AF_XDP | socket=44:3"
    "B-35 io_uring | io-uring"
    "B-54 packet sockets | socket=17:3"
    "B-56 request_key | request-key"
    "B-58 a family hidden in 64 bits | wide-socket=40"
    "B-58 the i386 socket call | i386-socket=40"
    "B-58 the i386 socketcall | i386-socketcall=40"
)

# The features (features.sh) that the host needs for an attempt to reach anything.
declare -A way_needs=(
    [tcp=[2606:4700:4700::1111]:443]=ipv6
    [tcp=[fe80::99%up0]:443]=ipv6
    [tcp=[::1]:7000]=ipv6
    [tcp=[::ffff:1.1.1.1]:443]=ipv6
    [nft-table=evil]=nf_tables
    ["sh=ip link add evil1 type veth"]=veth
    [tun=/tmp]=tun
    [tcp-in-userns=1.1.1.1:443]=userns
    [socket=40:1]=vsock
    [socket=44:3]=xdp
    [io-uring]=io_uring
    [socket=17:3]=packet
    [request-key]=request_key
    [wide-socket=40]=vsock
    [i386-socket=40]="ia32 vsock"
    [i386-socketcall=40]="ia32 vsock"
)

silence="Connection timed out"

# take_answers ARRAY: files the lines of attempt(1) on stdin under the words they answer.
take_answers() {
    local -n answers=$1
    local line word
    while read -r line; do
        word=${line%% reached*}
        word=${word%% refused: *}
        word=${word%% broken: *}
        [ -z "$word" ] || answers[$word]=${line#"$word" } # an answer can have lines of its own
    done
}

# try_ways ARRAY COMMAND...: all of them, by COMMAND, which runs a program in a container. On the
# host's network they leave something, which the next to try would stumble over.
try_ways() {
    take_answers "$1" < <("${@:2}" attempt "${ways[@]#* | }")
    {
        nft delete table inet evil
        ip link del evil1
        ip addr del 198.51.100.1/32 dev lo
        ip route del 198.51.100.0/24
    } 2>/dev/null
}

# blocked ARRAY WORD: refused there, and not by silence (attempt(1) waits 5 s for an answer), and
# reached by the control.
declare -A control
blocked() {
    local -n answers=$1
    local inside=${answers[$2]:-no answer} outside=${control[$2]:-no answer} took
    took=${inside##*\(}
    printf '%s\ninside:     %s\nwithout us: %s\n' "$2" "$inside" "$outside"
    [[ $outside == reached* ]] || { echo "the control failed"; return 1; }
    [[ $inside == refused:* && $inside != *"$silence"* && ${took% ms)} -lt $((2000 * AH_SLOWNESS)) ]]
}

# judge ARRAY SUFFIX: one case per way.
judge() {
    local way word
    for way in "${ways[@]}"; do
        word=${way#* | }
        check_where "${way_needs[$word]:-}" "${way% | *}$2" blocked "$1" "$word"
    done
}
