#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The relay's way to a port of the host's end of its link, which here is 127.0.0.2. Needs root.

What is the same for a broker's Unix socket is tested once, in semantics.py.
"""

import contextlib
import errno
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from relay_lab import (  # noqa: E402
    MEBIBYTE,
    PORT,
    SLOWNESS,
    Broker,
    Pair,
    Relay,
    case,
    connect,
    echo,
    eventually,
    exactly,
    main,
    read,
    read_all,
    read_to_reset,
    reset,
    run_relay,
)

GATEWAY = ("127.0.0.2", 9000)
ENDPOINT = f"{PORT}=host:{GATEWAY[1]}"
MARK = "00ff00ff00ff00ff"


def left_by_up(directory, content=f"{MARK}\n{GATEWAY[0]}\n"):
    """The options of a relay whose run's hook has left that."""
    with open(f"{directory}/enforced", "w", encoding="utf-8") as file:
        file.write(content)
    return ("--inside", directory, "--mark", MARK)


def relay(directory, *endpoints, gateway=GATEWAY[0], **more):
    options = left_by_up(directory, f"{MARK}\n{gateway}\n")
    return Relay(*(endpoints or (ENDPOINT,)), options=options, **more)


def host_pair(directory):
    return Pair(Broker(GATEWAY), relay(directory))


def dials(address):
    """Connections that wait for an answer from there, as the kernel counts them."""
    wanted = socket.inet_aton(address[0])[::-1].hex().upper() + f":{address[1]:04X}"
    lines = read("/proc/net/tcp").splitlines()[1:]
    return sum(line.split()[2] == wanted and line.split()[3] == "02" for line in lines)


def fill(broker):
    """Connects until the broker's kernel answers no more (a backlog of 0 takes one)."""
    standing = []
    while True:
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(broker.path)
        if client.connect_ex(broker.path) == errno.EALREADY:
            client.close()
            return standing
        standing.append(client)


# ---- what is dialled ----------------------------------------------------------------------------


@case("a port of the host's end is reached by the address that the hook left, and only there")
def _(directory):
    with Broker(GATEWAY, echo), Broker(("127.0.0.3", GATEWAY[1]), echo) as other:
        with relay(directory), connect() as client:
            client.sendall(b"question")
            assert exactly(client, 8) == b"question"
        assert other.connections == 0
        with relay(directory, gateway="127.0.0.3"), connect() as client:
            client.sendall(b"question")
            assert exactly(client, 8) == b"question"
        assert other.connections == 1


@case("a Unix socket and two ports stand side by side")
def _(directory):
    def say(word):
        def serve(connection):
            with contextlib.suppress(BrokenPipeError):  # the relay's own, before the command starts
                connection.sendall(word)

        return serve

    path = f"{directory}/broker.sock"
    ports = [(GATEWAY[0], 9001), (GATEWAY[0], 9002)]
    with Broker(path, say(b"0")), Broker(ports[0], say(b"1")), Broker(ports[1], say(b"2")):
        with relay(directory, f"81={path}", "82=host:9001", "83=host:9002"):
            for number in (2, 0, 1):
                with connect(81 + number) as client:
                    assert read_all(client) == b"%d" % number


@case("a run without a link, or with another mark, is refused before its command runs")
def _(directory):
    def refusal(content):
        options = left_by_up(directory, content)
        done = run_relay(directory, "sh", "-c", "echo ran", options=options, endpoint=ENDPOINT)
        assert (done.returncode, done.stdout) == (125, ""), done
        return done.stderr

    quoted = f'"{ENDPOINT}"'
    assert refusal(f"{MARK}\n") == (
        f"anchorhold-relay: check endpoint {quoted}: this run has no link to the host\n"
    )
    assert "it is of another run" in refusal(f"0{MARK[1:-1]}1\n{GATEWAY[0]}\n")
    for line in ("localhost\n", "127.0.0.2", "127.0.0.2\n\n", "127.0.0.2:9000\n", "::1\n"):
        assert "its second line is no IPv4 address" in refusal(f"{MARK}\n{line}")
    assert "this run has no link" in refusal(f"{MARK}\n0.0.0.0\n")
    os.unlink(f"{directory}/enforced")
    done = run_relay(
        directory, "true", options=("--inside", directory, "--mark", MARK), endpoint=ENDPOINT
    )
    assert done.returncode == 125 and "read the file enforced" in done.stderr, done


# ---- ends and bytes -----------------------------------------------------------------------------


@case("C-26 over TCP too, who half-closes first gets everything")
def _(directory):
    with host_pair(directory) as pair:
        pair.client.sendall(b"question")
        pair.client.shutdown(socket.SHUT_WR)
        assert read_all(pair.server) == b"question"
        eventually(pair.relay.waits_for_ever, "the relay waits without a limit")
        answer = os.urandom(MEBIBYTE)
        sender = threading.Thread(target=lambda: (pair.server.sendall(answer), pair.server.close()))
        sender.start()
        assert read_all(pair.client) == answer
        sender.join()
        eventually(lambda: len(pair.relay.descriptors()) == pair.base, "both sockets are closed")
    with host_pair(directory) as pair:
        pair.server.sendall(b"answer")
        pair.server.shutdown(socket.SHUT_WR)
        assert read_all(pair.client) == b"answer"
        late = os.urandom(MEBIBYTE)
        sender = threading.Thread(target=lambda: (pair.client.sendall(late), pair.client.close()))
        sender.start()
        assert read_all(pair.server) == late
        sender.join()


@case("C-26 over TCP too, a broker's abort is a reset, after all it had sent")
def _(directory):
    with host_pair(directory) as pair:
        pair.client.sendall(b"question")
        exactly(pair.server, 4)
        pair.server.sendall(b"half an answ")
        assert exactly(pair.client, 12) == b"half an answ"
        pair.server.close()  # with bytes unread
        assert read_to_reset(pair.client) == b""
    with host_pair(directory) as pair:
        reset(pair.server)
        assert read_to_reset(pair.client) == b""


@case("a client's reset reaches the broker as one, which stops its spending")
def _(directory):
    with host_pair(directory) as pair:
        pair.client.sendall(b"question")
        assert exactly(pair.server, 8) == b"question"
        reset(pair.client)
        assert read_to_reset(pair.server) == b""
        eventually(lambda: len(pair.relay.descriptors()) == pair.base, "nothing is held")


@case("no byte waits for the next, on the broker's socket either")
def _(directory):
    with host_pair(directory) as pair:
        pair.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin = time.monotonic()
        for _ in range(50):  # with Nagle's algorithm the second waits 40 ms for the first
            pair.client.sendall(b"first")
            assert exactly(pair.server, 5) == b"first"
            pair.client.sendall(b"second")
            assert exactly(pair.server, 6) == b"second"
            pair.server.sendall(b"!")
            assert exactly(pair.client, 1) == b"!"
        assert time.monotonic() - begin < 1.5 * SLOWNESS


@case("an urgent byte stays in its place, both ways")
def _(directory):
    with host_pair(directory) as pair:
        pair.server.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        pair.client.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        for here, there in ((pair.client, pair.server), (pair.server, pair.client)):
            here.sendall(b"before")
            here.send(b"!", socket.MSG_OOB)
            here.sendall(b"after")
            assert exactly(there, 12) == b"before!after"


@case("every byte arrives in order, both ways at once, on sixteen connections")
def _(directory):
    size = 4 * MEBIBYTE
    data = os.urandom(size)

    def exchange():
        with connect() as client:
            sender = threading.Thread(target=client.sendall, args=(data,))
            sender.start()
            if exactly(client, size) == data:
                right.append(True)
            sender.join()

    right = []
    with Broker(GATEWAY, echo), relay(directory):
        clients = [threading.Thread(target=exchange) for _ in range(16)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert len(right) == 16


# ---- no broker ----------------------------------------------------------------------------------


@case("a broker that is away for two seconds is reset, a restarted one is found")
def _(directory):
    with relay(directory) as running:
        client = connect()
        client.sendall(b"q")
        begin = time.monotonic()
        assert read_to_reset(client) == b""
        assert 1 < time.monotonic() - begin < 4 * SLOWNESS
        base = len(running.at_rest())
        client = connect()
        client.sendall(b"two")
        eventually(lambda: len(running.descriptors()) > base, "the client is accepted")
        with Broker(GATEWAY, echo), client:
            assert exactly(client, 3) == b"two"
        eventually(running.waits_for_ever, "nothing is waited for")


@case("where there is no way, a client is reset at once")
def _(directory):
    with relay(directory, gateway="198.51.100.1") as running:
        for setup in ([], ["ip", "route", "add", "unreachable", "198.51.100.1/32"]):
            if setup:
                subprocess.run(setup, check=True)
            base = len(running.at_rest())
            begin = time.monotonic()
            try:
                with connect() as client:
                    assert read_to_reset(client) == b""
            except ConnectionResetError:  # before connect(2) had returned
                pass
            assert time.monotonic() - begin < 1.5 * SLOWNESS
            eventually(lambda: len(running.descriptors()) == base, "nothing is held")
            eventually(running.waits_for_ever, "it does not try again")


@case("a broker whose backlog is full is asked by the kernel, and answers late")
def _(directory):
    with Broker(GATEWAY, backlog=0) as broker, relay(directory) as running:
        standing = fill(broker)
        first, second = connect(), connect()
        first.sendall(b"1")
        second.sendall(b"2")
        eventually(lambda: dials(GATEWAY) == 2, "both are being connected")
        eventually(running.waits_for_ever, "the relay leaves that to the kernel")
        for other in standing:
            other.close()
        served = set()
        while not served >= {b"1", b"2"}:
            with broker.accept() as server:
                served.add(server.recv(1))
        first.close()
        second.close()


@case("who leaves while the broker is being asked is not passed on")
def _(directory):
    with Broker(GATEWAY, backlog=0) as broker, relay(directory) as running:
        standing = fill(broker)
        base = len(running.at_rest())
        client = connect()
        eventually(lambda: dials(GATEWAY) == 1, "it is being connected")
        client.close()
        eventually(lambda: dials(GATEWAY) == 0, "the attempt is given up")
        assert len(running.descriptors()) == base
        for client in standing:
            client.close()


@case("refused after a silence, a client waits for the broker's restart in line")
def _(directory):
    with relay(directory) as running:
        with Broker(GATEWAY, backlog=0) as broker:
            standing = fill(broker)
            client = connect()
            client.sendall(b"q")
            eventually(lambda: dials(GATEWAY) == 1, "it is being connected")
            for other in standing:
                other.close()
        eventually(lambda: dials(GATEWAY) == 0, "the next SYN is answered by RST")
        with Broker(GATEWAY, echo), client:
            assert exactly(client, 1) == b"q"
        eventually(running.waits_for_ever, "nothing is waited for")


@case("a burst of short connections leaves nothing behind")
def _(directory):
    with Broker(GATEWAY, echo) as broker, relay(directory) as running:
        base = running.at_rest()
        for _ in range(2000):
            with connect() as client:
                client.sendall(b"q")
                assert exactly(client, 1) == b"q"
        running.lets_go(base)
        assert broker.connections == 2000


if __name__ == "__main__":
    main()
