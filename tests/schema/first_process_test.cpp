// SPDX-License-Identifier: Apache-2.0
#include "schema/first_process.hpp"

#include <doctest/doctest.h>

namespace anchorhold::first_process_test {
namespace {

const std::vector<std::string> first{
    "systemd",          "/lib/systemd/systemd", "/usr/lib/systemd/systemd",
    "/sbin/init",       "/usr/sbin/init",       "/init",
    "/bin/s6-svscan",   "/sbin/runit-init",     "runit",
    "/sbin/openrc-init"};
const std::vector<std::string> any{
    "",          "/",    "sh",        "/sbin/init/", "/sbin/initd", "-init", "systemd-run",
    "/init/app", "tini", "catatonit", "Init"};

} // namespace

TEST_CASE("tini, under whichever of its names, is told that it is no process 1")
{
    for (const std::string_view program : {"tini", "/sbin/docker-init", "/usr/bin/tini-static"})
        CHECK(subreaper_variable(program) == "TINI_SUBREAPER");
    for (const std::string_view program : {"/tini/app", "catatonit", "sh", ""})
        CHECK(subreaper_variable(program).empty());
}

TEST_CASE("programs that must be process 1 are known by name, in whatever directory")
{
    for (const std::string& program : first)
        CHECK_MESSAGE(must_be_first(program), program);
    for (const std::string& program : any)
        CHECK_MESSAGE(!must_be_first(program), program);
}

TEST_CASE("the relay steps aside for these alone unless something was said")
{
    for (const bool own : {false, true}) {
        for (const std::string& program : first) {
            CHECK(*relay_for({}, {program, own}) == (own ? Relay::child : Relay::inside));
            CHECK(*relay_for({.relay = Relay::inside}, {program, own}) == Relay::inside);
        }
        for (const std::string& program : any)
            CHECK(*relay_for({}, {program, own}) == Relay::inside);
    }
    CHECK(*relay_for({.relay = Relay::child}, {"sh", true}) == Relay::child);
}

TEST_CASE("a relay that nothing would end with its command is refused")
{
    const auto refused = relay_for({.relay = Relay::child}, {"/sbin/init", false});
    REQUIRE(!refused);
    CHECK(refused.error().code == Code::invalid_request);
    CHECK(refused.error().what ==
          "relay: child needs a container with a pid namespace of its own, or it would outlive its "
          "command");
}

TEST_CASE("a command that could not be stopped with its broker is refused")
{
    Switches stop;
    stop.on_broker_lost = OnBrokerLost::stop;
    CHECK(*relay_for(stop, {"sh", true}) == Relay::inside);
    const auto refused = relay_for(stop, {"/sbin/init", true});
    REQUIRE(!refused);
    CHECK(refused.error().code == Code::invalid_request);
    CHECK(refused.error().what ==
          "on_broker_lost: stop needs a command that is not process 1: say relay: inside or "
          "on_broker_lost: keep");
    stop.relay = Relay::inside;
    CHECK(*relay_for(stop, {"/sbin/init", true}) == Relay::inside);
}

} // namespace anchorhold::first_process_test
