// SPDX-License-Identifier: Apache-2.0
// One whole plan per test, so that a part too many fails as much as a missing one.
#include "schema/file_identity.hpp"
#include "tests/schema/plans.hpp"

#include <algorithm>

namespace anchorhold::plan_test {
using namespace anchorhold::plans;

TEST_CASE("a severed run gets a namespace of its own and loses what could lead out")
{
    CHECK(planned(asking(Egress::off), {}) == looking(confined()));
}

TEST_CASE("a relayed run starts behind the relay, with its sockets' directories read-only")
{
    Plan expected = told(answering(confined()),
                         {"--endpoint", "8080=/dev/anchorhold/endpoint/model/broker.sock@24:99",
                          "--endpoint", "9000=/dev/anchorhold/endpoint/search/s@24:100"});
    expected.mounts = model_mounts();
    expected.mounts.push_back({"/dev/anchorhold/endpoint/search", "/run/search/1", of_directory});
    expected.cover_resolv_conf = true;
    expected.resolv_conf = "/run/anchorhold/runs/0123456789ab/inside/resolv.conf";
    CHECK(planned(asking(Egress::off), {model, search}) == expected);
}

TEST_CASE("names are counted where they are refused and the relay can be handed the file")
{
    const auto counted_at = [](Dns dns, int descriptor) {
        Request request = asking(Egress::off);
        request.switches.dns = dns;
        request.endpoints = {model.endpoint};
        RunPaths with = paths();
        with.names_descriptor = descriptor;
        const auto decision = decide(request, {true, true, true, true, {}}, GivenNetns::fresh);
        REQUIRE(decision);
        const Plan plan = make_plan(request, *decision, {model}, with);
        const auto option = std::ranges::find(plan.command_prefix, "--names");
        const bool told = option != plan.command_prefix.end() &&
                          *(option + 1) == std::to_string(plan.names_descriptor);
        CHECK(told == (plan.names_descriptor != 0));
        return plan.names_descriptor;
    };
    CHECK(counted_at(Dns::nxdomain, 5) == 5);
    CHECK(counted_at(Dns::nxdomain, 0) == 0);
    CHECK(counted_at(Dns::none, 5) == 0);
}

TEST_CASE("on_broker_lost: stop is the relay's to do")
{
    Request request = asking(Egress::off);
    Plan expected = planned(request, {model});
    request.switches.on_broker_lost = OnBrokerLost::stop;
    request.switches.broker_lost_after = 5;
    request.switches.broker_lost_grace = 2;
    expected.on_broker_lost = "stop";
    const auto at = std::ranges::find(expected.command_prefix, "--endpoint");
    expected.command_prefix.insert(at, {"--stop-when-lost", "5:2"});
    CHECK(planned(request, {model}) == expected);
    CHECK(planned(request, {}).on_broker_lost.empty());
}

TEST_CASE("relay: child makes the command process 1 and changes nothing else")
{
    Request request = asking(Egress::off);
    Plan expected = planned(request, {model});
    request.switches.relay = Relay::child;
    expected.relay = "child";
    const auto at = std::ranges::find(expected.command_prefix, "--endpoint");
    expected.command_prefix.insert(at, "--step-aside");
    CHECK(planned(request, {model}) == expected);
    CHECK(planned(request, {}).relay.empty());
}

TEST_CASE("dns: none leaves resolv.conf and port 53 alone, vsock: allow its family")
{
    Plan expected = told(looking(confined()), of_model);
    expected.mounts = model_mounts();
    expected.seccomp = {true, false};
    expected.extra_pids = 1;
    expected.relay = "inside";
    Request request = asking(Egress::off);
    request.switches.dns = Dns::none;
    request.switches.vsock = Vsock::allow;
    CHECK(planned(request, {model}) == expected);
}

TEST_CASE("an endpoint on a low port frees those, whoever the command's user is")
{
    Request request = asking(Egress::off);
    request.switches.dns = Dns::none;
    EndpointPlace low = model;
    CHECK(!planned(request, {low}).free_low_ports);
    low.endpoint.listen = *Port::from(80, Code::invalid_request);
    CHECK(planned(request, {low}).free_low_ports);
    // In the engine's own namespace the sysctls are not ours to set.
    CHECK(!planned(asking(Egress::open), {low}).free_low_ports);
}

TEST_CASE("open with an endpoint gets the relay and nothing taken away")
{
    Plan expected = hooked();
    expected.network = NetworkNamespace::keep;
    expected.mounts = model_mounts();
    expected.mounts.erase(expected.mounts.begin() + 2); // the notice
    expected.command_prefix = {"/dev/anchorhold/relay",
                               "--inside",
                               "/dev/anchorhold/run",
                               "--mark",
                               "00112233445566ff",
                               "--endpoint",
                               "8080=/dev/anchorhold/endpoint/model/broker.sock@24:99",
                               "--"};
    expected.extra_pids = 1;
    expected.relay = "inside";
    CHECK(planned(asking(Egress::open), {model}) == expected);
}

TEST_CASE("a sealed run dials the gateway from a namespace of its own, in the request's order")
{
    Plan expected =
        told(answering(confined()), {"--endpoint", "5432=host:9000", "--endpoint",
                                     "8080=/dev/anchorhold/endpoint/model/broker.sock@24:99"});
    expected.mounts = model_mounts();
    expected.cover_resolv_conf = true;
    expected.resolv_conf = "/run/anchorhold/runs/0123456789ab/inside/resolv.conf";
    CHECK(planned(over_veth(Egress::off, {database}), {model}) == expected);
}

TEST_CASE("port exact: an endpoint's port inside and the broker's outside are each their own")
{
    const Plan plan = planned(over_veth(Egress::off, {database}), {});
    CHECK(std::ranges::count(plan.command_prefix, "5432=host:9000") == 1);
    CHECK(std::ranges::count(plan.command_prefix, "--endpoint") == 1);
}

TEST_CASE("sealed plan has no route, sysctl, DNS, masquerade: nothing of a filtered one")
{
    Request request = over_veth(Egress::off, {database});
    request.switches.dns = Dns::none;
    Plan expected = told(looking(confined()), {"--endpoint", "5432=host:9000"});
    expected.extra_pids = 1;
    expected.relay = "inside";
    CHECK(planned(request, {}) == expected); // no hosts, no resolv.conf, no free_low_ports
    request.switches.dns = Dns::nxdomain;    // names are refused, and not looked up
    CHECK(planned(request, {}).cover_resolv_conf);
    CHECK(!planned(request, {}).cover_hosts);
}

TEST_CASE("a run filtered by a link of its own keeps its proxies and gets pinned names")
{
    Plan expected = filtered();
    CHECK(planned(over_veth(Egress::allowlist, {}), {}) == answering(expected));

    expected = told(answering(expected), of_model);
    expected.mounts = model_mounts();
    expected.exempt_relay = true;
    CHECK(planned(over_veth(Egress::allowlist, {}), {model}) == expected);
    // A run with the host's network gets one of its own.
    CHECK(planned(over_veth(Egress::allowlist, {}), {model}, GivenNetns::host) == expected);
}

TEST_CASE("a run with a gate has nothing but lo: no proxies, no resolver of ours, the gate's names")
{
    Plan expected = filtered();
    expected.has_gate = true;
    expected.strip_proxies = true;
    CHECK(gated(Egress::allowlist, {}, {}) == looking(expected));
    CHECK(gated(Egress::allowlist, {database}, {}) == looking(expected)); // the gate listens

    expected = told(looking(expected), of_model);
    expected.mounts = model_mounts();
    expected.extra_pids = 1;
    expected.relay = "inside";
    CHECK(gated(Egress::allowlist, {database}, {model}) == expected);
}

TEST_CASE("a run with endpoints of the gate alone keeps its hosts file")
{
    Plan expected = looking(confined());
    expected.has_gate = true;
    expected.cover_resolv_conf = true;
    expected.resolv_conf = "/run/anchorhold/runs/0123456789ab/inside/resolv.conf";
    CHECK(gated(Egress::off, {database}, {}) == expected);
}

TEST_CASE("names of a list are answered by the gate under dns: none as well")
{
    const auto covers = [](std::string_view list) {
        Request request = asking(Egress::allowlist);
        request.allow = *rules::parse_allow(list);
        request.switches.dns = Dns::none;
        const auto decision = decide(request, {true, true, true, true, {}, true});
        REQUIRE(decision);
        return make_plan(request, *decision, {}, paths()).cover_resolv_conf;
    };
    CHECK(covers("x.org"));
    CHECK(!covers("192.0.2.1"));
}

TEST_CASE("a run filtered in place stays in its engine's network, and the engine's hook stays")
{
    Plan expected = filtered();
    expected.network = NetworkNamespace::keep;
    expected.drop_setkey_hook = false;
    CHECK(planned(over_veth(Egress::allowlist, {}), {}, GivenNetns::engines) ==
          answering(expected));

    expected = told(answering(expected), of_model); // it still looks that this is not the host's
    expected.mounts = model_mounts();
    expected.exempt_relay = true;
    CHECK(planned(over_veth(Egress::allowlist, {}), {model}, GivenNetns::engines) == expected);
}

TEST_CASE("a filtered run under dns: none keeps its resolv.conf and not its hosts file")
{
    Request request = over_veth(Egress::allowlist, {});
    request.switches.dns = Dns::none;
    Plan expected = filtered();
    expected.cover_resolv_conf = false;
    expected.resolv_conf.clear();
    CHECK(planned(request, {}) == looking(expected));
}

TEST_CASE("proxy variables gone on sealed, relayed, severed; in filtered they stay")
{
    CHECK(planned(asking(Egress::off), {}).strip_proxies);
    CHECK(planned(asking(Egress::off), {model}).strip_proxies);
    CHECK(planned(over_veth(Egress::off, {database}), {}).strip_proxies);
    CHECK(!planned(over_veth(Egress::allowlist, {}), {model}).strip_proxies);
    CHECK(!planned(asking(Egress::open), {model}).strip_proxies);
}

TEST_CASE("notice: none leaves out the file and its variable, a profile's own variable stays")
{
    Request request = asking(Egress::off);
    request.env = {{"ANCHORHOLD_README", "/mine"}};
    Plan expected = looking(confined());
    expected.env = request.env;
    CHECK(planned(request, {}) == expected);
    request.env.clear();
    request.switches.notice = Notice::none;
    expected.env.clear();
    expected.notice.clear();
    expected.mounts.pop_back();
    CHECK(planned(request, {}) == expected);
}

TEST_CASE("a profile's env is set in every posture")
{
    const std::vector<std::pair<std::string, std::string>> env{{"A", "b"}};
    Request request = asking(Egress::off);
    request.env = env;
    Plan severed = confined();
    severed.env.insert(severed.env.begin(), env.begin(), env.end());
    CHECK(planned(request, {}) == looking(severed));

    request = asking(Egress::open);
    request.env = env;
    Plan open = hooked();
    open.network = NetworkNamespace::keep;
    open.env = env;
    CHECK(planned(request, {}) == open);
}

TEST_CASE("open with nothing to add plans nothing at all")
{
    Plan nothing;
    nothing.network = NetworkNamespace::keep;
    CHECK(planned(asking(Egress::open), {}) == nothing);
}

TEST_CASE("a file's identity is written and read in decimal")
{
    const FileIdentity identity{24, 18446744073709551615U};
    CHECK(identity.text() == "24:18446744073709551615");
    CHECK(*FileIdentity::parse(identity.text(), Code::invalid_request) == identity);
    for (const std::string_view text :
         {"", "24", "24:", ":1", "24:1:2", "24:1 ", "-1:2", "0x1:2", "24:18446744073709551616"}) {
        const auto wrong = FileIdentity::parse(text, Code::invalid_request);
        REQUIRE(!wrong);
        CHECK(wrong.error().what == in_quotes(text) + " is not a device:inode");
    }
}

} // namespace anchorhold::plan_test
