#!/usr/bin/python3 -ISE
# SPDX-License-Identifier: Apache-2.0
"""cri_call.py SERVED WORD...: what cri.py, serving there, does with stdin, stdout and stderr of ours.

It waits for as long as cri.py is at it, where each call to the engine has a deadline of its own."""

import socket
import sys


def call(served, words):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(served)
        socket.send_fds(server, ["\0".join(words).encode()], [0, 1, 2])
        status = server.recv(1)
    return status[0] if status else 1


if __name__ == "__main__":
    sys.exit(call(sys.argv[1], sys.argv[2:]))
