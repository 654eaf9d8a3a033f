# SPDX-License-Identifier: Apache-2.0
"""serve ADDRESS PORT: answers every tcp connection and udp datagram with "hello".
ask tcp|udp ADDRESS PORT: prints the answer, or how it was refused, or "silence" after 3 s."""
import errno
import socket
import sys
import threading


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


def ask(protocol, address, port, source=None):
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    client = socket.socket(family(address), kind)
    client.settimeout(3)
    try:
        if source:
            client.bind((source, 0))
        client.connect((address, port))
        if protocol == "udp":
            client.send(b"anybody?")
        print(client.recv(64).decode())
    except TimeoutError:
        print("silence")
    except OSError as error:
        print(errno.errorcode[error.errno])


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    ask(sys.argv[2], sys.argv[3], int(sys.argv[4]), *sys.argv[5:])
