#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate makes of names: handles for those that are allowed, nothing for others, and what it
asks outside. Needs root."""

import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from gate_lab import (  # noqa: E402
    A,
    AAAA,
    ANY,
    CNAME,
    HTTPS,
    LO,
    NOERROR,
    NOTIMP,
    NXDOMAIN,
    RESOLVER,
    SERVFAIL,
    SVCB,
    TXT,
    USER,
    Container,
    Gate,
    Names,
    Reply,
    case,
    encode,
    eventually,
    host_file,
    query,
    reply_bytes,
    run,
    world,
)
from relay_lab import main  # noqa: E402

ZONE = {
    "a.org": [(A, "203.0.113.10", 300)],
    "b.org": [(A, "203.0.113.11", 300)],
    "only6.org": [(AAAA, "2001:db8::10", 300)],
    "x.wild.org": [(A, "203.0.113.12", 300)],
    "y.wild.org": [(A, "203.0.113.12", 300)],
    "empty.org": [],
    "broken.org": SERVFAIL,
}
NAMES = ["a.org", "b.org", "only6.org", "*.wild.org", "empty.org", "broken.org", "gone.org"]

# ---- what is answered ---------------------------------------------------------------------------


@case("an allowed name has its handle: exact ones in the order of the rules, others as they come")
def _(_):
    with world(ZONE, NAMES) as (_, container, _):
        for name, handle in (
            ("y.wild.org", "198.19.1.6"),
            ("b.org", "198.19.1.1"),
            ("only6.org", "198.19.1.2"),
            ("x.wild.org", "198.19.1.7"),
            ("a.org", "198.19.1.0"),
            ("y.wild.org", "198.19.1.6"),
        ):
            reply = container.ask(name, opt=True)
            assert (reply.code, reply.addresses, reply.ttls) == (NOERROR, [handle], [60]), name
            assert reply.with_opt == 1


@case("a gate that is started again gives exact names the same handles, and others new ones")
def _(_):
    with host_file("/etc/resolv.conf", f"nameserver {RESOLVER}\n"), Names(ZONE), Container() as one:
        given = []
        for epoch in (0, 1):
            with Gate(one, {"allow": NAMES, "epoch": epoch}) as gate:
                given.append([one.handle(name) for name in ("b.org", "x.wild.org", "y.wild.org")])
                gate.kill()
        assert given[0][0] == given[1][0]
        assert not set(given[0][1:]) & set(given[1]), given


@case("a name that is not allowed does not exist, at once, and is never asked for outside")
def _(_):
    with world(ZONE, NAMES) as (names, container, gate):
        assert container.ask("a.org").code == NOERROR  # the control
        denied = ["evil.org", "wild.org", "z.x.wild.org", "xa.org", "a.org.evil.org", "org", "a-org"]
        for name in denied:
            for kind in (A, AAAA, TXT):
                assert container.ask(name, kind).code == NXDOMAIN, name
        blocked = container.ask("evil.org", opt=True)
        assert blocked.code == NXDOMAIN and blocked.is_blocked and blocked.with_opt == 1
        assert not container.ask("evil.org").is_blocked
        assert names.names_asked() == ["a.org"]
        eventually(lambda: gate.denied().get("evil.org") == 5, "the denied name is counted")
        assert set(denied) == set(gate.denied())


@case("a name is one name however it is written, and nothing of how it was written goes out")
def _(_):
    with world(ZONE, ["a.org"]) as (names, container, _):
        handle = container.handle("a.org")
        assert container.handle("A.oRg") == handle
        assert container.handle("a.org.") == handle
        for raw in (
            b"\3a\0b\3org\0",  # a NUL
            b"\5a.org\0",  # a dot in a label
            b"\1a\3\xc3\xbcx\3org\0",
            b"\0",
            b"\1*\3org\0",
        ):
            assert container.ask("", raw=raw).code == NXDOMAIN, raw
        assert names.names_asked() == ["a.org"]


@case("other types and classes of an allowed name have nothing, and are not asked for outside")
def _(_):
    with world(ZONE, ["a.org"]) as (names, container, _):
        for kind in (AAAA, TXT, SVCB, HTTPS, ANY, CNAME, 16, 99, 255):
            reply = container.ask("a.org", kind)
            assert (reply.code, reply.addresses) == (NOERROR, []), kind
        assert container.ask("a.org", klass=3).addresses == []
        assert names.asked == []
        assert container.ask("a.org").addresses  # the control
        assert sorted(names.asked) == [("a.org", A), ("a.org", AAAA)]


@case("what the resolver says of an allowed name is passed on: not there, nothing, failure")
def _(_):
    with world(ZONE, NAMES) as (_, container, _):
        for name, code in (("gone.org", NXDOMAIN), ("empty.org", NOERROR), ("broken.org", SERVFAIL)):
            reply = container.ask(name, opt=True)
            assert (reply.code, reply.addresses) == (code, []), name
            assert not reply.is_blocked, name


@case("over TCP, several questions on one connection are answered in their order")
def _(_):
    with world(ZONE, NAMES) as (_, container, _):
        asked = [query("a.org"), query("evil.org", opt=True), query("b.org"), query("a.org", TXT)]
        replies = container.ask_stream(*asked)
        assert [reply.code for reply in replies] == [NOERROR, NXDOMAIN, NOERROR, NOERROR]
        assert [reply.addresses for reply in replies] == [["198.19.1.0"], [], ["198.19.1.1"], []]
        with container.connect(LO, 53) as client:  # in pieces
            message = struct.pack("!H", len(asked[0])) + asked[0]
            for byte in message:
                client.sendall(bytes([byte]))
            size = struct.unpack("!H", client.recv(2, socket.MSG_WAITALL))[0]
            assert Reply(client.recv(size, socket.MSG_WAITALL), asked[0]).addresses


# ---- bad input from inside ----------------------------------------------------------------------


@case("malformed, compressed, cut and answering messages get no reply, and harm nothing")
def _(_):
    good = query("a.org")
    bad = [
        b"",
        good[:11],
        good[:-1],
        good[:4] + b"\0\2" + good[6:],
        query("", raw=b"\xc0\x0c"),
        query("", raw=b"\x40" + b"a" * 64 + b"\0"),
        query("a.org", flags=0x8180),
        good + b"\0" * 4090,
    ]
    with world(ZONE, ["a.org"]) as (names, container, gate):
        with container.namespace, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect((LO, 53))
            for message in [*bad, query("a.org", flags=0x2900)]:
                client.send(message)
            assert client.recv(512)[3] & 15 == NOTIMP  # the only one, behind all others
        for message in bad[:-1]:
            with container.connect(LO, 53) as client:
                client.sendall(struct.pack("!H", len(message)) + message + b"\xff" * 4)
                try:
                    assert client.recv(1) == b""
                except ConnectionResetError:
                    pass
        with container.connect(LO, 53) as client:
            client.sendall(b"\xff\xff" + b"a" * 4096)
            try:
                assert client.recv(1) == b""
            except ConnectionResetError:
                pass
        assert container.handle("a.org")
        assert gate.process.poll() is None and names.names_asked() == ["a.org"]


@case("seventeen clients over TCP that say nothing do not keep the next from being served")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, _):
        silent = [container.connect(LO, 53) for _ in range(17)]
        assert container.ask_stream(query("a.org"))[0].addresses
        for client in silent:
            client.close()


# ---- bad input from outside ---------------------------------------------------------------------


def cname_loop(asked):
    end = 12 + len(encode("loop.org")) + 4
    return reply_bytes(asked, end, 0, [(CNAME, "b.loop.org", 60), (CNAME, "loop.org", 60, "b.loop.org")])


def other_question(asked):
    wrong = asked.replace(encode("liar.org"), encode("lier.org"))
    return reply_bytes(wrong, 12 + len(encode("lier.org")) + 4, 0, [(A, "203.0.113.10", 60)])


@case("a resolver that lies, loops, or answers thousands of addresses does no harm")
def _(_):
    zone = {
        **ZONE,
        "loop.org": cname_loop,
        "liar.org": other_question,
        "many.org": [(A, f"203.0.{i // 250}.{i % 250}", 60) for i in range(4000)],
        "alias.org": [(CNAME, "a.org", 60), (A, "203.0.113.10", 60, "a.org")],
    }
    with world(zone, ["loop.org", "liar.org", "many.org", "alias.org"]) as (_, container, gate):
        assert container.ask("alias.org").addresses == ["198.19.1.3"]
        assert container.ask("many.org").addresses == ["198.19.1.2"]
        assert container.ask("loop.org").addresses == []
        assert container.ask("liar.org").code == SERVFAIL
        assert gate.process.poll() is None


@case("a resolver that is down or silent fails look-ups, and one run's wait is bounded")
def _(_):
    zone = {f"s{i}.org": lambda _: None for i in range(20)}
    with world({**ZONE, **zone}, [*zone, "a.org"]) as (_, container, gate):
        with container.namespace, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect((LO, 53))
            for i in range(20):  # sixteen at once, the others fail without waiting
                client.send(query(f"s{i}.org"))
            begin = time.monotonic()
            codes = [client.recv(512)[3] & 15 for _ in range(4)]
            assert codes == [SERVFAIL] * 4 and time.monotonic() - begin < 1
            assert container.ask("evil.org").code == NXDOMAIN  # not held up by the others
            assert [client.recv(512)[3] & 15 for _ in range(16)] == [SERVFAIL] * 16
        eventually(lambda: gate.tally()["servfail"] == 4, "what is over the bound is counted")
    with host_file("/etc/resolv.conf", f"nameserver {RESOLVER}\n"), Container() as container:
        with Gate(container, {"allow": ["a.org"]}):
            assert container.ask("a.org").code == SERVFAIL  # nobody listens


@case("a burst of new names is bounded, denied ones are not")
def _(_):
    with world({}, ["*.wild.org"]) as (names, container, gate):
        for i in range(60):
            container.ask(f"n{i}.wild.org")
        eventually(lambda: gate.tally()["servfail"] > 0, "some failed")
        assert 20 <= len(names.names_asked()) < 60
        for i in range(200):
            assert container.ask(f"n{i}.evil.org").code == NXDOMAIN
        assert gate.tally()["servfail"] == 60 - len(names.names_asked())


# ---- the host's files ---------------------------------------------------------------------------


@case("an answer is kept for its TTL, and for five seconds at least")
def _(_):
    with world({"a.org": [(A, "203.0.113.10", 0)]}, ["a.org"]) as (names, container, _):
        for _ in range(5):
            container.handle("a.org")
        assert len(names.asked) == 2  # A and AAAA


@case("the host's resolv.conf and hosts are read again when they change; no search list is used")
def _(_):
    bad = "nameserver 203.0.113.3\nsearch evil.org\noptions ndots:5\n"
    with host_file("/etc/resolv.conf", bad) as resolv, host_file("/etc/hosts", "") as hosts:
        zone = {"a.org": [(A, "203.0.113.10", 300)], "host.evil.org": [(A, "203.0.113.10", 300)]}
        run("ip addr add 203.0.113.3/32 dev lo")  # refuses at once: nobody listens there
        with Names(zone) as names, Container() as container:
            with Gate(container, {"allow": ["a.org", "b.org", "c.org", "host"]}):
                assert container.ask("a.org").code == SERVFAIL
                resolv(f"nameserver {RESOLVER}\nsearch evil.org\noptions ndots:5\n")
                assert container.ask("b.org").code == NXDOMAIN
                assert container.ask("host").code == NXDOMAIN
                hosts("203.0.113.10 c.org\n")
                assert container.handle("c.org")
                assert names.names_asked() == ["b.org", "host"]
        run("ip addr del 203.0.113.3/32 dev lo")


@case("a program inside that wants port 53 of every address has it, for UDP and TCP")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, _):
        with container.namespace:
            datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            stream = socket.create_server(("0.0.0.0", 53))
        with datagrams, stream:
            datagrams.bind(("0.0.0.0", 53))
            assert container.handle("a.org")
            assert container.ask_stream(query("a.org"))[0].addresses
            with container.namespace, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.sendto(b"mine", ("127.0.0.1", 53))
                assert datagrams.recvfrom(16)[0] == b"mine"
            with container.connect("127.0.0.1", 53), stream.accept()[0] as accepted:
                assert accepted.getsockname()[0] == "127.0.0.1"


@case("getaddrinfo for IPv4 with AI_ADDRCONFIG works, as programs call it")
def _(_):
    resolv = f"nameserver {LO}\n"
    script = (
        "import socket; r = socket.getaddrinfo('{}', 80, socket.AF_INET, socket.SOCK_STREAM, 0,"
        " socket.AI_ADDRCONFIG); print(r[0][4][0])"
    )
    with world(ZONE, ["a.org"]) as (_, container, _), host_file("/etc/resolv.conf", resolv):
        for name, address in (("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1")):
            assert python(container, script.format(name)) == address
        # The gate reads that resolv.conf too, and asks itself: an answer that is known is needed.
    with world(ZONE, ["a.org"]) as (_, container, _):
        handle = container.handle("a.org")
        with host_file("/etc/resolv.conf", resolv):
            assert python(container, script.format("a.org")) == handle


def python(container, script):
    import subprocess  # noqa: PLC0415

    with container.namespace:
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True
        )
    return done.stdout.strip()


# ---- what it has given up -----------------------------------------------------------------------


@case("the gate is nobody's process, and has no capability, no way up, no environment")
def _(_):
    with world(ZONE, ["a.org"]) as (_, container, gate):
        container.handle("a.org")
        assert gate.field("Uid").split() == [str(USER)] * 4
        assert gate.field("Gid").split() == [str(USER)] * 4
        assert gate.field("Groups") == ""
        for field in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(gate.field(field), 16) == 0, field
        assert gate.field("NoNewPrivs") == "1" and gate.field("Seccomp") == "2"
        assert os.stat(f"/proc/{gate.pid}/mem").st_uid == 0  # it is not dumpable
        assert os.readlink(f"/proc/{gate.pid}/cwd") == "/"
        for standard in (0, 1, 2):
            assert os.readlink(f"/proc/{gate.pid}/fd/{standard}") == "/dev/null"


if __name__ == "__main__":
    main()
