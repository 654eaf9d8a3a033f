// SPDX-License-Identifier: Apache-2.0
// A 32-bit program that needs no 32-bit libc: exits with 0.
extern "C" [[noreturn]] void _start()
{
    for (;;)
        asm volatile("int $0x80" : : "a"(1 /* exit */), "b"(0));
}
