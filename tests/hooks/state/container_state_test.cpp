// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/container_state.hpp"

#include <doctest/doctest.h>

#include "schema/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>

namespace anchorhold::container_state_test {

using namespace state;
namespace {

ContainerState told(const std::string& text)
{
    const auto state = parse_container_state(text);
    REQUIRE_MESSAGE(state, (state ? "" : state.error().what));
    return *state;
}

struct Pipe {
    Pipe()
    {
        std::array<int, 2> ends{};
        REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
        out = UniqueFd(ends[0]);
        in = UniqueFd(ends[1]);
    }
    UniqueFd out, in;
};

} // namespace

TEST_CASE("what runc and crun tell a createRuntime hook is understood")
{
    CHECK(told(R"({"ociVersion":"1.0.2-dev","id":"c1","status":"creating","pid":4711,)"
               R"("bundle":"/b","annotations":{"a":"b"}})") == ContainerState{"c1", 4711});
    CHECK(told(R"({ "ociVersion" : "1.0", "id":"c1","pid":4711,"root":"rootfs","bundle":"/b",)"
               R"("status":"created"})") == ContainerState{"c1", 4711});
}

TEST_CASE("no pid and pid 0 are the same, and unknown members are nobody's business")
{
    CHECK(told(R"({"id":"c1","status":"stopped"})") == ContainerState{"c1", 0});
    CHECK(told(R"({"id":"c1","pid":0})") == ContainerState{"c1", 0});
    CHECK(told(R"({"id":"c1","pid":1,"later":[{"x":null}],"Version":{}})") ==
          ContainerState{"c1", 1});
    CHECK(told("{}") == ContainerState{"", 0});
}

TEST_CASE("a state that is none is refused")
{
    for (const char* text :
         {"", "[]", "null", "{", R"({"pid":"1"})", R"({"pid":-1})", R"({"pid":2147483648})",
          R"({"pid":1.5})", R"({"id":7})", R"({"id":"a","id":"b"})", "{} {}"}) {
        const auto state = parse_container_state(text);
        REQUIRE(!state);
        CHECK(state.error().what.starts_with("read the container's state: "));
        CHECK(state.error().code == Code::network_setup_failed);
    }
}

TEST_CASE("R14 a closed writer is the end, and what came before it is kept")
{
    Pipe pipe;
    REQUIRE(::write(pipe.in.get(), "abc", 3) == 3);
    pipe.in = UniqueFd();
    const auto text = read_to_end(pipe.out.get(), 100, Deadline(std::chrono::hours(1)));
    REQUIRE(text);
    CHECK(*text == "abc");
}

TEST_CASE("input without an end is given up at the deadline, input without a limit at ours")
{
    Pipe pipe;
    REQUIRE(::write(pipe.in.get(), "abcdef", 6) == 6);
    const auto late = read_to_end(pipe.out.get(), 100, Deadline(std::chrono::milliseconds(0)));
    REQUIRE(!late);
    CHECK(late.error().number == ETIMEDOUT);
    REQUIRE(::write(pipe.in.get(), "abcdef", 6) == 6);
    const auto big = read_to_end(pipe.out.get(), 5, Deadline(std::chrono::hours(1)));
    REQUIRE(!big);
    CHECK(big.error().number == EFBIG);
}

} // namespace anchorhold::container_state_test
