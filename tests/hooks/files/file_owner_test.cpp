// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/file_owner.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace anchorhold::owner_test {

using namespace files;
namespace {

bool write_to(const char* path, const std::string& text)
{
    const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool owned_well(const std::string& path)
{
    struct stat file = {};
    return ::lstat(path.c_str(), &file) == 0 && is_owned_well(path, file);
}

constexpr int no_namespaces = 77;

// Looks around as a user who is root in a user namespace, without the host's root. Returns the
// number of the first wrong answer, which is the exit status.
int look_around_rootless()
{
    if (::geteuid() == 0 &&
        (::setresgid(4711, 4711, 4711) != 0 || ::setresuid(4711, 4711, 4711) != 0 ||
         ::prctl(PR_SET_DUMPABLE, 1) != 0))
        return no_namespaces;
    const std::string map = "0 " + std::to_string(::geteuid()) + " 1";
    if (::unshare(CLONE_NEWUSER) != 0 || !write_to("/proc/self/uid_map", map))
        return no_namespaces;
    if (!is_rootless())
        return 1;
    if (!owned_well("/") || !owned_well("/usr/bin/env"))
        return 2;
    return owned_well("/dev/null") ? 3 : 0; // it is neither a file nor a directory
}

} // namespace

TEST_CASE("a map of ids is known to hold the host's root by its second column")
{
    CHECK(maps_host_root("         0          0 4294967295\n"));
    CHECK(maps_host_root("         0     100000      65536\n     65536          0          1\n"));
    CHECK(!maps_host_root("         0     100000      65536\n     65536     300000          1\n"));
    CHECK(!maps_host_root("0 1000 1\n0 100 0"));
    CHECK(!maps_host_root(""));
}

TEST_CASE("the host's root is known where it has no id")
{
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(look_around_rootless());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == no_namespaces)
        MESSAGE("no user namespaces here");
    else
        CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("on the host itself root and we are all")
{
    struct stat file = {};
    file.st_mode = S_IFREG;
    CHECK(owned_well("/"));
    file.st_uid = ::geteuid();
    CHECK(is_owned_well("/", file));
    file.st_uid = 64001;
    CHECK(!is_owned_well("/", file));
    if (!is_rootless()) {
        file.st_uid = 65534;
        CHECK(!is_owned_well("/", file));
    }
}

} // namespace anchorhold::owner_test
