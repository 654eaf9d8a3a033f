// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/inspection.hpp"
#include "tests/shim/inspect/seen.hpp"

#include <doctest/doctest.h>

namespace anchorhold::values_test {

using namespace inspect;

TEST_CASE("a sysctl is judged by what its value does")
{
    const auto voids = [](const std::string& name, const std::string& value) {
        const Scratch scratch;
        return seen_in(R"({"linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}],
                           "sysctl": {")" +
                           name + R"(": )" + value + "}}}",
                       context_of(scratch))
            .voids.size();
    };
    for (const std::string name :
         {"net.ipv6.conf.lo.disable_ipv6", "net/ipv6/conf/eth0.7/disable_ipv6",
          "net.ipv4.conf.all.rp_filter", "net.ipv4.icmp_echo_ignore_all"}) {
        INFO(name);
        CHECK(voids(name, R"("1")") == 0);
        CHECK(voids(name, R"(" 1\n")") == 0);
        for (const std::string opening : {R"("0")", R"("")", R"("10")", R"("2")", R"("1 0")"})
            CHECK(voids(name, opening) == 1);
    }
    for (const std::string name :
         {"net.ipv4.ip_forward", "net.ipv4.conf.eth0.route_localnet",
          "net.ipv6.conf.all.forwarding", "net.ipv6.conf.default.accept_ra"}) {
        INFO(name);
        CHECK(voids(name, R"("0")") == 0);
        CHECK(voids(name, R"("1")") == 1);
    }
    CHECK(voids("net.ipv4.conf.all.something", R"("0")") == 1);
    CHECK(voids("net.ipv6.conf.disable_ipv6", R"("1")") == 1); // no link between the halves
}

TEST_CASE("a device's numbers have the bounds of the kernel's")
{
    const auto said = [](const std::string& numbers) {
        const auto document = json::Document::parse(
            R"({"linux": {"resources": {"devices": [{"allow": false, "type": "c", )" + numbers +
            "}]}}}");
        REQUIRE(document.has_value());
        const auto found = inspect_bundle(document->root(), {});
        return found ? "fine" : found.error().what;
    };
    const std::string place = "linux.resources.devices[0].";
    CHECK(said(R"("major": -1, "minor": -1)") == "fine");
    CHECK(said(R"("major": 4095, "minor": 1048575)") == "fine");
    CHECK(said(R"("major": 4096)") == place + "major: expected a device number");
    CHECK(said(R"("major": 4294967297, "minor": 3)") == place + "major: expected a device number");
    CHECK(said(R"("major": -2)") == place + "major: expected a device number");
    CHECK(said(R"("minor": 1048576)") == place + "minor: expected a device number");
}

TEST_CASE("an option that undoes the device rules is a void, one that hands in keys a channel")
{
    const auto with = [](const std::vector<std::string>& line, words::Flavour flavour) {
        const auto document = json::Document::parse("{}");
        REQUIRE(document.has_value());
        InspectionContext context;
        context.call = words::read_invocation(line, flavour);
        auto found = inspect_bundle(document->root(), context);
        REQUIRE(found.has_value());
        std::erase_if(found->voids, [](const Finding& finding) {
            return finding.where == "linux.resources.devices";
        });
        return *found;
    };
    CHECK(with({"--cgroup-manager=disabled", "create", "x"}, words::Flavour::crun).voids ==
          std::vector<Finding>{{"--cgroup-manager",
                                "\"disabled\" leaves the host's devices open whatever "
                                "linux.resources.devices says; leave it out"}});
    CHECK(with({"--rootless", "true", "create", "x"}, words::Flavour::runc).voids.size() == 1);
    CHECK(with({"--cgroup-manager=systemd", "create", "x"}, words::Flavour::crun).voids ==
          std::vector<Finding>());
    CHECK(with({"create", "--no-new-keyring", "x"}, words::Flavour::runc).other_channels ==
          std::vector<std::string>{"stdio", "--no-new-keyring: the caller's keys (keyrings(7))"});
}

} // namespace anchorhold::values_test
