#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The relay as a file: runs in any image, from one static program to a distribution, and is small."""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from relay_lab import PORT, RELAY, Relay, case, main, read  # noqa: E402

KIBIBYTE = 1024
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3  # elf.h


def content():
    with open(RELAY, "rb") as file:
        return file.read()


def segments(elf):
    """(type, bytes in the file) of each, of a 64-bit ELF in this machine's byte order."""
    (table,) = struct.unpack_from("=Q", elf, 32)
    size, count = struct.unpack_from("=HH", elf, 54)
    headers = [table + size * number for number in range(count)]
    return [struct.unpack_from("=I28xQ", elf, at) for at in headers]


@case("R26 it needs no loader, no library and no name service")
def _(_):
    elf = content()
    assert not {PT_DYNAMIC, PT_INTERP} & {kind for kind, _ in segments(elf)}
    for word in (b"nsswitch.conf", b"libnss_", b"/etc/passwd", b"/etc/resolv.conf"):
        assert word not in elf, word


# The other half is the C library: what the fallback of a host without musl costs.
HAS_MUSL = os.path.exists(RELAY) and b"glibc" not in content()


@case("it is small: 64 KiB with musl, 800 KiB loaded without")
def _(_):
    if HAS_MUSL:
        assert os.path.getsize(RELAY) <= 64 * KIBIBYTE
    loaded = sum(size for kind, size in segments(content()) if kind == PT_LOAD)
    assert loaded <= 800 * KIBIBYTE


@case("idle it has 64 KiB of its own, 128 without musl")
def _(directory):
    with Relay(f"{PORT}={directory}/broker.sock", options=["--dns"]) as relay:
        fields = dict(
            line.split(":", 1) for line in read(f"/proc/{relay.pid}/smaps_rollup").splitlines()[1:]
        )
        assert int(fields["Pss_Anon"].split()[0]) <= (64 if HAS_MUSL else 128), fields


if __name__ == "__main__":
    main()
