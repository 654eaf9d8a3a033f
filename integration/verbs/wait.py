# SPDX-License-Identifier: Apache-2.0
"""The shim as a parent: with a runtime that shows what reaches it, and with the real one."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys

SLOWNESS = int(os.environ.get("AH_SLOWNESS", "1"))  # slowness.sh

RUNTIME, LAB = sys.argv[1:3]
CRUN = os.path.basename(RUNTIME).startswith("crun")
SHIM = [f"{LAB}/bin/anchorhold", "--ah-policy", f"{LAB}/policy.json", "--ah-state", f"{LAB}/state"]
LOG = f"{LAB}/engine.log"
failed = 0
signal.pthread_sigmask(signal.SIG_SETMASK, [])  # as nobody blocks what is to be handed on


def case(name, good, detail=""):
    global failed
    failed += not good
    print(("ok " if good else "not ok ") + name, flush=True)
    if not good:
        print("#   " + str(detail).replace("\n", "\n#   "), flush=True)


# ---- a runtime that shows what reaches it -------------------------------------------------------

# It says "up", then every signal it gets; USR2 ends it. Its name makes it runc or crun to us.
STANDIN = f"{LAB}/bin/{os.path.basename(RUNTIME)}-standin"
PROGRAM = r"""#!/usr/bin/python3 -IS
import os, signal, sys
def show(name):
    with open("/proc/self/" + name, "rb") as file:
        return file.read()
def say(text):
    os.write(1, text.encode() + b"\n")
words = ("SigBlk", "SigIgn", "CapEff", "NoNewPrivs", "Umask", "Seccomp:")
mode = os.environ.get("MODE", "")
if "delete" in sys.argv:
    sys.exit(0)
if mode == "mirror":
    say(repr([sys.argv[1:], show("limits"), os.getcwd(), os.getpgid(0), os.getsid(0),
        sorted(line for line in show("environ").split(b"\0") if not line.startswith(b"LISTEN_PID")),
        [line for line in show("status").decode().splitlines() if line.startswith(words)],
        [(fd, os.readlink("/proc/self/fd/" + fd)) for fd in sorted(os.listdir("/proc/self/fd"))
         if os.path.exists("/proc/self/fd/" + fd)], sys.stdin.buffer.read(),
        os.environ.get("LISTEN_PID") == str(os.getpid())]))
    print("err", file=sys.stderr)
    sys.exit(int(os.environ["STATUS"]))
if mode == "die":
    os.kill(os.getpid(), signal.SIGKILL)
caught = []
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGCHLD}:
    signal.signal(number, lambda number, frame: caught.append(number))
signal.signal(signal.SIGTSTP, signal.SIG_DFL)
say("up %d" % os.getpid())
while True:
    signal.sigtimedwait([], 0.05) if not caught else None
    while caught:
        number = caught.pop(0)
        say(signal.Signals(number).name)
        if number == signal.SIGUSR2:
            sys.exit(9)
"""


def write_standin():
    with open(STANDIN, "w", encoding="utf8") as file:
        file.write(PROGRAM)
    os.chmod(STANDIN, 0o755)


def words_for(verb="create", log=()):
    return [*log, verb, "--bundle", f"{LAB}/b/idle", "idle"]


def beside(words, **how):
    return subprocess.Popen([*SHIM, "--ah-runtime", STANDIN, *words], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, **how)


def mirror(front, status):
    def prepare():
        os.umask(0o27)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})

    script = 'export LISTEN_PID=$$; exec "$@"'
    done = subprocess.Popen(
        ["/bin/sh", "-c", script, "sh", *front, *words_for("run", ("--log", LOG))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/tmp",
        preexec_fn=prepare, env={"MODE": "mirror", "STATUS": str(status), "PATH": "/bin",
                                 "ODD": "\udcff\n", "LISTEN_FDS": "0"})
    out, err = done.communicate(b"in\0", timeout=60 * SLOWNESS)
    out = re.sub(rb"/run/lab/state/runs/\w+/log", LOG.encode(), out)
    return done.returncode, re.sub(rb"\[\d+\]", b"[N]", out), err


def handed_over():
    for status in (1, 42, 255):
        wanted, got = mirror([STANDIN], status), mirror([*SHIM, "--ah-runtime", STANDIN], status)
        case(f"R5 the runtime is handed what we were handed, and its {status} is ours",
             wanted == got and wanted[0] == status, f"runtime: {wanted}\nshim:    {got}")
    died = beside(words_for(), env={"MODE": "die"}, stderr=subprocess.DEVNULL)
    status = died.wait(60 * SLOWNESS)
    case("R5 a runtime that is killed is reported as a shell would", status == 137)


def line_of(child):
    return child.stdout.readline().decode().strip()


def signals():
    # An engine in Go or with a reaper of its own may have SIGCHLD ignored.
    child = beside(words_for(), stderr=subprocess.DEVNULL,
                   preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    up = line_of(child)
    for name in ("HUP", "INT", "QUIT", "TERM", "USR1", "WINCH", "CONT", "PIPE", "ALRM", "TTOU"):
        os.kill(child.pid, signal.Signals["SIG" + name])
        got = line_of(child)
        case(f"R5 SIG{name} is passed on", got == "SIG" + name, got)
    os.kill(child.pid, signal.SIGUSR2)
    case("and the status of what it ended", child.wait(60 * SLOWNESS) == 9 and up.startswith("up "))


def ended(pidfd):
    return bool(select.select([pidfd], [], [], 20 * SLOWNESS)[0])


def death():
    child = beside(words_for(), stderr=subprocess.DEVNULL)
    pid = int(line_of(child).split()[1])
    pidfd = os.pidfd_open(pid)
    child.kill()
    child.wait(60 * SLOWNESS)
    case("R5 killed, we take the runtime along", ended(pidfd))
    os.close(pidfd)
    # As an engine does then; the standin of a runtime says that all is well.
    done = subprocess.run([*SHIM, "--ah-runtime", STANDIN, "delete", "--force", "idle"],
                          timeout=60 * SLOWNESS, check=False)
    case("what a killed create left goes with the engine's delete", done.returncode == 0)


def until(fd, text):
    seen = b""
    while text not in seen:
        seen += os.read(fd, 4096)
    return seen


def terminal():
    """Ctrl-C, stop and continue in a session of its own."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(SHIM[0], [*SHIM, "--ah-runtime", STANDIN, *words_for()])
    standin = int(re.search(rb"up (\d+)\r\n", until(fd, b"\n"))[1])
    os.write(fd, b"\x03")
    until(fd, b"SIGINT")
    os.kill(pid, signal.SIGUSR1)
    rest = until(fd, b"SIGUSR1")
    case("a Ctrl-C reaches the runtime once", b"SIGINT" not in rest, rest)
    os.kill(standin, signal.SIGSTOP)
    _, status = os.waitpid(pid, os.WUNTRACED)
    case("a runtime that stops stops us", os.WIFSTOPPED(status), status)
    os.kill(pid, signal.SIGCONT)
    until(fd, b"SIGCONT")
    case("continued, we continue it", True)
    os.kill(pid, signal.SIGUSR2)
    _, status = os.waitpid(pid, 0)
    case("and wait for its end", os.waitstatus_to_exitcode(status) == 9, status)
    os.close(fd)


# ---- the real one, and the engine's log ---------------------------------------------------------


def real(front, log, verb="create", name="missing", debug=False):
    if os.path.exists(LOG) and not os.path.islink(LOG):
        os.remove(LOG)
    with open(LOG, "w", encoding="utf8") as file:
        file.write("before\n")
    words = [*(["--debug"] if debug else []), "--log", LOG, *log, verb, "--bundle",
             f"{LAB}/b/{name}", name]
    # Files, for a pipe would be held open by the container that was created.
    with open(f"{LAB}/out", "w+b") as out, open(f"{LAB}/err", "w+b") as err:
        status = subprocess.run([*front, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                timeout=60 * SLOWNESS, check=False).returncode
        out.seek(0)
        err.seek(0)
        said = out.read(), err.read()
    subprocess.run([*front, "delete", "--force", name], capture_output=True,
                   timeout=60 * SLOWNESS, check=False)
    with open(LOG, encoding="utf8") as file:
        lines = file.read().splitlines()
    return status, *said, lines


def settled(lines):
    # crun puts the line of a failed hook, as JSON with a time of its own, into another one.
    return [re.sub(r'\\*"?time\\*"?[=:]\\*"[^"\\]*\\*"|^\S+Z: ', "", line) for line in lines]


def logs():
    for form in ("json", "text"):
        log = ("--log-format", form)
        wanted, got = real([RUNTIME], log), real(SHIM, log)
        case(f"a failing create leaves the runtime's own line, {form}",
             (wanted[0], settled(wanted[3])) == (got[0], settled(got[3])) and len(got[3]) == 2,
             f"runtime: {wanted}\nshim:    {got}")
        case(f"and the runtime's own words on stderr, {form}", settled(
            wanted[2].decode().splitlines()) == settled(got[2].decode().splitlines()),
            f"runtime: {wanted}\nshim:    {got}")
        good = real(SHIM, log, name="idle")
        case(f"a create that works adds nothing, {form}",
             good == (0, b"", b"", ["before"]), good)
    got = real(SHIM, ("--log-format", "json"), debug=True)
    errors = [line for line in got[3][1:] if json.loads(line)["level"] == "error"] if not CRUN \
        else got[3][1:]
    case("a failing create with its debugging lines has one error", len(errors) == 1, got)
    wanted, got = real([RUNTIME], (), "run", "says"), real(SHIM, (), "run", "says")
    case("a run ends as its command does", wanted == got and got[:3] == (5, b"out\n", b"err\n"),
         f"runtime: {wanted}\nshim:    {got}")
    if not CRUN:
        wanted = len(real([RUNTIME], (), "run", "says", debug=True)[3])
        got = len(real(SHIM, (), "run", "says", debug=True)[3])
        case("what a run logs arrives in the engine's log", wanted > 5 and got > 5, (wanted, got))


write_standin()
for part in (handed_over, signals, death, terminal, logs):
    part()
sys.exit(failed > 0)
