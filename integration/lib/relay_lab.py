# SPDX-License-Identifier: Apache-2.0
"""Helpers for the relay's tests: a laboratory, named cases, a relay, a broker.

A file runs in mount, network and pid namespaces of its own, so that it can hold ports, break
limits and lose processes, and whatever is left dies with it. The relay under test is AH_RELAY.
ANCHORHOLD_MUST_RUN=1: a missing need is an error (99) instead of a skip (77).
"""

import contextlib
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback

INTEGRATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
RELAY = os.environ.get("AH_RELAY", "")  # meson says what was built
PORT = 8080
MEBIBYTE = 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))
SLOWNESS = int(subprocess.run([f"{HERE}/slowness.sh"], stdout=subprocess.PIPE, check=True).stdout)
os.environ["AH_SLOWNESS"] = str(SLOWNESS)
SECONDS_PER_CASE = 60 * SLOWNESS

_cases = []


def case(name, needs=""):
    """Registers a function as the case of that name; it gets an empty directory. What it needs of
    the host is in words of features.sh; without that it is skipped."""

    def register(function):
        _cases.append((name, _where_possible(needs, function) if needs else function))
        return function

    return register


class Skipped(Exception):
    """Says what this host lacks for a case."""


def _where_possible(needs, function):
    def run(directory):
        asked = subprocess.run(
            [f"{HERE}/features.sh", *needs.split()], stdout=subprocess.PIPE, text=True, check=False
        )
        if asked.returncode == 1:
            raise Skipped(f"needs {asked.stdout.strip()}")
        assert asked.returncode == 0, f"features.sh {needs}: {asked.returncode}"
        function(directory)

    return run


def _missing(what):
    print(f"# needs {what}")
    sys.exit(99 if os.environ.get("ANCHORHOLD_MUST_RUN") == "1" else 77)


def _enter():
    if os.environ.get("AH_RELAY_LAB"):
        return
    if not os.access(RELAY, os.X_OK):
        name = os.path.relpath(os.path.abspath(sys.argv[0]), INTEGRATION).removesuffix(".py")
        _missing(f"a build; run it by integration/run {name}")
    if os.geteuid() != 0:
        _missing("root")
    os.environ["AH_RELAY_LAB"] = "1"
    os.execvp(
        "unshare",
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        + [sys.executable, "-B", os.path.abspath(sys.argv[0])]
        + sys.argv[1:],
    )


def _run(name, function):
    def expire(*_):
        raise TimeoutError(f"not done after {SECONDS_PER_CASE} s")

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(SECONDS_PER_CASE)
    try:
        with tempfile.TemporaryDirectory(prefix="ahr-") as directory:
            os.chmod(directory, 0o755)
            function(directory)
        print(f"ok {name}", flush=True)
        return True
    except Skipped as lacking:
        print(f"skip {name} # {lacking}", flush=True)
        return True
    except BaseException:  # also the alarm's and an exit: a case never takes the file along
        print(f"not ok {name}", flush=True)
        traceback.print_exc(file=sys.stdout)
        return False
    finally:
        signal.alarm(0)


def main():
    """Runs the cases whose name holds the first argument, all without one."""
    _enter()
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # of tests under nohup, which every child inherits
    results = [_run(name, function) for name, function in _cases if wanted in name]
    results.append(_run("nothing of the relay's is left", _nothing_is_left))
    sys.exit(0 if len(results) > 1 and all(results) else 1)


def _nothing_is_left(_):
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            # Orphans come to us as process 1; a killed one may be there still, a live one is a bug.
            assert status_field(pid, "State")[0] in "ZX", read(f"/proc/{pid}/cmdline")


# ---- the relay ----------------------------------------------------------------------------------


# Wrappers. The second makes a program that of some user, with no way back.
AS_FIRST_PROCESS = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
AS_USER = ("setpriv", "--reuid=64123", "--regid=64123", "--clear-groups", "--no-new-privs")


class Relay:
    """A relay whose command says "up" first, and lives until its stdin is closed."""

    WAITING = ("sh", "-c", "echo up; exec cat")

    def __init__(self, *endpoints, options=(), wrapper=(), command=WAITING, **popen):
        arguments = [word for endpoint in endpoints for word in ("--endpoint", endpoint)]
        popen = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **popen}
        self.ends_well = command is self.WAITING
        self.forks = wrapper[:1] == AS_FIRST_PROCESS[:1]
        self.process = subprocess.Popen(
            [*wrapper, RELAY, *options, *arguments, "--", *command], **popen
        )
        if popen["stdout"] == subprocess.PIPE:
            assert self.process.stdout.readline() == b"up\n", "the command did not start"

    @property
    def pid(self):
        return children(self.process.pid)[0] if self.forks else self.process.pid

    @property
    def command_pid(self):
        return children(self.pid)[0]

    def descriptors(self):
        return sorted(int(fd) for fd in os.listdir(f"/proc/{self.pid}/fd"))

    def at_rest(self):
        """Its descriptors once it waits: the command may say "up" before the pipe to it is closed."""
        eventually(self.waits_for_ever, "the relay waits")
        return self.descriptors()

    def lets_go(self, base):
        """Waits until it has the descriptors `base` again; what it still has instead is told."""
        try:
            eventually(lambda: self.descriptors() == base, "descriptors are as before")
        except AssertionError as never:
            links = {fd: os.readlink(f"/proc/{self.pid}/fd/{fd}") for fd in self.descriptors()}
            sockets = read(f"/proc/{self.pid}/net/tcp") + read(f"/proc/{self.pid}/syscall")
            raise AssertionError(f"{never}\nbefore: {base}\nnow: {links}\n{sockets}") from never

    def waits_for_ever(self):
        """It sleeps in epoll_wait without a time-out: nothing is going to happen by itself."""
        words = read(f"/proc/{self.pid}/syscall").split()
        return len(words) > 4 and int(words[4], 16) & 0xFFFFFFFF == 0xFFFFFFFF

    def ticks(self):
        """Its CPU time, in hundredths of a second."""
        fields = read(f"/proc/{self.pid}/stat").rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def kill(self):
        """Until the relay itself is gone, and not only what it was started by."""
        if self.process.poll() is None:
            # The wrapper may not have noticed yet that its relay has ended: then there is none.
            for pid in children(self.process.pid) if self.forks else [self.pid]:
                relay = os.pidfd_open(pid)
                os.kill(pid, signal.SIGKILL)
                await_end(relay)
        self.ends_well = False
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in (self.process.stdin, self.process.stdout):
            if end:
                end.close()
        status = self.process.wait(10 * SLOWNESS)
        assert status == 0 or not self.ends_well, status


def run_relay(directory, *command, options=(), wrapper=(), endpoint=None, **popen):
    """A relay to a broker that nobody needs, to its end: the completed process, with text."""
    endpoint = endpoint or f"{PORT}={directory}/none.sock"
    return subprocess.run(
        [*wrapper, RELAY, *options, "--endpoint", endpoint, "--", *command],
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_CASE,
        **popen,
    )


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def await_end(pidfd):
    """Waits for the process, closes the descriptor."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    assert poll.poll(10_000 * SLOWNESS), "the process lives on"
    os.close(pidfd)


def status_field(pid, name):
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    raise KeyError(name)


def children(pid):
    return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]


def eventually(condition, what):
    """Waits for what no event tells us of; fails with the case's alarm."""
    pause = threading.Event()
    while not condition():
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 1, f"never happened: {what}"
        pause.wait(0.005)


# ---- both ends ----------------------------------------------------------------------------------


def _family_of(path):
    if isinstance(path, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in path[0] else socket.AF_INET


class Broker:
    """Listens at a path, or a (host, port), and serves each connection in a thread; what went wrong
    there is raised at the end of the block. With serve=None the test accepts by itself."""

    def __init__(self, path, serve=None, backlog=1024):
        self.path = path
        self.errors = []
        self.connections = 0
        self.threads = []
        self.listener = socket.socket(_family_of(path))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(path)
        self.listener.listen(backlog)
        if serve:
            self._start(self._accept, serve)

    def _start(self, function, *arguments):
        def guarded():
            try:
                function(*arguments)
            except Exception as error:  # raised again in __exit__
                self.errors.append(error)

        self.threads.append(threading.Thread(target=guarded, daemon=True))  # a failed case ends too
        self.threads[-1].start()

    def _accept(self, serve):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # shut down by close()
            self.connections += 1
            self._start(self._serve, serve, connection)

    @staticmethod
    def _serve(serve, connection):
        with connection:
            serve(connection)

    def accept(self):
        return self.listener.accept()[0]

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        if isinstance(self.path, str):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close()
        for thread in self.threads:
            thread.join(10 * SLOWNESS)
        if self.errors and kind is None:
            raise self.errors[0]


def connect(port=PORT, address="127.0.0.1"):
    return socket.create_connection((address, port), timeout=SECONDS_PER_CASE)


def connect_or_reset():
    try:
        return connect()
    except ConnectionResetError:  # before connect(2) had returned
        return None


def read_all(connection):
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def read_to_reset(connection):
    """All bytes before a reset; an ordinary end is a failure."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        return b"".join(parts)
    raise AssertionError("an ordinary end, not a reset")


def exactly(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, f"ended after {len(data)} of {size} bytes"
        data += part
    return data


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def echo(connection):
    while data := connection.recv(1 << 16):
        connection.sendall(data)


def endpoint(directory, name="broker.sock", port=PORT):
    return f"{port}={directory}/{name}"


def socket_path(directory):
    return f"{directory}/broker.sock"


class Pair:
    """A relay with both ends of one connection in hand, all of which it closes."""

    def __init__(self, broker, relay):
        self.broker = broker
        self.relay = relay
        self.base = len(self.relay.at_rest())
        self.client = connect()
        self.server = self.broker.accept()
        self.server.settimeout(60 * SLOWNESS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.close()
        self.broker.close()
        self.relay.__exit__()


def unix_pair(directory):
    return Pair(Broker(socket_path(directory)), Relay(endpoint(directory)))


def private_kib(relay):
    lines = read(f"/proc/{relay.pid}/smaps_rollup").splitlines()
    fields = dict(line.split(":", 1) for line in lines[1:])
    return int(fields["Pss_Anon"].split()[0])


def hard_limit(relay):
    return resource.prlimit(relay.pid, resource.RLIMIT_NOFILE)[1]
