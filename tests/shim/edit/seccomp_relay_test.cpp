// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/seccomp_relay.hpp"

#include "tests/files.hpp"
#include "tests/shim/edit/seccomp_texts.hpp"

#include <doctest/doctest.h>

namespace anchorhold::seccomp_relay_test {

using namespace edit;
namespace {

std::string told(const std::string& config, RelayWork work)
{
    const json::Document document = parsed(config);
    const auto denied = denied_to_relay(document.root(), work);
    REQUIRE(denied.has_value());
    return *denied;
}

std::string rule(const std::string& call, const std::string& action)
{
    return R"({"names":[")" + call + R"("],"action":"SCMP_ACT_)" + action + R"("})";
}

const std::string tail = " to the relay, which is the container's first process; permit them in "
                         "the seccomp profile";

} // namespace

TEST_CASE("a profile in which the relay cannot live is told by the calls that it denies")
{
    if (native_machine != "x86_64")
        return;
    const auto allowing = [](const std::string& rules) {
        return around(profile("SCMP_ACT_ALLOW", rules));
    };
    CHECK(told(allowing(rule("capset", "ERRNO")), RelayWork::serve) == "denies capset" + tail);
    CHECK(told(allowing(rule("capset", "ERRNO")), RelayWork::look) == "");
    CHECK(told(allowing(rule("statfs", "ERRNO")), RelayWork::look) == "denies statfs" + tail);
    CHECK(told(allowing(rule("fcntl", "ERRNO")), RelayWork::look) == "");
    CHECK(told(allowing(rule("fcntl", "KILL_PROCESS")), RelayWork::look) == "denies fcntl" + tail);
    CHECK(told(allowing(rule("ptrace", "KILL")), RelayWork::serve) == "");
    CHECK(told(around(profile("SCMP_ACT_KILL", rule("read", "ALLOW"))), RelayWork::look)
              .starts_with("denies arch_prctl, set_tid_address, socket, "));
}

TEST_CASE("the relay lives in engines' own profiles")
{
    for (const char* const name : {"ctr-seccomp", "podman-plain", "podman-cap-drop-all",
                                   "podman-privileged", "docker-plain", "cri-sandbox"}) {
        CAPTURE(name);
        CHECK(told(source_file("tests/fixtures/" + std::string(name) + ".json"),
                   RelayWork::serve) == "");
    }
    CHECK(told("{}", RelayWork::serve) == "");
}

} // namespace anchorhold::seccomp_relay_test
