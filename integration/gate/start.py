#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How a gate is started for a container's network namespace: what is refused, what is checked from
inside, and what is left when a step fails. Needs root."""

import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from gate_lab import (  # noqa: E402
    A,
    RESOLVER,
    Names,
    await_end,
    case,
    host_file,
    inside_of,
    say,
    server,
)
from relay_lab import Broker, eventually, main, read, status_field  # noqa: E402

ZONE = {"a.org": [(A, "203.0.113.10", 300)]}
RULES = '{"allow":["a.org","*.b.org:8000"]}'
KEY = "12ab34567890"


class Cell:
    """A process in a network namespace of its own, as a runtime leaves a container's init."""

    def __init__(self, setup=""):
        self.init = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", f"{setup}\necho; exec sleep infinity"],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.init.stdout.readline() == b"\n"
        self.program = inside_of(self.init.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.init.pid, signal.SIGKILL)  # not waited for yet, so the number is still its own
        self.init.wait()
        self.init.stdout.close()


def start(cell, directory, rules=RULES, gate=None, ports=()):
    """What the starter says: (the gate's pid, "") or (None, why not)."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir=directory) as file:
        file.write(rules)
        file.flush()
        done = subprocess.run(
            [os.environ["AH_GATE_START"], str(cell.init.pid), file.name, f"{directory}/report",
             gate or os.environ["AH_GATE"], KEY, *map(str, ports)],
            capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.PIPE,
        )
    if done.returncode == 0:
        return int(done.stdout), ""
    return None, done.stderr.rstrip("\n")


def gates():
    """The live processes that are a gate."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if read(f"/proc/{pid}/cmdline").split("\0")[0].endswith("/anchorhold-gate"):
                found += [int(pid)] if status_field(pid, "State")[0] not in "ZX" else []
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


@case("it names its version, which an installer asks for")
def _(directory):
    relay = subprocess.run([os.environ["AH_RELAY"], "--version"], capture_output=True, text=True)
    gate = subprocess.run([os.environ["AH_GATE"], "--version"], capture_output=True, text=True)
    assert gate.stdout == relay.stdout.replace("relay", "gate") and gate.returncode == 0, gate


@case("a started gate serves, is a user of its own, and holds nothing of whoever started it")
def _(directory):
    resolv = host_file("/etc/resolv.conf", f"nameserver {RESOLVER}\n")
    with Names(ZONE), resolv, server("203.0.113.10", 443), Cell() as cell:
        pid, error = start(cell, directory)
        assert error == "", error
        assert cell.program.handle("a.org") == "198.19.1.0"
        with cell.program.connect("198.19.1.0", 443) as client:
            assert client.recv(100) == b"203.0.113.10"
        assert status_field(pid, "Uid").split() == [str(0x700012AB)] * 4
        for fd in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            allowed = ("socket:", "anon_inode:", "/dev/null", f"{directory}/report")
            assert target.startswith(allowed), target
        assert os.getsid(pid) == pid
        handle = os.pidfd_open(pid)
        cell.init.kill()
        await_end(handle)
        eventually(lambda: gates() == [], "nothing is left")


@case("a user without root starts a gate for a namespace of its own", "userns_unprivileged")
def _(directory):
    os.chmod(directory, 0o777)
    with open(f"{directory}/rules", "w", encoding="utf-8") as file:
        file.write(RULES)
    script = f"""
        unshare --net sleep infinity &
        while [ "$(readlink /proc/$!/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do :; done
        echo $!
        exec "$AH_GATE_START" $! {directory}/rules {directory}/report "$AH_GATE" -
    """
    resolv = host_file("/etc/resolv.conf", f"nameserver {RESOLVER}\n")
    user = ["setpriv", "--reuid=64123", "--regid=64123", "--clear-groups"]
    with Names(ZONE), resolv, server("203.0.113.10", 443):
        with subprocess.Popen(
            [*user, "unshare", "--user", "--map-root-user", "sh", "-c", script],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        ) as starter:
            init, gate = starter.stdout.readline(), starter.stdout.readline()
            assert init and gate, starter.stderr.read()
            inside = inside_of(int(init))
            with inside.connect(inside.handle("a.org"), 443) as client:
                assert client.recv(100) == b"203.0.113.10"
            assert status_field(int(gate), "Uid").split() == ["64123"] * 4
            assert int(status_field(int(gate), "CapEff"), 16) == 0
            os.killpg(starter.pid, signal.SIGKILL)  # the init with it
    eventually(lambda: gates() == [], "nothing is left")


@case("endpoints are reached at the container's loopback, IPv4 and IPv6")
def _(directory):
    rules = json.dumps({"endpoints": [
        {"name": "one", "to": "203.0.113.10", "port": 443},
        {"name": "two", "to": "host", "port": 9000},
    ]})
    with server("203.0.113.10", 443), Broker(("127.0.0.1", 9000), say(b"host")), Cell() as cell:
        pid, error = start(cell, directory, rules, ports=(80, 8080))
        assert pid and error == "", error
        for address in ("127.0.0.1", "::1"):
            for port, word in ((80, b"203.0.113.10"), (8080, b"host")):
                with cell.program.connect(address, port) as client:
                    assert client.recv(100) == word
    eventually(lambda: gates() == [], "nothing is left")
    with Cell() as cell:
        pid, error = start(cell, directory, rules, ports=(80,))
        assert (pid, error) == (None, "the gate's endpoints have not a port each")
        pid, error = start(cell, directory, rules, ports=(80, 80))
        assert pid is None, "the table of the first try stands"
    with Cell() as cell:
        pid, error = start(cell, directory, rules, ports=(80, 80))
        assert pid is None and "listen for an endpoint at port 80" in error, error
    assert gates() == []


@case("what a probe from inside has asked is no line in the report")
def _(directory):
    with Cell() as cell:
        pid, error = start(cell, directory)
        assert pid and error == "", error
        eventually(lambda: '"no_handle":1' in read(f"{directory}/report"), "the reset is counted")
        assert '"denied":[]' in read(f"{directory}/report")
    eventually(lambda: gates() == [], "nothing is left")


@case("a namespace with a listener, another process, or the gate's address in use is refused")
def _(directory):
    script = 'import socket, time; s = socket.create_server(("127.0.0.1", 9)); time.sleep(1000)'
    listen = f"ip link set lo up; /usr/bin/python3 -c '{script}' & "
    listen += "while ! ss -Htln | grep -q :9; do :; done"
    with Cell(listen) as cell:
        pid, error = start(cell, directory)
        assert pid is None and "somebody listens in the container's network namespace" in error, error
    with Cell("sleep 1000 &") as cell:
        pid, error = start(cell, directory)
        assert pid is None and "is in the container's network namespace as well" in error, error
    with Cell("ip link set lo up; ip addr add 198.19.0.1/16 dev lo") as cell:
        pid, error = start(cell, directory)
        assert pid is None and "give lo an address of 198.19.0.0/16" in error, error
    assert gates() == []


@case("rules that are wrong, a gate that fails or lies: one line, and no gate is left")
def _(directory):
    with Cell() as cell:
        pid, error = start(cell, directory, rules='{"allow":["198.19.3.0/24"]}')
        assert pid is None and "handles 198.19.0.0/16 hold a rule's 198.19.3.0/24" in error, error
    fake = f"{directory}/gate"
    for text, words in (
        ("echo no >&2; exit 1", "no"),
        ("exit 0", "the gate"),
        ("exec 2>&-; exec sleep 1000", "ask the gate"),
        ("exec 2>&-; exit 0", "gate"),
    ):
        with open(fake, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(fake, 0o755)
        with Cell() as cell:
            pid, error = start(cell, directory, gate=fake)
            assert pid is None and words in error, (text, error)
    with Cell() as cell:
        pid, error = start(cell, directory, gate=f"{directory}/none")
        assert (pid, error) == (None, "anchorhold-gate: cannot be executed")
    assert gates() == []


@case("an init that is gone is refused")
def _(directory):
    with Cell() as cell:
        cell.init.kill()
        os.waitid(os.P_PID, cell.init.pid, os.WEXITED | os.WNOWAIT)
        pid, error = start(cell, directory)
        assert pid is None and "open the network namespace of process" in error, error


if __name__ == "__main__":
    main()
