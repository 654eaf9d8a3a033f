#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gate.py: what a gate costs, beside direct TCP from the host and from a container with a link of
its own, which the host forwards. Every round measures each once, one straight after the other, so
that what else the machine does falls on all alike. Printed are medians over the rounds, and of the
ratios within a round; `best` is the best tenth of the gate's rounds against that of the host's.
AH_ROUNDS (25) says how many, AH_LIVE (1000) how many gates are alive at once. Figures to read, not
a test. To be run in namespaces of its own.
"""

import os
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from gate_lab import A, GATE, LO, Container, Gate, Namespace, internet, read, run, world  # noqa: E402

LOAD, NOTHING = os.environ["AH_GATE_LOAD"], os.environ["AH_NOTHING"]
ROUNDS, LIVE = int(os.environ.get("AH_ROUNDS", "25")), int(os.environ.get("AH_LIVE", "1000"))
SERVER, PORT = "203.0.113.10", "7000"
NAME = "server.test"


def linked():
    """A namespace as a container with a link has it: what it sends is forwarded by the host."""
    made = Namespace()
    run("ip link add inner type veth peer name eth0")
    run(["ip", "link", "set", "eth0", "netns", f"/proc/{os.getpid()}/fd/{made.fd}"])
    run("ip addr add 198.18.0.1/30 dev inner")
    run("ip link set inner up")
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as forwards:
        forwards.write("1")
    with made:
        run("ip link set lo up")
        run("ip addr add 198.18.0.2/30 dev eth0")
        run("ip link set eth0 up")
        run("ip route add default via 198.18.0.1")
    with internet():
        run("ip route add 198.18.0.0/30 via 203.0.113.1")
    return made


def figure(namespace, *words):
    with namespace:
        done = subprocess.run([LOAD, *words], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def processor(pid):
    """Milliseconds of a processor that it has had."""
    return int(read(f"/proc/{pid}/schedstat").split()[0]) / 1e6


def best(values, is_rate):
    """What the best tenth of the rounds reaches: the least that others disturbed."""
    return sorted(values, reverse=is_rate)[len(values) // 10]


def speed(host, container, gate, handle):
    places = [("host", host, SERVER), ("link", linked(), SERVER), ("gate", container.namespace, handle)]
    print(f"{'':10}{'host':>9}{'link':>9}{'gate':>9}{'of host':>9}{'of link':>9}{'best':>9}")
    for what in ("down", "up", "echo", "set-up", "chunk"):
        found = {name: [] for name, _, _ in places}
        used = processor(gate.pid)
        for turn in range(ROUNDS + 1):  # the first warms up
            if what == "set-up":
                time.sleep(0.3)  # the gate dials fifty times a second
            for name, namespace, address in places[turn % 3 :] + places[: turn % 3]:
                found[name].append(figure(namespace, what, address, PORT))
        used = (processor(gate.pid) - used) / (ROUNDS + 1)
        rows = list(zip(*(values[1:] for values in found.values())))
        columns = list(zip(*rows))
        is_rate = what in ("down", "up")
        ratios = [statistics.median(row[2] / row[at] for row in rows) for at in (0, 1)]
        ratios.append(best(columns[2], is_rate) / best(columns[0], is_rate))
        print(f"{what:10}" + "".join(f"{statistics.median(column):9.1f}" for column in columns)
              + "".join(f"{ratio:8.2f}x" for ratio in ratios)
              + (f"  {used * 1024 / 96:.0f} ms of CPU per GiB" if is_rate else ""), flush=True)


def names(container):
    for what, name in (("denied", "other.test"), ("allowed", NAME)):
        found = [figure(container.namespace, "dns", LO, "53", name) for _ in range(ROUNDS)]
        print(f"a name, {what}: {statistics.median(found):.0f} us", flush=True)


def private(pid):
    """KiB that are nobody else's."""
    return sum(int(line.split()[1]) for line in read(f"/proc/{pid}/smaps_rollup").splitlines()
               if line.startswith("Private_"))


def available():
    return int(next(line for line in read("/proc/meminfo").splitlines()
                    if line.startswith("MemAvailable")).split()[1])


def milliseconds(action):
    begin = time.perf_counter()
    made = action()
    return (time.perf_counter() - begin) * 1000, made


def start_of_nothing():
    with subprocess.Popen([NOTHING], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        process.stderr.read()


def alive():
    """Gates beside each other; their containers are there before them, and share a first process."""
    rules = {"allow": [NAME], "deny": [], "endpoints": []}
    homes = [Container() for _ in range(LIVE)]
    for home in homes[1:]:
        home.end()
        home.init = homes[0].init
    before = available()
    gates, starts, nothing = [], [], []
    for home in homes:
        took, gate = milliseconds(lambda home=home: Gate(home, rules))
        assert gate.error == "", gate.error
        starts.append(took)
        nothing.append(milliseconds(start_of_nothing)[0])
        gates.append(gate)
        if len(gates) == 1:
            print(f"private, alone: {private(gate.pid)} KiB")
    tenth = max(1, LIVE // 10)
    middle = statistics.median(private(gate.pid) for gate in gates)
    print(f"private, among {LIVE}: {middle:.0f} KiB; of the whole system {(before - available()) // LIVE} KiB")
    first, last = (best(starts[part], False) - best(nothing[part], False)
                   for part in (slice(tenth), slice(-tenth, None)))
    print(f"exec to ready: {first:.2f} ms, the last of {LIVE} {last:.2f} ms, over a program that does nothing")
    homes[0].end()
    for gate in gates:
        gate.__exit__()
    for home in homes:
        os.close(home.namespace.fd)


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    run("ip link set lo up")
    host = Namespace("/proc/self/ns/net")
    with internet():
        server = subprocess.Popen([LOAD, "serve", SERVER, PORT])
    with world({NAME: [(A, SERVER, 300)]}, allow=[f"{NAME}:{PORT}"]) as (_, container, gate):
        print(f"gate: {os.stat(GATE).st_size / 2**20:.2f} MiB", flush=True)
        speed(host, container, gate, container.handle(NAME))
        names(container)
    server.kill()
    server.wait()
    alive()


main()
