// SPDX-License-Identifier: Apache-2.0
#include "schema/record.hpp"

#include "schema/file_identity.hpp"
#include "tests/files.hpp"

#include <doctest/doctest.h>

namespace anchorhold::record_test {

using namespace rules;
namespace {

Prefix prefix(std::string_view text)
{
    return *Prefix::parse(text, Code::invalid_request);
}

// Returns a network in which no member has its default.
Network whole_network()
{
    Network network;
    network.pool = prefix("10.64.0.0/12");
    network.enable_forwarding = true;
    network.broker_ports = {9000, 65535};
    network.allow = {{prefix("10.1.0.0/16"), {5432, 5439, false}},
                     {prefix("2001:db8::/32"), {53, 53, true}}};
    network.deny = {{prefix("10.1.9.0/24"), {1, 65535, false}}};
    network.names = {{"x.org", {"192.0.2.1", "2001:db8::1"}}, {"gone.org", {}}};
    network.subnet = Subnet{0x0a400004};
    network.link = 4294967295U;
    network.node = {prefix("192.0.2.7"), prefix("fd12::7")};
    network.node_macs = {"02:00:00:00:00:01"};
    network.delivered = {prefix("192.0.2.255"), prefix("fd12::")};
    network.guest = {prefix("10.88.0.2")};
    network.links = {1, 2, 4294967295U};
    return network;
}

// Returns a gate in which no member has its default.
RunGate whole_gate()
{
    RunGate gate;
    gate.rules.handles = prefix("10.99.0.0/16");
    gate.rules.pool = prefix("10.64.0.0/12");
    gate.rules.epoch = 2;
    const NamePattern name = *NamePattern::parse("**.x.org", Code::invalid_request);
    gate.rules.allow = {{name, {{443, 444, false}}, {}, Tls::any, {prefix("10.1.0.0/16")}}};
    gate.rules.deny = {{prefix("192.0.2.0/24"), {{1, 65535, true}}, {}}};
    gate.rules.endpoints = {{"db", true, {prefix("127.0.0.1"), {{5432, 5432, false}}, {}}}};
    gate.process = {103, 5003};
    gate.lost = 1767225603;
    return gate;
}

// Returns a record in which no member has its default.
Record full()
{
    Record record;
    record.key = "0123456789ab";
    record.id = "4f2a \x1b[31m";
    record.root = "/run/runc";
    record.generation = "00112233445566ff";
    record.state = RunState::enforced;
    record.requested = Egress::open;
    record.relay = "child";
    record.on_broker_lost = "stop";
    record.profile = "agent";
    record.pod = "fedcba987654.ffeeddccbbaa0099";
    record.allow = {"x.org tcp 443"};
    record.posture = Posture::relayed;
    record.technique = Technique::relay;
    record.sentence =
        "Network: open — sealed to the run's model broker: the policy permits no more";
    record.why = Why::policy_ceiling;
    record.code = "network_setup_failed";
    record.reason = "because";
    record.endpoints = {{"model", *Port::from(8080, Code::invalid_request),
                         *parse_target("unix:/run/brokers/42/broker.sock", Code::invalid_request)},
                        {"db", *Port::from(5432, Code::invalid_request),
                         *parse_target("tcp:host:5432", Code::invalid_request)}};
    record.sources = {{"root.path", "/", {43, 2}}, {"mounts[7].source", "/data \x01", {0, 0}}};
    record.mount_points = MountPoints{"/b/rootfs", {43, 2}, {"/etc/hosts", "/etc"}};
    record.verified = {"netns", "links"};
    record.voids = {"mounts[3]: /run"};
    record.other_channels = {"/srv (nfs)"};
    record.advice = {"give the broker a uid of its own"};
    record.removed_env = {"HTTP_PROXY"};
    record.removed_caps = {"CAP_NET_RAW"};
    record.removed_hooks = {"/usr/bin/dockerd"};
    record.replaced_netns = "/proc/1/ns/net";
    record.drops = 7;
    record.drops_before = 3;
    record.denied = {{"192.0.2.9", 80, false, 1767225600}, {"2001:db8::9", 53, true, 1767225601}};
    record.more_denied = true;
    record.refused_names = RefusedNames{.names = {{"github.com", 3}}, .others = 2};
    record.network = whole_network();
    record.gate = whole_gate();
    record.delegate = "/usr/sbin/runc";
    record.bundle = "/b";
    record.config_digest = std::string(64, 'a');
    record.records = "/var/lib/anchorhold";
    record.boot_id = "11111111-2222-3333-4444-555555555555";
    record.host_netns = {4, 4026531840};
    record.host_pidns = {4, 4026531836};
    record.creator = {100, 5000};
    record.init = {101, 5001};
    record.netns = FileIdentity{4, 4026532000};
    record.created = 1767225600;
    record.ended = 1767225601;
    record.seen = "its link is gone";
    record.seen_at = 1767225602;
    record.owner = 1000;
    return record;
}

// Returns the least that a record of schema 1 is: that of a run which was just planned.
Record fresh()
{
    Record record;
    record.key = "0123456789ab";
    record.id = "4f2a";
    record.root = "/run/runc";
    record.generation = "00112233445566ff";
    return record;
}

std::string refusal(std::string text)
{
    const auto record = parse_record(std::move(text));
    if (record)
        return "";
    CHECK(record.error().code == Code::network_setup_failed);
    return record.error().what;
}

constexpr const char* least =
    R"({"schema":1,"key":"0123456789ab","generation":"00ff","state":"enforced")";

} // namespace

TEST_CASE("a record reads back as it was written")
{
    for (const Record& record : {full(), fresh()}) {
        const auto read = parse_record(to_json(record));
        REQUIRE_MESSAGE(read.has_value(), read.error().what);
        CHECK(*read == record);
    }
}

TEST_CASE("what is written follows the schema")
{
    const std::string schema = source_file("schema/record.schema.json");
    for (const Record& record : {full(), fresh()}) {
        const auto valid = json::validate(to_json(record), schema, Code::invalid_request);
        CHECK_MESSAGE(valid.has_value(), valid.error().what);
    }
    // The schema does check: a record with an unknown word is refused.
    std::string text = to_json(full());
    text.replace(text.find("enforced"), 8, "enforcer");
    CHECK(!json::validate(text, schema, Code::invalid_request));
}

TEST_CASE("the schema names every member that is written, and no other")
{
    const auto schema = json::Document::parse(source_file("schema/record.schema.json"));
    REQUIRE(schema);
    const auto written = json::Document::parse(to_json(full()));
    REQUIRE(written);
    const auto properties = schema->root().find("properties");
    REQUIRE(properties);
    CHECK(properties->size() == written->root().size());
    for (const json::View member : written->root().items())
        CHECK_MESSAGE(properties->find(member.key()), member.key());
}

TEST_CASE("a whole record as programs see it")
{
    CHECK(to_json(fresh()) == R"({
  "schema": 1,
  "key": "0123456789ab",
  "id": "4f2a",
  "root": "/run/runc",
  "generation": "00112233445566ff",
  "state": "planned",
  "requested": "off",
  "posture": "severed",
  "technique": "none",
  "why": "as_asked",
  "relay": "",
  "on_broker_lost": "",
  "profile": "",
  "pod": "",
  "notice": "",
  "sentence": "",
  "code": "",
  "reason": "",
  "endpoints": [],
  "sources": [],
  "allow": [],
  "verified": [],
  "voids": [],
  "other_channels": [],
  "advice": [],
  "removed_env": [],
  "removed_caps": [],
  "removed_hooks": [],
  "drops": 0,
  "drops_before": 0,
  "denied": [],
  "more_denied": false,
  "replaced_netns": "",
  "delegate": "",
  "bundle": "",
  "config_digest": "",
  "records": "",
  "boot_id": "",
  "host_netns": "0:0",
  "host_pidns": "0:0"
}
)");
}

TEST_CASE("a run's network as programs see it")
{
    Record record = fresh();
    record.denied = {{"192.0.2.9", 80, false, 1767225600}};
    record.refused_names = RefusedNames{.names = {{"github.com", 3}}, .others = 2};
    record.network = Network{};
    record.network->allow = {{prefix("10.1.0.0/16"), {5432, 5439, false}}};
    record.network->names = {{"x.org", {"192.0.2.1"}}};
    record.network->subnet = Subnet{0xc6120000};
    const std::string text = to_json(record);
    const std::string expected = R"(  "denied": [
    {
      "to": "192.0.2.9",
      "port": 80,
      "protocol": "TCP",
      "last": 1767225600
    }
  ],
  "more_denied": false,
  "refused_names": {
    "names": [
      {
        "name": "github.com",
        "tries": 3
      }
    ],
    "others": 2
  },
  "network": {
    "pool": "198.18.0.0/16",
    "enable_forwarding": false,
    "broker_ports": [],
    "allow": [
      {
        "to": "10.1.0.0/16",
        "protocol": "TCP",
        "port": 5432,
        "endPort": 5439
      }
    ],
    "deny": [],
    "names": [
      {
        "name": "x.org",
        "addresses": [
          "192.0.2.1"
        ]
      }
    ],
    "subnet": "198.18.0.0/30",
    "node": [],
    "node_macs": [],
    "delivered": [],
    "guest": [],
    "links": []
  },
  "replaced_netns")";
    CHECK_MESSAGE(text.contains(expected), text);
    const auto read = parse_record(text);
    REQUIRE(read);
    CHECK(*read == record);
}

TEST_CASE("upgrade: a record of before there were networks is read, one with more is too")
{
    std::string before = to_json(fresh());
    for (const std::string member :
         {"  \"denied\": [],\n", "  \"drops_before\": 0,\n", "  \"more_denied\": false,\n"})
        before.erase(before.find(member), member.size());
    const auto read = parse_record(before);
    REQUIRE(read);
    CHECK(*read == fresh());
    const auto least_network = parse_record(
        std::string(least) + R"(,"network":{"of_tomorrow":1},"denied":[{"to":"::"}]})");
    REQUIRE(least_network);
    CHECK(least_network->network == Network{});
    CHECK(least_network->denied == std::vector<Denied>{{"::", 0, false, 0}});
}

TEST_CASE("a network that could become other rules than were decided is refused, with its place")
{
    const auto with = [](const std::string& member) {
        return refusal(std::string(least) + R"(,"network":{)" + member + "}}");
    };
    CHECK(with(R"("pool":"10.0.0.1/8")") ==
          "network.pool: \"10.0.0.1/8\" has bits set beyond its prefix length");
    CHECK(with(R"("broker_ports":[0])") ==
          "network.broker_ports[0]: expected a number of 1 to 65535");
    CHECK(with(R"("broker_ports":[65536])") ==
          "network.broker_ports[0]: expected a number of 1 to 65535");
    CHECK(with(R"("allow":[{"to":"10.0.0.0/8","protocol":"TCP","port":2}])") ==
          "network.allow[0]: has no \"endPort\"");
    CHECK(with(R"("deny":[{"to":"10.0.0.0/8","protocol":"TCP","port":2,"endPort":1}])") ==
          "network.deny[0].endPort: expected a number of 2 to 65535");
    CHECK(with(R"("deny":[{"to":"10.0.0.0/8","protocol":"SCTP","port":2,"endPort":2}])") ==
          "network.deny[0].protocol: expected TCP or UDP");
    CHECK(with(R"("allow":[{"to":"x.org","protocol":"TCP","port":2,"endPort":2}])") ==
          "network.allow[0].to: \"x.org\" is not an address");
    CHECK(with(R"("names":[{"name":"x.org\n192.0.2.1 y.org"}])") ==
          "network.names[0].name: expected a host name");
    CHECK(with(R"("names":[{"name":"*.org"}])") == "network.names[0].name: expected a host name");
    CHECK(with(R"("names":[{"name":"x.org","addresses":["192.0.2.0/24"]}])") ==
          "network.names[0].addresses[0]: expected an address");
    CHECK(with(R"("subnet":"198.18.0.0/29")") ==
          "network.subnet: \"198.18.0.0/29\" is not a /30 of IPv4");
    CHECK(with(R"("link":-1)") == "network.link: expected a number of 0 to 4294967295");
    CHECK(with(R"("links":[4294967296])") ==
          "network.links[0]: expected a number of 0 to 4294967295");
    CHECK(with(R"("node":["x"])") == "network.node[0]: \"x\" is not an address");
    CHECK(refusal(std::string(least) + R"(,"network":[]})") == "network: expected an object");
    CHECK(refusal(std::string(least) + R"(,"mount_points":{"root":"/"}})") ==
          "mount_points: has no root, identity or paths");
    CHECK(refusal(std::string(least) + R"(,"refused_names":{"names":[{"tries":1}]}})") ==
          "refused_names.names[0]: has no \"name\"");
    CHECK(refusal(std::string(least) + R"(,"denied":[{"port":1}]})") == "denied[0]: has no \"to\"");
    CHECK(refusal(std::string(least) + R"(,"denied":[{"to":"::","port":65536}]})") ==
          "denied[0].port: expected a number of 0 to 65535");
}

TEST_CASE("a record of a newer schema is refused, what is missing or unknown in ours is not")
{
    CHECK(refusal(R"({"schema":2})") == "schema: 2 is not known here, 1 to 1 are");
    CHECK(refusal(R"({"schema":0})") == "schema: 0 is not known here, 1 to 1 are");
    CHECK(refusal("{}") == "the document: has no schema number");
    const auto read = parse_record(std::string(least) + R"(,"of_tomorrow":{"a":[1]}})");
    REQUIRE(read);
    Record expected;
    expected.key = "0123456789ab";
    expected.generation = "00ff";
    expected.state = RunState::enforced;
    CHECK(*read == expected);
}

TEST_CASE("a record that could lead astray is refused, with its place")
{
    CHECK(refusal("[]") == "the document: expected an object");
    CHECK(!refusal("").empty());
    CHECK(!refusal(to_json(full()).substr(0, 200)).empty());
    CHECK(refusal(R"({"schema":1,"key":"../../etc/xy","generation":"0","state":"ended"})") ==
          "the document: has no key of a run");
    CHECK(refusal(R"({"schema":1,"key":"0123456789ab","generation":"../0","state":"ended"})") ==
          "the document: has no generation");
    CHECK(refusal(R"({"schema":1,"key":"0123456789ab","generation":"0"})") ==
          "the document: has no state");
    const auto with = [](const std::string& member) {
        return refusal(std::string(least) + "," + member + "}");
    };
    CHECK(with(R"("posture":"ajar")") == "posture: \"ajar\" is not known here");
    CHECK(with(R"("drops":-1)") == "drops: expected a count");
    CHECK(with(R"("drops_before":-1)") == "drops_before: expected a count");
    CHECK(with(R"("more_denied":1)") == "more_denied: expected true or false");
    CHECK(with(R"("netns":"4026532000")") == "netns: \"4026532000\" is not a device:inode");
    CHECK(with(R"("creator":{"pid":"1"})") == "creator.pid: expected an integer");
    CHECK(with(R"("init":{"pid":1,"start":-1})") == "init.start: expected a count");
    CHECK(with(R"("gate":{"lost":1})") == "gate: has no \"rules\"");
    CHECK(with(R"("gate":{"rules":{"epoch":4}})") == "gate.rules.epoch: expected 0 to 3");
    CHECK(with(R"("gate":{"rules":{"allow":["a b"]}})") != "");
    CHECK(with(R"("gate":{"rules":{},"lost":-1})") != "");
    CHECK(with(R"("verified":"netns")") == "verified: expected an array");
    CHECK(with(R"("verified":[1])") == "verified[0]: expected a string");
    CHECK(with(R"("endpoints":[{"name":"m"}])") == "endpoints[0]: has no \"listen\"");
    CHECK(with(R"("sentence":null)") == "sentence: expected a string");
}

TEST_CASE("every state has a word of its own")
{
    for (const RunState state :
         {RunState::planned, RunState::enforced, RunState::ended, RunState::failed})
        CHECK(run_state_from(word_for(state)) == state);
    CHECK(!run_state_from("running"));
}

} // namespace anchorhold::record_test
