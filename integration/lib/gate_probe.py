#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a program in a container that a gate serves may try. It runs inside.

gate_probe.py WAY...   tries each (or connects to an ADDRESS:PORT), and prints "WAY reached", "WAY refused: WHY" or "WAY hung"
gate_probe.py hold     keeps what it has begun while the gate is paused or killed (see hold)
gate_probe.py flood    as many connections and names as it can, until its stdin ends
gate_probe.py few      some of each, which all must be answered
gate_probe.py take     holds the gate's own ports until its stdin ends

A way succeeds when the far end has answered. One that hears nothing for PATIENCE is "hung", which
is never what a test wants.
"""

import contextlib
import errno
import os
import select
import socket
import struct
import sys

from client_hello import hello

PATIENCE = 30 * int(os.environ.get("AH_SLOWNESS", "1"))  # seconds; only a failing test waits so long
GREETING = b"hello from outside"
ECHO = 8443
A, TXT = 1, 16


class Refused(Exception):
    pass


def opened(host, port):
    """As programs do it: look the name up, then try its addresses. A refusal of all is the last's."""
    return socket.create_connection((host, port), timeout=PATIENCE)


def connect(host, port):
    with opened(host, port) as client:
        got = b""
        while GREETING not in got:
            more = client.recv(4096)
            if not more:
                raise Refused("closed")
            got += more


def tls(name, sni, step=None, **more):
    """A ClientHello, whole or in pieces of `step` bytes, to a server that sends back what it gets."""
    message = hello(sni, **more)
    step = step or len(message)
    with opened(name, ECHO) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(message), step):
            client.sendall(message[at : at + step])
        got = b""
        while len(got) < len(message):
            more = client.recv(65536)
            if not more:
                raise Refused("closed")
            got += more


# ---- names by hand ------------------------------------------------------------------------------


def resolver():
    with open("/etc/resolv.conf", encoding="ascii") as file:
        return next(line.split()[1] for line in file if line.startswith("nameserver"))


def labels(*parts):
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


def query(raw, kind, number):
    return struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + raw + struct.pack("!HH", kind, 1)


def ask(raw, kind=A, server=None):
    """Asks by UDP, and after that for a name that every resolver here answers somehow: so what gets
    no answer at all is known at once."""
    marker = query(labels(b"named", b"test"), A, 2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        client.connect((server or resolver(), 53))
        client.send(query(raw, kind, 1))
        client.send(marker)
        code = None
        while True:
            reply = client.recv(4096)
            if reply[:2] == b"\0\2":
                break
            code = (reply[3] & 15, struct.unpack("!H", reply[6:8])[0])
    if code is None:
        raise Refused("no answer")
    if code[0] != 0 or code[1] == 0:
        raise Refused(f"rcode {code[0]}, {code[1]} answers")


def ask_stream(server, raw):
    message = query(raw, A, 1)
    with opened(server, 53) as client:
        client.sendall(struct.pack("!H", len(message)) + message)
        if not client.recv(4096):
            raise Refused("closed")


def datagram(address, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        client.connect(address)
        client.send(b"knock")
        client.recv(100)


# ---- below TCP and UDP --------------------------------------------------------------------------

ECHO_REQUEST = b"\x08\x00\xf7\xff\x00\x00\x00\x00"


def ping(address, kind):
    with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as client:
        client.settimeout(PATIENCE)
        client.sendto(ECHO_REQUEST, (address, 0))
        client.recv(1000)


def option(level, number):
    with socket.socket() as made:
        made.setsockopt(level, number, 1)


def make(family, kind, protocol):
    socket.socket(family, kind, protocol).close()


def beside():
    """Servers at the ports of listed names, which each get their own clients and no others."""
    streams = [socket.create_server(("0.0.0.0", port)) for port in (443, 53)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("0.0.0.0", 53))
        connect("named.test", 443)
        ask_stream("resolver.test", labels(b"any", b"test"))
        ask(labels(b"named", b"test"))
        assert not select.select([*streams, datagrams], [], [], 0)[0]
        for stream in streams:
            with opened("127.0.0.1", stream.getsockname()[1]), stream.accept()[0] as accepted:
                assert accepted.getpeername()[0] == "127.0.0.1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(PATIENCE)
            client.connect(("127.0.0.1", 53))
            client.send(b"mine")
            data, source = datagrams.recvfrom(16)
            datagrams.sendto(data, source)
            assert client.recv(16) == b"mine"
        connect("named.test", 443)


IP_TRANSPARENT, SO_MARK, ETH_P_ALL = 19, 36, 0x0300
SECRET = labels(b"secret-" + b"x" * 56, b"y" * 63, b"other", b"test")

WAYS = {
    # addresses
    "v4": lambda: connect("203.0.113.11", 443),
    "v6": lambda: connect("2001:db8:113::1", 443),
    "v4-in-v6": lambda: connect("::ffff:203.0.113.11", 443),
    "address-of-allowed": lambda: connect("203.0.113.10", 443),
    "port-22": lambda: connect("203.0.113.11", 22),
    "metadata": lambda: connect("169.254.169.254", 80),
    "private": lambda: connect("10.9.9.9", 443),
    "host": lambda: connect("203.0.113.2", 443),
    "doh": lambda: connect("1.1.1.1", 443),
    "dot": lambda: connect("1.1.1.1", 853),
    "resolver-udp": lambda: ask(labels(b"secret-udp", b"other", b"test"), server="1.1.1.1"),
    "resolver-tcp": lambda: ask_stream("1.1.1.1", labels(b"secret-tcp", b"other", b"test")),
    "host-resolver": lambda: ask(labels(b"secret-own", b"other", b"test"), server="203.0.113.1"),
    "udp": lambda: datagram(("1.1.1.1", 9)),
    "udp-to-allowed": lambda: datagram(("named.test", 9)),
    "ping": lambda: ping("1.1.1.1", socket.SOCK_DGRAM),
    "raw": lambda: ping("1.1.1.1", socket.SOCK_RAW),
    "packet": lambda: make(socket.AF_PACKET, socket.SOCK_RAW, ETH_P_ALL),
    "transparent": lambda: option(socket.SOL_IP, IP_TRANSPARENT),
    "mark": lambda: option(socket.SOL_SOCKET, SO_MARK),
    # names that no rule lists
    "unlisted": lambda: connect("other.test", 443),
    "subdomain": lambda: connect("sub.named.test", 443),
    "longer": lambda: connect("xnamed.test", 443),
    "behind": lambda: connect("named.test.other.test", 443),
    "apex": lambda: connect("wild.test", 443),
    "deeper": lambda: connect("a.b.wild.test", 443),
    "top": lambda: connect("test", 443),
    "idn": lambda: connect("xn--nmed-5na.test", 443),
    "nul": lambda: ask(labels(b"named\0", b"test")),
    "bytes": lambda: ask(labels("n\xe4med".encode(), b"test")),
    "long-labels": lambda: ask(SECRET),
    "txt": lambda: ask(labels(b"secret-txt", b"other", b"test"), TXT),
    "aaaa": lambda: ask(labels(b"secret-aaaa", b"other", b"test"), 28),
    "case": lambda: ask(labels(b"SeCrEt-case", b"OtHeR", b"test")),
    # names that lead where they must not
    "to-loopback": lambda: connect("lo.test", 443),
    "to-loopback6": lambda: connect("lo6.v6", 443),
    "to-mapped": lambda: connect("mapped.v6", 443),
    "to-metadata": lambda: connect("meta.test", 80),
    "to-private": lambda: connect("ten.test", 443),
    "to-translated": lambda: connect("nat.v6", 443),
    "to-host": lambda: connect("own.test", 443),
    "to-alias": lambda: connect("alias.test", 443),
    # what is allowed, otherwise
    "other-port": lambda: connect("named.test", 80),
    "wrong-sni": lambda: tls("named.test", "other.test"),
    "wrong-sni-bytes": lambda: tls("named.test", "other.test", step=1),
    "wrong-sni-records": lambda: tls("named.test", "other.test", cut=60),
    "wrong-sni-first-byte": lambda: tls("named.test", "other.test", cut=1),
    "wrong-sni-version": lambda: tls("named.test", "other.test", version=b"\2\1"),
    "oversized": lambda: tls("named.test", "named.test", padding=20000),
    # the gate's own addresses
    "unassigned": lambda: connect("198.19.99.99", 443),
    "next-handle": lambda: connect("198.19.1.200", 443),
    "listener": lambda: connect("198.19.0.2", 443),
    "listener-port": lambda: connect("198.19.0.2", 1),
    "listener6": lambda: connect("::1", 1),
    "responder-port": lambda: connect("198.19.0.1", 443),
    "label-of-64": lambda: ask(b"\x40" + b"a" * 64 + b"\4test\0"),
    # allowed
    "allowed": lambda: connect("named.test", 443),
    "upper": lambda: connect("NAMED.Test", 443),
    "trailing-dot": lambda: connect("named.test.", 443),
    "wild": lambda: connect("a.wild.test", 443),
    "right-sni": lambda: tls("named.test", "named.test"),
    "right-sni-bytes": lambda: tls("named.test", "NAMED.test", step=1),
    "right-sni-records": lambda: tls("named.test", "named.test", cut=60),
    "no-sni": lambda: tls("named.test", None),
    "beside": beside,
    "mixed-case": lambda: ask(labels(b"NaMeD", b"TeSt")),
}


def report(way):
    address, _, port = way.rpartition(":")
    try:
        if address:
            connect(address, int(port))
        else:
            WAYS[way]()
        print(f"{way} reached", flush=True)
    except TimeoutError as error:  # also the kernel's own
        print(f"{way} hung: {error}", flush=True)
    except (OSError, Refused) as error:
        print(f"{way} refused: {error}", flush=True)


# ---- while the gate does nothing ----------------------------------------------------------------


def hold():
    """Has a connection open, and servers of its own at the ports that it will ask. Each line that it
    reads is a word of what to do next:

    begin   ask for a name and connect to one, without waiting
    quiet   nobody has answered, neither the far end nor a server inside
    end     wait for both answers
    lost    both are refused, and the open connection is reset
    """
    handle = socket.gethostbyname("named.test")
    inside = [socket.create_server(("0.0.0.0", ECHO)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    inside[1].bind(("0.0.0.0", 53))
    old = opened(handle, ECHO)
    old.sendall(b"old")
    assert old.recv(3) == b"old"
    begun = []
    print("holds", flush=True)
    for line in sys.stdin:
        word = line.strip()
        if word == "begin":
            begun = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()]
            begun[0].connect((resolver(), 53))
            begun[0].send(query(labels(b"late", b"wild", b"test"), A, 1))
            begun[1].connect((handle, ECHO))  # the kernel accepts it
            begun[1].send(b"late")
            old.send(b"late")
        elif word == "quiet":
            ready = select.select([*begun, *inside, old], [], [], 0)[0]
            assert not ready, ready
        elif word == "end":
            for one in begun:
                one.settimeout(PATIENCE)
            assert begun[0].recv(512)[3] & 15 == 0
            assert begun[1].recv(4) == b"late"
            assert old.recv(4) == b"late"
            assert not select.select(inside, [], [], 0)[0]
        elif word == "lost":
            assert error_of(lambda: old.recv(1)) == errno.ECONNRESET
            assert error_of(lambda: opened(handle, ECHO)) == errno.ECONNREFUSED
            assert error_of(lambda: ask(labels(b"named", b"test"))) == errno.ECONNREFUSED
            assert not select.select(inside, [], [], 0)[0]
        print(word, flush=True)


def wild(count):
    return [query(labels(f"n{i}".encode(), b"wild", b"test"), A, i) for i in range(count)]


def flood():
    """Says so as soon as it has met both bounds, and goes on."""
    handle = socket.gethostbyname("named.test")
    events = select.epoll()
    made = {}
    for _ in range(1500):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex((handle, ECHO))
        made[one.fileno()] = one
        events.register(one.fileno(), select.EPOLLERR | select.EPOLLHUP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((resolver(), 53))
        for message in wild(300):
            client.send(message)
        while client.recv(512)[3] & 15 != 2:
            pass
    assert events.poll(PATIENCE), "no connection is reset"
    print("holds", flush=True)
    sys.stdin.read()


def few():
    for message in wild(15):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(PATIENCE)
            client.connect((resolver(), 53))
            client.send(message)
            assert client.recv(512)[3] & 15 == 0
    for _ in range(40):
        tls("named.test", "named.test")
    print("all", flush=True)


def take():
    made = [socket.create_server(("198.19.0.2", 1)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    made[1].bind(("198.19.0.1", 1))
    print("holds", flush=True)
    sys.stdin.read()
    assert not select.select(made, [], [], 0)[0], "somebody came"
    print("nobody", flush=True)


def error_of(call):
    try:
        got = call()
    except OSError as error:
        return error.errno
    return got


def main():
    whole = {"hold": hold, "flood": flood, "few": few, "take": take}
    if sys.argv[1] in whole:
        return whole[sys.argv[1]]()
    with contextlib.suppress(BrokenPipeError):
        for way in sys.argv[1:]:
            report(way)


main()
