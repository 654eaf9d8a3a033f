// SPDX-License-Identifier: Apache-2.0
#include "schema/policy.hpp"

#include "tests/files.hpp"
#include "tests/schema/policies.hpp"

#include <doctest/doctest.h>

namespace anchorhold::policy_test {
namespace {

std::string in_profile(const std::string& members)
{
    return refusal(R"({"profiles":{"p":{)" + members + "}}}");
}

Endpoint endpoint(std::string name, std::int64_t listen, std::string_view to)
{
    return {std::move(name), *Port::from(listen, Code::invalid_policy),
            *parse_target(to, Code::invalid_policy)};
}

// Every member that a policy may have.
constexpr const char* whole = R"({ "version": 1,
  "runtime": "/usr/sbin/runc",
  "records": "/var/lib/anchorhold",
  "default": "off",
  "annotations": true,
  "ceiling": "off",
  "sockets": [],
  "tcp_endpoints": [],
  "annotation_profiles": [],
  "allow": null, "deny": [],
  "voids": "refuse",
  "vsock": "deny",
  "dns": "nxdomain",
  "notice": "file",
  "relay": "auto",
  "tcp": "gate",
  "allow_by": "auto",
  "on_broker_lost": "keep",
  "broker_lost_after": 60, "broker_lost_grace": 10,
  "forwarding": "require",
  "pool": "198.18.0.0/16", "handles": "198.19.0.0/16", "upstream": null,
  "profiles": { "agent": { "egress": "off", "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:8080"},
                           "endpoints": [{"name":"model","listen":8080,"to":"unix:/run/brokers/{id}/broker.sock"}] },
                "ci":    { "egress": "allowlist", "allow": ["github.com", "pypi.org:443"], "cri": false } } })";

} // namespace

TEST_CASE("R21 a file that says nothing, and no file at all, are the built-in closed policy")
{
    CHECK(policy_of("{}") == Policy());
    const Policy closed;
    CHECK(closed.fallback == "off");
    CHECK(closed.ceiling == Egress::off);
    Profile off;
    off.name = "off";
    CHECK(closed.profiles == std::map<std::string, Profile>{{"off", off}});
    CHECK(closed.find("open") == nullptr);
}

TEST_CASE("the policy with every member there is reads as it is meant")
{
    Policy expected;
    expected.runtime = "/usr/sbin/runc";
    expected.records = "/var/lib/anchorhold";
    Profile& agent = expected.profiles["agent"];
    agent.name = "agent";
    agent.endpoints = {endpoint("model", 8080, "unix:/run/brokers/{id}/broker.sock")};
    agent.env = {{"ANTHROPIC_BASE_URL", "http://127.0.0.1:8080"}};
    Profile& ci = expected.profiles["ci"];
    ci.name = "ci";
    ci.egress = Egress::allowlist;
    ci.allow = *rules::parse_allow("github.com, pypi.org:443");
    CHECK(policy_of(whole) == expected);
}

TEST_CASE("the example to copy is a policy")
{
    const Policy example = policy_of(source_file("contrib/policy.example.json"));
    CHECK(example.sockets == std::vector<std::string>{"/run/brokers"});
    CHECK(example.annotation_profiles == std::vector<std::string>{"agent"});
    CHECK(example.known_profiles() == "agent, ci, off");
}

TEST_CASE("switches of the policy hold for every profile but where it says otherwise")
{
    const Policy policy = policy_of(R"({"vsock":"allow","dns":"none","voids":"record",
        "profiles":{"a":{},"b":{"dns":"nxdomain","vsock":"deny"}}})");
    const Switches loose{Voids::record, Vsock::allow, Dns::none};
    CHECK(policy.switches == loose);
    CHECK(policy.find("off")->switches == loose);
    CHECK(policy.find("a")->switches == loose);
    CHECK(policy.find("b")->switches == Switches{Voids::record, Vsock::deny, Dns::nxdomain});
}

TEST_CASE("tcp and forwarding are switches too, for the policy and for a profile")
{
    const Policy policy = policy_of(R"({"tcp":"veth","forwarding":"enable",
        "profiles":{"a":{},"b":{"tcp":"gate","forwarding":"require"}}})");
    Switches both;
    both.tcp = Tcp::veth;
    both.forwarding = Forwarding::enable;
    CHECK(policy.switches == both);
    CHECK(policy.find("off")->switches == both);
    CHECK(policy.find("a")->switches == both);
    CHECK(policy.find("b")->switches == Switches{});
    CHECK(policy_of(R"({"profiles":{"b":{"tcp":"veth"}}})").switches == Switches{});
    CHECK(refusal(R"({"tcp":"host"})") == "tcp: expected gate or veth");
    CHECK(policy_of(R"({"allow_by":"packets"})").find("off")->switches.allow_by ==
          AllowBy::packets);
    CHECK(policy_of(R"({"profiles":{"b":{"allow_by":"gate"}}})").find("b")->switches.allow_by ==
          AllowBy::gate);
    CHECK(refusal(R"({"allow_by":"veth"})") == "allow_by: expected auto or gate or packets");
    CHECK(refusal(R"({"forwarding":"yes"})") == "forwarding: expected require or enable");
}

TEST_CASE("open exists only where the file says so")
{
    CHECK(policy_of("{}").find("open") == nullptr);
    const Policy as_default = policy_of(R"({"default":"open","vsock":"allow"})");
    CHECK(as_default.find("open")->egress == Egress::open);
    CHECK(as_default.find("open")->switches.vsock == Vsock::allow);
    CHECK(policy_of(R"({"profiles":{"open":{}}})").find("open")->egress == Egress::open);
    CHECK(policy_of(R"({"profiles":{"open":{}}})").fallback == "off");
    CHECK(policy_of(R"({"profiles":{"open":{"egress":"off"}}})").find("open")->egress ==
          Egress::off);
    CHECK(policy_of(R"({"profiles":{"any":{}}})").find("any")->egress == Egress::off);
}

TEST_CASE("B-47: a policy that is no policy is refused, never taken for an absent one")
{
    CHECK(refusal("null") == "the document: expected an object");
    CHECK(refusal("[]") == "the document: expected an object");
    CHECK(!refusal("").empty());
    CHECK(!refusal("{").empty());
    CHECK(!refusal("{}{}").empty());
    CHECK(!refusal(R"({"ceiling":"off","ceiling":"open"})").empty());
}

TEST_CASE("B-48: unknown members and values are refused with their place")
{
    CHECK(refusal(R"({"cieling":"open"})") == "the document: unknown member \"cieling\"");
    CHECK(refusal(R"({"version":2})") ==
          "version: expected 1, the only version this program knows");
    CHECK(refusal(R"({"ceiling":"all"})") == "ceiling: expected off or allowlist or open");
    CHECK(refusal(R"({"ceiling":null})") == "ceiling: expected a string");
    CHECK(refusal(R"({"annotations":"no"})") == "annotations: expected true or false");
    CHECK(refusal(R"({"runtime":"runc"})") ==
          "runtime: expected an absolute path without empty, \".\" and \"..\" components");
    CHECK(refusal(R"({"sockets":["/run/../etc"]})") ==
          "sockets[0]: expected an absolute path without empty, \".\" and \"..\" components");
    CHECK(refusal(R"({"sockets":["/"]})") ==
          "sockets[0]: expected an absolute path without empty, \".\" and \"..\" components");
    CHECK(refusal(R"({"sockets":["/a","/a"]})") == "sockets[1]: is there twice");
    CHECK(refusal(R"({"tcp_endpoints":["host"]})") ==
          "tcp_endpoints[0]: \"host\" is not HOST:PORT");
    CHECK(refusal(R"({"allow":["10.1.0.0/33"]})") ==
          "allow[0]: \"10.1.0.0/33\" has no prefix length of 0 to 32");
    CHECK(refusal(R"({"deny":["x.org:0"]})") == "deny[0]: \"x.org:0\": \"0\" is not a port");
    CHECK(refusal(R"({"default":"agent"})") == "default: no profile \"agent\"");
    CHECK(refusal(R"({"annotation_profiles":["ci"]})") ==
          "annotation_profiles[0]: no profile \"ci\"");
    CHECK(refusal(R"({"profiles":{"Agent":{}}})") ==
          "profiles.Agent: not a profile name: 1 to 32 of [a-z0-9-]");
    for (const std::string name : {"hook", "relay", "gate"})
        CHECK(refusal(R"({"profiles":{")" + name + R"(":{}}})") ==
              "profiles." + name + ": the name is reserved");
    CHECK(refusal(R"({"profiles":{"off":{"egress":"open"}}})") ==
          "profiles.off.egress: expected off, as the name says");
}

TEST_CASE("B-48: a profile is read as strictly as the rest")
{
    CHECK(in_profile(R"("ceiling":"off")") == "profiles.p: unknown member \"ceiling\"");
    CHECK(in_profile(R"("egress":"Open")") ==
          "profiles.p.egress: expected off or allowlist or open");
    CHECK(in_profile(R"("require":"best")") == "profiles.p.require: expected asked");
    CHECK(in_profile(R"("env":["A=b"])") == "profiles.p.env: expected an object");
    CHECK(in_profile(R"("env":{"A":1})") == "profiles.p.env.A: expected a string");
    CHECK(in_profile(R"("env":{"A=B":"c"})") ==
          "profiles.p.env[\"A=B\"]: not the name of a variable");
    CHECK(in_profile(R"("env":{"":"c"})") == "profiles.p.env[\"\"]: not the name of a variable");
    CHECK(in_profile(R"("endpoints":[{"name":"m","listen":0,"to":"unix:/a/b"}])") ==
          "profiles.p.endpoints[0].listen: 0 is not a port");
    CHECK(in_profile(R"("endpoints":[{"name":"m","listen":1,"to":"unix:/a/{name}/b"}])") ==
          "profiles.p.endpoints[0].to: {name} is none of {id}, {hostname} and {annotation:KEY}");
    CHECK(in_profile(
              R"("endpoints":[{"name":"m","listen":1,"to":"unix:/{hostname}/b"}],"cri":true)") ==
          "profiles.p.endpoints[0].to: containers of pods have no {hostname}; name an annotation "
          "that the engine writes");
    CHECK(in_profile(R"("endpoints":"m:1=unix:/a/b")") ==
          "profiles.p.endpoints: expected an array");
    CHECK(in_profile(R"("endpoints":[{"name":"m","listen":1,"to":"unix:/a/b"},
                                     {"name":"m","listen":2,"to":"unix:/a/b"}])") ==
          "profiles.p.endpoints: two endpoints are named m");
    CHECK(in_profile(R"("allow":null)") == "profiles.p.allow: expected an array");
    CHECK(in_profile(R"("egress":"open","allow":["x.org"])") ==
          "profiles.p.allow: bounds nothing while egress is open");
}

TEST_CASE("C-51: values are taken as they are written, blanks and dollars included")
{
    const Policy policy = policy_of(R"({"runtime":"/opt/anchor hold/$HOME/runc",
        "profiles":{"p":{"env":{"X":" a \"b\" $c ","A":""}}}})");
    CHECK(policy.runtime == "/opt/anchor hold/$HOME/runc");
    CHECK(policy.find("p")->env ==
          std::vector<std::pair<std::string, std::string>>{{"X", " a \"b\" $c "}, {"A", ""}});
}

TEST_CASE("a value that a later version will honour is refused as not available yet")
{
    for (const std::string value : {R"("relay":"host")"}) {
        const std::string name = value.substr(1, value.find(':') - 2);
        CHECK(refusal("{" + value + "}") == name + ": not available yet");
        CHECK(in_profile(value) == "profiles.p." + name + ": not available yet");
    }
    CHECK(refusal(R"({"upstream":"http://proxy:3128"})") == "upstream: not available yet");
}

TEST_CASE("a profile marks the handlers whose engine makes pods")
{
    CHECK(policy_of(R"({"profiles":{"p":{"cri":true}}})").find("p")->cri);
    CHECK(!policy_of(R"({"profiles":{"p":{"cri":false}}})").find("p")->cri);
    CHECK(!policy_of(R"({"profiles":{"p":{}}})").find("p")->cri);
    CHECK(in_profile(R"("cri":"yes")") == "profiles.p.cri: expected true or false");
}

TEST_CASE("what a lost broker means is the policy's word, and a profile's over it")
{
    const Policy policy = policy_of(R"({"on_broker_lost":"stop","broker_lost_after":5,
        "profiles":{"k":{"on_broker_lost":"keep"},"g":{"broker_lost_grace":0}}})");
    CHECK(policy.switches.on_broker_lost == OnBrokerLost::stop);
    CHECK(policy.switches.broker_lost_after == 5);
    CHECK(policy.switches.broker_lost_grace == 10);
    CHECK(policy.find("k")->switches.on_broker_lost == OnBrokerLost::keep);
    CHECK(policy.find("g")->switches.on_broker_lost == OnBrokerLost::stop);
    CHECK(policy.find("g")->switches.broker_lost_grace == 0);
    CHECK(Policy().switches.on_broker_lost == OnBrokerLost::keep);
    for (const std::string seconds : {"0", "86401", "-1"})
        CHECK(refusal(R"({"broker_lost_after":)" + seconds + "}") ==
              "broker_lost_after: expected seconds from 1 to 86400");
    CHECK(refusal(R"({"broker_lost_grace":-1})") ==
          "broker_lost_grace: expected seconds from 0 to 86400");
}

TEST_CASE("who is process 1 is the policy's word, and a profile's over it")
{
    const Policy policy = policy_of(R"({"relay":"inside",
        "profiles":{"a":{"relay":"auto"},"c":{"relay":"child"},"n":{}}})");
    CHECK(policy.switches.relay == Relay::inside);
    CHECK(policy.find("a")->switches.relay == Relay::automatic);
    CHECK(policy.find("c")->switches.relay == Relay::child);
    CHECK(policy.find("n")->switches.relay == Relay::inside);
    CHECK(refusal(R"({"relay":"outside"})") == "relay: expected auto or inside or child or host");
}

Result<Policy> merged(std::string policy, std::vector<PolicyFile> drop_ins)
{
    return merge_policy({PolicyFile{"/e/policy.json", std::move(policy)}, std::move(drop_ins)});
}

std::string merge_refusal(std::string policy, std::vector<PolicyFile> drop_ins)
{
    const auto read = merged(std::move(policy), std::move(drop_ins));
    return read ? "" : read.error().what;
}

TEST_CASE(
    "drop-ins add profiles, sockets and what annotations may choose, and nothing else changes")
{
    const auto policy =
        merged(R"({"vsock":"allow","default":"b","sockets":["/run/a"],"profiles":{"a":{}},
                   "annotation_profiles":["c"]})",
               {{"/e/policy.d/b.json", R"({"version":1,"profiles":{"b":{"egress":"allowlist"}},
                                           "sockets":["/run/a","/run/b"]})"},
                {"/e/policy.d/c.json", R"({"profiles":{"c":{"vsock":"deny"}},
                                           "annotation_profiles":["c","a"]})"}});
    REQUIRE_MESSAGE(policy.has_value(), policy.error().what);
    CHECK(policy->known_profiles() == "a, b, c, off");
    CHECK(policy->fallback == "b");
    CHECK(policy->sockets == std::vector<std::string>{"/run/a", "/run/b"});
    CHECK(policy->annotation_profiles == std::vector<std::string>{"c", "a"});
    CHECK(policy->find("b")->egress == Egress::allowlist);
    CHECK(policy->find("b")->switches.vsock == Vsock::allow); // policy.json's
    CHECK(policy->find("c")->switches.vsock == Vsock::deny);
    const auto alone =
        merge_policy({std::nullopt, {{"/e/policy.d/b.json", R"({"profiles":{"b":{}}})"}}});
    REQUIRE(alone);
    CHECK(alone->fallback == "off");
    CHECK(alone->known_profiles() == "b, off");
}

TEST_CASE("a profile has one owner, whose file is named with the other")
{
    const std::string a = R"({"profiles":{"a":{}}})";
    CHECK(merge_refusal(a, {{"/e/policy.d/x.json", a}}) ==
          "policy /e/policy.d/x.json: profiles.a: is in /e/policy.json as well; leave it in one of "
          "the two");
    CHECK(
        merge_refusal("{}", {{"/e/policy.d/x.json", a}, {"/e/policy.d/y.json", a}}) ==
        "policy /e/policy.d/y.json: profiles.a: is in /e/policy.d/x.json as well; leave it in one "
        "of the two");
    CHECK(merge_refusal("{}", {{"/e/policy.d/x.json", a}}) == "");
}

TEST_CASE("a drop-in has no word about what is not its own")
{
    const std::string schema = source_file("schema/policy.schema.json");
    const auto document = json::Document::parse(schema, Code::invalid_policy);
    REQUIRE(document);
    std::size_t seen = 0;
    for (const json::View member : document->root().find("properties")->items()) {
        const std::string name = member.key();
        const std::string said = merge_refusal("{}", {{"/d", "{\"" + name + "\":null}"}});
        const bool own = name == "version" || name == "sockets" || name == "profiles" ||
                         name == "annotation_profiles";
        CAPTURE(name);
        CHECK(said.contains("put it into policy.json") == !own);
        ++seen;
    }
    CHECK(seen > 20);
    CHECK(merge_refusal("{}", {{"/d", R"({"version":2})"}}) ==
          "policy /d: version: expected 1, the only version this program knows");
    CHECK(merge_refusal("{}", {{"/d", R"({"annotation_profiles":["a"]})"}}) ==
          "policy /d: annotation_profiles[0]: no profile \"a\"");
    CHECK(merge_refusal("{}", {{"/d", "{"}}).starts_with("policy /d: "));
}

TEST_CASE("every fault of a policy is told, one for each part of it")
{
    const std::vector<Error> faults =
        policy_faults({PolicyFile{"/p", R"({"ceiling":"all","default":"no",
                              "profiles":{"a":{"egress":"on"},"b":{"cri":1},"c":{}}})"},
                       {{"/d", R"({"deny":[]})"}, {"/f", "[]"}}});
    std::string lines;
    for (const Error& fault : faults)
        lines += fault.what + "\n";
    CHECK(lines == "policy /f: the document: expected an object\n"
                   "policy /p: ceiling: expected off or allowlist or open\n"
                   "policy /d: deny: a drop-in has version, sockets, annotation_profiles and "
                   "profiles alone; put it into policy.json\n"
                   "policy /p: profiles.a.egress: expected off or allowlist or open\n"
                   "policy /p: profiles.b.cri: expected true or false\n"
                   "policy /p: default: no profile \"no\"\n");
    CHECK(policy_faults({std::nullopt, {}}).empty());
}

} // namespace anchorhold::policy_test
