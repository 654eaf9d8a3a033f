// SPDX-License-Identifier: Apache-2.0
#include "relay/checks.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif
#ifndef NSFS_MAGIC
#define NSFS_MAGIC 0x6e736673
#endif

namespace anchorhold::relay {
namespace {

bool is_same(const FileIdentity& identity, const struct stat& found)
{
    return identity.device == found.st_dev && identity.inode == found.st_ino;
}

Failure check_cookie(uint64_t host)
{
    constexpr const char* doing = "ask the kernel for this network namespace's cookie";
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket)
        return {.doing = doing, .number = errno};
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0)
        return {.doing = doing, .number = errno};
    if (cookie == host)
        return {.doing = "check the network namespace", .why = "it is the host's"};
    return {};
}

Failure check_identity(const FileIdentity& host)
{
    const char* path = "/proc/self/ns/net";
    struct stat found = {};
    struct statfs filesystem = {};
    if (stat(path, &found) != 0 || statfs(path, &filesystem) != 0)
        return {.doing = "look at", .subject = path, .number = errno};
    // Refused: anything but a namespace was mounted there, by somebody who wants this check to
    // pass.
    if (filesystem.f_type != NSFS_MAGIC)
        return {.doing = "look at", .subject = path, .why = "not a namespace"};
    if (is_same(host, found))
        return {.doing = "check the network namespace", .why = "it is the host's"};
    return {};
}

} // namespace

Failure check_namespace(const Options& options)
{
    Failure unasked; // a seccomp profile may deny sockets, and then /proc alone answers
    if (options.host_cookie_known) {
        const Failure failed = check_cookie(options.host_cookie);
        if (failed && failed.number == 0)
            return failed;
        unasked = failed;
    }
    if (!options.host_netns.known)
        return unasked;
    const Failure failed = check_identity(options.host_netns);
    if (failed.number == ENOENT && options.host_cookie_known && !unasked)
        return {}; // this container has no /proc; the cookie has answered
    return failed;
}

const char* read_enforced(const char* content, size_t size, const char* mark, uint32_t& gateway)
{
    gateway = 0;
    const size_t length = strlen(mark);
    if (size <= length || memcmp(content, mark, length) != 0 || content[length] != '\n')
        return "it is of another run";
    const char* line = content + length + 1;
    const size_t left = size - length - 1;
    if (left == 0)
        return nullptr;
    char address[INET_ADDRSTRLEN] = {};
    if (line[left - 1] == '\n' && left <= sizeof address) {
        memcpy(address, line, left - 1);
        if (inet_pton(AF_INET, address, &gateway) == 1 && strlen(address) == left - 1)
            return nullptr;
    }
    gateway = 0;
    return "its second line is no IPv4 address";
}

Failure check_mark(const Options& options, uint32_t& gateway)
{
    if (options.inside == nullptr)
        return {};
    constexpr const char* doing = "read the file enforced in";
    const UniqueFd directory(open(options.inside, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        return {.doing = doing, .subject = options.inside, .number = errno};
    const UniqueFd file(openat(directory.get(), "enforced", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file)
        return {.doing = doing, .subject = options.inside, .number = errno};
    char content[256];
    const ssize_t size = read(file.get(), content, sizeof content);
    if (size < 0)
        return {.doing = doing, .subject = options.inside, .number = errno};
    const char* wrong = read_enforced(content, static_cast<size_t>(size), options.mark, gateway);
    if (wrong != nullptr)
        return {.doing = doing, .subject = options.inside, .why = wrong};
    return {};
}

Failure open_directory(const Endpoint& endpoint, UniqueFd& directory)
{
    constexpr const char* doing = "check endpoint";
    directory = UniqueFd(open(endpoint.directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat found = {};
    if (!directory || fstat(directory.get(), &found) != 0)
        return {.doing = doing, .subject = endpoint.text, .number = errno};
    if (endpoint.identity.known && !is_same(endpoint.identity, found))
        return {.doing = doing, .subject = endpoint.text, .why = "another directory is there"};
    if (fstatat(directory.get(), endpoint.socket, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return {};
        return {.doing = doing, .subject = endpoint.text, .number = errno};
    }
    if (!S_ISSOCK(found.st_mode))
        return {.doing = doing, .subject = endpoint.text, .why = "not a socket"};
    return {};
}

} // namespace anchorhold::relay
