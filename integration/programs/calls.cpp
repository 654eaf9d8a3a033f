// SPDX-License-Identifier: Apache-2.0
// calls BROKER-SOCKET: every system call that could go round a network namespace, by every
// convention a 64-bit process can call it. One line each: "NAME reached", "NAME ERRNO", or
// "NAME killed". Then which families a filter lets through: "families 1 2 10". Static, so that it
// runs in every image.
//
// The i386 calls go through int 0x80 from 64-bit code: to a filter that is the other architecture,
// and no 32-bit libc is needed to make them.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// asm/unistd_32.h
constexpr long i386_socketcall = 102, i386_request_key = 287, i386_socket = 359,
               i386_io_uring_setup = 425, i386_pidfd_getfd = 438;
constexpr long x32_bit = 0x40000000;   // __X32_SYSCALL_BIT
constexpr long high_bit = 0x100000000; // which the kernel cuts off a family
constexpr int so_peerpidfd = 77;       // asm-generic/socket.h since Linux 6.5
constexpr long vsock = AF_VSOCK, stream = SOCK_STREAM;
const char* broker = nullptr;

long call64(long number, long a, long b, long c)
{
    return syscall(number, a, b, c, 0);
}

long call_i386(long number, long a, long b, long c)
{
    long result = 0;
    asm volatile("int $0x80"
                 : "=a"(result)
                 : "a"(number), "b"(a), "c"(b), "d"(c), "S"(0)
                 : "memory", "r8", "r9", "r10", "r11");
    const int answer = static_cast<int>(result);
    if (answer >= 0)
        return answer;
    errno = -answer;
    return -1;
}
using Convention = long (*)(long, long, long, long);

// Returns a page that 32-bit pointers reach.
char* low_page()
{
    void* page =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    return static_cast<char*>(page);
}

long address(const void* pointer)
{
    return reinterpret_cast<long>(pointer);
}

long by_socketcall(long family)
{
    const int words[] = {static_cast<int>(family), SOCK_STREAM, 0};
    char* const page = low_page();
    std::memcpy(page, words, sizeof words);
    return call_i386(i386_socketcall, 1 /* SYS_SOCKET */, address(page), 0);
}

// IORING_OP_SOCKET, the whole way.
long by_io_uring(int family)
{
    io_uring_params about{};
    const int ring = static_cast<int>(call64(SYS_io_uring_setup, 1, address(&about), 0));
    if (ring < 0)
        return -1;
    const auto map = [ring](std::size_t size, off_t what) {
        return static_cast<char*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, what));
    };
    char* const submissions = map(4096, IORING_OFF_SQ_RING);
    char* const completions = map(4096, IORING_OFF_CQ_RING);
    auto* const entry = reinterpret_cast<io_uring_sqe*>(map(sizeof(io_uring_sqe), IORING_OFF_SQES));
    entry->opcode = IORING_OP_SOCKET;
    entry->fd = family;
    entry->off = SOCK_STREAM;
    auto* const tail = reinterpret_cast<unsigned*>(submissions + about.sq_off.tail);
    __atomic_store_n(tail, 1U, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0)
        return -1;
    io_uring_cqe answer{};
    std::memcpy(&answer, completions + about.cq_off.cqes, sizeof answer);
    errno = -answer.res;
    return answer.res;
}

// With no key and nobody to make one the kernel has looked, and asked the host's helper.
long key_asked_for(Convention call, long number)
{
    char* const words = low_page();
    std::memcpy(words, "dns_resolver\0name.invalid", 26);
    const long result = call(number, address(words), address(words + 13), address(words + 12));
    return result < 0 && (errno == ENOKEY || errno == ENOENT) ? 0 : result;
}

// The broker's pidfd comes with a connection to it; every socket it holds is then one call away.
long brokers_socket(Convention call, long number)
{
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, broker, sizeof to.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int pidfd = -1;
    socklen_t size = sizeof pidfd;
    if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0 ||
        getsockopt(fd, SOL_SOCKET, so_peerpidfd, &pidfd, &size) < 0)
        return -1;
    int error = EBADF;
    for (int theirs = 3; theirs < 16; ++theirs) {
        const int mine = static_cast<int>(call(number, pidfd, theirs, 0));
        int domain = 0;
        size = sizeof domain;
        if (mine >= 0 && getsockopt(mine, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
            domain == AF_INET)
            return mine;
        if (mine < 0 && errno != EBADF)
            error = errno;
    }
    errno = error;
    return -1;
}

long program_i386()
{
    execl("/bin/hello-i386", "hello-i386", nullptr);
    return -1;
}

// The pair of a family that has none is refused (EOPNOTSUPP) once the filter let it through.
long pair_of(long family)
{
    int pair[2] = {};
    return syscall(SYS_socketpair, family, SOCK_STREAM, 0, pair);
}

struct Attempt {
    const char* name;
    long (*go)();
};
constexpr Attempt attempts[] = {
    {"unix", [] { return call64(SYS_socket, AF_UNIX, stream, 0); }},
    {"inet", [] { return call64(SYS_socket, AF_INET, stream, 0); }},
    {"inet6", [] { return call64(SYS_socket, AF_INET6, SOCK_DGRAM, 0); }},
    {"netlink", [] { return call64(SYS_socket, AF_NETLINK, SOCK_RAW, 0); }},
    {"netlink-audit", [] { return call64(SYS_socket, AF_NETLINK, SOCK_RAW, 9); }},
    {"netlink-audit-high-bits",
     [] { return call64(SYS_socket, AF_NETLINK | high_bit, SOCK_RAW, 9 | high_bit); }},
    {"netlink-audit-i386", [] { return call_i386(i386_socket, AF_NETLINK, SOCK_RAW, 9); }},
    {"netlink-crypto", [] { return call64(SYS_socket, AF_NETLINK, SOCK_RAW, 21); }},
    {"pair-unix", [] { return pair_of(AF_UNIX); }},
    {"packet", [] { return call64(SYS_socket, AF_PACKET, SOCK_RAW, 0); }},
    {"inet-i386", [] { return call_i386(i386_socket, AF_INET, stream, 0); }},
    {"program-i386", program_i386},
    {"vsock", [] { return call64(SYS_socket, vsock, stream, 0); }},
    {"vsock-high-bits", [] { return call64(SYS_socket, vsock | high_bit, stream, 0); }},
    {"vsock-i386", [] { return call_i386(i386_socket, vsock, stream, 0); }},
    {"vsock-socketcall", [] { return by_socketcall(vsock); }},
    {"vsock-x32", [] { return call64(SYS_socket | x32_bit, vsock, stream, 0); }},
    {"vsock-io-uring", [] { return by_io_uring(AF_VSOCK); }},
    {"io-uring-i386", [] { return call_i386(i386_io_uring_setup, 1, address(low_page()), 0); }},
    {"request-key", [] { return key_asked_for(call64, SYS_request_key); }},
    {"request-key-i386", [] { return key_asked_for(call_i386, i386_request_key); }},
    {"pidfd-getfd", [] { return brokers_socket(call64, SYS_pidfd_getfd); }},
    {"pidfd-getfd-i386", [] { return brokers_socket(call_i386, i386_pidfd_getfd); }},
};

// In a process of its own, which a filter may kill. Its errno, 0 when it got through.
template <typename Call> int outcome(Call call)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(call() >= 0 ? 0 : errno);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The families that reach the kernel, whether or not it has them: a wrong type is refused (EINVAL)
// before the family is looked up (net/socket.c, __sock_create).
void sweep(const char* name, Convention call, long number, long bits)
{
    constexpr long no_such_type = 15;
    std::printf("%s", name);
    for (long family = 0; family < 46; ++family)
        if (outcome([=] { return call(number, family | bits, no_such_type, 0); }) == EINVAL)
            std::printf(" %ld", family);
    std::printf("\n");
}

} // namespace

int main(int count, char** words)
{
    if (count != 2)
        return 2;
    broker = words[1];
    std::setvbuf(stdout, nullptr, _IONBF, 0); // a child must not repeat what its parent said
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (const Attempt& attempt : attempts) {
        const int error = outcome(attempt.go);
        std::printf("%s %s\n", attempt.name,
                    error < 0    ? "killed"
                    : error == 0 ? "reached"
                                 : strerrorname_np(error));
    }
    sweep("families", call64, SYS_socket, 0);
    sweep("families-high-bits", call64, SYS_socket, high_bit);
    sweep("families-i386", call_i386, i386_socket, 0);
    sweep("families-pair", call64, SYS_socketpair, 0);
    return 0;
}
