// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/descriptors.hpp"
#include "shim/inspect/inspection.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace anchorhold::descriptors_test {

using namespace inspect;
namespace {

std::string refusal(int fd)
{
    const auto seen = check_descriptor(fd);
    if (seen)
        return "passed";
    CHECK(seen.error().code == Code::invalid_request);
    const std::string& what = seen.error().what;
    const std::string begin = "descriptor " + std::to_string(fd) + " is ";
    const std::string end = ", which a confined container must not be handed";
    CHECK(what.starts_with(begin));
    CHECK(what.ends_with(end));
    return what.substr(begin.size(), what.size() - begin.size() - end.size());
}

UniqueFd opened(const char* path, int flags)
{
    return UniqueFd(::open(path, flags | O_CLOEXEC));
}

bool passes_silently(int fd)
{
    const auto seen = check_descriptor(fd);
    return seen && !*seen;
}

} // namespace

TEST_CASE("what engines hand over passes: files, pipes, terminals, /dev/null, events")
{
    const Scratch scratch;
    const UniqueFd file = opened(scratch.file("log").c_str(), O_RDWR);
    const UniqueFd null = opened("/dev/null", O_RDWR);
    const UniqueFd urandom = opened("/dev/urandom", O_RDONLY);
    const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
    int ends[2] = {};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd reading(ends[0]);
    const UniqueFd writing(ends[1]);
    for (const int fd : {file.get(), null.get(), urandom.get(), terminal.get(), event.get(),
                         reading.get(), writing.get()})
        CHECK(passes_silently(fd));
    CHECK(passes_silently(1023)); // a closed descriptor is the runtime's to complain about
}

TEST_CASE("a Unix socket passes and is named as a channel")
{
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto seen = check_descriptor(fd.get());
    REQUIRE(seen);
    CHECK(*seen == "descriptor " + std::to_string(fd.get()) + " is a Unix socket");
}

TEST_CASE("a socket of another family is refused")
{
    for (const int family : {AF_INET, AF_INET6, AF_NETLINK}) {
        const UniqueFd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        REQUIRE(fd);
        CHECK(refusal(fd.get()) ==
              "a socket of the host's network (family " + std::to_string(family) + ")");
    }
}

TEST_CASE("descriptors that lead out of the container are refused")
{
    const UniqueFd directory = opened("/", O_RDONLY | O_DIRECTORY);
    const UniqueFd handle = opened("/dev/null", O_PATH);
    const UniqueFd space = opened("/proc/self/ns/net", O_RDONLY);
    const UniqueFd memory = opened("/proc/self/mem", O_RDONLY);
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    REQUIRE(process);
    CHECK(refusal(directory.get()) == "a directory");
    CHECK(refusal(handle.get()) == "a handle on a path (O_PATH)");
    CHECK(refusal(space.get()) == "a namespace");
    CHECK(refusal(memory.get()) == "a file of the host's /proc");
    const std::string pidfd = refusal(process.get());
    CHECK((pidfd == "a handle on a process" || pidfd == "\"anon_inode:[pidfd]\""));
}

TEST_CASE("an io_uring is refused, where the kernel gives one out")
{
    io_uring_params parameters = {};
    const UniqueFd ring(static_cast<int>(::syscall(SYS_io_uring_setup, 1, &parameters)));
    if (ring)
        CHECK(refusal(ring.get()) == "\"anon_inode:[io_uring]\"");
}

TEST_CASE("all of 0 to 2 and of the preserved descriptors are looked at, and no others")
{
    const auto status_with = [](unsigned preserved) {
        const pid_t child = ::fork();
        if (child == 0) { // 3: Unix, 4: internet
            ::close(3);
            ::close(4);
            const int first = ::socket(AF_UNIX, SOCK_STREAM, 0);
            const int second = ::socket(AF_INET, SOCK_STREAM, 0);
            const auto seen = check_descriptors(preserved);
            const bool named =
                seen && !seen->empty() && seen->back() == "descriptor 3 is a Unix socket";
            ::_exit(first != 3 || second != 4 ? 9 : !seen ? 1 : named ? 2 : 0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    };
    CHECK(status_with(0) == 0);
    CHECK(status_with(1) == 2);
    CHECK(status_with(2) == 1);
}

TEST_CASE("one more descriptor gets the next number, unless the runtime inherits something there")
{
    words::Invocation call =
        words::read_invocation({"create", "--preserve-fds", "40", "x"}, words::Flavour::crun);
    CHECK(count_preserved(call).value_or(0) == 40);
    ::close(43);
    CHECK(one_more_descriptor(call).value_or(-1) == 43);
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(::dup3(null.get(), 43, O_CLOEXEC) == 43);
    CHECK(one_more_descriptor(call).value_or(-1) == 43);
    REQUIRE(::dup2(null.get(), 43) == 43);
    CHECK(one_more_descriptor(call).value_or(-1) == 0);
    ::close(43);
    call.verb = words::Verb::other;
    CHECK(one_more_descriptor(call).value_or(-1) == 0);
    call = words::read_invocation({"run", "--preserve-fds", "some", "x"}, words::Flavour::crun);
    CHECK_FALSE(one_more_descriptor(call));
}

} // namespace anchorhold::descriptors_test
