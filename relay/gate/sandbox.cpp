// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/sandbox.hpp"

#include <algorithm>
#include <array>
#include <cap-ng.h>
#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <memory>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace anchorhold::gate {
namespace {

constexpr rlim_t most_descriptors = 8192; // two of each connection, its attempts, and pipes

// The calls that are allowed whatever their arguments.
constexpr std::array free_calls{
    SCMP_SYS(accept4),        SCMP_SYS(brk),          SCMP_SYS(clock_gettime),
    SCMP_SYS(close),          SCMP_SYS(connect),      SCMP_SYS(dup3),
    SCMP_SYS(epoll_ctl),      SCMP_SYS(epoll_pwait),  SCMP_SYS(epoll_wait),
    SCMP_SYS(eventfd2),

    SCMP_SYS(exit_group),     SCMP_SYS(fcntl),        SCMP_SYS(fstat),
    SCMP_SYS(ftruncate),      SCMP_SYS(futex),        SCMP_SYS(getpid),
    SCMP_SYS(getrandom),      SCMP_SYS(getsockname),  SCMP_SYS(getsockopt),
    SCMP_SYS(gettid),         SCMP_SYS(gettimeofday), SCMP_SYS(lseek),
    SCMP_SYS(madvise),        SCMP_SYS(mmap),         SCMP_SYS(mprotect),
    SCMP_SYS(mremap),         SCMP_SYS(munmap),       SCMP_SYS(newfstatat),
    SCMP_SYS(pipe2),          SCMP_SYS(poll),         SCMP_SYS(ppoll),
    SCMP_SYS(pwrite64),       SCMP_SYS(read),         SCMP_SYS(readv),
    SCMP_SYS(recvfrom),       SCMP_SYS(recvmsg),      SCMP_SYS(restart_syscall),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(sendmsg),        SCMP_SYS(sendto),       SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown),       SCMP_SYS(splice),       SCMP_SYS(tgkill),
    SCMP_SYS(time),           SCMP_SYS(write),        SCMP_SYS(writev),
};

void release_filter(void* filter)
{
    ::seccomp_release(filter);
}

// The kernel looks at 32 bits of these arguments, libseccomp compares 64.
scmp_arg_cmp low_bits(unsigned argument, std::uint64_t mask, std::uint64_t value)
{
    return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// Allows the calls of which only some forms are needed. Returns 0 or a negative errno.
int allow_forms(scmp_filter_ctx filter)
{
    constexpr std::uint64_t whole = 0xffffffff;
    constexpr std::uint64_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_PATH | O_TMPFILE;
    int number = ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                                    low_bits(2, writing, O_RDONLY));
    if (number == 0)
        number = ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                                    low_bits(1, whole, FIONREAD));
    for (const std::uint64_t family : {std::uint64_t{AF_INET}, std::uint64_t{AF_INET6}}) {
        for (const std::uint64_t type : {std::uint64_t{SOCK_STREAM}, std::uint64_t{SOCK_DGRAM}}) {
            if (number != 0)
                return number;
            const std::uint64_t flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
            number = ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3,
                                        low_bits(0, whole, family),
                                        low_bits(1, whole & ~flags, type), low_bits(2, whole, 0));
        }
    }
    return number;
}

// What is not allowed fails with EPERM, so that a call that a library makes in some rare case costs
// no run its gate.
Status filter_calls()
{
    const std::unique_ptr<void, void (*)(void*)> filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                        release_filter);
    if (!filter)
        return fail_errno("filter system calls", ENOMEM);
    int number = 0;
    for (const int call : free_calls) {
        if (number == 0)
            number = ::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
    }
    if (number == 0)
        number = allow_forms(filter.get());
    if (number == 0)
        number = ::seccomp_load(filter.get());
    if (number != 0)
        return fail_errno("filter system calls", -number);
    return {};
}

Status change_user(const Identity& identity)
{
    if (::setgroups(0, nullptr) != 0 ||
        ::setresgid(identity.group, identity.group, identity.group) != 0 ||
        ::setresuid(identity.user, identity.user, identity.user) != 0)
        return fail_errno("become a user of its own", errno);
    return {};
}

Status limit(__rlimit_resource resource, rlim_t most)
{
    rlimit now = {};
    if (::getrlimit(resource, &now) != 0)
        return fail_errno("read a resource limit", errno);
    const rlim_t bound = std::min(most, now.rlim_max);
    const rlimit bounds = {bound, bound};
    if (::setrlimit(resource, &bounds) != 0)
        return fail_errno("set a resource limit", errno);
    return {};
}

} // namespace

Status enter_sandbox(const std::optional<Identity>& identity)
{
    AH_CHECK(limit(RLIMIT_NOFILE, most_descriptors));
    AH_CHECK(limit(RLIMIT_CORE, 0));
    if (::chdir("/") != 0)
        return fail_errno("go to the root directory", errno);
    if (identity)
        AH_CHECK(change_user(*identity));
    ::capng_clear(CAPNG_SELECT_CAPS);
    if (::capng_apply(CAPNG_SELECT_CAPS) != 0)
        return fail_errno("drop capabilities", errno);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return fail_errno("give up privileges", errno);
    return filter_calls();
}

} // namespace anchorhold::gate
