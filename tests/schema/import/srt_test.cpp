// SPDX-License-Identifier: Apache-2.0
#include "tests/schema/import/imports.hpp"

namespace anchorhold::import_srt_test {

using namespace imports;
namespace {

constexpr const char* every_tcp = R"("ports":[{"port":1,"endPort":65535,"protocol":"TCP"}])";
const std::string by_address = "network: without the gate a name is kept as its addresses, so what "
                               "else is there is reached too";

std::string settings(const std::string& allowed, const std::string& denied = "[]",
                     const std::string& more = "")
{
    return R"({"network":{"allowedDomains":)" + allowed + R"(,"deniedDomains":)" + denied + more +
           "}}";
}

struct Left {
    Policy policy;
    Lines losses;
};
Left read(std::string text)
{
    Imported result = imported("srt", std::move(text));
    return {policy_in(std::move(result.policy)), std::move(result.losses)};
}

std::string refusal(std::string text)
{
    return import_refusal("srt", std::move(text));
}

} // namespace

TEST_CASE("srt: a whole file becomes a whole policy, and what it lost is listed in its order")
{
    const Imported got = imported("srt", R"({
  "network": {
    "allowedDomains": ["GitHub.com", "*.npmjs.org", "pypi.org:443", "10.0.0.1:22", "[2001:db8::1]:80"],
    "deniedDomains": ["*:25", "evil.com", "*.bad.org:443"],
    "allowUnixSockets": ["/run/x.sock"],
    "allowLocalBinding": true,
    "httpProxyPort": 3128
  },
  "filesystem": { "denyRead": ["~/.ssh"], "allowWrite": ["."], "denyWrite": [] }
})");
    CHECK(got.policy == R"({
  "version": 1,
  "default": "imported",
  "deny": [
    "0.0.0.0/0:25",
    "[::/0]:25",
    "evil.com",
    "**.bad.org:443"
  ],
  "profiles": {
    "imported": {
      "egress": "allowlist",
      "allow": [
        {
          "to": "github.com",
          "ports": [
            {
              "port": 1,
              "endPort": 65535,
              "protocol": "TCP"
            }
          ]
        },
        {
          "to": "**.npmjs.org",
          "ports": [
            {
              "port": 1,
              "endPort": 65535,
              "protocol": "TCP"
            }
          ]
        },
        "pypi.org",
        "10.0.0.1:22",
        "[2001:db8::1]:80"
      ]
    }
  }
}
)");
    CHECK(got.losses ==
          Lines{"network.allowUnixSockets: sockets are endpoints of a profile, with a name and a "
                "port",
                "network.httpProxyPort: connections go straight, through no proxy",
                "filesystem: a policy has no word for it", by_address});
}

TEST_CASE("srt: an allowed entry that is not understood is left out")
{
    const Left left = read(settings(
        R"(["a.org:0443","a.org:0","2001:db8::1","10.0.0.0/8","1.2.3","*","**.a.org","intranet",
            "localhost","x.localhost:80","127.0.0.1","[::ffff:10.0.0.1]","[1.2.3.4]","[::1]x","b\u00fc.org",
            "10.0.0.1","10.0.0.1"])"));
    CHECK(left.policy == one_profile(std::string(R"([{"to":"10.0.0.1",)") + every_tcp + "}]"));
    const auto at = [](int place, const std::string& sentence) {
        return "network.allowedDomains[" + std::to_string(place) + "]: " + sentence;
    };
    CHECK(left.losses ==
          Lines{at(0, "\"a.org:0443\" has no port of 1 to 65535"),
                at(1, "\"a.org:0\" has no port of 1 to 65535"),
                at(2, "\"2001:db8::1\" has colons and no brackets"),
                at(3, "\"10.0.0.0/8\" is no single host"), at(4, "\"1.2.3\" is not an address"),
                at(5, "\"*\" has a wildcard that is not \"*.\""),
                at(6, "\"**.a.org\" has a wildcard that is not \"*.\""),
                at(7, "\"intranet\" has no dot, and is refused there"),
                at(8, "no rule leads to a loopback; an endpoint does"),
                at(9, "no rule leads to a loopback; an endpoint does"),
                at(10, "127.0.0.1/32 is what no run reaches"),
                at(11, "\"::ffff:10.0.0.1\" is an IPv4 address written as IPv6"),
                at(12, "\"[1.2.3.4]\" is no IPv6 address in brackets"),
                at(13, "\"[::1]x\" goes on behind its bracket"),
                at(14, "\"b\u00fc.org\" is not a host name: lower-case labels of [a-z0-9_-], other "
                       "scripts as xn--, no final dot")});
}

TEST_CASE("srt: a denied entry that is not understood is refused, for leaving it out would open")
{
    CHECK(refusal(settings(R"(["a.org"])", R"(["b.org", "b\u00fc.org"])")) ==
          "network.deniedDomains[1]: \"b\u00fc.org\" is not a host name: lower-case labels of "
          "[a-z0-9_-], other scripts as xn--, no final dot");
    CHECK(refusal(settings(R"(["a.org"])", R"(["b.org:x"])")) ==
          "network.deniedDomains[0]: \"b.org:x\" has no port of 1 to 65535");
    CHECK(refusal(settings(R"(["a.org"])", R"(["10.0.0.0/8"])")) ==
          "network.deniedDomains[0]: \"10.0.0.0/8\" is no single host");
    CHECK(refusal(settings(R"(["a.org"])", "[]", R"(,"deniedResolvedAddresses":["10.0.0.1/8"])")) ==
          "network.deniedResolvedAddresses[0]: \"10.0.0.1/8\" has bits set beyond its prefix "
          "length");
}

TEST_CASE("srt: what denies everything leaves nothing")
{
    const Left left = read(settings(R"(["a.org","10.0.0.1"])", R"(["*"])"));
    CHECK(left.policy == one_profile("[]", R"(["0.0.0.0/0","::/0"])"));
    CHECK(left.losses == Lines{});
}

TEST_CASE("srt: addresses that no name may lead to are denied, though a rule names one")
{
    const Left left = read(settings(R"(["10.0.0.1","192.0.2.1"])", "[]",
                                    R"(,"deniedResolvedAddresses":["10.0.0.0/8","fc00::/7"])"));
    CHECK(left.policy.deny == one_profile("[]", R"(["10.0.0.0/8","fc00::/7"])").deny);
    CHECK(left.losses == Lines{"network.deniedResolvedAddresses[0]: closes an address of "
                               "allowedDomains too; a deny always wins"});
}

TEST_CASE("srt: where a proxy of somebody else's decides, nothing is kept")
{
    const Left both =
        read(settings(R"(["a.org"])", "[]", R"(,"httpProxyPort":3128,"socksProxyPort":1080)"));
    CHECK(both.policy == one_profile("[]"));
    CHECK(both.losses == Lines{"network.httpProxyPort: connections go straight, through no proxy",
                               "network.socksProxyPort: connections go straight, through no proxy",
                               by_address,
                               "network: the proxies named there decide, so nothing of "
                               "allowedDomains is kept"});
    const Left some =
        read(settings(R"(["a.corp.org","b.org:443"])", "[]",
                      R"(,"mitmProxy":{"socketPath":"/x","domains":["*.corp.org"]})"));
    CHECK(some.policy == one_profile(R"(["b.org"])"));
    CHECK(some.losses ==
          Lines{"network.allowedDomains[0]: the proxy of mitmProxy decides about \"a.corp.org\"",
                "network.mitmProxy: connections go straight, through no proxy", by_address});
    const Left above =
        read(settings(R"(["*.corp.org"])", "[]", R"(,"mitmProxy":{"domains":["a.corp.org"]})"));
    CHECK(above.policy == one_profile("[]"));
    CHECK(above.losses.front() ==
          "network.allowedDomains[0]: the proxy of mitmProxy decides about \"*.corp.org\"");
}

TEST_CASE("srt: without a list nothing is allowed, and everything is no list")
{
    const Left none = read(R"({"network":{"deniedDomains":[]}})");
    CHECK(none.policy == one_profile("[]"));
    CHECK(none.losses == Lines{"network: has no allowedDomains, so nothing is allowed"});
    const Left all = read(settings("[]", "[]", R"(,"allowAllDomains":true,"allowLocalBinding":false,
        "allowAllUnixSockets":true)"));
    CHECK(all.policy == one_profile("[]"));
    CHECK(all.losses ==
          Lines{"network.allowAllDomains: everything is no list; allowedDomains alone is kept",
                "network.allowLocalBinding: a container may bind the ports of its own loopback",
                "network.allowAllUnixSockets: sockets are endpoints of a profile, with a name and "
                "a port"});
}

TEST_CASE("srt: a member that is not known could close something, so the file is refused")
{
    CHECK(refusal(settings("[]", "[]", R"(,"deniedPorts":[25])")) ==
          "network: unknown member \"deniedPorts\"");
    CHECK(refusal(R"({"network":{"allowedDomains":[]},"netwrok":{}})") ==
          "the document: unknown member \"netwrok\"");
    CHECK(refusal("{}") == "the document: has no network");
    CHECK(refusal(R"({"network":[]})") == "network: expected an object");
    CHECK(refusal(settings("{}")) == "network.allowedDomains: expected an array");
    CHECK(refusal(settings("[1]")) == "network.allowedDomains[0]: expected a string");
    CHECK(refusal("# yaml") == "the document: expected a JSON object");
    CHECK(refusal("{").starts_with("line 1"));
}

TEST_CASE("what comes out is held against the policy's own limits, and a format must be known")
{
    std::string names;
    for (int i = 0; i < 300; ++i)
        names += (names.empty() ? "\"n" : ",\"n") + std::to_string(i) + ".org\"";
    CHECK(refusal(settings("[" + names + "]")) ==
          "what would come out: profiles.imported.allow: has more than 256 names");
    CHECK(import_refusal("iptables", "{}") == "no format is called \"iptables\"");
}

} // namespace anchorhold::import_srt_test
