# SPDX-License-Identifier: Apache-2.0
"""A TLS ClientHello as a client may write it."""


def field(data, width):
    return len(data).to_bytes(width, "big") + data


def hello(name=None, extra=b"", cut=None, padding=0, version=b"\3\1"):
    extensions = extra
    if name is not None:
        inner = b"\0" + field(name.encode(), 2)
        extensions += b"\0\0" + field(field(inner, 2), 2)
    if padding:
        extensions += b"\0\x15" + field(b"\0" * padding, 2)
    body = b"\3\3" + b"r" * 32 + b"\0" + field(b"\x13\1", 2) + b"\1\0" + field(extensions, 2)
    message = b"\1" + field(body, 3)
    pieces = [message] if cut is None else [message[:cut], message[cut:]]
    return b"".join(b"\x16" + version + field(piece, 2) for piece in pieces)


ECH = b"\xfe\x0d" + field(b"x", 2)
