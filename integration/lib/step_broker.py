#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The demo broker, as tests need it.

Piece N of an answer is written only after somebody said GET /heard/N-1: whoever holds a piece
back on the way stops the answer for good, and no clock is needed to see it.

AH_DUMPABLE=1 makes it the careless broker that contrib/demo warns of. Anything else than HTTP
that arrives with a descriptor (SCM_RIGHTS) is kept, descriptor and all.
"""

import array
import ctypes
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../demo"))
import broker  # noqa: E402

PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_PTRACER_ANY = 4, 0x59616D61, -1  # linux/prctl.h

heard = threading.Semaphore(0)
parked = []


class Handler(broker.Handler):
    def handle(self):
        _, ancillary, _, _ = self.request.recvmsg(1, socket.CMSG_SPACE(4), socket.MSG_PEEK)
        if not ancillary:
            return super().handle()
        parked.append(array.array("i", ancillary[0][2]))
        self.request.sendall(b"k")
        return None

    def do_GET(self):
        heard.release()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def before_piece(self, number):
        if number and os.environ.get("AH_STEPS"):
            heard.acquire()


def become_careless(user):
    careful_become(user)
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    prctl(PR_SET_PTRACER, ctypes.c_long(PR_SET_PTRACER_ANY), 0, 0, 0)


careful_become = broker.become
if os.environ.get("AH_DUMPABLE"):
    broker.become = become_careless
broker.main(Handler)
