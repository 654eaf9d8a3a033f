// SPDX-License-Identifier: Apache-2.0
#include "schema/render.hpp"

#include <doctest/doctest.h>

namespace anchorhold::render_test {

using namespace rules;

TEST_CASE("a table's columns are as wide as their widest cell, counted as people see them")
{
    CHECK(render_table({{"ID", "NETWORK"}, {"four", "Network: off — confined"}, {"—", "x"}}) ==
          "ID    NETWORK\n"
          "four  Network: off — confined\n"
          "—     x\n");
    CHECK(render_table({}) == "");
}

TEST_CASE("facts without a value are left out and lists are indented")
{
    CHECK(render_facts({{"a", {"1"}}, {"none of it", {}}, {"longer", {"2", "3"}}}) ==
          "a:       1\n"
          "longer:  2\n"
          "         3\n");
}

TEST_CASE("B-60 what came from outside is escaped before it is shown")
{
    Record record;
    record.key = "0123456789ab";
    record.generation = "0011223344556677";
    record.id = "a\x1b[2Jb\n";
    record.sentence = "Network: off — confined: no egress";
    record.bundle = "/b/\xff";
    record.other_channels = {"/v/\x1b]0;x\a"};
    CHECK(render_record(record) == "Network: off — confined: no egress\n"
                                   "id:              a\\x1b[2Jb\\x0a\n"
                                   "key:             0123456789ab.0011223344556677\n"
                                   "state:           planned\n"
                                   "why:             as_asked\n"
                                   "technique:       none\n"
                                   "other channels:  /v/\\x1b]0;x\\x07\n"
                                   "bundle:          /b/\\xff\n");
    CHECK(render_runs({record}) ==
          "ID             STATE    POSTURE  INIT  NETWORK\n"
          "a\\x1b[2Jb\\x0a  planned  severed  -     Network: off — confined: no egress\n");
}

TEST_CASE("a pod is as confined as the least confined of its containers")
{
    Record sandbox;
    sandbox.posture = Posture::relayed;
    Record agent;
    agent.id = "agent";
    agent.state = RunState::enforced;
    agent.posture = Posture::relayed;
    agent.technique = Technique::pod;
    Record apart;
    apart.id = "a\x1b";
    apart.state = RunState::ended;
    CHECK(render_pod(sandbox, {agent, apart}) == "\nits pod is relayed, with\n"
                                                 "agent  enforced  relayed  the pod's network\n"
                                                 "a\\x1b  ended     severed  its own network\n");
    apart.posture = Posture::filtered;
    CHECK(render_pod(sandbox, {agent, apart}).starts_with("\nits pod is filtered, with\n"));
}

TEST_CASE("a plan names only what it does")
{
    Plan plan;
    plan.network = NetworkNamespace::keep;
    CHECK(render_facts(facts_of(plan)) == "");
    plan.network = NetworkNamespace::own;
    plan.command_prefix = {"/dev/anchorhold/relay", "--"};
    plan.relay = "inside";
    plan.mounts = {{"/dev/anchorhold/relay", "/usr/libexec/r", {"bind"}}};
    plan.env = {{"A", "1"}};
    plan.strip_proxies = true;
    CHECK(render_facts(facts_of(plan)) ==
          "network namespace:  its own, fresh\n"
          "command:            /dev/anchorhold/relay -- ...\n"
          "relay:              inside: process 1, the command is its child\n"
          "mounts:             /usr/libexec/r on /dev/anchorhold/relay\n"
          "proxy variables:    removed\n"
          "variables set:      A=1\n");
}

TEST_CASE("a filtered run's plan tells whose network it is and what becomes of names and proxies")
{
    Plan plan;
    plan.network = NetworkNamespace::keep;
    plan.strip_net_caps = true;
    plan.exempt_relay = plan.cover_hosts = plan.cover_resolv_conf = true;
    CHECK(render_facts(facts_of(plan)) ==
          "network namespace:  the engine's, filtered in place\n"
          "hosts file:         names as they are when the run is created\n"
          "resolv.conf:        without a resolver behind it\n"
          "proxy variables:    kept, with the relay's addresses in NO_PROXY\n"
          "capabilities:       CAP_NET_ADMIN and CAP_NET_RAW removed\n");
}

TEST_CASE("denials are told oldest first, for people and for programs")
{
    Record record;
    record.denied = {{"2001:db8::9", 53, true, 1767225601},
                     {"192.0.2.9", 80, false, 1767225600},
                     {"192.0.2.8", 0, false, 1767225601}};
    CHECK(render_denials(record) == "LAST                  DESTINATION  PORT  PROTOCOL\n"
                                    "2026-01-01T00:00:00Z  192.0.2.9    80    TCP\n"
                                    "2026-01-01T00:00:01Z  192.0.2.8    -     TCP\n"
                                    "2026-01-01T00:00:01Z  2001:db8::9  53    UDP\n"
                                    "names are not counted in this run\n");
    record.denied.pop_back();
    CHECK(denials_json(record) == R"({
  "denied": [
    {
      "to": "192.0.2.9",
      "port": 80,
      "protocol": "TCP",
      "last": 1767225600
    },
    {
      "to": "2001:db8::9",
      "port": 53,
      "protocol": "UDP",
      "last": 1767225601
    }
  ],
  "more_denied": false
}
)");
    CHECK(render_denials({}) ==
          "LAST  DESTINATION  PORT  PROTOCOL\nnames are not counted in this run\n");
    CHECK(denials_json({}) == "{\n  \"denied\": [],\n  \"more_denied\": false\n}\n");
}

TEST_CASE("refused names are told with what would allow each")
{
    Record record;
    record.refused_names.emplace();
    CHECK(render_denials(record) == "LAST  DESTINATION  PORT  PROTOCOL\n"
                                    "NAME  TRIES  RULE\n");
    record.refused_names->names = {{"github.com", 3}, {"a?b", 1}};
    record.refused_names->others = 7;
    CHECK(render_denials(record) == "LAST  DESTINATION  PORT  PROTOCOL\n"
                                    "NAME        TRIES  RULE\n"
                                    "github.com  3      allow: github.com\n"
                                    "a?b         1      no rule can name it\n"
                                    "7 tries of other names: only so many are kept\n");
    CHECK(denials_json(record) == R"({
  "denied": [],
  "more_denied": false,
  "refused_names": {
    "names": [
      {
        "name": "github.com",
        "tries": 3
      },
      {
        "name": "a?b",
        "tries": 1
      }
    ],
    "others": 7
  }
}
)");
}

TEST_CASE("where not all that was denied could be kept, it is said wherever it is shown")
{
    Record record;
    record.denied = {{"192.0.2.9", 80, false, 1767225600}};
    record.more_denied = true;
    CHECK(render_denials(record) == "LAST                  DESTINATION  PORT  PROTOCOL\n"
                                    "2026-01-01T00:00:00Z  192.0.2.9    80    TCP\n"
                                    "there may be more: only so many are kept\n"
                                    "names are not counted in this run\n");
    CHECK(denials_json(record).contains("\"more_denied\": true"));
    CHECK(render_record(record).contains("denied:     1 destination, see anchorhold denials\n"
                                         "            there may be more: only so many are kept\n"));
}

TEST_CASE("a run with a gate shows its rules as they are written, and how the gate fares")
{
    Record record;
    record.gate = RunGate();
    record.gate->rules = *rules::read_gate_rules(R"({"allow":["*.x.org"],"deny":["no.x.org:1"]})");
    record.network = rules::gate_network(record.gate->rules);
    const auto shows = [&record](std::string_view text) {
        return render_record(record).contains(text);
    };
    CHECK(shows("gate:       names are addresses of 198.19.0.0/16\n"));
    CHECK(shows(" deny no.x.org tcp 1 udp 1\n"));
    CHECK(shows(" allow *.x.org tcp 443\n"));
    CHECK(!shows("allow 198.19.0.0/16"));
    record.gate->process.pid = 77;
    record.gate->rules.epoch = 2;
    CHECK(shows("gate:       pid 77\n"));
    CHECK(shows(" times that it was started again: 2\n"));
    record.gate->lost = 1767225602;
    CHECK(shows("gate:       gone since 2026-01-01T00:00:02Z, so all is closed\n"));
    CHECK(!shows("pid 77"));
}

TEST_CASE("a filtered run's record shows its rules, its names and what was denied")
{
    Record record;
    record.key = "0123456789ab";
    record.generation = "0011223344556677";
    record.id = "4f2a";
    record.sentence = "Network: allowlist — confined: 2 destinations";
    record.relay = "child";
    record.drops = 7;
    record.denied = {{"192.0.2.9", 80, false, 1767225600}};
    record.network = Network{};
    record.network->subnet = Subnet{0xc6120000};
    record.network->enable_forwarding = true;
    record.network->broker_ports = {9000};
    record.network->names = {{"x.org", {"203.0.113.1", "2001:db8::1"}}};
    compile(*parse_allow("x.org"), *parse_allow("192.0.2.9"), *record.network);
    CHECK(render_record(record) == "Network: allowlist — confined: 2 destinations\n"
                                   "id:         4f2a\n"
                                   "key:        0123456789ab.0011223344556677\n"
                                   "state:      planned\n"
                                   "why:        as_asked\n"
                                   "technique:  none\n"
                                   "relay:      child: the command is process 1\n"
                                   "network:    subnet 198.18.0.0/30\n"
                                   "            forwarding may be switched on, as the policy says\n"
                                   "            the host's tcp 9000\n"
                                   "            deny 192.0.2.9/32 tcp 443\n"
                                   "            allow 203.0.113.1/32 tcp 443\n"
                                   "            allow 2001:db8::1/128 tcp 443\n"
                                   "            x.org is 203.0.113.1 2001:db8::1\n"
                                   "denied:     7 packets\n"
                                   "            1 destination, see anchorhold denials\n");
}

} // namespace anchorhold::render_test
