# SPDX-License-Identifier: Apache-2.0
"""serve ADDRESS PORT: answers every tcp connection and udp datagram with "hello".
ask tcp|udp=ADDRESS:PORT[@SOURCE]...: all at once; prints each answer, or how it was refused, or
"silence" after 3 s, on one line, in the order of asking."""
import errno
import os
import socket
import sys
import threading

SLOWNESS = int(os.environ.get("AH_SLOWNESS", "1"))  # slowness.sh


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve_tcp(listener):
    while True:
        connection, _ = listener.accept()
        connection.sendall(b"hello")
        connection.close()


def serve(address, port):
    tcp = socket.socket(family(address), socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind((address, port))
    tcp.listen()
    udp = socket.socket(family(address), socket.SOCK_DGRAM)
    udp.bind((address, port))
    threading.Thread(target=serve_tcp, args=(tcp,), daemon=True).start()
    print("ready", flush=True)
    while True:
        _, peer = udp.recvfrom(4096)
        udp.sendto(b"hello", peer)


def ask(word, answers):
    protocol, _, place = word.partition("=")
    place, _, source = place.partition("@")
    address, _, port = place.rpartition(":")
    client = socket.socket(
        family(address), socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    )
    client.settimeout(3 * SLOWNESS)
    try:
        if source:
            client.bind((source, 0))
        client.connect((address, int(port)))
        if protocol == "udp":
            client.send(b"anybody?")
        answers[word] = client.recv(64).decode()
    except TimeoutError:
        answers[word] = "silence"
    except OSError as error:
        answers[word] = errno.errorcode[error.errno]


def ask_all(words):
    answers = {}
    threads = [threading.Thread(target=ask, args=(word, answers)) for word in words]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*(answers[word] for word in words))


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    ask_all(sys.argv[2:])
