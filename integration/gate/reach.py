#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What connections through the gate reach, and what they do not. Needs root.

Each "does not reach" has its control beside it: the same client, the same servers, an allowed way.
"""

import contextlib
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from client_hello import ECH, hello  # noqa: E402
from gate_lab import (  # noqa: E402
    A,
    AAAA,
    CNAME,
    HOST,
    HOST6,
    LISTENER,
    LO,
    UNASSIGNED,
    case,
    echo_until_reset,
    say,
    server,
    world,
)
from relay_lab import Broker, exactly, main, read_all, read_to_reset  # noqa: E402

ZONE = {
    "a.org": [(A, "203.0.113.10", 300)],
    "b.org": [(A, "203.0.113.11", 300)],
    "only6.org": [(AAAA, "2001:db8::10", 300)],
    "both.org": [(A, "203.0.113.10", 300), (AAAA, "2001:db8::10", 300)],
    "x.wild.org": [(A, "203.0.113.10", 300)],
}
HERE = b"203.0.113.10"


def reaches(container, address, port, first=b""):
    """What the server at the far end says."""
    with container.connect(address, port) as client:
        client.sendall(first)
        return client.recv(100)


# ---- what is reached ----------------------------------------------------------------------------


@case("a handle leads to what the name resolves to, at the rule's ports, IPv4 or IPv6")
def _(_):
    rules = [{"to": "a.org", "ports": [{"port": 22, "endPort": 24}]}, "only6.org", "*.wild.org:8000"]
    with world(ZONE, rules) as (_, container, gate), server("203.0.113.10", 23), server(
        "2001:db8::10", 443
    ), server("203.0.113.10", 8000), server("203.0.113.10", 25):
        assert reaches(container, container.handle("a.org"), 23) == HERE
        assert reaches(container, container.handle("only6.org"), 443) == b"2001:db8::10"
        assert reaches(container, container.handle("x.wild.org"), 8000) == HERE
        for name, port in (("a.org", 25), ("a.org", 443), ("x.wild.org", 443)):
            assert container.is_reset(container.handle(name), port), name
        gate.await_resets("port", 3)


@case("an address rule leads to that address, undisguised; its exceptions and other ports do not")
def _(_):
    rules = [
        {"to": "192.0.2.0/24", "ports": [{"port": 5432}], "except": ["192.0.2.11"]},
        "[2001:db8::10]:443",
    ]
    opened = {"open_v4": ["192.0.2.0/24"], "open_v6": ["2001:db8::/32"]}
    servers = [("192.0.2.10", 5432), ("192.0.2.11", 5432), ("192.0.2.10", 80)]
    servers += [("2001:db8::10", 443), ("2001:db8::11", 443)]
    listening = [server(*one) for one in servers]
    with world(ZONE, rules, **opened) as (_, container, gate):
        assert reaches(container, "192.0.2.10", 5432) == b"192.0.2.10"
        assert reaches(container, "2001:db8::10", 443) == b"2001:db8::10"
        for address, port in servers[1:3] + servers[4:]:
            assert container.is_reset(address, port), address
        gate.await_resets("address", 3)
    for one in listening:
        one.__exit__(None)


@case("the first address that answers is taken; one that is silent or refuses holds nobody up")
def _(_):
    zone = {
        "slow.org": [(AAAA, "2001:db8::99", 60), (A, "203.0.113.10", 60)],
        "no.org": [(AAAA, "2001:db8::10", 60), (A, "203.0.113.11", 60), (A, "203.0.113.10", 60)],
        "both.org": ZONE["both.org"],
    }
    with world(zone, ["slow.org", "no.org", "both.org:8000"]) as (_, container, _):
        with server("203.0.113.10", 443), server("203.0.113.10", 8000), server("2001:db8::10", 8000):
            assert reaches(container, container.handle("slow.org"), 443) == HERE
            assert reaches(container, container.handle("no.org"), 443) == HERE
            assert reaches(container, container.handle("both.org"), 8000) == b"2001:db8::10"


@case("who refuses outside is a reset inside, at once, and is not asked twice")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, gate):
        assert container.is_reset(container.handle("a.org"), 443)
        gate.await_resets("unreachable", 1)


@case("an endpoint leads to its one address or name, or to this machine's loopback")
def _(_):
    endpoints = [
        {"name": "db", "to": "10.9.9.10", "port": 5432},
        {"name": "in", "to": "in.org", "port": 80, "within": ["10.9.9.0/24"]},
        {"name": "out", "to": "in.org", "port": 80},
        {"name": "model", "to": "host", "port": 9000},
    ]
    zone = {"in.org": [(A, "10.9.9.11", 60)]}
    rules = {"rules_endpoints": endpoints, "endpoints": [5432, 8081, 8082, 9000]}
    with Broker(("127.0.0.1", 9000), say(b"host")), server("10.9.9.10", 5432), server("10.9.9.11", 80):
        with world(zone, **rules) as (_, container, gate):
            assert reaches(container, "127.0.0.1", 5432) == b"10.9.9.10"
            assert reaches(container, "127.0.0.1", 8081) == b"10.9.9.11"
            assert reaches(container, "127.0.0.1", 9000) == b"host"
            assert container.is_reset("127.0.0.1", 8082)
            gate.await_resets("destination", 1)
            assert container.is_reset("10.9.9.10", 5432)


@case("a server inside at a port that is allowed outside works beside it")
def _(_):
    with world(ZONE, ["a.org:5432"]) as (_, container, _), server("203.0.113.10", 5432):
        with container.namespace:
            inside = Broker(("0.0.0.0", 5432), say(b"inside"))
        with inside:
            assert reaches(container, "127.0.0.1", 5432) == b"inside"
            assert reaches(container, LO, 5432) == b"inside"
            assert reaches(container, container.handle("a.org"), 5432) == HERE


# ---- names that lead where they must not --------------------------------------------------------


@case("a name that leads to this machine, a private or a reserved address is never dialled")
def _(_):
    bad = {
        "lo.org": [(A, "127.0.0.1", 60)],
        "lo6.org": [(AAAA, "::1", 60)],
        "mapped.org": [(AAAA, "::ffff:127.0.0.1", 60)],
        "any.org": [(A, "0.0.0.0", 60)],
        "meta.org": [(A, "169.254.169.254", 60)],
        "nat.org": [(AAAA, "64:ff9b::a9fe:a9fe", 60)],
        "ten.org": [(A, "10.9.9.10", 60)],
        "host.org": [(A, HOST, 60)],
        "host6.org": [(AAAA, HOST6, 60)],
        "cast.org": [(A, "203.0.113.255", 60)],
        "handle.org": [(A, "198.19.1.0", 60)],
        "alias.org": [(CNAME, "lo.alias.org", 60), (A, "127.0.0.1", 60, "lo.alias.org")],
    }
    everywhere = [Broker(("0.0.0.0", 443), say(b"host")), Broker(("::1", 443), say(b"host"))]
    everywhere += [Broker((HOST6, 443), say(b"host")), server("10.9.9.10", 443)]
    with world({**ZONE, **bad}, ["a.org", *bad]) as (_, container, gate), server("203.0.113.10", 443):
        for name in bad:
            assert container.is_reset(container.handle(name), 443), name
        gate.await_resets("destination", len(bad))
        assert reaches(container, container.handle("a.org"), 443) == HERE
    for one in everywhere:  # the control: each of them is there
        assert one.connections == 0
    with socket.create_connection((HOST, 443)) as client:
        assert client.recv(4) == b"host"
    with socket.create_connection(("10.9.9.10", 443)) as client:
        assert client.recv(9) == b"10.9.9.10"
    for one in everywhere:
        one.__exit__(None)


@case("a name leads to a private address within the range that its rule gives, and no other")
def _(_):
    zone = {"in.org": [(A, "10.9.9.10", 60)], "out.org": [(A, "10.9.9.11", 60)]}
    rules = [{"to": name, "within": ["10.9.9.10"]} for name in zone]
    with world(zone, rules) as (_, container, _), server("10.9.9.10", 443), server("10.9.9.11", 443):
        assert reaches(container, container.handle("in.org"), 443) == b"10.9.9.10"
        assert container.is_reset(container.handle("out.org"), 443)


@case("an answer that changes between two look-ups is judged again when it is dialled")
def _(_):
    answers = [[(A, "203.0.113.10", 1)], [(A, "203.0.113.10", 1)], [(A, "127.0.0.1", 1)]]
    with Broker(("127.0.0.1", 443), say(b"host")) as host, server("203.0.113.10", 443):
        with world({"a.org": answers[0]}, ["a.org"]) as (names, container, gate):
            handle = container.handle("a.org")
            assert reaches(container, handle, 443) == HERE
            names.zone["a.org"] = answers[2]
            asked = len(names.asked)
            while len(names.asked) == asked:  # until the answer has grown old, in five seconds
                container.ask("a.org")
            assert container.is_reset(handle, 443)
            gate.await_resets("destination", 1)
        assert host.connections == 0


@case("deny wins: a denied name does not exist, a denied address is not dialled under any name")
def _(_):
    zone = {**ZONE, "y.wild.org": [(A, "203.0.113.11", 60)]}
    listening = [server("203.0.113.10", 443), server("203.0.113.11", 443)]
    with world(zone, ["*.wild.org", "a.org"], ["a.org", "203.0.113.11"]) as (_, container, _):
        assert container.ask("a.org").code == 3
        assert container.is_reset(container.handle("y.wild.org"), 443)
        assert reaches(container, container.handle("x.wild.org"), 443) == HERE
    for one in listening:
        one.__exit__(None)


# ---- ways round the names -----------------------------------------------------------------------


@case("direct connections are refused at once and remembered, IPv4 and IPv6, TCP and UDP")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, _), server("203.0.113.10", 443), server(
        "2001:db8::10", 443
    ):
        for address in ("203.0.113.10", "2001:db8::10", "169.254.169.254", "8.8.8.8", HOST):
            assert container.is_reset(address, 443), address
        for address, family in (("203.0.113.10", socket.AF_INET), ("2001:db8::10", socket.AF_INET6)):
            with container.namespace, socket.socket(family, socket.SOCK_DGRAM) as client:
                try:
                    client.sendto(b"q", (address, 53))
                    raise AssertionError("it was sent")
                except OSError:
                    pass
        assert {
            ("203.0.113.10", "tcp", 443),
            ("2001:db8::10", "tcp", 443),
            ("203.0.113.10", "udp", 53),
            ("2001:db8::10", "udp", 53),
        } <= container.denied()
        assert reaches(container, container.handle("a.org"), 443) == HERE


@case("an unassigned handle, the listener itself and the responder's port lead nowhere")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, gate), server("203.0.113.10", 443):
        for address, port in ((UNASSIGNED, 443), (LISTENER, 443), (LISTENER, 1), (LO, 1), (LO, 443)):
            assert container.is_reset(address, port), address
        assert container.is_reset("198.19.1.1", 443)  # the next one, not given out yet
        gate.await_resets("no_handle", 2)
        assert reaches(container, container.handle("a.org"), 443) == HERE


@case("a handle means nothing in another run")
def _(_):
    with world(ZONE, ["a.org", "b.org"]) as (_, one, _), server("203.0.113.11", 443) as there:
        handle = one.handle("b.org")
        assert reaches(one, handle, 443) == b"203.0.113.11"
        with other_run() as (container, gate):
            assert container.is_reset(handle, 443)
            gate.await_resets("no_handle", 1)
        assert there.connections == 1


def other_run():
    from gate_lab import Container, Gate  # noqa: PLC0415

    @contextlib.contextmanager
    def made():
        with Container() as container, Gate(container, {"allow": ["a.org"]}) as gate:
            yield container, gate

    return made()


@case("without a capability nothing inside takes captured connections, or marks its own")
def _(_):
    script = """
import socket
for options in ((socket.SOL_IP, 19), (socket.SOL_SOCKET, 36)):
    try:
        socket.socket().setsockopt(*options, 1)
        print("set")
    except PermissionError:
        print("refused")
for kind, protocol in ((socket.SOCK_RAW, 1), (socket.SOCK_RAW, 255)):
    try:
        socket.socket(socket.AF_INET, kind, protocol)
        print("made")
    except PermissionError:
        print("refused")
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)
    print("made")
except PermissionError:
    print("refused")
"""
    with world(ZONE, ["a.org"]) as (_, container, _), container.namespace:
        without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=64123"]
        command = [*without, "--clear-groups", sys.executable, "-c", script]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout.split() == ["refused"] * 5
        done = subprocess.run(command[5:], stdout=subprocess.PIPE, text=True, check=True)
        assert "refused" not in done.stdout.split()  # the control


@case("an empty list reaches nothing")
def _(_):
    with world(ZONE) as (names, container, _), server("203.0.113.10", 443) as there:
        assert container.ask("a.org").code == 3
        assert container.is_reset("198.19.1.0", 443)
        assert there.connections == 0 and names.asked == []


# ---- TLS ----------------------------------------------------------------------------------------


@case("the name in a ClientHello must be the name of the handle, at any port")
def _(_):
    rules = ["a.org", "a.org:8000", {"to": "b.org", "tls": "any"}]
    rules += [{"to": "x.wild.org", "tls": "no-ech"}]
    zone = {**ZONE, "b.org": ZONE["a.org"]}
    with server("203.0.113.10", 443, echo_until_reset) as there, server("203.0.113.10", 8000, echo_until_reset):
        with world(zone, rules) as (_, container, gate):
            own = container.handle("a.org")
            goods = [hello("a.org"), hello("A.Org"), hello(), hello("a.org", cut=50)]
            for good in (*goods, b"GET / ", MYSQL, MONGO):
                assert echoed(container, own, 443, good), good
            assert echoed(container, own, 443, hello("a.org", ECH))
            assert echoed(container, container.handle("x.wild.org"), 443, hello("x.wild.org"))
            assert echoed(container, container.handle("b.org"), 443, hello("evil.org"))
            count = there.connections
            bad = [hello("b.org"), hello("a.org.evil.org"), hello("a.or"), hello("b.org", cut=50)]
            bad += [hello("b.org", cut=1), b"\x15\3\1\0\2\1\0" + hello("a.org")]
            bad += [b"\x16\3\1\0\0" + hello("a.org"), hello("a.org", padding=20000)]
            bad += [hello("a.org")[:-5] + b"\xff" * 5]
            # As if of a version that some servers do not look at.
            bad += [hello("b.org", version=bytes(pair)) for pair in ((0, 0), (2, 1), (15, 255))]
            bad += [hello("b.org", version=b"\2\1", cut=1), b"\x15\2\1\0\2\1\0" + hello("b.org")]
            for first in bad:
                assert container.is_reset(own, 443, first), first[:60]
            assert container.is_reset(own, 8000, hello("b.org"))
            assert container.is_reset(container.handle("x.wild.org"), 443, hello("x.wild.org", ECH))
            gate.await_resets("tls", len(bad) + 2)
            assert there.connections <= count + len(bad) + 1


# First messages of other protocols, which begin with a length.
MYSQL = b"\x16\1\0\1\x85\xa6\xff\1"
MONGO = b"\x15\1\0\0\1\0\0\0"


def echoed(container, address, port, first):
    with container.connect(address, port) as client:
        client.sendall(first)
        return exactly(client, len(first)) == first


RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
CHANGE = b"\x14\3\3\0\1\1"


@case("a second ClientHello, for which the server asks, has to have the same name")
def _(_):
    message = b"\2" + len(RETRY + b"\3\3more").to_bytes(3, "big") + b"\3\3" + RETRY + b"more"
    retry = b"\x16\3\3" + len(message).to_bytes(2, "big") + message
    heard = []

    def ask_again(connection):
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            exactly(connection, len(hello("a.org")))
            for byte in retry:
                connection.sendall(bytes([byte]))
            heard.append(connection.recv(4096))
            connection.sendall(b"second")

    def second(client, between):
        client.sendall(hello("a.org"))
        assert exactly(client, len(retry)) == retry
        client.sendall(between)

    with server("203.0.113.10", 443, ask_again), world(ZONE, ["a.org"]) as (_, container, gate):
        own = container.handle("a.org")
        for good in (hello("a.org"), CHANGE + hello("a.org", cut=40)):
            with container.connect(own, 443) as client:
                second(client, good)
                assert exactly(client, 6) == b"second"
        good = [*heard]
        bads = [hello("b.org"), CHANGE + hello("b.org", cut=1), b"other", CHANGE + CHANGE + hello("b.org")]
        for bad in bads:
            with container.connect(own, 443) as client:
                second(client, bad)
                assert read_to_reset(client) == b"", bad
        gate.await_resets("tls", len(bads))
        assert b"".join(heard[len(good) :]) == b"", heard
        # One that does not wait for the question: nothing of the answer comes back.
        assert container.is_reset(own, 443, hello("a.org") + hello("b.org"))
        gate.await_resets("tls", len(bads) + 1)


@case("nothing of a ClientHello goes out before it is whole, however its bytes come")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, gate):
        received = []

        def listen(connection):
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                connection.sendall(b"ready")
                received.append(connection.recv(4096))

        with server("203.0.113.10", 443, listen):
            client = container.connect(container.handle("a.org"), 443)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            assert exactly(client, 5) == b"ready"  # the server's bytes are not held up
            message = hello("b.org", cut=70)
            with client:
                try:
                    for byte in message:
                        client.sendall(bytes([byte]))
                    assert client.recv(1) is None
                except (ConnectionResetError, BrokenPipeError):
                    pass
            gate.await_resets("tls", 1)
            with container.connect(container.handle("a.org"), 443) as client:
                client.sendall(hello("a.org")[:30])
                client.shutdown(socket.SHUT_WR)
                gate.await_resets("tls", 2)
        assert b"".join(received) == b"", received


@case("an unfinished ClientHello is given ten seconds")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, gate), server("203.0.113.10", 443):
        client = container.connect(container.handle("a.org"), 443)
        assert client.recv(100) == HERE
        client.sendall(b"\x16")
        try:
            client.recv(1)
            raise AssertionError("it was not reset")
        except ConnectionResetError:
            pass
        assert gate.resets("tls") <= 1


@case("a protocol in which the server speaks first is not held up, nor is a client that only listens")
def _(_):
    with world(ZONE, ["a.org:22"]) as (_, container, _), server("203.0.113.10", 22, say(b"SSH-2.0-x")):
        with container.connect(container.handle("a.org"), 22) as client:
            assert exactly(client, 9) == b"SSH-2.0-x"
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == b""


if __name__ == "__main__":
    main()
