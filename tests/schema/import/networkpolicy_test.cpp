// SPDX-License-Identifier: Apache-2.0
#include "tests/schema/import/imports.hpp"

namespace anchorhold::import_networkpolicy_test {

using namespace imports;
namespace {

std::string object(const std::string& spec, const std::string& name = "imported")
{
    return R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":")" +
           name + R"("},"spec":)" + spec + "}";
}

std::string egress(const std::string& rules)
{
    return object(R"({"podSelector":{},"policyTypes":["Egress"],"egress":)" + rules + "}");
}

std::string refusal(std::string text)
{
    return import_refusal("networkpolicy", std::move(text));
}

void check(std::string text, const Policy& policy, const Lines& losses)
{
    const Imported got = imported("networkpolicy", std::move(text));
    CHECK(policy_in(got.policy) == policy);
    CHECK(got.losses == losses);
}

const std::string every_protocol = ": means every protocol; TCP and UDP are kept";

} // namespace

TEST_CASE("networkpolicy: the example of the Kubernetes documentation")
{
    const Imported got = imported("networkpolicy", R"({
  "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
  "metadata": { "name": "test-network-policy", "namespace": "default" },
  "spec": {
    "podSelector": { "matchLabels": { "role": "db" } },
    "policyTypes": ["Ingress", "Egress"],
    "ingress": [{ "from": [{ "podSelector": {} }], "ports": [{ "protocol": "TCP", "port": 6379 }] }],
    "egress": [
      { "to": [{ "ipBlock": { "cidr": "10.0.0.0/24", "except": ["10.0.0.8/29"] } },
               { "namespaceSelector": {} }],
        "ports": [{ "protocol": "TCP", "port": 5978 },
                  { "protocol": "UDP", "port": 32000, "endPort": 32768 }] }
    ]
  }
})");
    CHECK(got.policy == R"({
  "version": 1,
  "default": "test-network-policy",
  "profiles": {
    "test-network-policy": {
      "egress": "allowlist",
      "allow": [
        {
          "to": "10.0.0.0/24",
          "ports": [
            {
              "port": 5978,
              "protocol": "TCP"
            },
            {
              "port": 32000,
              "endPort": 32768,
              "protocol": "UDP"
            }
          ],
          "except": [
            "10.0.0.8/29"
          ]
        }
      ]
    }
  }
}
)");
    CHECK(got.losses ==
          Lines{"spec.podSelector: labels choose nothing here; the profile is chosen by its name",
                "spec.ingress: a run is connected to from its node alone",
                "spec.egress[0].to[1]: pods and namespaces have no addresses here; name ranges by "
                "ipBlock"});
}

TEST_CASE("networkpolicy: ports and protocols are kept as they are meant")
{
    check(egress(R"([{"to":[{"ipBlock":{"cidr":"192.0.2.0/24"}}],"ports":[{"port":80},
            {"protocol":"UDP"},{"port":"dns"},{"protocol":"SCTP","port":9},{"port":5,"endPort":4},
            {"endPort":4},{"port":0},{"port":80},{"port":1,"host":2}]}])"),
          one_profile(R"([{"to":"192.0.2.0/24","ports":[{"port":80,"protocol":"TCP"},
            {"port":1,"endPort":65535,"protocol":"UDP"}]}])"),
          {"spec.egress[0].ports[2].port: a port's name means nothing here; name its number",
           "spec.egress[0].ports[3]: \"SCTP\" is neither TCP nor UDP",
           "spec.egress[0].ports[4].endPort: is below port",
           "spec.egress[0].ports[5].endPort: there is no port",
           "spec.egress[0].ports[6].port: 0 is not a port",
           "spec.egress[0].ports[8]: unknown member \"host\""});
    // None of its ports can be kept. That does not make it a rule without ports.
    check(egress(R"([{"to":[{"ipBlock":{"cidr":"192.0.2.0/24"}}],"ports":[{"port":"dns"}]}])"),
          one_profile("[]"),
          {"spec.egress[0].ports[0].port: a port's name means nothing here; name its number"});
    check(
        egress(R"([{"to":[{"ipBlock":{"cidr":"2001:db8::/32"}}],"ports":[]}])"),
        one_profile(R"([{"to":"2001:db8::/32","ports":[{"port":1,"endPort":65535,"protocol":"TCP"},
            {"port":1,"endPort":65535,"protocol":"UDP"}]}])"),
        {"spec.egress[0]" + every_protocol});
}

TEST_CASE("networkpolicy: everywhere is kept at its ports, and everything is not")
{
    check(egress(R"([{"ports":[{"port":53,"protocol":"UDP"}]}])"),
          one_profile(R"([{"to":"0.0.0.0/0","ports":[{"port":53,"protocol":"UDP"}]},
            {"to":"::/0","ports":[{"port":53,"protocol":"UDP"}]}])"),
          {});
    check(egress(R"([{},{"to":null,"ports":[]},{"to":[{"ipBlock":{"cidr":"192.0.2.1/32"}}],
            "ports":[{"port":443}]}])"),
          one_profile(R"(["192.0.2.1"])"),
          {"spec.egress[0]: means everything, which no list is; name what is needed",
           "spec.egress[1]: means everything, which no list is; name what is needed"});
    check(egress("[]"), one_profile("[]"), {});
    check(egress("null"), one_profile("[]"), {});
}

TEST_CASE("networkpolicy: an object that does not limit egress is closed, and that is said")
{
    const Lines said{"spec: does not limit egress, which is everything; the profile is closed"};
    check(object(R"({"policyTypes":["Ingress"]})"), one_profile("[]"), said);
    check(object(R"({"egress":[]})"), one_profile("[]"), said);
    check(object(R"({"policyTypes":["Ingress"],"egress":[{"ports":[{"port":443}]}]})"),
          one_profile("[]"), said);
    // Without policyTypes, egress rules are enough.
    check(
        object(
            R"({"egress":[{"to":[{"ipBlock":{"cidr":"192.0.2.1/32"}}],"ports":[{"port":443}]}]})"),
        one_profile(R"(["192.0.2.1"])"), {});
}

TEST_CASE("networkpolicy: a block that is not understood goes with all its addresses")
{
    check(
        egress(
            R"([{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16","172.16.0.0/12"]}},
            {"ipBlock":{"cidr":"10.0.0.0/8","except":["10.0.0.0/8"]}},{"ipBlock":{"cidr":"10.0.0.1/8"}},
            {"ipBlock":{"cidr":"10.0.0.1"}},{"ipBlock":{"cidr":"x.org"}},{"ipBlock":{"except":[]}},
            {"ipBlock":{"cidr":"::ffff:10.0.0.0/104"}},{"ipBlock":{"cidr":"10.0.0.0/8"},"podSelector":{}},
            {"ipBlock":{"cidr":"127.0.0.0/8"}},{"domainNames":["x.org"]},{}],
            "ports":[{"port":443}]},
            {"to":[{"ipBlock":{"cidr":"192.0.2.1/32"}}],"when":"night"}])"),
        one_profile("[]"),
        {"spec.egress[0].to[0].ipBlock.except[1]: does not lie inside 10.0.0.0/8",
         "spec.egress[0].to[1].ipBlock.except[0]: does not lie inside 10.0.0.0/8",
         "spec.egress[0].to[2].ipBlock.cidr: \"10.0.0.1/8\" has bits set beyond its prefix length",
         "spec.egress[0].to[3].ipBlock.cidr: expected a range of addresses",
         "spec.egress[0].to[4].ipBlock.cidr: expected a range of addresses",
         "spec.egress[0].to[5].ipBlock: has no cidr",
         "spec.egress[0].to[6].ipBlock.cidr: \"::ffff:10.0.0.0/104\" is an IPv4 address written "
         "as IPv6",
         "spec.egress[0].to[7]: pods and namespaces have no addresses here; name ranges by ipBlock",
         "spec.egress[0].to[9]: pods and namespaces have no addresses here; name ranges by ipBlock",
         "spec.egress[0].to[10]: pods and namespaces have no addresses here; name ranges by "
         "ipBlock",
         "spec.egress[1]: unknown member \"when\"",
         "spec.egress[0].to[8]: 127.0.0.0/8 is what no run reaches"});
}

TEST_CASE("networkpolicy: an exception wins over other rules, which is said where it matters")
{
    check(
        egress(R"([{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16","10.2.0.0/16"]}}],
            "ports":[{"port":443}]},
            {"to":[{"ipBlock":{"cidr":"10.1.2.0/24"}}],"ports":[{"port":1,"endPort":500}]},
            {"to":[{"ipBlock":{"cidr":"10.2.2.0/24"}}],"ports":[{"port":80}]}])"),
        one_profile(R"([{"to":"10.0.0.0/8","ports":[{"port":443,"protocol":"TCP"}],
            "except":["10.1.0.0/16","10.2.0.0/16"]},
            {"to":"10.1.2.0/24","ports":[{"port":1,"endPort":500,"protocol":"TCP"}]},
            "10.2.2.0/24:80"])"),
        {"spec.egress[0].to[0]: another rule allows of 10.1.0.0/16, and an exception always wins"});
}

TEST_CASE("networkpolicy: a list becomes as many profiles, never their sum")
{
    const std::string one = R"({"policyTypes":["Egress"],"egress":[
        {"to":[{"ipBlock":{"cidr":"192.0.2.1/32"}}],"ports":[{"port":443}]}]})";
    const std::string none = R"({"policyTypes":["Egress"]})";
    check(R"({"apiVersion":"v1","kind":"List","items":[)" + object(one, "web") + "," +
              object(none, "My.Policy") + "," + object(none, "web") + "," + object(none, "off") +
              "," + object(none, "hook") + "]}",
          policy_in(
              R"({"default":"off","profiles":{"web":{"egress":"allowlist","allow":["192.0.2.1"]},
            "policy-2":{},"policy-3":{},"policy-4":{},"policy-5":{}}})"),
          {"items[1].metadata.name: \"My.Policy\" cannot be the name of a profile, policy-2 is",
           "items[2].metadata.name: \"web\" cannot be the name of a profile, policy-3 is",
           "items[3].metadata.name: \"off\" cannot be the name of a profile, policy-4 is",
           "items[4].metadata.name: \"hook\" cannot be the name of a profile, policy-5 is",
           "items: labels chose among them; here --ah-profile does, and the default is off"});
    check(R"({"apiVersion":"v1","kind":"List","items":[]})", policy_in("{}"), {});
}

TEST_CASE("networkpolicy: what is none is refused, YAML with the command that makes JSON of it")
{
    CHECK(refusal("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n") ==
          "the document: expected a JSON object; YAML becomes one by kubectl create "
          "--dry-run=client -o json -f FILE, what a cluster has by kubectl get networkpolicy NAME "
          "-o json");
    const std::string kind =
        "the document: expected a networking.k8s.io/v1 NetworkPolicy or a List "
        "of them";
    CHECK(refusal("{}") == kind);
    // Other kinds are refused beside a NetworkPolicy too: they may deny what it allows.
    CHECK(refusal(R"({"apiVersion":"v1","kind":"List","items":[
              {"apiVersion":"policy.networking.k8s.io/v1alpha1","kind":"AdminNetworkPolicy"}]})") ==
          "items[0]: \"policy.networking.k8s.io/v1alpha1 AdminNetworkPolicy\" is no NetworkPolicy "
          "of networking.k8s.io/v1");
    CHECK(refusal(R"({"apiVersion":"cilium.io/v2","kind":"CiliumNetworkPolicy","spec":{}})") ==
          kind);
    CHECK(refusal(R"({"apiVersion":"v1","kind":"List"})") == kind);
    CHECK(refusal(R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy"})") ==
          "the document: has no spec");
    CHECK(refusal(object(R"({"egressDeny":[]})")) == "spec: unknown member \"egressDeny\"");
    CHECK(refusal(object(R"({"policyTypes":["egress"]})")) ==
          "spec.policyTypes[0]: expected Egress or Ingress");
    CHECK(refusal(object(R"({"policyTypes":"Egress"})")) == "spec.policyTypes: expected an array");
    CHECK(refusal(egress(R"([{"to":{}}])")) == "spec.egress[0].to: expected an array");
    CHECK(refusal(egress("[1]")) == "spec.egress[0]: expected an object");
    CHECK(refusal(R"({"apiVersion":"v1","kind":"List","items":[1]})") ==
          "items[0]: expected an object");
}

} // namespace anchorhold::import_networkpolicy_test
