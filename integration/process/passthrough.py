# SPDX-License-Identifier: Apache-2.0
"""Runs one scenario twice, under the runtime and under the shim with its open profile, and compares
everything that can be seen from outside. Prints one line per case, as lib/lab.sh does."""

import array
import fcntl
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys

SLOWNESS = int(os.environ.get("AH_SLOWNESS", "1"))  # slowness.sh

RUNTIME, LAB, CGROUP, MODE = sys.argv[1:5]
CRUN = os.path.basename(RUNTIME).startswith("crun")
OWN = ["--ah-policy", f"{LAB}/policy.json", "--ah-state", f"{LAB}/state", "--ah-profile=open"]
DIRECT = [RUNTIME]
SHIM = DIRECT if MODE != "shim" else [f"{LAB}/bin/anchorhold", *OWN]
WORK = f"{LAB}/work"
failed = counted = 0


def case(name, good, detail=""):
    global failed, counted
    counted += 1
    failed += not good
    print(("ok " if good else "not ok ") + name, flush=True)
    if not good:
        for line in str(detail).splitlines():
            print("#   " + line)


# ---- one command, and all that can be seen of it ------------------------------------------------


def settle(text):
    """Without what differs from one run to the next: times, pids and the columns they widen."""
    text = re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", b"TIME", text)
    text = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", b"TIME", text)
    text = re.sub(rb'("pid": ?)\d+', rb"\1PID", text)
    return re.sub(rb" +", b" ", re.sub(rb"\b\d{2,}\b", b"N", text))


def run(front, words, stdin=b"", fds=(), env=None, cwd=None):
    done = subprocess.run(
        [*front, *words], input=stdin, capture_output=True, timeout=60 * SLOWNESS, pass_fds=fds,
        env={**os.environ, **(env or {})}, cwd=cwd or WORK, check=False)
    return {"words": words, "status": done.returncode, "out": settle(done.stdout),
            "err": settle(done.stderr)}


def bundle(name, *words, edit=None):
    path = f"{WORK}/{name}"
    os.makedirs(path)
    os.symlink(f"{LAB}/rootfs", f"{path}/rootfs")
    subprocess.run([RUNTIME, "spec"], cwd=path, check=True)
    with open(f"{path}/config.json", encoding="utf8") as file:
        config = json.load(file)
    config["process"].update(terminal=False, args=list(words))
    config["root"] = {"path": f"{LAB}/rootfs", "readonly": True}
    config["linux"]["cgroupsPath"] = f"/{CGROUP}/{name}"
    if edit:
        edit(config)
    with open(f"{path}/config.json", "w", encoding="utf8") as file:
        json.dump(config, file)
    return path


def text_of(path):
    try:
        with open(path, "rb") as file:
            return settle(file.read())
    except FileNotFoundError:
        return None


def received_terminal(listener):
    """Takes the terminal's master from a console socket, and reads it to its end."""
    peer, _ = listener.accept()
    fds = array.array("i")
    _, control, _, _ = peer.recvmsg(64, socket.CMSG_SPACE(fds.itemsize))
    fds.frombytes(control[0][2][: fds.itemsize])
    out = b""
    try:
        while part := os.read(fds[0], 4096):
            out += part
    except OSError:  # EIO: the other end is closed
        pass
    os.close(fds[0])
    return settle(out)


def console(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    listener.settimeout(30 * SLOWNESS)
    return listener


# ---- the scenario -------------------------------------------------------------------------------


def plain_commands(front):
    yield "version", run(front, ["--version"])
    yield "help", run(front, ["--help"])
    yield "no words", run(front, [])
    yield "features", run(front, ["features"])
    yield "list", run(front, ["list"])
    yield "list in JSON", run(front, ["list", "--format", "json"])
    yield "help of create", run(front, ["create", "--help"])
    yield "unknown subcommand", run(front, ["frob", "x"])
    yield "unknown global option", run(front, ["--frob", "state", "x"])
    yield "state of nothing", run(front, ["state", "nothing"])
    yield "kill of nothing", run(front, ["kill", "nothing", "9"])
    yield "start of nothing", run(front, ["start", "nothing"])
    yield "exec in nothing", run(front, ["exec", "nothing", "true"])
    yield "delete of nothing", run(front, ["delete", "nothing"])
    yield "delete of nothing by force", run(front, ["delete", "--force", "nothing"])
    yield "ps of nothing", run(front, ["ps", "nothing"])
    yield "create without an id", run(front, ["create"])
    yield "create without a bundle", run(front, ["create", "--bundle", "/nowhere", "x"])
    yield "create without config.json", run(front, ["create", "x"], cwd=LAB)
    yield "odd words", run(front, ["state", "a b", "", "\n", "\udcff", "$HOME'\""])
    os.makedirs(f"{WORK}/spec")
    yield "spec", run(front, ["spec"], cwd=f"{WORK}/spec")
    yield "spec's file", text_of(f"{WORK}/spec/config.json")


def logs(front):
    for form in ("text", "json"):
        log = f"{WORK}/log.{form}"
        words = ["--log", log, "--log-format", form]
        yield f"failing create, {form} log", run(front, [*words, "create", "-b", "/nowhere", "x"])
        yield f"its {form} log", text_of(log)
        yield f"failing state, {form} log", run(front, [f"--log={log}", *words[2:], "state", "x"])
        yield f"its longer {form} log", text_of(log)
    yield "unwritable log", run(front, ["--log", "/nowhere/log", "state", "x"])
    yield "full log", run(front, ["--log", "/dev/full", "state", "x"])


def statuses(front):
    for status in (0, 1, 2, 42, 127, 255):
        path = bundle(f"s{status}", "sh", "-c", f"cat; echo err >&2; exit {status}")
        yield f"run, exit {status}", run(front, ["run", "-b", path, f"s{status}"], b"in\0\n")
    path = bundle("term", "sh", "-c", "kill -TERM $$; sleep 1")
    yield "run, ended by a signal", run(front, ["run", "--bundle", path, "term"])
    path = bundle("missing", "no-such-program")
    yield "run, no such program", run(front, ["run", "--bundle", path, "missing"])
    path = bundle("cwd", "pwd")
    yield "run in the bundle", run(front, ["run", "cwd"], cwd=path)


def descriptors(front):
    path = bundle("fds", "sh", "-c", "ls /proc/self/fd; env | grep LISTEN; cat <&3")
    third = os.memfd_create("third")
    os.write(third, b"third")
    if third != 3:
        os.dup2(third, 3)
        os.close(third)
    os.set_inheritable(3, True)
    os.lseek(3, 0, os.SEEK_SET)
    yield "preserved descriptor", run(front, ["run", "--preserve-fds", "1", "-b", path, "fds"],
                                      fds=(3,))
    os.lseek(3, 0, os.SEEK_SET)
    # The runtime believes LISTEN_FDS only under its own pid, which a shell's exec keeps.
    script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
    yield "listen descriptor", run(["/bin/sh", "-c", script, "sh", *front],
                                   ["run", "-b", path, "listen"], fds=(3,))
    os.close(3)


def life(front):
    """create to delete, with everything an engine asks in between."""
    name = "life"
    path = bundle(name, "sh", "-c", "trap 'exit 7' TERM; echo up; while :; do sleep 1; done")
    pid_file = f"{WORK}/pid"
    out = os.open(f"{WORK}/out", os.O_WRONLY | os.O_CREAT)
    created = subprocess.run([*front, "create", "--bundle", path, "--pid-file", pid_file, name],
                             stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=60 * SLOWNESS,
                             check=False)
    os.close(out)
    yield "create", created.returncode
    yield "pid file", re.fullmatch(rb"\d+|N", text_of(pid_file) or b"") is not None
    for words in (["state", name], ["list"], ["exec", name, "true"], ["create", "-b", path, name],
                  ["start", name], ["start", name], ["state", name], ["list", "-q"],
                  ["exec", name, "sh", "-c", "cat; exit 3"], ["delete", name],
                  ["pause", name], ["state", name], ["resume", name],
                  ["update", "--resources", "-", name], ["kill", name, "0"]):
        stdin = b'{"cpu":{"shares":512}}' if words[0] == "update" else b"in"
        yield " ".join(words), run(front, words, stdin)
    with open(f"{WORK}/process.json", "w", encoding="utf8") as file:
        json.dump({"args": ["env"], "cwd": "/", "env": ["A=B", "HTTP_PROXY=x"],
                   "user": {"uid": 5, "gid": 5}}, file)
    yield "exec of a process", run(front, ["exec", "--process", f"{WORK}/process.json", name])
    yield "exec with flags", run(front, ["exec", "-e", "HTTP_PROXY=x", "--cwd", "/tmp", "--user",
                                         "1:2", name, "sh", "-c", "env; pwd; id -u"])
    listener = console(f"{WORK}/console")
    with open(f"{WORK}/tty.json", "w", encoding="utf8") as file:
        json.dump({"args": ["sh", "-c", "test -t 0 && echo terminal"], "cwd": "/",
                   "env": ["PATH=/bin"], "terminal": True, "user": {"uid": 0, "gid": 0}}, file)
    yield "exec on a terminal", run(front, ["exec", "--detach", "--tty", "--console-socket",
                                            f"{WORK}/console", "--process", f"{WORK}/tty.json",
                                            name])
    yield "its terminal", received_terminal(listener)
    listener.close()
    statistics = run(front, ["events", "--stats", name])
    statistics["out"] = re.sub(rb"N|\d+", b"", statistics["out"])
    yield "events", {**statistics, "out": len(statistics["out"]) > 0}
    table = run(front, ["ps", "--format", "json", name])
    yield "ps", {**table, "out": re.sub(rb"N|\d+", b"", table["out"])[:2]}
    yield "checkpoint", run(front, ["checkpoint", "--image-path", f"{WORK}/image", name])
    restored = run(front, ["restore", "-b", path, "--image-path", f"{WORK}/none", "restored"])
    yield "restore", {**restored, "err": sorted(restored["err"].splitlines())}
    # A pidfd can be read when the process has ended, also as somebody else's zombie.
    pid = int(subprocess.run([RUNTIME, "state", name], capture_output=True, check=True)
              .stdout.split(b'"pid":')[1].split(b",")[0])
    ended = os.pidfd_open(pid)
    yield "kill", run(front, ["kill", name, "KILL"])
    select.select([ended], [], [])
    os.close(ended)
    yield "delete", run(front, ["delete", name])
    yield "what the container wrote", text_of(f"{WORK}/out")
    yield "state afterwards", run(front, ["state", name])
    yield "no trace in the bundle", sorted(os.listdir(path))


def terminals(front):
    path = bundle("tty", "sh", "-c", "test -t 0 && echo terminal",
                  edit=lambda config: config["process"].update(terminal=True))
    listener = console(f"{WORK}/console2")
    yield "create on a terminal", run(front, ["create", "-b", path, "--console-socket",
                                              f"{WORK}/console2", "tty"])
    yield "start on it", run(front, ["start", "tty"])
    yield "what it said", received_terminal(listener)
    listener.close()
    yield "delete by force", run(front, ["delete", "--force", "tty"])


def scenario(front):
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    seen = {}
    for part in (plain_commands, logs, statuses, descriptors, life, terminals):
        for name, what in part(front):
            seen[f"{part.__name__}: {name}"] = what
    return seen


# The rules that a comparison proves.
RULES = {"plain_commands: version": "R25 ", "plain_commands: features": "R25 ",
         "plain_commands: unknown global option": "R3 ", "descriptors: listen descriptor": "R5 ",
         "life: state life": "R25 "}


def compare(wanted, got):
    for name in sorted({*wanted, *got}, key=lambda name: list(wanted).index(name)):
        case(RULES.get(name, "") + name, wanted[name] == got[name], f"runtime: {wanted[name]}\nshim:    {got[name]}")


# ---- what the runtime is handed, to the last bit ------------------------------------------------

MIRROR = r"""#!/usr/bin/python3 -IS
# A runtime that shows what it was handed.
import os, sys
def show(name):
    with open("/proc/self/" + name, "rb") as file:
        return file.read()
words = ("SigBlk", "SigIgn", "CapEff", "CapInh", "NoNewPrivs", "Umask", "Seccomp:")
out = [show("cmdline"), show("environ"), show("limits"), os.getcwd(), os.getpid(), os.getpgid(0),
       [line for line in show("status").decode().splitlines() if line.startswith(words)],
       [(fd, os.readlink("/proc/self/fd/" + fd)) for fd in sorted(os.listdir("/proc/self/fd"))
        if os.path.exists("/proc/self/fd/" + fd)], sys.stdin.buffer.read()]
print(out)
print("err", file=sys.stderr)
sys.exit(200)
"""


def mirror_cases():
    mirror = f"{LAB}/bin/mirror"
    with open(mirror, "w", encoding="utf8") as file:
        file.write(MIRROR)
    os.chmod(mirror, 0o755)

    def show(front, words):
        kept, other = os.pipe()

        def prepare():
            os.umask(0o27)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        child = subprocess.Popen(
            [*front, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/tmp",
            stderr=subprocess.PIPE, pass_fds=(kept,), preexec_fn=prepare,
            env={"A": "1", "LISTEN_PID": "77", "ODD": "\udcff\n", "LD_LIBRARY_PATH": "/nowhere"})
        out, err = child.communicate(b"in\0", timeout=60 * SLOWNESS)
        os.close(kept)
        os.close(other)
        out = out.replace(b" %d," % child.pid, b" own pid,")
        return child.returncode, re.sub(rb"\[\d+\]", b"[N]", out), err

    shim = [mirror] if MODE != "shim" else [
        f"{LAB}/bin/anchorhold", *OWN, "--ah-runtime", mirror]
    for words in (["state", "id"], ["--root", "create", "kill", "id", "9"], [], ["--version"],
                  ["list", "", " ", "\n", "\udcff\udcfe", "--ah-profile=x"], ["features"],
                  ["--log", "/nowhere/x", "events", "--stats", "id"], ["start", "id"],
                  ["exec", "-t", "id", "sh", "-c", "a b"], ["delete", "--force", "id"]):
        wanted, got = show([mirror], words), show(shim, words)
        case(f"R2 R5 mirror: {words!r} arrives as it was sent", wanted == got and wanted[0] == 200,
             f"runtime: {wanted}\nshim:    {got}")


wanted, got = scenario(DIRECT), scenario(SHIM)
compare(wanted, got)
mirror_cases()
left = [name for name in ("runs", "ended", "locks") if os.path.isdir(f"{LAB}/state/{name}")
        and os.listdir(f"{LAB}/state/{name}")]
case("open leaves nothing in the state directory", not left, left)
case("some case ran", counted > 80)
sys.exit(failed > 0)
