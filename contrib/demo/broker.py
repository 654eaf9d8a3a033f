#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a model broker: HTTP/1.1 on a Unix socket, one streamed answer.

A broker holds what the agent must not have: the API key and the way out. So a real broker needs
these two things too:

* A uid of its own. The broker's uid must not be that of a container, as the host sees it. Processes
  of one uid may take each other's sockets with pidfd_getfd(2), and an agent can find its broker:
  SO_PEERPIDFD on the connection hands out a pidfd. anchorhold denies that system call inside. The
  broker's own uid is the second wall.
* Not dumpable (PR_SET_DUMPABLE 0, prctl(2)). The kernel checks this for ptrace(2), pidfd_getfd(2)
  and /proc/PID/mem, whatever the uid.

The socket has mode 0666, in a directory of its own that is root's and has mode 0711. So whoever is
handed the directory may connect, and nobody but root can replace the socket.

    broker.py --socket /run/brokers/demo/broker.sock --user 990

Prints one line on stdout when it is ready, then one line per request on --log (default stderr).
With --background it then returns, and goes on by itself.
"""

import argparse
import ctypes
import http.server
import json
import os
import pwd
import socket
import socketserver
import sys
import time

PR_SET_DUMPABLE = 4  # linux/prctl.h


class Handler(http.server.BaseHTTPRequestHandler):
    """POST /v1/messages answers in pieces, as server-sent events in chunks."""

    protocol_version = "HTTP/1.1"
    pieces = ("Inside ", "these ", "walls ", "one ", "window.")

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.split("?")[0] != "/v1/messages":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(self.pieces):
            self.before_piece(number)
            delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": piece}}
            self.send_event("content_block_delta", delta)
        self.send_event("message_stop", {"type": "message_stop"})
        self.send_chunk(b"")

    def do_HEAD(self):
        """Some agents send HEAD / before their first question."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def before_piece(self, number):
        """Waits between two pieces, as a model does."""
        if number:
            time.sleep(self.server.pause)

    def send_event(self, name, data):
        self.send_chunk(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())

    def send_chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_request(self, code="-", size="-"):
        print(self.command, self.path, int(code), file=self.server.log, flush=True)

    def log_error(self, format, *arguments):
        """Prints nothing, since send_error() also calls log_request()."""


class Broker(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path, handler, log, pause):
        super().__init__(path, handler, bind_and_activate=False)
        self.log, self.pause = log, pause

    def bind(self, path):
        """Makes the socket as root, so that nobody else can put another in its place."""
        os.makedirs(os.path.dirname(path), mode=0o711, exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        self.server_bind()
        os.chmod(path, 0o666)


def become(user):
    """Gives up root for good: first the groups, then all three ids of each kind."""
    try:
        entry = pwd.getpwnam(user)
        uid, gid = entry.pw_uid, entry.pw_gid
    except KeyError:
        uid = gid = int(user)
    if uid == 0:
        sys.exit("broker: --user is root: a broker needs a uid of its own")
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        sys.exit("broker: prctl PR_SET_DUMPABLE: " + os.strerror(ctypes.get_errno()))


def go_on_alone():
    """Lets the caller go on. A log that was named stays open, the caller's streams do not."""
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def main(handler=Handler):
    options = argparse.ArgumentParser(description="a model broker for demonstrations")
    options.add_argument("--socket", required=True, metavar="PATH")
    options.add_argument("--user", required=True, help="name or number of the broker's own uid")
    options.add_argument("--log", type=argparse.FileType("a"), default=sys.stderr)
    options.add_argument("--pause", type=float, default=0.2, help="seconds between two pieces")
    options.add_argument("--background", action="store_true", help="return when it is ready")
    given = options.parse_args()
    broker = Broker(given.socket, handler, given.log, given.pause)
    broker.bind(given.socket)
    become(given.user)
    # listen(2) comes after that, since SO_PEERCRED tells a client who called it: not root.
    broker.server_activate()
    print("listening on", given.socket, flush=True)
    if given.background:
        go_on_alone()
    broker.serve_forever()


if __name__ == "__main__":
    main()
