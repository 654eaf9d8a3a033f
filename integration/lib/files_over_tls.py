#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""files_over_tls.py PORT DIRECTORY CERTIFICATE KEY: serves files over HTTPS; says so in one line."""

import functools
import http.server
import socket
import ssl
import sys


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6  # and IPv4 through it


def main():
    port, directory, certificate, key = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = Server(("::", int(port)), functools.partial(Quiet, directory=directory))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("listening", flush=True)
    server.serve_forever()


main()
