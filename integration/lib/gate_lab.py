# SPDX-License-Identifier: Apache-2.0
"""Helpers for the gate's tests: the internet, the host and a container, each a network namespace,
and a gate between the last two. The test itself runs on the host. AH_TABLES plants in the container's
namespace what a run has there, for every port: which ones are open is the gate's matter here. The
gate under test is AH_GATE.
"""

import contextlib
import ctypes
import json
import os
import socket
import struct
import subprocess
import tempfile
import threading

import relay_lab
from relay_lab import (
    SECONDS_PER_CASE,
    Broker,
    await_end,
    echo,
    eventually,
    read,
    status_field,
)

GATE = os.environ.get("AH_GATE", "")
TABLES = os.environ.get("AH_TABLES", "")
USER = 0x70001234
LO, LISTENER, UNASSIGNED = "198.19.0.1", "198.19.0.2", "198.19.99.99"
HOST, HOST6 = "203.0.113.1", "2001:db8::1"
RESOLVER = "203.0.113.2"
IP_TRANSPARENT, IPV6_TRANSPARENT = 19, 75
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def case(name, needs=""):
    """A case of relay_lab's, on a kernel that can do what the laboratory and a gate need."""
    return relay_lab.case(name, f"tproxy ipv6 veth {needs}".strip())


def _checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Namespace:
    """A network namespace of its own. Within a `with` block the calling thread is in it, and so is
    whatever it starts there."""

    def __init__(self, path=None):
        self.homes = []
        if path:
            self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return
        with open("/proc/thread-self/ns/net", "rb") as home:
            _checked(_libc.unshare(CLONE_NEWNET))
            self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            _checked(_libc.setns(home.fileno(), CLONE_NEWNET))

    def __enter__(self):
        self.homes.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        _checked(_libc.setns(self.fd, CLONE_NEWNET))
        return self

    def __exit__(self, *_):
        home = self.homes.pop()
        _checked(_libc.setns(home, CLONE_NEWNET))
        os.close(home)


def run(line, **more):
    subprocess.run(line.split() if isinstance(line, str) else line, check=True, **more)


# ---- the internet -------------------------------------------------------------------------------

_internet = None


def internet():
    """The namespace, with a link to the host; made once. Servers take any of 203.0.113.10-40,
    192.0.2.10-12 or 2001:db8::10-12."""
    global _internet
    if _internet is None:
        _internet = Namespace()
        run(["ip", "link", "add", "outside", "type", "veth", "peer", "name", "up0"])
        run(["ip", "link", "set", "up0", "netns", f"/proc/{os.getpid()}/fd/{_internet.fd}"])
        run(f"ip addr add {HOST}/24 dev outside")
        run(f"ip addr add {HOST6}/64 dev outside nodad")
        run("ip link set outside up")
        with _internet:
            run("ip link set lo up")
            run("ip link set up0 up")
            run("ip addr add 203.0.113.2/24 dev up0")
            run("ip addr add 2001:db8::2/64 dev up0 nodad")
            for last in range(10, 41):
                run(f"ip addr add 203.0.113.{last}/32 dev lo")
            for last in range(10, 13):
                run(f"ip addr add 192.0.2.{last}/32 dev lo")
                run(f"ip addr add 10.9.9.{last}/32 dev lo")
                run(f"ip addr add 2001:db8::{last}/128 dev up0 nodad")
        run("ip route add default via 203.0.113.2")
        run("ip -6 route add default via 2001:db8::2")
    return _internet


def server(address, port, serve=None, **more):
    """A server in the internet, as Broker; says its own address when it is not told what to do."""
    with internet():
        return Broker((address, port), serve or say(address.encode()), **more)


def say(word):
    def serve(connection):
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(word)
            while connection.recv(4096):
                pass

    return serve


def echo_until_reset(connection):
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        echo(connection)


A, AAAA, CNAME, TXT, SVCB, HTTPS, ANY, OPT = 1, 28, 5, 16, 64, 65, 255, 41
NOERROR, SERVFAIL, NXDOMAIN, NOTIMP = 0, 2, 3, 4


def encode(name):
    labels = name.encode("latin-1").rstrip(b".").split(b".") if name != "." else []
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def decode(message, at):
    labels = []
    while message[at]:
        labels.append(message[at + 1 : at + 1 + message[at]].decode("latin-1"))
        at += 1 + message[at]
    return ".".join(labels), at + 1


def rdata(kind, value):
    if kind == A:
        return socket.inet_aton(value)
    if kind == AAAA:
        return socket.inet_pton(socket.AF_INET6, value)
    return encode(value)


class Names:
    """The resolver that the host asks. `zone` has for each name a list of (type, value, TTL), a
    code, or a function that is given the query and returns a reply or None. It remembers what it
    was asked, as (name, type)."""

    def __init__(self, zone=None):
        self.zone = zone or {}
        self.asked = []
        with internet():
            self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.datagrams.bind((RESOLVER, 53))
            self.stream = Broker((RESOLVER, 53), self._serve_stream)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            query, client = self.datagrams.recvfrom(4096)
            if query == b"end":
                return
            reply = self.answer(query)
            if reply is not None:
                truncated = reply[:2] + bytes([reply[2] | 2]) + reply[3:6] + b"\0" * 6 + query[12:]
                self.datagrams.sendto(reply if len(reply) <= 512 else truncated, client)

    def _serve_stream(self, connection):
        with contextlib.suppress(ConnectionResetError):
            size = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))[0]
            reply = self.answer(connection.recv(size, socket.MSG_WAITALL))
            connection.sendall(struct.pack("!H", len(reply)) + reply)

    def answer(self, query):
        name, end = decode(query, 12)
        kind = struct.unpack("!H", query[end : end + 2])[0]
        self.asked.append((name, kind))
        found = self.zone.get(name, NXDOMAIN)
        if callable(found):
            return found(query)
        code = found if isinstance(found, int) else NOERROR
        records = [] if isinstance(found, int) else found
        records = [entry for entry in records if entry[0] in (kind, CNAME)]
        return reply_bytes(query, end + 4, code, records)

    def names_asked(self):
        return sorted({name for name, _ in self.asked})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with internet(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"end", (RESOLVER, 53))
        self.thread.join()
        self.datagrams.close()
        self.stream.__exit__(None)


def reply_bytes(query, end, code, records):
    header = query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
    body = b""
    for kind, value, ttl, *owner in records:
        data = rdata(kind, value)
        body += encode(owner[0]) if owner else b"\xc0\x0c"
        body += struct.pack("!HHIH", kind, 1, ttl, len(data)) + data
    return header + query[12:end] + body


@contextlib.contextmanager
def host_file(path, text):
    """A file of the host's with that text, for everybody who opens it from now on in this mount
    namespace. It yields what changes it."""
    with tempfile.NamedTemporaryFile("w", prefix="ahg-") as file:
        os.chmod(file.name, 0o644)

        def write(content):
            file.seek(0)
            file.truncate()
            file.write(content)
            file.flush()

        write(text)
        run(["mount", "--bind", file.name, os.path.realpath(path)])
        try:
            yield write
        finally:
            run(["umount", os.path.realpath(path)])


# ---- the container ------------------------------------------------------------------------------

class Inside:
    """What programs do in a container's network namespace."""

    namespace = None

    def connect(self, address, port):
        with self.namespace:
            return socket.create_connection((address, port), timeout=SECONDS_PER_CASE)

    def ask(self, name, kind=A, **more):
        """The reply over UDP; None: there was none, for which the alarm is not awaited."""
        message = query(name, kind, **more)
        with self.namespace, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(SECONDS_PER_CASE)
            client.connect((LO, 53))
            client.send(message)
            return Reply(client.recv(4096), message)

    def ask_stream(self, *messages):
        with self.connect(LO, 53) as client:
            client.sendall(b"".join(struct.pack("!H", len(one)) + one for one in messages))
            replies = []
            for message in messages:
                head = client.recv(2, socket.MSG_WAITALL)
                size = struct.unpack("!H", head)[0]
                replies.append(Reply(client.recv(size, socket.MSG_WAITALL), message))
            return replies

    def handle(self, name):
        reply = self.ask(name)
        assert reply.code == NOERROR and len(reply.addresses) == 1, (name, vars(reply))
        return reply.addresses[0]

    def is_reset(self, address, port, first=b""):
        """Whether a connection is refused, or reset before a byte comes."""
        try:
            with self.connect(address, port) as client:
                if first:
                    client.sendall(first)
                return client.recv(1) is None
        except (ConnectionResetError, ConnectionRefusedError, BrokenPipeError):
            return True

    def denied(self):
        """What the kernel remembers of refused packets, as (address, protocol, port)."""
        with self.namespace:
            found = subprocess.run([TABLES, "denied"], check=True, stdout=subprocess.PIPE, text=True)
        return {(to, kind, int(port)) for to, kind, port in map(str.split, found.stdout.splitlines())}

class Container(Inside):
    """A namespace with lo alone, planted. `open` are addresses to which rules lead."""

    def __init__(self, open_v4=(), open_v6=()):
        self.namespace = Namespace()
        ranges = ["198.19.0.0/16", *open_v4, *open_v6]
        words = [f"allow={range}:tcp:1-65535" for range in ranges]
        with self.namespace:
            run("ip link set lo up")
            run([TABLES, "plant", "posture=filtered", "handles=198.19.0.0/16", "pool=198.18.0.0/16", *words],
                stdout=subprocess.DEVNULL)
        self.init = subprocess.Popen(["sleep", "infinity"])

    def socket(self, family, kind, address, port, *options):
        with self.namespace:
            made = socket.socket(family, kind | socket.SOCK_NONBLOCK)
        for level, name in options:
            made.setsockopt(level, name, 1)
        made.bind((address, port))
        if kind == socket.SOCK_STREAM:
            made.listen(4096)
        return made

    def end(self):
        self.init.kill()
        self.init.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        os.close(self.namespace.fd)


def inside_of(pid):
    """Inside, of the namespace of a process that the test has made."""
    found = Inside()
    found.namespace = Namespace(f"/proc/{pid}/ns/net")
    return found


def query(name, kind=A, opt=False, klass=1, flags=0x0100, raw=None):
    tail = b"\0\0\x29\x04\xd0\0\0\0\0\0\0" if opt else b""
    header = struct.pack("!HHHHHH", 0x4142, flags, 1, 0, 0, 1 if opt else 0)
    return header + (raw or encode(name)) + struct.pack("!HH", kind, klass) + tail


class Reply:
    def __init__(self, message, asked):
        self.bytes = message
        self.code = message[3] & 15
        answers, self.with_opt = struct.unpack("!H2xH", message[6:12])
        end = 12
        while message[end]:
            end += 1 + message[end]
        end += 5
        assert message[:2] == asked[:2] and message[12:end] == asked[12:end], "the question is echoed"
        self.addresses, self.ttls = [], []
        for _ in range(answers):
            name, kind, klass, ttl, size = struct.unpack("!HHHIH", message[end : end + 12])
            assert (name, kind, klass, size) == (0xC00C, A, 1, 4)
            self.addresses.append(socket.inet_ntoa(message[end + 12 : end + 16]))
            self.ttls.append(ttl)
            end += 16
        self.is_blocked = message.endswith(b"\0\x0f\0\2\0\x0f")


# ---- the gate -----------------------------------------------------------------------------------


class Gate:
    """A gate for a container. `rules` are as the hook writes them."""

    def __init__(self, container, rules=None, wrapper=(), endpoints=()):
        self.container = container
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        transparent = (socket.SOL_IP, IP_TRANSPARENT)
        transparent6 = (socket.IPPROTO_IPV6, IPV6_TRANSPARENT)
        with contextlib.ExitStack() as opened:
            self.report = opened.enter_context(tempfile.NamedTemporaryFile(prefix="ahg-"))
            rule_file = opened.enter_context(tempfile.TemporaryFile())
            rule_file.write(json.dumps(rules or {}).encode())
            rule_file.flush()
            init = os.pidfd_open(container.init.pid)
            opened.callback(os.close, init)
            sockets = [
                ("--dns", container.socket(socket.AF_INET, datagram, LO, 1, transparent)),
                ("--capture", container.socket(socket.AF_INET, stream, LISTENER, 1, transparent)),
                ("--capture", container.socket(socket.AF_INET6, stream, "::1", 1, transparent6)),
            ]
            words = ["--rules", rule_file.fileno(), "--init", init]
            words += ["--report", self.report.fileno(), "--user", USER, "--group", USER]
            for word, one in sockets:
                opened.enter_context(one)
                words += [word, one.fileno()]
            for number, port in enumerate(endpoints):
                one = container.socket(socket.AF_INET, stream, "127.0.0.1", port)
                opened.enter_context(one)
                sockets.append(("--endpoint", one))
                words += ["--endpoint", f"{number}:{one.fileno()}"]
            kept = [rule_file.fileno(), init, self.report.fileno()] + [s.fileno() for _, s in sockets]
            self.process = subprocess.Popen(
                [*wrapper, GATE, *map(str, words)],
                stderr=subprocess.PIPE,
                pass_fds=kept,
                env={"PATH": os.environ["PATH"]},  # of what is in front of it
            )
            opened.pop_all()  # until the error is known
            self.error = self.process.stderr.read().decode()
            self._close_ours(rule_file, init, sockets)

    def _close_ours(self, rule_file, init, sockets):
        rule_file.close()
        os.close(init)
        for _, one in sockets:
            one.close()

    @property
    def pid(self):
        return self.process.pid

    def tally(self):
        for _ in range(100):
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(read(self.report.name))
        raise AssertionError("the report is never whole")

    def resets(self, why):
        return self.tally()["resets"][why]

    def await_resets(self, why, count):
        eventually(lambda: self.resets(why) >= count, f"{count} resets for {why}: {self.tally()}")

    def denied(self):
        return {entry["name"]: entry["count"] for entry in self.tally()["denied"]}

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def field(self, name):
        return status_field(self.pid, name)

    def __enter__(self):
        assert self.error == "" and self.process.poll() is None, self.error
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.container.end()
        status = self.process.wait(SECONDS_PER_CASE)
        self.process.stderr.close()
        self.report.close()
        assert status in (0, -9), status


@contextlib.contextmanager
def world(zone=None, allow=(), deny=(), open_v4=(), open_v6=(), rules_endpoints=(), **more):
    """Everything: the names of the internet, a container, its gate."""
    resolv = host_file("/etc/resolv.conf", f"nameserver {RESOLVER}\n")
    with Names(zone) as names, resolv, Container(open_v4, open_v6) as container:
        rules = {"allow": list(allow), "deny": list(deny), "endpoints": list(rules_endpoints)}
        with Gate(container, rules, **more) as gate:
            yield names, container, gate


__all__ = [name for name in dir() if not name.startswith("_")] + ["await_end"]
