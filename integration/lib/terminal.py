#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Types at a container's shell and prints what the terminal showed.

terminal.py run|create|exec|watch RUNTIME BUNDLE ID
terminal.py command WORD...

The shell is dash: it edits no lines, so what is shown depends on nothing but what is typed.

run: our end is the terminal of `run`. create: it arrives over --console-socket, as engines take
it. exec: a detached shell's, beside a container that sleeps. watch: `run`, nothing typed.
command: whatever an engine offers, typed to.
Every line typed is answered before the next; no time passes unasked.
"""

import array
import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import termios

SLOWNESS = int(os.environ.get("AH_SLOWNESS", "1"))  # slowness.sh

TYPED = [
    # ctr sets it after the start, so it is waited for.
    b"while [ \"$(stty size)\" != '31 97' ]; do :; done 2>/dev/null; echo size: $(stty size)",
    b"test -t 0 && test -t 1 && test -t 2 && echo terminal on all three",
    b"tty; echo controlling >/dev/tty",
    b"sleep 60 & echo started",
    b"jobs; kill -KILL %1; wait",
]
PROMPT = b"# "


class Terminal:
    def __init__(self, master):
        self.master, self.shown, self.seen = master, b"", 0

    def read(self):
        """Returns what comes next, or nothing when the other side is gone."""
        ready, _, _ = select.select([self.master], [], [], 10 * SLOWNESS)
        if not ready:
            raise SystemExit(f"terminal: silence after {self.shown!r}")
        try:
            return os.read(self.master, 65536)
        except OSError:  # EIO: the last process closed it
            return b""

    def until(self, text):
        """Reads on to `text`, behind what was waited for before.

        How many CR come before a LF depends on who translates: the session must only be the same.
        """
        while (at := self.shown.replace(b"\r", b"").find(text, self.seen)) < 0:
            part = self.read()
            if not part:
                raise SystemExit(f"terminal: ended in {self.shown!r}")
            self.shown += part
        self.seen = at + len(text)

    def rest(self):
        while part := self.read():
            self.shown += part

    def session(self):
        self.until(PROMPT)
        for line in TYPED:
            # The mark is assembled by the shell, so that its echo is not mistaken for it.
            os.write(self.master, line + b"; echo do'ne'\n")
            self.until(b"done\n")
            self.until(PROMPT)
        os.write(self.master, b"cat\n")
        self.until(b"cat\n")
        os.write(self.master, b"up\n")
        self.until(b"up\nup\n")
        os.write(self.master, b"\x03")
        self.until(PROMPT)
        os.write(self.master, b"echo interrupted: $?\n")
        self.until(b"interrupted: 130\n" + PROMPT)
        os.write(self.master, b"exit 7\n")
        while self.read():
            pass  # its echo: a client that hears of the end first does not show it


def in_own_terminal(command):
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
        os.execvp(command[0], command)
    return pid, Terminal(master)


def over_socket(command, bundle):
    """The runtime sends the terminal's master by SCM_RIGHTS (runc, docs/terminals.md)."""
    path = os.path.join(bundle, "console")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        process = subprocess.Popen(command + ["--console-socket", path, ID], stdin=-3, stdout=-3)
        with listener.accept()[0] as connection:
            _, ancillary, _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(4))
        master = array.array("i", ancillary[0][2])[0]
        if process.wait() != 0:
            raise SystemExit("terminal: the runtime ended with an error")
    os.unlink(path)
    return Terminal(master)


def status_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def by_command(command):
    pid, terminal = in_own_terminal(command)
    terminal.session()
    print("status:", status_of(pid))
    return terminal


def by_run(bundle):
    return by_command([RUNTIME, "run", "--bundle", bundle, ID])


def by_create(bundle):
    terminal = over_socket([RUNTIME, "create", "--bundle", bundle], bundle)
    subprocess.run([RUNTIME, "start", ID], check=True)
    terminal.session()
    subprocess.run([RUNTIME, "delete", "--force", ID], check=True)
    return terminal


def by_exec(bundle):
    config = json.load(open(f"{bundle}/config.json"))
    config["process"] |= {"terminal": False, "args": ["sleep", "60"]}
    json.dump(config, open(f"{bundle}/config.json", "w"))
    subprocess.run([RUNTIME, "create", "--bundle", bundle, ID], check=True, stdout=-3, stderr=-3)
    subprocess.run([RUNTIME, "start", ID], check=True)
    terminal = by_command([RUNTIME, "exec", "--tty", ID, "dash"])
    subprocess.run([RUNTIME, "delete", "--force", ID], check=True)
    return terminal


def by_watch(bundle):
    pid, terminal = in_own_terminal([RUNTIME, "run", "--bundle", bundle, ID])
    terminal.rest()
    print("status:", status_of(pid))
    return terminal


if sys.argv[1] == "command":
    shown = by_command(sys.argv[2:]).shown
else:
    ways = {"run": by_run, "create": by_create, "exec": by_exec, "watch": by_watch}
    how, RUNTIME, bundle, ID = sys.argv[1:]
    shown = ways[how](bundle).shown
# A process id in the shell's messages is the one thing that may differ.
print(re.sub(rb"\[(\d+)\] +\d+", rb"[\1] PID", shown).decode(errors="replace"))
