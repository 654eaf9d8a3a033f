// SPDX-License-Identifier: Apache-2.0
// Ways round a network namespace, and at it, by system calls that no shell offers.
#include "attempt.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

namespace attempt {
namespace {

constexpr int so_peerpidfd = 77; // SO_PEERPIDFD, asm-generic/socket.h since Linux 6.5

Outcome outcome(long result)
{
    return result < 0 ? Outcome{errno, ""} : Outcome{};
}

// Connects to a Unix socket; a name that begins with NUL is an abstract one.
int connect_unix(const std::string& name)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    const auto size = offsetof(sockaddr_un, sun_path) + name.size();
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 ||
        connect(fd, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) < 0)
        return -1;
    return fd;
}

// The 32-bit entry, which a filter for the 64-bit table alone does not see.
long int_80(long number, long first, long second, long third)
{
    long result = 0;
    asm volatile("int $0x80"
                 : "=a"(result)
                 : "a"(number), "b"(first), "c"(second), "d"(third)
                 : "memory", "r8", "r9", "r10", "r11");
    const int answer = static_cast<int>(result);
    if (answer >= 0)
        return answer;
    errno = -answer;
    return -1;
}

struct TableBatch {
    struct Message {
        nlmsghdr header;
        nfgenmsg body;
    };
    Message begin, add;
    nlattr name;
    char text[8];
    Message end;
};

void head(TableBatch::Message& message, int type, unsigned flags, std::size_t size)
{
    message.header.nlmsg_len = static_cast<__u32>(size);
    message.header.nlmsg_type = static_cast<__u16>(type);
    message.header.nlmsg_flags = static_cast<__u16>(NLM_F_REQUEST | flags);
}

// One transaction that adds table `name` (at most 7 letters) of family inet.
TableBatch table_batch(const std::string& name)
{
    TableBatch batch{};
    head(batch.begin, NFNL_MSG_BATCH_BEGIN, 0, sizeof batch.begin);
    batch.begin.body.res_id = htons(NFNL_SUBSYS_NFTABLES);
    head(batch.add, (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_ACK,
         sizeof batch.add + sizeof batch.name + sizeof batch.text);
    batch.add.body.nfgen_family = NFPROTO_INET;
    batch.name = {sizeof batch.name + sizeof batch.text, NFTA_TABLE_NAME};
    std::memcpy(batch.text, name.data(), name.size());
    head(batch.end, NFNL_MSG_BATCH_END, 0, sizeof batch.end);
    batch.end.body.res_id = htons(NFNL_SUBSYS_NFTABLES);
    return batch;
}

} // namespace

Outcome abstract_socket(const std::string& name)
{
    return outcome(connect_unix('\0' + name));
}

Outcome socket_of(const std::string& family_and_type)
{
    const auto colon = family_and_type.find(':');
    return outcome(socket(static_cast<int>(number_in(family_and_type)),
                          static_cast<int>(number_in(family_and_type.substr(colon + 1))), 0));
}

Outcome wide_socket(const std::string& family)
{
    return outcome(syscall(SYS_socket, 0x100000000L | number_in(family), SOCK_STREAM, 0));
}

Outcome i386_socketcall(const std::string& family)
{
    void* low =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED)
        return {errno, "mmap"};
    const int words[] = {static_cast<int>(number_in(family)), SOCK_STREAM, 0};
    std::memcpy(low, words, sizeof words);
    constexpr long socketcall = 102, sys_socket = 1; // asm/unistd_32.h, linux/net.h
    return outcome(int_80(socketcall, sys_socket, reinterpret_cast<long>(low), 0));
}

Outcome i386_socket(const std::string& family)
{
    constexpr long socket_number = 359; // asm/unistd_32.h
    return outcome(int_80(socket_number, number_in(family), SOCK_STREAM, 0));
}

Outcome x32_socket(const std::string& family)
{
    constexpr long x32_bit = 0x40000000; // __X32_SYSCALL_BIT
    return outcome(syscall(SYS_socket | x32_bit, number_in(family), SOCK_STREAM, 0));
}

Outcome io_uring(const std::string&)
{
    io_uring_params parameters{};
    return outcome(syscall(SYS_io_uring_setup, 8, &parameters));
}

// Only a key of our own is asked for: what matters is whether the call is there to be made.
Outcome request_key(const std::string&)
{
    if (syscall(SYS_add_key, "user", "anchorhold", "x", 1, KEY_SPEC_PROCESS_KEYRING) < 0)
        return {errno, "add_key"};
    return outcome(syscall(SYS_request_key, "user", "anchorhold", nullptr, 0));
}

Outcome tun(const std::string& directory)
{
    const std::string node = directory + "/tun";
    if (mknod(node.c_str(), S_IFCHR | 0600, makedev(10, 200)) < 0 && errno != EEXIST)
        return {errno, "mknod"};
    const int fd = open(node.c_str(), O_RDWR);
    if (fd < 0)
        return {errno, "open"};
    ifreq wanted{};
    std::strcpy(wanted.ifr_name, "evil0");
    wanted.ifr_flags = IFF_TUN | IFF_NO_PI;
    return outcome(ioctl(fd, TUNSETIFF, &wanted));
}

Outcome nft_table(const std::string& name)
{
    const TableBatch batch = table_batch(name);
    const int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
    if (fd < 0 || send(fd, &batch, sizeof batch, 0) < 0)
        return {errno, ""};
    char answer[4096];
    if (recv(fd, answer, sizeof answer, 0) < 0)
        return {errno, "recv"};
    nlmsgerr error{};
    std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
    return {-error.error, ""};
}

Outcome net_capabilities(const std::string&)
{
    std::FILE* status = std::fopen("/proc/self/status", "re");
    char line[256];
    constexpr unsigned long long wanted = 1ULL << CAP_NET_ADMIN | 1ULL << CAP_NET_RAW;
    while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
        unsigned long long set = 0;
        if (std::sscanf(line, "Cap%*[A-Za-z]: %llx", &set) == 1 && (set & wanted) != 0)
            return {0, std::string(line, std::strlen(line) - 1)};
    }
    return status == nullptr ? Outcome{ENOENT, "broken: no /proc"} : Outcome{EPERM, "in no set"};
}

Outcome peer_descriptor(const std::string& socket)
{
    const int fd = connect_unix(socket);
    int pidfd = -1;
    socklen_t size = sizeof pidfd;
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, so_peerpidfd, &pidfd, &size) < 0)
        return {errno, "broken: no pidfd"};
    int error = 0;
    for (int theirs = 0; theirs < 16; ++theirs) {
        if (syscall(SYS_pidfd_getfd, pidfd, theirs, 0) >= 0)
            return {0, "descriptor " + std::to_string(theirs)};
        if (errno != EBADF)
            error = errno;
    }
    return {error, ""};
}

Outcome park_namespace(const std::string& socket)
{
    const int fd = connect_unix(socket);
    const int own = open("/proc/self/ns/net", O_RDONLY);
    char byte = 'n';
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof own)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof own);
    std::memcpy(CMSG_DATA(rights), &own, sizeof own);
    if (fd < 0 || own < 0 || sendmsg(fd, &message, 0) < 0 || read(fd, &byte, 1) != 1)
        return {errno ? errno : EPROTO, ""};
    return {};
}

Outcome trace(const std::string& pid)
{
    const auto target = static_cast<pid_t>(number_in(pid));
    return outcome(ptrace(PTRACE_SEIZE, target, nullptr, nullptr));
}

} // namespace attempt
