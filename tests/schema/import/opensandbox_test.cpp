// SPDX-License-Identifier: Apache-2.0
#include "tests/schema/import/imports.hpp"

namespace anchorhold::import_opensandbox_test {

using namespace imports;
namespace {

// Returns an allow rule for `to` as the policy has it: every port but that of DNS over TLS.
std::string open_to(const std::string& to)
{
    return R"({"to":")" + to + R"(","ports":[{"port":1,"endPort":852,"protocol":"TCP"},
        {"port":854,"endPort":65535,"protocol":"TCP"},{"port":1,"endPort":852,"protocol":"UDP"},
        {"port":854,"endPort":65535,"protocol":"UDP"}]})";
}

std::string refusal(std::string text)
{
    return import_refusal("opensandbox", std::move(text));
}

void check(std::string text, const Policy& policy, const Lines& losses)
{
    const Imported got = imported("opensandbox", std::move(text));
    CHECK(policy_in(got.policy) == policy);
    CHECK(got.losses == losses);
}

} // namespace

TEST_CASE("opensandbox: a whole file becomes a whole policy")
{
    const Imported got = imported("opensandbox", R"({"defaultAction":"deny","egress":[
      {"action":"allow","target":"pypi.org"},
      {"action":"allow","target":"*.example.com"},
      {"action":"deny","target":"203.0.113.9"},
      {"action":"deny","target":"tracker.org"}]})");
    CHECK(got.policy == R"({
  "version": 1,
  "default": "imported",
  "deny": [
    "203.0.113.9"
  ],
  "profiles": {
    "imported": {
      "egress": "allowlist",
      "allow": [
        {
          "to": "pypi.org",
          "ports": [
            {
              "port": 1,
              "endPort": 852,
              "protocol": "TCP"
            },
            {
              "port": 854,
              "endPort": 65535,
              "protocol": "TCP"
            },
            {
              "port": 1,
              "endPort": 852,
              "protocol": "UDP"
            },
            {
              "port": 854,
              "endPort": 65535,
              "protocol": "UDP"
            }
          ]
        },
        {
          "to": "**.example.com",
          "ports": [
            {
              "port": 1,
              "endPort": 852,
              "protocol": "TCP"
            },
            {
              "port": 854,
              "endPort": 65535,
              "protocol": "TCP"
            }
          ]
        }
      ]
    }
  }
}
)");
    CHECK(got.losses == Lines{"egress[1].target: a wildcard is the gate's, which carries no UDP, "
                              "here and in all the list"});
}

TEST_CASE("opensandbox: a wildcard is kept unless a rule before it denies some of its names")
{
    const std::string tcp =
        R"([{"to":"**.x.org","ports":[{"port":1,"endPort":852},{"port":854,"endPort":65535}]}])";
    const std::string no_udp = "egress[1].target: a wildcard is the gate's, which carries no UDP, "
                               "here and in all the list";
    check(R"({"egress":[{"action":"deny","target":"x.org"},{"action":"allow","target":"*.x.org"},
        {"action":"deny","target":"a.x.org"}]})",
          one_profile(tcp), {no_udp});
    for (const std::string denied : {"a.x.org", "*.a.x.org"})
        check(
            R"({"egress":[{"action":"deny","target":")" + denied +
                R"("},{"action":"allow","target":"*.x.org"}]})",
            one_profile("[]"),
            {"egress[1].target: stands behind egress[0], which denies names that it would allow"});
    check(R"({"egress":[{"action":"deny","target":"y.org"},{"action":"allow","target":"*.org"}]})",
          one_profile("[]"),
          {"egress[1].target: stands behind egress[0], which denies names that it would allow"});
    check(R"({"egress":[{"action":"allow","target":"*.org"}]})", one_profile("[]"),
          {"egress[0].target: a wildcard right below a top-level domain allows anybody"});
}

TEST_CASE("opensandbox: among names the first rule decides, among addresses the deny")
{
    check(R"({"egress":[{"action":"allow","target":"a.x.org"},{"action":"deny","target":"*.X.org"},
        {"action":"allow","target":"b.x.org"},{"action":"allow","target":"x.org"},
        {"action":"allow","target":"192.0.2.0/24"},{"target":"192.0.2.1"},
        {"action":"deny","target":"2001:db8::/32"}]})",
          one_profile("[" + open_to("a.x.org") + "," + open_to("x.org") + "," +
                          open_to("192.0.2.0/24") + "]",
                      R"(["192.0.2.1","2001:db8::/32"])"),
          {"egress[2].target: is denied before, by egress[1]"});
}

TEST_CASE("opensandbox: words may have blanks and any case, and a missing one is deny")
{
    check(R"({"defaultAction":" DENY ","egress":[{"action":" Allow","target":" PyPI.org\n"},
        {"action":"","target":"pypi.org"}]})",
          one_profile("[" + open_to("pypi.org") + "]"), {});
    check("{}", one_profile("[]"), {});
}

TEST_CASE("opensandbox: where everything is allowed but some, only the allowed are kept")
{
    check(R"({"defaultAction":"allow","egress":[{"action":"deny","target":"*.bing.com"},
        {"action":"allow","target":"pypi.org"}]})",
          one_profile("[" + open_to("pypi.org") + "]"),
          {"defaultAction: what no rule names is refused here; only the allowed are kept"});
}

TEST_CASE(
    "opensandbox: what is not understood is left out of the allowed and refused of the denied")
{
    check(
        R"({"egress":[{"action":"allow","target":"::ffff:10.0.0.1"},{"action":"allow","target":"*"},
        {"action":"allow","target":"**.x.org"},{"action":"allow","target":"10.0.0.1/8"},
        {"action":"allow","target":"pypi.org."},{"action":"allow","target":"169.254.169.254"},
        {"action":"deny","target":"*"},{"action":"deny","target":"1.2.3"}]})",
        one_profile("[]"),
        {"egress[0].target: \"::ffff:10.0.0.1\" is an IPv4 address written as IPv6",
         "egress[1].target: \"*\" has a wildcard that is not \"*.\"",
         "egress[2].target: \"**.x.org\" has a wildcard that is not \"*.\"",
         "egress[3].target: \"10.0.0.1/8\" has bits set beyond its prefix length",
         "egress[4].target: \"pypi.org.\" is not a host name: lower-case labels of [a-z0-9_-], "
         "other scripts as xn--, no final dot",
         "egress[5].target: 169.254.169.254/32 is what no run reaches"});
    CHECK(refusal(R"({"egress":[{"action":"deny","target":"10.0.0.1/8"}]})") ==
          "egress[0].target: \"10.0.0.1/8\" has bits set beyond its prefix length");
    CHECK(refusal(R"({"egress":[{"action":"deny","target":"\u212aiosk.org"}]})") ==
          "egress[0].target: expected a name or an address; other scripts are xn--");
    CHECK(refusal(R"({"egress":[{"action":"deny","target":" "}]})") ==
          "egress[0].target: expected a name or an address; other scripts are xn--");
    CHECK(refusal(R"({"egress":[{"action":"deny"}]})") == "egress[0]: has no target");
    CHECK(refusal(R"({"egress":[{"action":"log","target":"x.org"}]})") ==
          "egress[0].action: expected allow or deny");
    CHECK(refusal(R"({"egress":[{"action":"allow","target":"x.org","ports":[80]}]})") ==
          "egress[0]: unknown member \"ports\"");
    CHECK(refusal(R"({"defaultaction":"deny"})") ==
          "the document: unknown member \"defaultaction\"");
    CHECK(refusal("null") == "the document: expected a JSON object");
}

} // namespace anchorhold::import_opensandbox_test
