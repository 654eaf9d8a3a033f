#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How connections through the gate end, and the gate itself; and what one run can cost. Needs root."""

import contextlib
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from gate_lab import (  # noqa: E402
    A,
    Container,
    Gate,
    await_end,
    case,
    echo_until_reset,
    internet,
    server,
    world,
)
from relay_lab import (  # noqa: E402
    MEBIBYTE,
    Broker,
    eventually,
    exactly,
    main,
    read,
    read_all,
    read_to_reset,
    reset,
)

ZONE = {"a.org": [(A, "203.0.113.10", 300)]}


class Pair:
    """Both ends of one connection through the gate."""

    def __init__(self, container, broker, gate):
        self.base = gate.descriptors()
        self.client = container.connect(container.handle("a.org"), 443)
        self.server = broker.accept()
        self.server.settimeout(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.close()


@contextlib.contextmanager
def pair():
    with internet():
        broker = Broker(("203.0.113.10", 443))
    with broker, world(ZONE, ["a.org"]) as (_, container, gate):
        with Pair(container, broker, gate) as both:
            yield both, gate, container


# ---- ends of a connection -----------------------------------------------------------------------


@case("C-26 who half-closes first gets everything, both ways, however late")
def _(_):
    with pair() as (both, gate, _):
        both.client.sendall(b"question")
        both.client.shutdown(socket.SHUT_WR)
        assert read_all(both.server) == b"question"
        answer = os.urandom(MEBIBYTE)
        sender = threading.Thread(target=lambda: (both.server.sendall(answer), both.server.close()))
        sender.start()
        assert read_all(both.client) == answer
        sender.join()
        eventually(lambda: gate.descriptors() == both.base, "both sockets are closed")
    with pair() as (both, _, _):
        both.server.sendall(b"answer")
        both.server.shutdown(socket.SHUT_WR)
        assert read_all(both.client) == b"answer"
        late = os.urandom(MEBIBYTE)
        sender = threading.Thread(target=lambda: (both.client.sendall(late), both.client.close()))
        sender.start()
        assert read_all(both.server) == late
        sender.join()


@case("C-26 a client that has nothing to say, and says so before the dial is done, is answered")
def _(_):
    def greet(connection):
        with contextlib.suppress(OSError):
            connection.sendall(b"answer")
            connection.shutdown(socket.SHUT_WR)
            read_all(connection)

    with world(ZONE, ["a.org"]) as (_, container, _), server("203.0.113.10", 443, greet):
        for _ in range(50):
            with container.connect(container.handle("a.org"), 443) as client:
                client.shutdown(socket.SHUT_WR)
                assert read_all(client) == b"answer"


@case("C-26 an abort of either side is a reset at the other, after all that was sent")
def _(_):
    with pair() as (both, gate, _):
        both.server.sendall(b"half an answ")
        assert exactly(both.client, 12) == b"half an answ"
        reset(both.server)
        assert read_to_reset(both.client) == b""
        eventually(lambda: gate.descriptors() == both.base, "nothing is held")
    with pair() as (both, gate, _):
        both.client.sendall(b"half a quest")
        assert exactly(both.server, 12) == b"half a quest"
        reset(both.client)
        assert read_to_reset(both.server) == b""
        eventually(lambda: gate.descriptors() == both.base, "nothing is held")


@case("every byte arrives in order, both ways at once, on sixteen connections")
def _(_):
    data = os.urandom(4 * MEBIBYTE)
    right = []
    with server("203.0.113.10", 443, echo_until_reset), world(ZONE, ["a.org"]) as (_, container, _):
        handle = container.handle("a.org")
        clients = [container.connect(handle, 443) for _ in range(16)]

        def exchange(client):
            with client:
                sender = threading.Thread(target=client.sendall, args=(data,))
                sender.start()
                if exactly(client, len(data)) == data:
                    right.append(True)
                sender.join()

        threads = [threading.Thread(target=exchange, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(right) == 16


# ---- ends of the gate ---------------------------------------------------------------------------


@case("a gate that is killed leaves everything closed, and resets what is open at both ends")
def _(_):
    with pair() as (both, gate, container):
        both.client.sendall(b"half a quest")
        both.server.sendall(b"half an answ")
        assert exactly(both.server, 12) == b"half a quest"
        assert exactly(both.client, 12) == b"half an answ"
        handle = container.handle("a.org")
        gate.kill()
        assert read_to_reset(both.client) == b""
        assert read_to_reset(both.server) == b""
        assert container.is_reset(handle, 443)
        try:
            container.ask("a.org")
            raise AssertionError("somebody answered")
        except ConnectionRefusedError:
            pass


@case("the gate ends with the container's init, and what is open is reset")
def _(_):
    with pair() as (both, gate, container):
        both.client.sendall(b"x")
        assert exactly(both.server, 1) == b"x"
        pidfd = os.pidfd_open(gate.pid)
        container.end()
        await_end(pidfd)
        assert read_to_reset(both.client) == b""
        assert read_to_reset(both.server) == b""
        assert gate.process.wait() == 0


@case("a gate that is paused lets nothing through, and goes on where it was")
def _(_):
    with pair() as (both, gate, container):
        os.kill(gate.pid, signal.SIGSTOP)
        both.client.sendall(b"late")
        waiting = container.connect("198.19.1.0", 443)
        with contextlib.suppress(BlockingIOError):
            both.server.setblocking(False)
            assert both.server.recv(4) is None
        both.server.setblocking(True)
        os.kill(gate.pid, signal.SIGCONT)
        assert exactly(both.server, 4) == b"late"
        waiting.close()


@case("wrong words, rules and descriptors are one line, and nothing is served")
def _(_):
    program = os.environ["AH_GATE"]
    for words, line in (
        ([], "--rules, --report, --init and --dns are needed"),
        (["--rules"], '"--rules" is no option with a number: anchorhold-hook starts the gate'),
        (["--rules", "2"], '"--rules" is no option with a number: anchorhold-hook starts the gate'),
        (["--what", "4"], '"--what" is no option with a number: anchorhold-hook starts the gate'),
        (["--endpoint", "4"], '"--endpoint" is no option with a number: anchorhold-hook starts the gate'),
    ):
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, f"anchorhold-gate: {line}\n"), done
    with Container() as container:
        gate = Gate(container, {"allow": ["198.19.1.0/24"]})
        assert gate.error == (
            "anchorhold-gate: rules: handles 198.19.0.0/16 hold a rule's 198.19.1.0/24\n"
        )
        assert gate.process.wait() == 1
        gate.process.stderr.close()
        gate.report.close()


# ---- bounds -------------------------------------------------------------------------------------


@case("more than 1024 connections are reset and counted, and what is open goes on")
def _(_):
    with server("203.0.113.10", 443, echo_until_reset, backlog=4096), world(ZONE, ["a.org"]) as (
        _,
        container,
        gate,
    ):
        handle = container.handle("a.org")
        first = container.connect(handle, 443)
        first.sendall(b"x")
        assert exactly(first, 1) == b"x"
        clients = []
        with container.namespace:
            for _ in range(1100):  # dialled at fifty a second, or waiting for that
                client = socket.socket()
                clients.append(client)
                with contextlib.suppress(ConnectionResetError):
                    client.connect((handle, 443))
        gate.await_resets("full", 1100 - 1023)
        assert gate.resets("full") == 1100 - 1023
        first.sendall(b"still")
        assert exactly(first, 5) == b"still"
        for client in [*clients, first]:
            client.close()
        eventually(lambda: gate.descriptors() < 40, "all are closed")


@case("bytes that nobody reads are bounded, and flow on once they are read")
def _(_):
    block = b"x" * MEBIBYTE
    count = 320

    def serve(connection):
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            for _ in range(2):
                connection.sendall(block)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)

    with server("203.0.113.10", 443, serve, backlog=4096), world(ZONE, ["a.org"]) as (
        _,
        container,
        gate,
    ):
        handle = container.handle("a.org")
        clients = [container.connect(handle, 443) for _ in range(count)]
        for client in clients:
            assert exactly(client, 1) == b"x"
        before = None
        while before != (before := (private_kib(gate), pipes_kib(gate))):
            threading.Event().wait(0.5)
        assert 8 << 10 < sum(before) < (16 << 10) + (count << 4) + 2048, before
        for client in clients:
            assert len(read_all(client)) == 2 * MEBIBYTE - 1
            client.close()
        eventually(lambda: gate.descriptors() < 40, "all are closed")


def private_kib(gate):
    lines = read(f"/proc/{gate.pid}/smaps_rollup").splitlines()
    fields = dict(line.split(":", 1) for line in lines[1:])
    return int(fields["Pss_Anon"].split()[0])


def pipes_kib(gate):
    """What its pipes hold."""
    unread = 0
    for fd in os.listdir(f"/proc/{gate.pid}/fd"):
        path = f"/proc/{gate.pid}/fd/{fd}"
        with contextlib.suppress(FileNotFoundError):
            if os.readlink(path).startswith("pipe:") and is_read_end(gate, fd):
                pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                unread += struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]
                os.close(pipe)
    return unread >> 10


def is_read_end(gate, fd):
    flags = read(f"/proc/{gate.pid}/fdinfo/{fd}").split("flags:")[1].split()[0]
    return int(flags, 8) & os.O_ACCMODE == os.O_RDONLY


@case("without descriptors clients are reset at once, and later ones are served")
def _(_):
    few = ("prlimit", "--nofile=32:32")
    with server("203.0.113.10", 443, echo_until_reset), world(ZONE, ["a.org"], wrapper=few) as (
        _,
        container,
        gate,
    ):
        handle = container.handle("a.org")
        clients = []
        with container.namespace:
            for _ in range(40):
                client = socket.socket()
                clients.append(client)
                with contextlib.suppress(ConnectionResetError):
                    client.connect((handle, 443))
        gate.await_resets("full", 1)
        for client in clients:
            client.close()
        eventually(lambda: gate.descriptors() < 20, "all are closed")
        with container.connect(handle, 443) as client:
            client.sendall(b"x")
            assert exactly(client, 1) == b"x"


@case("an idle gate sleeps without a limit, and takes little memory of its own")
def _(_):
    with server("203.0.113.10", 443, echo_until_reset), world(ZONE, ["a.org"]) as (_, container, gate):
        with container.connect(container.handle("a.org"), 443) as client:
            client.sendall(b"x")
            assert exactly(client, 1) == b"x"

        def sleeps():
            words = read(f"/proc/{gate.pid}/syscall").split()
            return len(words) > 4 and int(words[4], 16) & 0xFFFFFFFF == 0xFFFFFFFF

        eventually(sleeps, "it waits for events alone")
        assert private_kib(gate) <= 256, private_kib(gate)


if __name__ == "__main__":
    main()
