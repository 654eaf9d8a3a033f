#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The relay at the end of what it may have: connections, descriptors, memory. Needs root.

Where it says so, a comment names what other relays do in the same place; see semantics.py.
"""

import errno
import os
import resource
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from relay_lab import (  # noqa: E402
    MEBIBYTE,
    Broker,
    Relay,
    case,
    connect,
    connect_or_reset,
    echo,
    endpoint,
    eventually,
    exactly,
    hard_limit,
    main,
    private_kib,
    socket_path,
)


@case("C-25 a burst of short connections leaves nothing behind")
def _(directory):
    with Broker(socket_path(directory), echo) as broker, Relay(endpoint(directory)) as relay:
        base, kib = relay.at_rest(), private_kib(relay)
        for _ in range(2000):
            with connect() as client:
                client.sendall(b"q")
                assert exactly(client, 1) == b"q"
        clients = [connect() for _ in range(200)]
        for client in clients:
            client.sendall(b"q")
        for client in clients:
            assert exactly(client, 1) == b"q"
            client.close()
        relay.lets_go(base)
        assert broker.connections == 2200
        assert private_kib(relay) - kib < 128


REFUSES_SPLICE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 275, "aarch64": 76}[os.uname().machine]
filter = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, number,
                     0x06, 0, 0, 0x00050000 | int(sys.argv[1]), 0x06, 0, 0, 0x7FFF0000)
class Program(ctypes.Structure):
    _fields_ = [("size", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, filter)), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


@case("bulk passes where the container's seccomp profile refuses splice")
def _(directory):
    for number in (errno.EPERM, errno.ENOSYS):
        wrapper = (sys.executable, "-c", REFUSES_SPLICE, str(number))
        with Broker(socket_path(directory), echo), Relay(endpoint(directory), wrapper=wrapper):
            with connect() as client:
                sent = os.urandom(8 * MEBIBYTE)
                writer = threading.Thread(target=client.sendall, args=(sent,))
                writer.start()
                assert exactly(client, len(sent)) == sent
                writer.join()


def served_or_reset(clients):
    """Returns how many were answered; the others must have been reset, none may hang."""
    served = 0
    for client in clients:
        try:
            client.sendall(b"q")
            served += exactly(client, 1) == b"q"
        except (ConnectionResetError, BrokenPipeError):
            pass
    return served


@case("out of descriptors: reset at once, nobody hangs, nothing spins, and then it goes on")
def _(directory):
    # nginx, Go and Python leave the clients hanging; Go and Python spin, Python stays dead.
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
    with Broker(socket_path(directory), echo), Relay(endpoint(directory), **limit) as relay:
        clients = [client for _ in range(100) if (client := connect_or_reset())]
        served = served_or_reset(clients)
        assert 20 <= served < 64 // 2, served
        eventually(relay.waits_for_ever, "it does not spin")
        for client in clients:
            client.close()
        eventually(lambda: len(relay.descriptors()) < 16, "the clients are gone")
        with connect() as client:
            assert served_or_reset([client]) == 1


@case("RLIMIT_NOFILE set to 0 from inside: no spin, and it recovers")
def _(directory):
    with Broker(socket_path(directory), echo), Relay(endpoint(directory)) as relay:
        standing = connect()
        standing.sendall(b"q")
        assert exactly(standing, 1) == b"q"
        before = resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (0, hard_limit(relay)))
        clients = [connect() for _ in range(5)]
        ticks = relay.ticks()
        threading.Event().wait(0.5)
        assert relay.ticks() - ticks <= 2, "it spins"
        standing.sendall(b"q")
        assert exactly(standing, 1) == b"q"
        resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, before)
        assert served_or_reset(clients) == 5
        for client in (*clients, standing):
            client.close()
        eventually(relay.waits_for_ever, "it is idle again")


@case("an idle relay has 64 KiB of its own")
def _(directory):
    # socket-proxyd has 890, haproxy 4400, nginx 8900. A page of the stack and of the heap each are
    # more or less, by where the kernel puts them.
    with Relay(endpoint(directory)) as relay:
        eventually(relay.waits_for_ever, "it is idle")
        assert private_kib(relay) <= 72, private_kib(relay)


@case("so it has after bulk, once the connection has ended")
def _(directory):
    with Broker(socket_path(directory)) as broker, Relay(endpoint(directory)) as relay:
        client, server = connect(), broker.accept()
        for sender, receiver in ((server, client), (client, server)):
            block = os.urandom(8 * MEBIBYTE)
            thread = threading.Thread(target=sender.sendall, args=(block,))
            thread.start()
            assert exactly(receiver, len(block)) == block
            thread.join()
        for end in (client, server):
            end.close()
        eventually(lambda: relay.waits_for_ever() and private_kib(relay) <= 72, "it gave it back")


class MemoryGroup:
    """A memory cgroup of either version with a limit. What is started by it is charged to it."""

    FILES = {"memory/": "memory.limit_in_bytes", "": "memory.max"}

    def __init__(self, limit):
        for parent, limit_file in self.FILES.items():
            self.path = f"/sys/fs/cgroup/{parent}ah-relay-{os.stat('/proc/self/ns/net').st_ino}"
            if not os.path.isdir(os.path.dirname(self.path)):
                continue
            os.mkdir(self.path)
            if os.path.exists(f"{self.path}/{limit_file}"):
                self._write(limit_file, limit)
                return
            os.rmdir(self.path)
        raise AssertionError("this host has no memory cgroup")

    def _write(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def join(self):
        self._write("cgroup.procs", 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.path)


@case(
    "9000 connections fit a memory cgroup of 64 MiB, and 2 MiB of private memory",
    needs="memory_cgroup",
)
def _(directory):
    # Without a limit Go takes 368 MiB, nginx 141, node 143; socket-proxyd refuses most of them.
    everybody = Broker(socket_path(directory), backlog=4096)
    with MemoryGroup(64 * MEBIBYTE) as group, everybody as broker:
        with Relay(endpoint(directory), preexec_fn=group.join) as relay:
            clients, servers = [], []
            for _ in range(9000):
                clients.append(connect())
                servers.append(broker.accept())
            for number, client in enumerate(clients):
                client.sendall(b"%04d" % number)
            assert {exactly(server, 4) for server in servers} == {
                b"%04d" % number for number in range(9000)
            }
            for server in servers:
                server.sendall(b"answer")
            for client in clients:
                assert exactly(client, 6) == b"answer"
            assert private_kib(relay) <= 2048, private_kib(relay)
            for end in (*clients, *servers):
                end.close()


if __name__ == "__main__":
    main()
