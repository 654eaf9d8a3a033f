#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The relay's data path, from both ends. Needs root.

Where it says so, a comment names what other relays do in the same place (measured: socat 1.7,
systemd-socket-proxyd 252, nginx 1.22 stream, ncat 7.93, haproxy 2.6, Go, Python, Node).
Nothing here waits for a time-out of the relay to prove that there is none: it is asked of the
kernel whether the relay sleeps without one.
"""

import array
import errno
import hashlib
import os
import resource
import select
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from relay_lab import (  # noqa: E402
    MEBIBYTE,
    PORT,
    SLOWNESS,
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
    read_all,
    read_to_reset,
    reset,
    socket_path,
    unix_pair,
)

# ---- ends ---------------------------------------------------------------------------------------


@case("C-26 a client that half-closes gets its answer, however late")
def _(directory):
    # socat, socket-proxyd, nginx and ncat lose the answer.
    with unix_pair(directory) as pair:
        pair.client.sendall(b"question")
        pair.client.shutdown(socket.SHUT_WR)
        assert read_all(pair.server) == b"question"
        eventually(pair.relay.waits_for_ever, "the relay waits without a limit")
        answer = os.urandom(MEBIBYTE)
        sender = threading.Thread(target=lambda: (pair.server.sendall(answer), pair.server.close()))
        sender.start()
        assert read_all(pair.client) == answer
        sender.join()


@case("C-26 a broker that half-closes still gets everything")
def _(directory):
    # socket-proxyd and nginx cut the client off; under ncat it never learns of the end.
    with unix_pair(directory) as pair:
        pair.server.sendall(b"answer")
        pair.server.shutdown(socket.SHUT_WR)
        assert read_all(pair.client) == b"answer"
        eventually(pair.relay.waits_for_ever, "the relay waits without a limit")
        late = os.urandom(MEBIBYTE)
        sender = threading.Thread(target=lambda: (pair.client.sendall(late), pair.client.close()))
        sender.start()
        assert read_all(pair.server) == late
        sender.join()


@case("C-26 a relay that is killed resets its clients, so that half an answer does not look whole")
def _(directory):
    with unix_pair(directory) as pair:
        pair.server.sendall(b"half an answ")
        assert exactly(pair.client, 12) == b"half an answ"
        pair.relay.kill()
        assert read_to_reset(pair.client) == b""


@case("C-26 a broker's abort is a reset, after all it had sent")
def _(directory):
    # All eight present it as an ordinary end: a truncated answer that looks complete.
    with unix_pair(directory) as pair:
        pair.client.sendall(b"question")
        exactly(pair.server, 4)
        pair.server.sendall(b"half an answ")
        pair.server.close()  # with bytes unread
        assert read_to_reset(pair.client) == b"half an answ"


@case("a broker's abort after it had half-closed is a reset too")
def _(directory):
    with unix_pair(directory) as pair:
        pair.server.sendall(b"answer")
        pair.server.shutdown(socket.SHUT_WR)
        assert read_all(pair.client) == b"answer"
        pair.client.sendall(b"more")
        assert pair.server.recv(4, socket.MSG_PEEK) == b"more"  # has arrived, stays unread
        pair.server.close()
        poll = select.poll()
        poll.register(pair.client, 0)  # errors only
        assert poll.poll(10_000 * SLOWNESS), "the client learns nothing"
        error = pair.client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        assert error in (errno.ECONNRESET, errno.EPIPE), error


@case("a broker's ordinary end is an ordinary end")
def _(directory):
    with unix_pair(directory) as pair:
        pair.client.sendall(b"question")
        assert exactly(pair.server, 8) == b"question"
        pair.server.sendall(b"answer")
        pair.server.close()
        assert read_all(pair.client) == b"answer"
        eventually(lambda: len(pair.relay.descriptors()) == pair.base, "the relay lets go")


@case("a client does not go on writing to a broker that is gone")
def _(directory):
    # socat, ncat, haproxy, Go, Python and Node accept its bytes for ever.
    with unix_pair(directory) as pair:
        pair.server.close()
        assert read_all(pair.client) == b""
        try:
            while True:
                pair.client.sendall(b"into nothing")
        except (ConnectionResetError, BrokenPipeError):
            pass


@case("a client's reset closes the broker's side at once")
def _(directory):
    with unix_pair(directory) as pair:
        pair.client.sendall(b"question")
        assert exactly(pair.server, 8) == b"question"
        reset(pair.client)
        assert pair.server.recv(1) == b""
        try:
            while True:
                pair.server.sendall(b"token")
        except BrokenPipeError:
            pass


@case("a client that went away is noticed by the broker's next bytes")
def _(directory):
    with unix_pair(directory) as pair:
        pair.client.close()
        assert pair.server.recv(1) == b""  # a half-close, for all one can know
        try:
            while True:
                pair.server.sendall(b"token")
        except BrokenPipeError:
            pass


@case("a broker that shuts its reading side may still answer")
def _(directory):
    with unix_pair(directory) as pair:
        pair.server.shutdown(socket.SHUT_RD)
        pair.client.sendall(os.urandom(MEBIBYTE))  # dropped, as TCP would
        pair.server.sendall(b"answer")
        assert exactly(pair.client, 6) == b"answer"
        pair.client.shutdown(socket.SHUT_WR)
        pair.server.close()
        assert read_all(pair.client) == b""


# ---- bytes --------------------------------------------------------------------------------------


@case("C-29 no byte waits for the next, and silence has no limit")
def _(directory):
    with unix_pair(directory) as pair:
        for number in range(200):
            event = b"%05d" % number
            pair.server.sendall(event)
            assert exactly(pair.client, 5) == event  # the next one is not sent before
            pair.client.sendall(event)
            assert exactly(pair.server, 5) == event
        eventually(pair.relay.waits_for_ever, "the relay waits without a limit")
        begin = time.monotonic()
        for _ in range(50):  # with Nagle's algorithm the second waits 40 ms for the first
            pair.client.sendall(b"?")
            exactly(pair.server, 1)
            pair.server.sendall(b"first")
            exactly(pair.client, 5)
            pair.server.sendall(b"second")
            exactly(pair.client, 6)
        assert time.monotonic() - begin < 1.5 * SLOWNESS


def send_and_hash(connection, seed, sent):
    block = hashlib.sha512(seed).digest() * 4096
    total = hashlib.sha256()
    for turn in range(32):
        part = block[: len(block) - 977 * turn]
        connection.sendall(part)
        total.update(part)
    connection.shutdown(socket.SHUT_WR)
    sent[seed] = total.digest()


def exchange(connection, seed, sent, received):
    sender = threading.Thread(target=send_and_hash, args=(connection, seed, sent))
    sender.start()
    received[seed] = hashlib.sha256(read_all(connection)).digest()
    sender.join()


@case("every byte arrives in order, both ways at once, on sixteen connections")
def _(directory):
    sent, received = {}, {}
    lock = threading.Lock()
    numbers = iter(range(16))

    def serve(connection):
        with lock:
            number = next(numbers)
        name = exactly(connection, 2)
        exchange(connection, b"d" + name, sent, received)
        assert number < 16

    def call(number):
        with connect() as connection:
            name = b"%02d" % number
            connection.sendall(name)
            exchange(connection, b"u" + name, sent, received)

    with Broker(socket_path(directory), serve), Relay(endpoint(directory)):
        callers = [threading.Thread(target=call, args=(number,)) for number in range(16)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    for number in range(16):
        name = b"%02d" % number
        assert received[b"u" + name] == sent[b"d" + name], "down"
        assert received[b"d" + name] == sent[b"u" + name], "up"


@case("a stalled reader holds back the broker, not the relay's memory")
def _(directory):
    with unix_pair(directory) as pair:
        before = private_kib(pair.relay)
        pair.server.setblocking(False)
        pushed = 0
        stalled = threading.Event()

        def push():
            nonlocal pushed
            while True:
                try:
                    pushed += pair.server.send(b"x" * 65536)
                except BlockingIOError:
                    return pair.relay.waits_for_ever()

        eventually(push, "the broker is held back")
        stalled.set()
        assert pushed < 2 * MEBIBYTE, pushed  # 4.5 MB without a bound on the send buffer
        # The buffer that all connections read into, and the bytes that this one did not take.
        assert private_kib(pair.relay) - before < 2 * 256 + 16
        pair.server.setblocking(True)
        pair.server.close()
        assert len(read_all(pair.client)) == pushed


@case("a client's urgent byte stays in its place")
def _(directory):
    with unix_pair(directory) as pair:
        pair.client.sendall(b"before")
        pair.client.send(b"!", socket.MSG_OOB)
        pair.client.sendall(b"after")
        assert exactly(pair.server, 12) == b"before!after"


@case("bytes around passed descriptors arrive")
def _(directory):
    with unix_pair(directory) as pair:
        null = os.open("/dev/null", os.O_RDONLY)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null]))]
        base = len(pair.relay.descriptors())
        for number in range(50):
            pair.server.sendmsg([b"%02d" % number], rights)
            pair.server.sendall(b"..")
        os.close(null)
        assert exactly(pair.client, 200) == b"".join(b"%02d.." % number for number in range(50))
        assert len(pair.relay.descriptors()) == base


# ---- bulk ---------------------------------------------------------------------------------------


def pipes(relay):
    links = (os.readlink(f"/proc/{relay.pid}/fd/{fd}") for fd in relay.descriptors())
    # A command that waits holds none of the relay's, and the relay none of the command's.
    return sum(link.startswith("pipe:") for link in links)


def stuff(connection, relay):
    """Sends until nobody takes any more: what was sent."""
    connection.setblocking(False)
    sent = []

    def push():
        block = os.urandom(65536)
        try:
            sent.append(block[: connection.send(block)])
            return False
        except BlockingIOError:
            return relay.waits_for_ever()

    eventually(push, "the sender is held back")
    connection.setblocking(True)
    return b"".join(sent)


def ends_of(pair, way):
    return (pair.client, pair.server) if way == "up" else (pair.server, pair.client)


@case("bulk that stalls lies in a pipe if TCP brought it, and none is left when it has gone through")
def _(directory):
    for way, ends_of_pipe, kib in (("up", 2, 128), ("down", 0, 640)):
        with unix_pair(directory) as pair:
            base = pipes(pair.relay)
            source, sink = ends_of(pair, way)
            sent = stuff(source, pair.relay)
            assert pipes(pair.relay) == base + ends_of_pipe, way
            assert private_kib(pair.relay) < kib, (way, private_kib(pair.relay))
            source.shutdown(socket.SHUT_WR)
            assert read_all(sink) == sent, way
            sink.close()
            eventually(lambda: pipes(pair.relay) == base, f"{way}: an idle relay has no pipe")


@case("bulk without a descriptor for a pipe is copied")
def _(directory):
    for way in ("up", "down"):
        with unix_pair(directory) as pair:
            resource.prlimit(pair.relay.pid, resource.RLIMIT_NOFILE, (0, hard_limit(pair.relay)))
            base = pipes(pair.relay)
            source, sink = ends_of(pair, way)
            sent = stuff(source, pair.relay)
            assert pipes(pair.relay) == base, way
            source.shutdown(socket.SHUT_WR)
            assert read_all(sink) == sent, way


@case("C-26 a broker's abort in bulk is a reset, after all it had sent")
def _(directory):
    with unix_pair(directory) as pair:
        pair.client.sendall(b"question")
        assert pair.server.recv(4, socket.MSG_PEEK) == b"ques"
        sent = stuff(pair.server, pair.relay)
        pair.server.close()  # with the question unread
        assert read_to_reset(pair.client) == sent


@case("a broker that leaves in the middle of an upload resets its client, and no signal is heard")
def _(directory):
    # SIGPIPE would be passed on to the command, which dies of it: see Relay.__exit__.
    with Broker(socket_path(directory)) as broker, Relay(endpoint(directory)) as relay:
        base = relay.at_rest()
        outcomes = []

        def upload(client):
            try:
                client.sendall(bytes(16 * MEBIBYTE))
                outcomes.append("sent")
            except (ConnectionResetError, BrokenPipeError):
                outcomes.append("reset")

        for turn in range(50):
            with connect() as client, broker.accept() as server:
                sender = threading.Thread(target=upload, args=(client,))
                sender.start()
                exactly(server, 65536 * turn // 2 + 1)
                server.close()
                sender.join()
        assert outcomes == ["reset"] * 50, outcomes
        relay.lets_go(base)


@case("an urgent byte in bulk stays in its place")
def _(directory):
    with unix_pair(directory) as pair:
        parts = [os.urandom(MEBIBYTE) for _ in range(4)]
        received = []
        reader = threading.Thread(target=lambda: received.append(read_all(pair.server)))
        reader.start()
        for part in parts:
            pair.client.sendall(part)
            pair.client.send(b"!", socket.MSG_OOB)
        pair.client.shutdown(socket.SHUT_WR)
        reader.join()
        assert received[0] == b"".join(part + b"!" for part in parts)


# ---- reaching the broker ------------------------------------------------------------------------


@case("without a broker a client is reset, not kept and not ended")
def _(directory):
    # All the others close without an error.
    with Relay(endpoint(directory)) as relay:
        with connect() as client:
            assert read_to_reset(client) == b""
        eventually(relay.waits_for_ever, "the relay is idle again")


@case("what stands in the socket's place later resets its clients at once")
def _(directory):
    with Relay(endpoint(directory)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.bind(socket_path(directory))
            client = connect_or_reset()
            assert client is None or read_to_reset(client) == b""


@case("C-24 a restarted broker is found, with its directory mounted read-only")
def _(directory):
    outside, inside = f"{directory}/outside", f"{directory}/inside"
    os.mkdir(outside)
    os.mkdir(inside)
    mount = ["mount", "--bind", "-o", "ro,nosuid,nodev,noexec", outside, inside]
    assert os.spawnvp(os.P_WAIT, "mount", mount) == 0
    path = socket_path(outside)
    try:
        with Relay(endpoint(inside)) as relay:
            base = relay.at_rest()
            with Broker(path, echo), connect() as client:
                client.sendall(b"one")
                assert exactly(client, 3) == b"one"
            relay.lets_go(base)
            client = connect()
            client.sendall(b"two")  # nobody is there yet
            eventually(lambda: relay.descriptors() != base, "the client is accepted")
            with Broker(path, echo), client:
                assert exactly(client, 3) == b"two"
            for change in (os.unlink, os.rmdir, lambda name: os.mkdir(name + ".d")):
                try:
                    change(socket_path(inside))
                    raise AssertionError("the socket's directory can be written to")
                except OSError:
                    pass
    finally:
        assert os.spawnvp(os.P_WAIT, "umount", ["umount", inside]) == 0


@case("a full backlog delays clients and loses none")
def _(directory):
    with Broker(socket_path(directory), backlog=1) as broker, Relay(endpoint(directory)):
        clients = [connect() for _ in range(40)]
        for number, client in enumerate(clients):
            client.sendall(b"%02d" % number)
            if number % 2:
                client.shutdown(socket.SHUT_WR)  # must not be taken for one that left
        answered = []
        for _ in clients:
            with broker.accept() as server:
                name = exactly(server, 2)
                server.sendall(name)
                answered.append(name)
        for number, client in enumerate(clients):
            assert read_all(client) == b"%02d" % number
            client.close()
        assert answered[2:] == sorted(answered[2:]), "who came first is served first"


@case("who left before the broker took it is not passed on")
def _(directory):
    with Broker(socket_path(directory), backlog=0) as broker, Relay(endpoint(directory)) as relay:
        first = connect()
        eventually(relay.waits_for_ever, "the first one fills the backlog")
        base = len(relay.at_rest())
        gone, came_back = connect(), connect()
        came_back.sendall(b"still here")
        eventually(lambda: len(relay.descriptors()) >= base + 2, "both stand in line")
        gone.close()
        eventually(lambda: len(relay.descriptors()) <= base + 2, "one has left the line")
        with broker.accept():
            pass
        with broker.accept() as server:
            assert exactly(server, 10) == b"still here"
        came_back.close()
        first.close()


@case("more than 1024 waiting clients push back into the kernel")
def _(directory):
    with Broker(socket_path(directory), backlog=0) as broker, Relay(endpoint(directory)) as relay:
        clients = [connect() for _ in range(1500)]
        eventually(lambda: len(relay.descriptors()) > 1024, "the line is full")
        assert len(relay.descriptors()) < 1024 + 32
        reset(clients.pop())
        for client in clients:
            client.sendall(b"x")
        for _ in range(len(clients)):
            with broker.accept() as server:
                exactly(server, 1)
        for client in clients:
            assert read_all(client) == b""
            client.close()


@case("several endpoints lead to their own brokers")
def _(directory):
    ports = range(PORT, PORT + 16)
    brokers = []
    for port in ports:
        def serve(connection, port=port):
            connection.sendall(b"%d" % port)
        brokers.append(Broker(f"{directory}/{port}.sock", serve))
    with Relay(*(endpoint(directory, f"{port}.sock", port) for port in ports)):
        for port in reversed(ports):
            with connect(port) as client:
                assert read_all(client) == b"%d" % port
    for broker in brokers:
        broker.__exit__(None)


@case("a path longer than any sun_path leads to the broker")
def _(directory):
    deep = directory + "/d" * 100
    os.makedirs(deep)
    name = "n" * 107
    os.chdir(deep)  # a broker must do the same
    try:
        with Broker(name, echo), Relay(endpoint(deep, name)), connect() as client:
            client.sendall(b"far")
            assert exactly(client, 3) == b"far"
    finally:
        os.chdir("/")


@case("C-01 both loopback addresses are served where there is IPv6")
def _(directory):
    with Broker(socket_path(directory), echo), Relay(endpoint(directory)):
        for address in ("127.0.0.1", "::1"):
            with connect(address=address) as client:
                client.sendall(b"x")
                assert exactly(client, 1) == b"x"


# ---- names --------------------------------------------------------------------------------------


def query(name, kind=1, extra=b""):
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b"."))
    counts = b"\0\1\0\0\0\0" + (b"\0\1" if extra else b"\0\0")
    return b"id\1\0" + counts + labels + b"\0" + kind.to_bytes(2, "big") + b"\0\1" + extra


def refused(name, kind=1):
    asked = query(name, kind)
    return b"id\x81\x83" + asked[4:]


def name_client(kind):
    client = socket.socket(socket.AF_INET, kind)
    client.settimeout(60 * SLOWNESS)
    client.connect(("127.0.0.1", 53))
    return client


def ask_stream(client, asked):
    client.sendall(len(asked).to_bytes(2, "big") + asked)
    return exactly(client, int.from_bytes(exactly(client, 2), "big"))


@case("C-21 a name is refused at once, over UDP and TCP")
def _(directory):
    with Relay(endpoint(directory), options=["--dns"]):
        with name_client(socket.SOCK_DGRAM) as client:
            for kind in (1, 28, 65):
                client.send(query(b"example.com", kind))
                assert client.recv(512) == refused(b"example.com", kind)
            client.send(query(b"a.b", extra=b"\0\0\x29\x10\0\0\0\x80\0\0\0"))
            assert client.recv(512)[-11:] == b"\0\0\x29\x04\xd0\0\0\0\0\0\0"
        with name_client(socket.SOCK_STREAM) as client:
            for _ in range(3):
                assert ask_stream(client, query(b"example.com")) == refused(b"example.com")


@case("a malformed look-up is ignored and the next one answered")
def _(directory):
    with Relay(endpoint(directory), options=["--dns"]) as relay:
        with name_client(socket.SOCK_DGRAM) as client:
            for bad in (b"", b"x", refused(b"a.b"), query(b"a.b")[:-1], os.urandom(9000)):
                client.send(bad)
            client.send(query(b"good.example"))
            assert client.recv(512) == refused(b"good.example")
        for bad in (b"\xff\xff", b"\0\1x", b"\0\0"):
            with name_client(socket.SOCK_STREAM) as client:
                client.sendall(bad)
                try:
                    assert client.recv(1) == b""
                except ConnectionResetError:
                    pass
        eventually(relay.waits_for_ever, "it does not spin")


@case("idle look-up connections give way to new ones")
def _(directory):
    with Relay(endpoint(directory), options=["--dns"]) as relay:
        base = len(relay.at_rest())
        clients = [name_client(socket.SOCK_STREAM) for _ in range(40)]
        assert ask_stream(clients[-1], query(b"a.b")) == refused(b"a.b")
        assert len(relay.descriptors()) == base + 16
        assert clients[0].recv(1) == b""
        for client in clients:
            client.close()
        eventually(lambda: len(relay.descriptors()) == base, "all are gone")


@case("look-ups out of descriptors: nothing spins, and afterwards they are answered")
def _(directory):
    with Relay(endpoint(directory), options=["--dns"]) as relay:
        before = resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (0, hard_limit(relay)))
        clients = [name_client(socket.SOCK_STREAM) for _ in range(3)]
        with name_client(socket.SOCK_DGRAM) as client:
            client.send(query(b"a.b"))  # needs no descriptor
            assert client.recv(512) == refused(b"a.b")
        eventually(relay.waits_for_ever, "it sleeps, as nothing that spins does")
        resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, before)
        clients.append(name_client(socket.SOCK_STREAM))  # which is when it looks again
        for client in clients:
            assert ask_stream(client, query(b"a.b")) == refused(b"a.b")
            client.close()


@case("without port 53 the relay starts all the same")
def _(directory):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # TIME_WAIT of other cases
        udp.bind(("127.0.0.1", 53))
        tcp.bind(("127.0.0.1", 53))
        tcp.listen()
        with Broker(socket_path(directory), echo), Relay(endpoint(directory), options=["--dns"]):
            with connect() as client:
                client.sendall(b"q")
                assert exactly(client, 1) == b"q"


if __name__ == "__main__":
    main()
