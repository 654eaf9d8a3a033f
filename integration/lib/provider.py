#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A model provider as a broker meets it: TLS at 127.0.0.1:443, the demo broker's answers in pieces.

Piece N is written only after somebody said GET /heard/N-1 (as in step_broker.py). POST /size
answers with the number of bytes that came. Each request's line and headers go to the log, as JSON.

    provider.py CERTIFICATE-AND-KEY LOG
"""

import http.server
import json
import os
import ssl
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../demo"))
import broker  # noqa: E402

heard = threading.Semaphore(0)


class Handler(broker.Handler):
    def do_GET(self):
        heard.release()
        self.answer(b"")

    def do_POST(self):
        if self.path != "/size":
            super().do_POST()
            self.connection.unwrap()
            return
        size = len(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(b"%d bytes\n" % size)

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # An answer that ends with its connection is the one that a broker may hold back.
    def send_header(self, name, value):
        if name == "Transfer-Encoding":
            name, value = "Connection", "close"
        super().send_header(name, value)

    def send_chunk(self, data):
        self.wfile.write(data)

    def before_piece(self, number):
        if number:
            heard.acquire()

    def log_request(self, code="-", size="-"):
        log.write(json.dumps([self.requestline, self.headers.items()]) + "\n")


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
log = open(sys.argv[2], "a", buffering=1, encoding="utf-8")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 443), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.pause = 0
server.handle_error = lambda *_: None  # a broker that does not believe us
print("listening", flush=True)
server.serve_forever()
