#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Everybody out there: greets whoever connects (or echoes), echoes datagrams, answers every DNS question.

world.py tcp=PORT|echo=PORT|udp=ADDRESS:PORT|dns=ADDRESS|abstract=NAME|netns=PATH...

Prints one line when all of them listen. Datagrams are answered from the address they came to, so
that one is named. What stands behind netns=PATH listens there and is served from here, as Docker's
resolver is.
"""

import ctypes
import os
import socket
import socketserver
import sys
import threading

GREETING = b"HTTP/1.0 200 OK\r\n\r\nhello from outside\n"


class Greeter(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            self.request.sendall(GREETING)
            self.request.shutdown(socket.SHUT_WR)
            while self.request.recv(4096):  # closing with unread bytes would reset the greeting
                pass
        except OSError:
            pass  # whoever called has seen enough


class StreamEcho(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while data := self.request.recv(65536):
                self.request.sendall(data)
        except OSError:
            pass


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        data, answer_from = self.request
        answer_from.sendto(data, self.client_address)


def resolve(query):
    """Every A is 1.1.1.1; of every other type there is none (RFC 1035, 4.1)."""
    name_end = query.index(0, 12) + 1
    question = query[12 : name_end + 4]
    is_a = question[-4:-2] == b"\0\1"
    header = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0"
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\1\1\1\1" if is_a else b""
    return header + question + answer


class NameServer(socketserver.BaseRequestHandler):
    def handle(self):
        query, answer_from = self.request
        answer_from.sendto(resolve(query), self.client_address)


class StreamNameServer(socketserver.BaseRequestHandler):
    def handle(self):
        size = int.from_bytes(self.request.recv(2, socket.MSG_WAITALL), "big")
        answer = resolve(self.request.recv(size, socket.MSG_WAITALL))
        self.request.sendall(len(answer).to_bytes(2, "big") + answer)


class Stream(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6  # and IPv4 through it
    allow_reuse_address = True


class NameStream(socketserver.ThreadingTCPServer):
    allow_reuse_address = True


def enter(netns):
    with open(netns, "rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def servers(kind, argument):
    if kind == "netns":
        enter(argument)
        return []
    if kind == "abstract":
        return [socketserver.ThreadingUnixStreamServer("\0" + argument, Greeter)]
    if kind == "dns":
        at = (argument, 53)
        return [socketserver.UDPServer(at, NameServer), NameStream(at, StreamNameServer)]
    if kind == "udp":
        address, port = argument.split(":")
        return [socketserver.UDPServer((address, int(port)), Echo)]
    return [Stream(("::", int(argument)), StreamEcho if kind == "echo" else Greeter)]


def main():
    with open("/proc/self/ns/net", "rb") as home:
        made = [server for word in sys.argv[1:] for server in servers(*word.split("="))]
        enter(f"/proc/self/fd/{home.fileno()}")
    for server in made:
        threading.Thread(target=server.serve_forever).start()
    print("listening", flush=True)


main()
