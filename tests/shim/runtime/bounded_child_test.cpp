// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/bounded_child.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

namespace anchorhold::bounded_child_test {

using namespace runtime;
namespace {

constexpr std::chrono::seconds long_enough(60);

Answer shell(const DeferredSignals& held, OnSignal heed, const std::string& script,
             std::chrono::seconds deadline = long_enough, int input = -1)
{
    const auto answer = ask(held, heed, "/bin/sh", {"-c", script}, input, deadline);
    REQUIRE(answer);
    return *answer;
}

} // namespace

TEST_CASE("a child's output, errors and status come apart")
{
    const auto held = DeferredSignals::hold();
    REQUIRE(held);
    const Answer answer = shell(*held, OnSignal::end_it, "echo out; echo err >&2; cat; exit 3");
    CHECK(answer.out == "out\n");
    CHECK(answer.err == "err\n");
    CHECK(answer.status == 3);
    CHECK(!answer.late);
    CHECK(!answer.good());
    CHECK(shell(*held, OnSignal::go_on, "kill -KILL $$").status == 137);
    CHECK(shell(*held, OnSignal::go_on, "").good());
    CHECK(!ask(*held, OnSignal::go_on, "/nonexistent", {}, -1, long_enough));
}

TEST_CASE("an engine's client gets its user's variables, but none that has it load code")
{
    const auto held = DeferredSignals::hold();
    REQUIRE(held);
    ::setenv("LD_BIND_NOT", "1", 1);
    ::setenv("GCONV_PATH", "/nowhere", 1);
    ::setenv("DOCKER_HOST", "unix:///nowhere", 1);
    CHECK(shell(*held, OnSignal::go_on, "echo [$LD_BIND_NOT][$GCONV_PATH][$DOCKER_HOST]").out ==
          "[][][unix:///nowhere]\n");
    for (const char* const name : {"LD_BIND_NOT", "GCONV_PATH", "DOCKER_HOST"})
        ::unsetenv(name);
}

TEST_CASE("a file in memory is its input, and has a path meanwhile")
{
    const auto held = DeferredSignals::hold();
    REQUIRE(held);
    const std::string text(100'000, 'x');
    const auto file = file_in_memory(text);
    REQUIRE(file);
    CHECK(shell(*held, OnSignal::go_on, "cat", long_enough, file->get()).out == text);
    CHECK(shell(*held, OnSignal::go_on, "cat " + path_of(*file)).out == text);
}

TEST_CASE("at the deadline the whole group is told to end")
{
    const auto held = DeferredSignals::hold();
    REQUIRE(held);
    const Answer answer =
        shell(*held, OnSignal::go_on, "sleep 1000 & sleep 1000", std::chrono::seconds(0));
    CHECK(answer.late);
    CHECK(answer.status == 128 + SIGTERM);
    CHECK(!answer.good());
}

TEST_CASE("a signal waits; who heeds it is ended, who does not comes to its end")
{
    const auto held = DeferredSignals::hold();
    REQUIRE(held);
    CHECK(!held->came());
    REQUIRE(::raise(SIGTERM) == 0);
    CHECK(held->came());
    CHECK(shell(*held, OnSignal::go_on, "echo done").out == "done\n");
    CHECK(shell(*held, OnSignal::end_it, "sleep 1000").late);
    // The signal is still pending for the process it was meant for.
    sigset_t terminate;
    ::sigemptyset(&terminate);
    ::sigaddset(&terminate, SIGTERM);
    const timespec now{};
    CHECK(::sigtimedwait(&terminate, nullptr, &now) == SIGTERM);
}

TEST_CASE("a child has the signals that we had")
{
    const auto held = DeferredSignals::hold();
    REQUIRE(held);
    CHECK(shell(*held, OnSignal::go_on, "kill -TERM $$; echo deaf").status == 128 + SIGTERM);
}

TEST_CASE("what was ignored is not held")
{
    const auto before = ::signal(SIGHUP, SIG_IGN); // as under nohup(1)
    {
        const auto held = DeferredSignals::hold();
        REQUIRE(held);
        REQUIRE(::raise(SIGHUP) == 0);
        CHECK(!held->came());
    }
    ::signal(SIGHUP, before);
}

TEST_CASE("programs are found on PATH")
{
    const auto found = find_on_path("sh");
    REQUIRE(found);
    CHECK(found->starts_with('/'));
    CHECK(found->ends_with("/sh"));
    CHECK(find_on_path("no-such-program").error().what == "no-such-program is not on PATH");
}

} // namespace anchorhold::bounded_child_test
