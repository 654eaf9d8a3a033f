// SPDX-License-Identifier: Apache-2.0
// Attacks its relay in its very first instructions, as a command might: process 1, or with "beside"
// the process that stepped aside, which is the next one. Static and without a loader, so
// that it is as early as can be. Exits with one bit for each attempt that succeeded.
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

pid_t target = 1;

bool opens(const char* name)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", target, name);
    return open(path, O_RDONLY) >= 0;
}

bool takes_descriptor(int pidfd)
{
    for (int fd = 0; fd < 16; ++fd) {
        if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
            return true;
    }
    return false;
}

bool reads_memory()
{
    char here = 0;
    iovec local = {&here, 1};
    iovec remote = {reinterpret_cast<void*>(uintptr_t{0x400000}), 1};
    return process_vm_readv(target, &local, 1, &remote, 1, 0) == 1;
}

} // namespace

int main(int argc, char**)
{
    while (argc > 1 && target < 9 && (target == 1 || kill(target, 0) != 0))
        ++target;
    const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, target, 0));
    int won = 0;
    if (takes_descriptor(pidfd))
        won |= 1;
    if (reads_memory())
        won |= 2;
    if (opens("mem"))
        won |= 4;
    if (opens("environ"))
        won |= 8;
    if (opens("fd/0"))
        won |= 16;
    if (ptrace(PTRACE_SEIZE, target, nullptr, nullptr) == 0)
        won |= 32;
    return won;
}
