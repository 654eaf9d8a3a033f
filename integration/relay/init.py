#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The relay as first process: nobody can tell the command from one without a relay, and nothing
runs where the relay cannot do its part. Needs root.

Where it says so, a comment names what other inits do (measured: tini 0.19, dumb-init 1.2.5,
catatonit 0.1.7).
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import pty
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from relay_lab import (  # noqa: E402
    AS_FIRST_PROCESS,
    AS_USER,
    PORT,
    SLOWNESS,
    RELAY,
    Broker,
    Relay,
    await_end,
    case,
    children,
    connect,
    echo,
    eventually,
    exactly,
    main,
    read,
    run_relay,
    status_field,
)

ATTACKER = os.environ.get("AH_RELAY_ATTACKER", "")
PYTHON = "/usr/bin/python3"  # any user may run it
libc = ctypes.CDLL(None, use_errno=True)
SYS_RT_SIGPROCMASK = {"x86_64": 14, "aarch64": 135}[os.uname().machine]


def set_signal_mask(mask):
    """By the bare call: libc would leave 32 and 33 out."""
    assert libc.syscall(SYS_RT_SIGPROCMASK, 2, ctypes.byref(ctypes.c_uint64(mask)), None, 8) == 0


def mask_of(*signals):
    return sum(1 << (number - 1) for number in signals)


# Blocks everything, says so, and stays: what it was sent is then in /proc/PID/status.
COLLECTOR = (
    PYTHON,
    "-c",
    "import ctypes, os, sys\n"
    "every = ctypes.byref(ctypes.c_uint64(2**64 - 1))\n"
    f"ctypes.CDLL(None).syscall({SYS_RT_SIGPROCMASK}, 2, every, None, 8)\n"
    "os.write(1, b'up\\n')\n"
    "os.read(0, 1)\n",
)


def pending(pid):
    return int(status_field(pid, "ShdPnd"), 16) | int(status_field(pid, "SigPnd"), 16)


def one_line(process):
    """Its stderr is one line of ours; returns that without the name."""
    lines = process.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("anchorhold-relay: "), process.stderr
    return lines[0].removeprefix("anchorhold-relay: ")


def endpoint(directory):
    return f"{PORT}={directory}/none.sock"


# ---- exit statuses ------------------------------------------------------------------------------


@case("C-60 B-41 the command's exit status and signal are the relay's")
def _(directory):
    for wrapper in ((), AS_FIRST_PROCESS):
        for number in (0, 1, 2, 7, 42, 125, 126, 127, 255):
            done = run_relay(directory, "sh", "-c", f"exit {number}", wrapper=wrapper)
            assert (done.returncode, done.stderr) == (number, ""), done
        for name in ("KILL", "SEGV", "TERM", "HUP", "ABRT"):
            done = run_relay(directory, "sh", "-c", f"kill -{name} $$", wrapper=wrapper)
            expected = 128 + signal.Signals[f"SIG{name}"]
            assert (done.returncode, done.stderr) == (expected, ""), done


@case("C-60 a missing or unusable command, in runc's words")
def _(directory):
    # dumb-init exits 2, catatonit 1, for all of these.
    script = f"{directory}/script"
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/nosuch/interpreter\n")
    os.chmod(script, 0o755)
    for command, status, words in (
        ("nosuch", 127, 'exec: "nosuch": executable file not found in $PATH'),
        ("/nosuch", 127, 'exec: "/nosuch": stat /nosuch: no such file or directory'),
        ("/etc/passwd", 126, 'exec: "/etc/passwd": permission denied'),
        ("/etc", 126, 'exec: "/etc": permission denied'),
        (script, 127, f"exec {script}: no such file or directory"),
    ):
        done = run_relay(directory, command, wrapper=AS_FIRST_PROCESS)
        assert done.returncode == status, done
        assert one_line(done) == words


@case("C-60 a trap on TERM decides the exit status")
def _(directory):
    command = ("sh", "-c", "trap 'exit 42' TERM; echo up; sleep 1000 & wait")
    with Relay(endpoint(directory), command=command, wrapper=AS_FIRST_PROCESS) as relay:
        os.kill(relay.pid, signal.SIGTERM)
        assert relay.process.wait(10 * SLOWNESS) == 42


@case("C-60 five hundred orphans are reaped and change nothing")
def _(directory):
    script = "i=0; while [ $i -lt 500 ]; do (true &); i=$((i+1)); done; echo up; read x; exit 42"
    for wrapper in ((), AS_FIRST_PROCESS):
        with Relay(endpoint(directory), command=("sh", "-c", script), wrapper=wrapper) as relay:
            eventually(lambda: len(children(relay.pid)) == 1, "only the command is left")
            relay.process.stdin.close()
            assert relay.process.wait(10 * SLOWNESS) == 42


@case("orphans come to the relay where it is not process 1, too")
def _(directory):
    orphan = ("sh", "-c", "(sleep 1000 & ); echo up; read x")
    with Relay(endpoint(directory), command=orphan) as relay:
        eventually(lambda: len(children(relay.pid)) == 2, "the orphan is the relay's")
        os.kill(children(relay.pid)[1], signal.SIGKILL)
        eventually(lambda: len(children(relay.pid)) == 1, "it is reaped")


@case("B-42 the run ends with the command, whatever it left running")
def _(directory):
    done = run_relay(directory, "sh", "-c", "sleep 1000 & exit 5", wrapper=AS_FIRST_PROCESS)
    assert done.returncode == 5
    assert all(child not in os.listdir("/proc") for child in children(os.getpid()))


@case("C-60 SIGCHLD inherited as ignored is survived, and still ignored for the command")
def _(directory):
    # tini and catatonit hang for ever.
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
    assert run_relay(directory, "sh", "-c", "exit 9", **ignore).returncode == 9
    done = run_relay(directory, "grep", "SigIgn", "/proc/self/status", **ignore)
    assert int(done.stdout.split()[1], 16) & mask_of(signal.SIGCHLD), done.stdout
    wrapper = (*AS_FIRST_PROCESS, "env", "--ignore-signal=CHLD")
    for options in ((), ("--step-aside",)):
        for command in (("sh", "-c", "exit 9"), ("grep", "SigIgn", "/proc/self/status")):
            done = run_relay(directory, *command, options=options, wrapper=wrapper)
            assert done.returncode == (9 if command[0] == "sh" else 0), done
        assert int(done.stdout.split()[1], 16) & mask_of(signal.SIGCHLD), done.stdout


# ---- signals ------------------------------------------------------------------------------------


@case("C-60 every signal but SIGCHLD reaches the command, and it alone")
def _(directory):
    # tini and catatonit keep back seven to eleven of them, dumb-init five.
    for wrapper in ((), AS_FIRST_PROCESS):
        with Relay(endpoint(directory), command=COLLECTOR, wrapper=wrapper) as relay:
            command = relay.command_pid
            for number in range(1, 65):
                if number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
                    continue
                os.kill(relay.pid, number)
                eventually(lambda bit=mask_of(number): pending(command) & bit, f"signal {number}")
            os.kill(relay.pid, signal.SIGCHLD)
            os.kill(relay.pid, signal.SIGRTMAX - 1)
            assert not pending(command) & mask_of(signal.SIGCHLD)


@case("a queued signal keeps its value")
def _(directory):
    receive = (
        PYTHON,
        "-c",
        "import os, signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "os.write(1, b'up\\n')\n"
        "info = signal.sigwaitinfo([signal.SIGUSR1])\n"
        "os.write(1, b'%d\\n' % info.si_code)\n",
    )
    with Relay(endpoint(directory), command=receive) as relay:
        assert libc.sigqueue(relay.pid, signal.SIGUSR1, ctypes.c_void_p(77)) == 0
        assert relay.process.stdout.readline() == b"-1\n"  # SI_QUEUE


@case("C-60 a group's signals are not multiplied: descendants get none from the relay")
def _(directory):
    # tini -g and dumb-init signal the whole group.
    forker = COLLECTOR[:2] + (COLLECTOR[2].replace("os.write", "os.fork() and os.write", 1),)
    with Relay(endpoint(directory), command=forker, wrapper=AS_FIRST_PROCESS) as relay:
        command = relay.command_pid
        (descendant,) = children(command)
        os.kill(relay.pid, signal.SIGTERM)
        eventually(lambda: pending(command), "the command has it")
        assert pending(descendant) == 0
        os.kill(descendant, signal.SIGKILL)
        os.kill(command, signal.SIGKILL)


@case("C-61 a relay that is killed takes the command along")
def _(directory):
    with Relay(endpoint(directory)) as relay:
        command = os.pidfd_open(relay.command_pid)
        relay.kill()
        await_end(command)


# ---- what the command sees ----------------------------------------------------------------------

VIEW = (
    PYTHON,
    "-c",
    r"""
import os, signal
wanted = ("Sig", "Shd", "Cap", "NoNewPrivs", "Seccomp", "Umask", "Uid", "Gid", "Groups")
for line in open("/proc/self/status"):
    if line.startswith(wanted) and not line.startswith(("SigQ", "SigCgt")):
        print(line, end="")
print(open("/proc/self/limits").read())
print(open("/proc/self/environ", "rb").read())
print(open("/proc/self/oom_score_adj").read())
print(os.getcwd(), os.readlink("/proc/self/exe"), os.readlink("/proc/self/cwd"))
print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid(), os.getpriority(0, 0))
for fd in range(300):
    if os.path.lexists(f"/proc/self/fd/{fd}"):
        print(fd, os.readlink(f"/proc/self/fd/{fd}").split("[")[0])
""",
)


def odd_state():
    """Sets all that a runtime may hand over to values that are not the default."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR2, 40):
        signal.signal(number, signal.SIG_IGN)
    set_signal_mask(mask_of(10, 14, 20, 21, 22, 32, 33, 34, 64))
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, 4000))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 22, 1 << 23))
    os.umask(0o13)
    os.setpriority(os.PRIO_PROCESS, 0, 3)


def seen(arguments, **popen):
    done = subprocess.run(
        [*AS_FIRST_PROCESS, "setsid", *arguments],
        capture_output=True,
        text=True,
        restore_signals=False,
        **popen,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@case("B-51 masks, dispositions, limits, descriptors, environment and directory are as without us")
def _(directory):
    # dumb-init clears the ignored set; catatonit leaks TSTP, TTIN and TTOU blocked.
    held = [os.open("/dev/zero", os.O_RDONLY) for _ in range(3)]
    os.close(held.pop(1))
    variables = {"A": "\udcff", "LISTEN_PID": "77", "NOTIFY_SOCKET": "/n"}
    view = {
        "preexec_fn": odd_state,
        "pass_fds": held,
        "cwd": directory,
        "env": {"PATH": os.environ["PATH"], **variables},
    }
    relay = [RELAY, "--endpoint", endpoint(directory), "--"]
    direct, relayed = seen(VIEW, **view), seen([*relay, *VIEW], **view)
    assert direct.count("/dev/zero") == 2
    assert relayed == direct, f"{direct}\n--- behind the relay\n{relayed}"
    for fd in held:
        os.close(fd)


@case("standard descriptors that are closed stay closed for the command")
def _(directory):
    view = {"preexec_fn": lambda: os.close(0)}
    relay = [RELAY, "--endpoint", endpoint(directory), "--"]
    script = "for fd in 0 1 2 3 4 5 6 7; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; true"
    listing = ("sh", "-c", script)
    assert seen([*relay, *listing], **view) == seen(listing, **view) == "1\n2\n"


@case("C-66 LISTEN_PID names the command and the relay keeps none of its descriptors")
def _(directory):
    command = ("sh", "-c", "echo up; echo $LISTEN_PID $LISTEN_FDS $$; exec cat")
    refuse_close_range = {"preexec_fn": lambda: refuse_call(436, None, errno.EPERM)}
    with socket.socket() as first, socket.socket() as second:
        activated = {
            "pass_fds": (first.fileno(), second.fileno()),
            "env": {**os.environ, "LISTEN_PID": "1", "LISTEN_FDS": "2"},
        }
        for more in ({}, refuse_close_range):  # an engine's older profile
            with Relay(
                endpoint(directory), command=command, wrapper=AS_FIRST_PROCESS, **activated, **more
            ) as relay:
                named, count, pid = relay.process.stdout.readline().split()
                assert (named, count) == (pid, b"2") and pid != b"1"
                held = descriptor_targets(relay.command_pid)
                for end in (first, second):
                    assert f"socket:[{os.fstat(end.fileno()).st_ino}]" in held
                assert not held & descriptor_targets(relay.pid)


def descriptor_targets(pid):
    directory = f"/proc/{pid}/fd"
    targets = set()
    for fd in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):  # a command that is being loaded
            targets.add(os.readlink(f"{directory}/{fd}"))
    return targets


@case("the relay keeps no descriptor that the command could want to close")
def _(directory):
    command = ("sh", "-c", "echo up; exec >&- 2>&-; read x")
    with Relay(endpoint(directory), command=command, stderr=subprocess.PIPE) as relay:
        assert relay.process.stdout.read() == b""  # while the command lives
        assert relay.process.stderr.read() == b""
        relay.process.stderr.close()
        for fd in (0, 1, 2):
            assert os.readlink(f"/proc/{relay.pid}/fd/{fd}") == "/dev/null"


@case("the relay has no capability and no way to gain one, the command its own")
def _(directory):
    with Relay(endpoint(directory), wrapper=AS_FIRST_PROCESS) as relay:
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status_field(relay.pid, name), 16) == 0, name
        assert status_field(relay.pid, "NoNewPrivs") == "1"
        assert status_field(relay.command_pid, "NoNewPrivs") == "0"
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert status_field(relay.command_pid, name) == status_field(os.getpid(), name), name


# ---- the terminal -------------------------------------------------------------------------------


@contextlib.contextmanager
def terminal_relay(directory, *command, wrapper=(), leader=True, mask=0, relay=Relay):
    """A relay on a pseudo-terminal, as a runtime starts it: leader of the session on it."""
    ours, theirs = pty.openpty()
    stop_echo(theirs)

    def prepare():
        os.setsid()
        if leader:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        set_signal_mask(mask)

    relay = relay(
        endpoint(directory),
        command=command,
        wrapper=wrapper,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=prepare,
    )
    os.close(theirs)
    try:
        yield relay, ours
    finally:
        with contextlib.suppress(OSError):
            os.close(ours)
        relay.kill()


def stop_echo(fd):
    attributes = termios.tcgetattr(fd)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, attributes)


def says(terminal, text):
    data = b""
    while text not in data:
        assert select.select([terminal], [], [], 30 * SLOWNESS)[0], f"only {data}"
        data += os.read(terminal, 4096)
    return data


def terminal_of(pid, foreground=0):
    """Its controlling terminal's number, or the process group in front there; 0: it has none."""
    return int(read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[4 + foreground])


# The session leader on the terminal, once not as process 1 and once as that.
LEADERS = (
    {"wrapper": ()},
    {"wrapper": (*AS_FIRST_PROCESS, "setsid", "--ctty"), "leader": False},
)


@case("C-60 the terminal is the command's: leader, foreground, /dev/tty, and the relay has none")
def _(directory):
    show = "import os; t = os.open('/dev/tty', os.O_RDWR); p = os.getpid(); " \
           "print(os.getsid(0) == p == os.tcgetpgrp(t) == os.getpgrp(), 'it leads.'); input()"
    for kind in LEADERS:
        with terminal_relay(directory, PYTHON, "-c", show, **kind) as (relay, terminal):
            assert b"True" in says(terminal, b"leads.")
            assert terminal_of(relay.pid) == 0
            os.write(terminal, b"\n")
            assert relay.process.wait(10 * SLOWNESS) == 0


SLEEPER = ("sh", "-c", "echo up; exec sleep 1000")


@case("C-60 ^C, a new size and a hang-up come from the terminal, each once")
def _(directory):
    for kind in LEADERS:
        with terminal_relay(directory, *SLEEPER, **kind) as (relay, terminal):
            says(terminal, b"up")
            os.write(terminal, b"\x03")
            assert relay.process.wait(10 * SLOWNESS) == 130
        with terminal_relay(directory, *COLLECTOR, **kind) as (relay, terminal):
            says(terminal, b"up")
            command = relay.command_pid
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 33, 44, 0, 0))
            eventually(lambda: pending(command) == mask_of(signal.SIGWINCH), "SIGWINCH")
        with terminal_relay(directory, *SLEEPER, **kind) as (relay, terminal):
            says(terminal, b"up")
            os.close(terminal)
            assert relay.process.wait(10 * SLOWNESS) == 129


@case("C-60 giving the terminal over sends the command no SIGHUP and no SIGCONT")
def _(directory):
    # dumb-init did until 1.2.3.
    for kind in LEADERS:
        with terminal_relay(directory, *COLLECTOR, **kind, mask=2**64 - 1) as (relay, terminal):
            says(terminal, b"up")
            os.kill(relay.pid, signal.SIGUSR1)  # comes after whatever else was sent
            eventually(lambda: pending(relay.command_pid), "the signal")
            assert pending(relay.command_pid) == mask_of(signal.SIGUSR1)


def asleep(shell):
    return [pid for pid in children(shell) if read(f"/proc/{pid}/comm") == "sleep\n"]


@case("C-60 a shell has job control")
def _(directory):
    for kind in LEADERS:
        with terminal_relay(directory, "bash", "--norc", "-i", **kind) as (relay, terminal):
            os.write(terminal, b"PS1=; echo up; sleep 1000\n")
            says(terminal, b"up")
            shell = relay.command_pid
            eventually(lambda: [terminal_of(shell, 1)] == asleep(shell), "sleep is in front")
            os.write(terminal, b"\x1a")
            said = says(terminal, b"Stopped")
            assert b"job control" not in said and b"terminal process group" not in said, said
            os.write(terminal, b"kill %1; exit 4\n")
            os.write(terminal, b"exit 4\n")  # the first one warns about stopped jobs
            assert relay.process.wait(10 * SLOWNESS) == 4


@case("on somebody else's terminal ^C still ends the command")
def _(directory):
    leader = ("sh", "-c", 'trap : INT; "$@"; echo "status $?"', "sh")
    with terminal_relay(directory, *SLEEPER, wrapper=leader) as (_, terminal):
        says(terminal, b"up")
        os.write(terminal, b"\x03")
        says(terminal, b"status 130")


# ---- stepping aside -----------------------------------------------------------------------------


class Aside(Relay):
    """A relay that has stepped aside: its command is process 1."""

    def __init__(self, *endpoints, wrapper=AS_FIRST_PROCESS, **more):
        super().__init__(*endpoints, options=("--step-aside",), wrapper=wrapper, **more)

    @property
    def command_pid(self):
        return children(self.process.pid)[0]

    @property
    def pid(self):
        (pid,) = [
            child
            for child in children(self.command_pid)
            if read(f"/proc/{child}/cmdline").startswith("@")
        ]
        return pid


def aside(directory, *command, wrapper=AS_FIRST_PROCESS, **popen):
    return run_relay(directory, *command, options=("--step-aside",), wrapper=wrapper, **popen)


# Asks in every way for a child, and before that for the one that is there.
LONELY = (
    PYTHON,
    "-c",
    r"""
import os, signal
received = []
signal.signal(signal.SIGCHLD, lambda *_: received.append(1))
relay = int(open("/proc/self/task/1/children").read())
WALL = 0x40000000
def children():
    for wait in (
        lambda: os.waitpid(-1, os.WNOHANG),
        lambda: os.waitpid(0, os.WNOHANG),
        lambda: os.waitpid(relay, os.WNOHANG),
        lambda: os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT),
        lambda: os.waitid(os.P_PID, relay, os.WEXITED | os.WNOHANG),
    ):
        try:
            yield wait()
        except ChildProcessError:
            pass
assert os.getpid() == 1
assert list(children()) == []
assert os.waitpid(-1, os.WNOHANG | WALL) == (0, 0)  # the control
os.kill(relay, signal.SIGKILL)
os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | WALL)
assert list(children()) == []
assert len(received) < 2  # the kernel's, as the parent is another program now: do_notify_parent()
assert os.waitpid(-1, WALL) == (relay, 9)  # the control
""",
)


@case("C-27 C-60 whoever must be process 1 is, and has no child, while the relay lives and after")
def _(directory):
    done = aside(directory, *LONELY)
    assert (done.returncode, done.stderr) == (0, ""), done


@case("step aside: the command ends as without us, and is told of in runc's words")
def _(directory):
    for script, status in (("exit 0", 0), ("exit 255", 255), ("wait; exit 7", 7)):
        for shell in ("sh", "bash"):
            done = aside(directory, shell, "-c", script)
            assert (done.returncode, done.stderr) == (status, ""), done
    done = aside(directory, "nosuch")
    assert done.returncode == 127, done
    assert one_line(done) == 'exec: "nosuch": executable file not found in $PATH'
    assert aside(directory, "/etc").returncode == 126
    done = aside(directory, "catatonit", "--", "sh", "-c", "exit 7")
    assert (done.returncode, done.stderr) == (7, ""), done


@case("step aside: a relay that is killed before the command may run is told of")
def _(directory):
    os.mkfifo(f"{directory}/enforced")  # which the relay waits for
    options = ("--inside", directory, "--mark", "key.generation", "--step-aside")
    process = subprocess.Popen(
        [*AS_FIRST_PROCESS, RELAY, *options, "--endpoint", endpoint(directory), "--", "true"],
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    eventually(lambda: children(process.pid), "a command")
    (command,) = children(process.pid)
    eventually(lambda: children(command), "a relay")
    os.kill(children(command)[0], signal.SIGKILL)
    _, said = process.communicate()
    assert (process.returncode, said) == (
        125,
        "anchorhold-relay: start the command: the relay was killed before it could\n",
    ), (process.returncode, said)


@case("step aside: masks, dispositions, limits, descriptors and environment are as without us")
def _(directory):
    held = [os.open("/dev/zero", os.O_RDONLY) for _ in range(3)]
    os.close(held.pop(1))
    view = {
        "preexec_fn": odd_state,
        "pass_fds": held,
        "cwd": directory,
        "env": {"PATH": os.environ["PATH"], "LISTEN_PID": "1", "LISTEN_FDS": "2"},
    }
    relay = [RELAY, "--step-aside", "--endpoint", endpoint(directory), "--"]
    direct, relayed = seen(VIEW, **view), seen([*relay, *VIEW], **view)
    assert relayed == direct, f"{direct}\n--- behind the relay\n{relayed}"
    for fd in held:
        os.close(fd)


@case("step aside: the relay keeps no descriptor, capability or session of the command's")
def _(directory):
    with socket.socket() as handed:
        with Aside(endpoint(directory), pass_fds=(handed.fileno(),)) as relay:
            held = descriptor_targets(relay.command_pid)
            assert f"socket:[{os.fstat(handed.fileno()).st_ino}]" in held
            assert not held & descriptor_targets(relay.pid)
            for fd in (0, 1, 2):
                assert os.readlink(f"/proc/{relay.pid}/fd/{fd}") == "/dev/null"
            assert os.getsid(relay.pid) == relay.pid != os.getsid(relay.command_pid)
            for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                assert int(status_field(relay.pid, name), 16) == 0, name
                assert status_field(relay.command_pid, name) == status_field(os.getpid(), name)
            assert status_field(relay.pid, "NoNewPrivs") == "1"
            assert status_field(relay.command_pid, "NoNewPrivs") == "0"


@case("step aside: the terminal stays the command's")
def _(directory):
    show = "import os; t = os.open('/dev/tty', os.O_RDWR); p = os.getpid(); " \
           "print(p == 1, os.getsid(0) == p == os.tcgetpgrp(t) == os.getpgrp(), 'it leads.'); " \
           "input()"
    wrapper = (*AS_FIRST_PROCESS, "setsid", "--ctty")
    command = (PYTHON, "-c", show)
    kind = {"wrapper": wrapper, "leader": False, "relay": Aside}
    with terminal_relay(directory, *command, **kind) as (relay, terminal):
        assert b"True True" in says(terminal, b"leads.")
        assert terminal_of(relay.pid) == 0
        os.write(terminal, b"\n")
        assert relay.process.wait(10 * SLOWNESS) == 0


SWEEPER = (
    PYTHON,
    "-c",
    "import os, signal\n"
    "print('up', flush=True)\n"
    "while (line := os.read(0, 4)):\n"
    "    os.kill(-1, int(line))\n"
    "    print('done', flush=True)\n",
)


@case("step aside: only SIGKILL of a sweep ends the relay, and then connections are refused")
def _(directory):
    with Broker(f"{directory}/b", echo):
        with Aside(f"{PORT}={directory}/b", command=SWEEPER) as relay:
            ended = os.pidfd_open(relay.pid)

            def sweep(number):
                relay.process.stdin.write(b"%4d" % number)
                relay.process.stdin.flush()
                assert relay.process.stdout.readline() == b"done\n"

            for number in (n for n in range(1, 65) if n not in (signal.SIGKILL, signal.SIGSTOP)):
                sweep(number)
            with connect() as client:
                client.sendall(b"x")
                assert exactly(client, 1) == b"x"
            sweep(signal.SIGKILL)
            await_end(ended)
            try:
                connect().close()
                raise AssertionError("somebody listens")
            except ConnectionRefusedError:
                pass


@case("step aside: the relay ends with the command, however that ends")
def _(directory):
    for number in (signal.SIGKILL, None):
        with Aside(endpoint(directory), stderr=subprocess.DEVNULL) as relay:
            ended = os.pidfd_open(relay.pid)
            if number is None:
                relay.process.stdin.close()
            else:
                relay.ends_well = False
                os.kill(relay.command_pid, number)
            await_end(ended)


@case("step aside: what fails is 125, and the command never starts")
def _(directory):
    mark = f"{directory}/ran"
    done = aside(directory, "touch", mark, wrapper=())
    assert done.returncode == 125, done
    assert one_line(done) == "step aside: this is not process 1"
    with socket.create_server(("127.0.0.1", PORT)):
        done = aside(directory, "touch", mark)
    assert done.returncode == 125, done
    assert one_line(done).endswith("already in use (EADDRINUSE)")
    done = aside(directory, "touch", mark, endpoint="8080=/nosuch/b")
    assert done.returncode == 125, done
    assert not os.path.exists(mark)


# ---- a lost broker ------------------------------------------------------------------------------

# Asks the broker until the relay gives it up, then stays; on TERM does as it is told.
ASKER = """
import os, signal, socket, sys
answers = {"ends": lambda *_: os._exit(0), "stays": signal.SIG_IGN}
signal.signal(signal.SIGTERM, answers[sys.argv[1]])
os.write(1, b"up\\n")
with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as broker:
    try:
        broker.recv(1)
    except ConnectionResetError:
        pass
os.write(1, b"asked\\n")
while os.read(0, 1):
    pass
os._exit(7)
"""


def asker(directory, limits, answer, port=PORT, **more):
    options = ("--stop-when-lost", limits)
    command = (PYTHON, "-c", ASKER, answer, str(port))
    return Relay(f"{port}={directory}/b", options=options, command=command, **more)


@case("a command whose broker is lost gets TERM, then KILL, and the run says so with 125")
def _(directory):
    with contextlib.ExitStack() as stack:
        lost = []
        for answer, limits in (("ends", "3:1000"), ("stays", "3:0")):
            for wrapper in ((), AS_FIRST_PROCESS):
                more = {"port": PORT + len(lost), "wrapper": wrapper, "stderr": subprocess.PIPE}
                relay = stack.enter_context(asker(directory, limits, answer, **more))
                lost.append((more["port"], relay, os.pidfd_open(relay.command_pid)))
        for port, relay, command in lost:
            await_end(command)
            assert relay.process.wait(10 * SLOWNESS) == 125
            said = relay.process.stderr.read().decode()
            relay.process.stderr.close()
            assert said == (
                f'anchorhold-relay: broker lost: nobody has listened for endpoint '
                f'"{port}={directory}/b" for 3 s, so the command was stopped\n'
            ), said


@case("a stalled reader of the log does not hold a run whose broker is lost")
def _(directory):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)  # full, and nobody reads
    with asker(directory, "1:0", "stays", stderr=writing) as relay:
        assert relay.process.wait(10 * SLOWNESS) == 125
    os.close(reading)
    os.close(writing)


@case("a broker that comes back in time, and one that nobody asks for, stop nothing")
def _(directory):
    with asker(directory, "1000:0", "ends") as relay:
        assert relay.process.stdout.readline() == b"asked\n"
        assert not relay.waits_for_ever()  # it would be stopped
        with Broker(f"{directory}/b", echo):
            with connect() as client:
                client.sendall(b"x")
                assert exactly(client, 1) == b"x"
            eventually(relay.waits_for_ever, "nothing is going to be stopped")
        relay.process.stdin.close()
        assert relay.process.wait(10 * SLOWNESS) == 7
    with Relay(f"{PORT}={directory}/b", options=("--stop-when-lost", "1:0")) as relay:
        eventually(relay.waits_for_ever, "nobody has asked")


@case("a command that a lost broker did not end keeps its status")
def _(directory):
    with asker(directory, "1000:0", "ends") as relay:
        relay.process.stdin.close()
        assert relay.process.wait(10 * SLOWNESS) == 7


# ---- what it refuses ----------------------------------------------------------------------------


@case("C-28 a port already held is 125 before anything is looked for, naming port and errno")
def _(directory):
    with socket.socket() as held:
        held.bind(("127.0.0.1", PORT))
        held.listen()
        asked = f"{PORT}=/nonexistent/any"
        said = f'listen on 127.0.0.1 for endpoint "{asked}": already in use (EADDRINUSE)'
        command = ("touch", f"{directory}/ran")
        for inherited in ((), (held.fileno(),)):  # held by somebody, or by itself
            done = run_relay(directory, *command, endpoint=asked, pass_fds=inherited)
            assert done.returncode == 125
            assert one_line(done) == said
        assert not os.path.exists(f"{directory}/ran")


@case("C-28 a port below the unprivileged ones is 125 for a user")
def _(directory):
    low = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
    before = read(low)
    try:
        for start, status in (("1024", 125), ("0", 0)):
            with open(low, "w", encoding="utf-8") as file:
                file.write(start)
            done = run_relay(directory, "true", endpoint=f"80={directory}/x", wrapper=AS_USER)
            assert done.returncode == status, done
            assert status == 0 or one_line(done).endswith("file permissions forbid it (EACCES)")
    finally:
        with open(low, "w", encoding="utf-8") as file:
            file.write(before)


@case("what is wrong with the command line or an endpoint is 125 and one line")
def _(directory):
    plain = f"{directory}/plain"
    with open(plain, "w", encoding="utf-8"):
        pass
    inode = os.stat(directory)
    identity = f"{inode.st_dev}:{inode.st_ino}"
    other = f"{inode.st_dev}:{inode.st_ino + 1}"
    for given, words in (
        (f"0={plain}", "not PORT=TARGET with a port from 1 to 65535"),
        (f"{PORT}={plain}", "not a socket"),
        (f"{PORT}={directory}/absent/x", "it does not exist (ENOENT)"),
        (f"{PORT}={plain}/x", "not a directory (ENOTDIR)"),
        (f"{PORT}={directory}/x@{other}", "another directory is there"),
        (f"{PORT}={directory}/{'n' * 108}", "a socket's name has at most 107 bytes"),
    ):
        done = run_relay(directory, "touch", f"{directory}/ran", endpoint=given)
        assert done.returncode == 125, done
        assert words in one_line(done) and given[:180] in one_line(done), done
        assert not os.path.exists(f"{directory}/ran")
    assert run_relay(directory, "true", endpoint=f"{PORT}={directory}/x@{identity}").returncode == 0


@case("the mark of another run, or none, is 125")
def _(directory):
    options = ("--inside", directory, "--mark", "key.generation")

    def status():
        done = run_relay(directory, "true", options=options)
        assert done.returncode == 0 or one_line(done).startswith("read the file enforced in")
        return done.returncode

    assert status() == 125
    for content, expected in (
        ("key.generation\n", 0),
        ("key.generation", 125),
        ("key.generation2\n", 125),
        ("key.generatio\n", 125),
        ("key.generation\n\n", 125),
        ("", 125),
    ):
        with open(f"{directory}/enforced", "w", encoding="utf-8") as file:
            file.write(content)
        assert status() == expected, content


@case("the host's network namespace is 125, seen through /proc or without it")
def _(directory):
    ours = os.stat("/proc/self/ns/net")
    here, elsewhere = f"{ours.st_dev}:{ours.st_ino}", f"{ours.st_dev}:{ours.st_ino + 1}"
    with socket.socket() as any_socket:
        raw = any_socket.getsockopt(socket.SOL_SOCKET, 71, 8)  # SO_NETNS_COOKIE
    cookie = int.from_bytes(raw, sys.byteorder)

    def after(script):
        return ("unshare", "--mount", "sh", "-c", script + '; exec "$@"', "sh")

    without_proc = after("while umount -l /proc; do :; done 2>/dev/null")
    fake = after(f"mount --bind {directory} /proc")
    os.makedirs(f"{directory}/self/ns")
    with open(f"{directory}/self/ns/net", "w", encoding="utf-8"):
        pass
    for options, wrapper, words in (
        (("--host-netns", here), (), "it is the host's"),
        (("--host-netns", elsewhere), (), None),
        (("--host-cookie", str(cookie)), (), "it is the host's"),
        (("--host-cookie", str(cookie + 1)), (), None),
        (("--host-netns", here, "--host-cookie", str(cookie + 1)), (), "it is the host's"),
        (("--host-netns", elsewhere), without_proc, "it does not exist (ENOENT)"),
        (("--host-netns", here, "--host-cookie", str(cookie)), without_proc, "it is the host's"),
        (("--host-netns", elsewhere, "--host-cookie", str(cookie + 1)), without_proc, None),
        (("--host-netns", here), fake, "not a namespace"),
    ):
        done = run_relay(directory, "true", options=options, wrapper=wrapper)
        assert done.returncode == (125 if words else 0), (options, wrapper, done)
        assert not words or one_line(done).endswith(words), done


@case("C-61 no room for another process is 125 at once")
def _(directory):
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))}
    # Another test's process of the same user would count, before the relay is there.
    alone = [word.replace("64123", "64124") for word in AS_USER]
    begin = time.monotonic()
    done = run_relay(directory, "touch", f"{directory}/ran", wrapper=alone, **limit)
    assert done.returncode == 125, done
    assert one_line(done) == "start the command's process: a process limit is reached (EAGAIN)"
    assert time.monotonic() - begin < 5 * SLOWNESS


@case("C-01 a host without IPv6 in any form is served on 127.0.0.1")
def _(directory):
    disable = "/proc/sys/net/ipv6/conf/all/disable_ipv6"

    def answers(**popen):
        with Broker(f"{directory}/b", echo), Relay(f"{PORT}={directory}/b", **popen):
            with connect() as client:
                client.sendall(b"x")
                assert exactly(client, 1) == b"x"

    answers(preexec_fn=refuse_ipv6_sockets)
    try:
        with open(disable, "w", encoding="utf-8") as file:
            file.write("1")
        answers()
    finally:
        with open(disable, "w", encoding="utf-8") as file:
            file.write("0")


def refuse_ipv6_sockets():
    number = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
    refuse_call(number, socket.AF_INET6, errno.EAFNOSUPPORT)


def refuse_call(number, first_argument, error):
    """A seccomp filter for one call, with that first argument if any."""
    steps = [
        (0x20, 0, 0, 0),  # load seccomp_data.nr
        (0x15, 0, 1 if first_argument is None else 3, number),
        (0x06, 0, 0, 0x00050000 | error),
        (0x06, 0, 0, 0x7FFF0000),  # allow
    ]
    if first_argument is not None:
        steps[2:2] = [(0x20, 0, 0, 16), (0x15, 0, 1, first_argument)]  # seccomp_data.args[0]
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer))
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.c_char_p(header)) == 0  # PR_SET_SECCOMP, filter


# ---- an agent against its relay -----------------------------------------------------------------


@case("B-37 two hundred commands attack process 1 at once, none gets hold of it")
def _(directory):
    run = [*AS_FIRST_PROCESS, *AS_USER]
    control = subprocess.run([*run, "sh", "-c", '"$0"; exit $?', ATTACKER], check=False)
    assert control.returncode != 0, "the attack works on an ordinary process 1"
    attack = [*run, RELAY, "--endpoint", endpoint(directory), "--", ATTACKER]
    for _ in range(200):
        assert subprocess.run(attack, check=False).returncode == 0


@case("B-37 two hundred commands attack the relay that has stepped aside, none gets hold of it")
def _(directory):
    run = [*AS_FIRST_PROCESS, *AS_USER]
    beside = [*run, "sh", "-c", 'sleep 1000 & exec "$0" beside', ATTACKER]
    control = subprocess.run(beside, check=False)
    assert control.returncode != 0, "the attack works on an ordinary child"
    relay = [RELAY, "--step-aside", "--endpoint", endpoint(directory), "--"]
    for _ in range(200):
        assert subprocess.run([*run, *relay, ATTACKER, "beside"], check=False).returncode == 0


@case("B-37 the port cannot be taken and process 1 cannot be killed from inside")
def _(directory):
    grab = r"""
import os, socket
def bind(address, *options):
    with socket.socket() as s:
        for option in options:
            s.setsockopt(socket.SOL_SOCKET, option, 1)
        s.bind(address)
        s.listen()
for address in (("127.0.0.1", %d), ("0.0.0.0", %d)):
    for options in ((), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,)):
        try:
            bind(address, *options)
            print("taken", flush=True)
        except OSError as error:
            assert error.errno == 98, error
bind(("127.0.0.1", %d + 1))  # the control
for number in (9, 19):
    os.kill(1, number)
print("up", flush=True)
os.read(0, 1)
""" % (PORT, PORT, PORT)
    wrapper = (*AS_FIRST_PROCESS, *AS_USER)
    os.chmod(directory, 0o777)
    with Broker(f"{directory}/b", echo) as broker:
        os.chmod(broker.path, 0o666)
        with Relay(f"{PORT}={directory}/b", wrapper=wrapper, command=(PYTHON, "-c", grab)):
            with connect() as client:
                client.sendall(b"x")
                assert exactly(client, 1) == b"x"


@case("B-50 the environment is on no command line and not to be read from process 1")
def _(directory):
    look = "tr '\\0' ' ' </proc/1/cmdline; cat /proc/1/environ"
    wrapper = (*AS_FIRST_PROCESS, *AS_USER)
    secret = {"env": {**os.environ, "KEY": "s3cret"}}
    done = run_relay(directory, "sh", "-c", look, wrapper=wrapper, **secret)
    assert "s3cret" not in done.stdout + done.stderr and done.returncode != 0
    assert RELAY in done.stdout
    show = [*wrapper, "sh", "-c", "cat /proc/1/environ; true"]
    control = subprocess.run(show, capture_output=True, text=True, **secret)
    assert "s3cret" in control.stdout


if __name__ == "__main__":
    main()
