#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""network.py HOOK STATE ROUNDS LIVE...

What a sealed and a filtered run's network costs: the hook's `up` and `down` as a runtime calls
them, at each number of other runs that are alive; beside them what ip(8) and nft(8) in a script
and the CNI plugins take for the like; and one datagram of the host's own loopback. Cells are
processes in network namespaces of their own. Figures to read, not a test.
"""

import ctypes
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

from runs import settle

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
hook, state, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
levels = [int(word) for word in sys.argv[4:]]
boot = open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip()
generation = "0123456789abcdef"
serial = 0


def identity(path):
    found = os.stat(path)
    return f"{found.st_dev}:{found.st_ino}"


def started(pid):
    return int(open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[19])


def cell():
    """The pid of a process that waits in a fresh network namespace."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        if libc.unshare(CLONE_NEWNET) != 0:
            os._exit(1)
        os.write(writing, b"!")
        os.closerange(0, 20)
        signal.pause()
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 1) == b"!"
    os.close(reading)
    return pid


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def plan(posture):
    """A planned run as the shim leaves it; its key."""
    global serial
    serial += 1
    key = f"{serial * 0x9E3779B97F4A7C15 % 2**48:012x}"
    os.makedirs(f"{state}/runs/{key}/inside", 0o755)
    os.chmod(f"{state}/runs/{key}", 0o700)
    network = {"pool": "198.18.0.0/15", "broker_ports": [9000], "allow": [], "deny": []}
    if posture == "filtered":
        network["allow"] = [{"to": f"10.{i}.0.0/16", "protocol": "TCP", "port": 443, "endPort": 443}
                            for i in range(3)]
    record = {
        "schema": 1, "key": key, "id": key, "root": "/run/runc", "generation": generation,
        "state": "planned", "posture": posture, "technique": "veth", "bundle": "/nonexistent",
        "boot_id": boot, "host_netns": identity("/proc/self/ns/net"),
        "host_pidns": identity("/proc/self/ns/pid"),
        "creator": {"pid": os.getpid(), "start": started(os.getpid())}, "network": network,
    }
    with open(f"{state}/runs/{key}/record.json", "w", encoding="ascii") as file:
        json.dump(record, file)
    return key


def timed(words, text=""):
    """Milliseconds until the command has ended. posix_spawn costs the least of what python has."""
    told = os.memfd_create("told")
    os.write(told, text.encode())
    os.lseek(told, 0, os.SEEK_SET)
    files = [(os.POSIX_SPAWN_DUP2, told, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    begin = time.perf_counter()
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=files)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter() - begin) * 1000
    os.close(told)
    if status != 0:
        sys.exit(f"{' '.join(words)}: status {os.waitstatus_to_exitcode(status)}")
    return took


def verb(word, key, pid=0):
    told = json.dumps({"ociVersion": "1.0.2", "id": key, "pid": pid, "bundle": "/nonexistent"})
    return timed([hook, "--state", state, word, key, generation], told)


def begin(posture):
    pid = cell()
    key = plan(posture)
    return key, pid, verb("up", key, pid)


def finish(run):
    key, pid, _ = run
    end(pid)
    down = verb("down", key)
    settle()
    return down


def ours(posture):
    run = begin(posture)
    return run[2], finish(run)


SCRIPT_UP = """set -e
ip link add {name} type veth peer name eth0 netns {pid}
nft -f - <<R
table netdev script {{ chain {name} {{ type filter hook ingress device {name} priority 0; policy drop
  meta protocol arp accept
  ip saddr 192.0.2.2 ip daddr 192.0.2.1 tcp dport 9000 accept
}}
}}
R
ip addr add 192.0.2.1/30 dev {name}; ip link set {name} up
nsenter -t {pid} -n ip addr add 192.0.2.2/30 dev eth0
nsenter -t {pid} -n ip link set eth0 up"""
SCRIPT_DOWN = "ip link del {name}; nft delete table netdev script"


def script():
    pid = cell()
    names = {"name": "script0", "pid": pid}
    up = timed(["sh", "-c", SCRIPT_UP.format(**names)])
    down = timed(["sh", "-c", SCRIPT_DOWN.format(**names)])
    end(pid)
    settle()
    return up, down


def cni():
    pid = cell()
    network = {"cniVersion": "0.4.0", "name": "bench", "bridge": "bench0", "isGateway": True,
               "ipMasq": False,
               "ipam": {"type": "host-local", "subnet": "192.0.2.128/25", "dataDir": state + "/cni"}}
    environment = ["env", f"CNI_CONTAINERID=bench{pid}", f"CNI_NETNS=/proc/{pid}/ns/net",
                   "CNI_IFNAME=eth0", "CNI_PATH=/usr/lib/cni"]
    def call(command, plugin, extra):
        return timed([*environment, f"CNI_COMMAND={command}", f"/usr/lib/cni/{plugin}"],
                     json.dumps({**network, "type": plugin, **extra}))
    begin = time.perf_counter()
    done = subprocess.run([*environment, "CNI_COMMAND=ADD", "/usr/lib/cni/bridge"],
                          input=json.dumps({**network, "type": "bridge"}), text=True,
                          capture_output=True, check=True)
    result = {"prevResult": json.loads(done.stdout)}
    call("ADD", "firewall", result)
    up = (time.perf_counter() - begin) * 1000
    down = call("DEL", "firewall", result) + call("DEL", "bridge", {})
    end(pid)
    settle()
    return up, down


def datagram():
    """Microseconds of one datagram to oneself by loopback; the best of several series."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.connect(one.getsockname())
        series = []
        for _ in range(15):
            begin = time.perf_counter()
            for _ in range(5000):
                one.send(b"x")
                one.recv(1)
            series.append((time.perf_counter() - begin) / 5000 * 1e6)
    return min(series)


def show(name, samples):
    ups, downs = zip(*samples)
    print(f"{name:24}{statistics.median(ups):8.2f}{statistics.median(downs):9.2f}", flush=True)


def main():
    alive = []
    print(f"{'ms, median':24}{'up':>8}{'down':>9}")
    for level in levels:
        while len(alive) < level:
            alive.append(begin("sealed"))
        ours("sealed")  # warms up
        show(f"sealed, {level} alive", [ours("sealed") for _ in range(rounds)])
        print(f"{'host datagram, us':24}{datagram():8.2f}", flush=True)
        tracked = begin("filtered")  # the first has the kernel track connections
        show(f"filtered, {level}+1 alive", [ours("filtered") for _ in range(rounds)])
        print(f"{'host datagram, us':24}{datagram():8.2f}", flush=True)
        finish(tracked)
    for run in alive:
        finish(run)
    show("ip + nft script", [script() for _ in range(rounds)])
    if os.access("/usr/lib/cni/firewall", os.X_OK):
        show("CNI bridge + firewall", [cni() for _ in range(rounds)])


main()
