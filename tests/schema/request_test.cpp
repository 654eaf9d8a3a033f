// SPDX-License-Identifier: Apache-2.0
#include "schema/request.hpp"

#include <doctest/doctest.h>

namespace anchorhold::request_test {
namespace {

Policy policy_of(std::string text)
{
    auto policy = parse_policy(std::move(text));
    REQUIRE_MESSAGE(policy.has_value(), policy.error().what);
    return *std::move(policy);
}

Endpoint endpoint(std::string name, std::int64_t listen, std::string_view to)
{
    return {std::move(name), *Port::from(listen, Code::invalid_request),
            *parse_target(to, Code::invalid_request)};
}

std::string unread(const Annotations& annotations)
{
    const auto asked = read_annotations(annotations);
    if (asked)
        return "";
    CHECK(asked.error().code == Code::invalid_request);
    return asked.error().what;
}

// Resolves a request from its annotations, by the same steps as the shim.
Result<Request> request(const Policy& policy, const Annotations& annotations,
                        const std::optional<std::string>& option = std::nullopt,
                        const std::optional<std::string>& argv0 = std::nullopt)
{
    AH_TRY(const Asked asked, read_annotations(annotations));
    AH_TRY(const ProfileChoice choice, choose_profile(policy, asked, option, argv0));
    return resolve(policy, asked, choice, {*ContainerId::parse("4f2a"), {}});
}

std::string refusal(const Policy& policy, const Annotations& annotations,
                    Code code = Code::invalid_request,
                    const std::optional<std::string>& option = std::nullopt,
                    const std::optional<std::string>& argv0 = std::nullopt)
{
    const auto got = request(policy, annotations, option, argv0);
    if (got)
        return "";
    CHECK(got.error().code == code);
    return got.error().what;
}

const Annotations none;
const std::pair<std::string, std::string> off{"dev.anchorhold.egress", "off"};
const std::pair<std::string, std::string> open_egress{"dev.anchorhold.egress", "open"};
const std::pair<std::string, std::string> listed{"dev.anchorhold.egress", "allowlist"};
const std::pair<std::string, std::string> required{"dev.anchorhold.require", "asked"};

std::pair<std::string, std::string> our(std::string_view word, std::string value)
{
    return {std::string(annotation_prefix) + std::string(word), std::move(value)};
}

} // namespace

TEST_CASE("annotations read as what they say, others and the mark are not ours")
{
    Asked expected;
    expected.egress = Egress::allowlist;
    expected.endpoints = {{endpoint("model", 8080, "unix:/run/brokers/42/broker.sock")}};
    expected.allow = *rules::parse_allow("github.com");
    expected.require = Require::asked;
    expected.profile = "agent";
    const auto asked =
        read_annotations({listed,
                          our("endpoints", "model:8080=unix:/run/brokers/42/broker.sock"),
                          our("allow", "github.com"),
                          required,
                          our("profile", "agent"),
                          {"dev.anchorhold.run", "anything"},
                          {"dev.anchorholder.egress", "open"},
                          {"dev.anchorhold", "open"},
                          {"io.podman.annotations.init", "TRUE"}});
    REQUIRE(asked);
    CHECK(*asked == expected);
    CHECK(read_annotations(none)->nothing());
    CHECK(read_annotations({{"dev.anchorhold.run", "x"}})->nothing());
}

TEST_CASE("R20 C-03: our prefix in another spelling is refused, not overlooked")
{
    for (const std::string key : {"DEV.ANCHORHOLD.EGRESS", "Dev.anchorhold.egress",
                                  " dev.anchorhold.egress", "\tdev.anchorhold.run"})
        CHECK(unread({{key, "off"}}) ==
              "annotation " + in_quotes(key) + " must begin exactly with dev.anchorhold.");
    for (const std::string key :
         {"dev.anchorhold.egress ", "dev.anchorhold.Egress", "dev.anchorhold.egres",
          "dev.anchorhold.", "dev.anchorhold.run ", "dev.anchorhold.allow.x"})
        CHECK(unread({{key, "off"}}) == "annotation " + in_quotes(key) +
                                            " is unknown, there are egress, endpoints, allow, "
                                            "require, profile and relay");
}

TEST_CASE("B-48: a value that does not parse is refused, with its annotation")
{
    for (const std::string value : {"", "on", "Off", "off ", "none"})
        CHECK(unread({{"dev.anchorhold.egress", value}}) ==
              "annotation dev.anchorhold.egress: " + in_quotes(value) +
                  " is not off, allowlist or open");
    CHECK(unread({our("require", "best")}) ==
          "annotation dev.anchorhold.require: \"best\" is not asked");
    CHECK(unread({our("relay", "host")}) ==
          "annotation dev.anchorhold.relay: \"host\" is not auto, inside or child");
    CHECK(unread({our("endpoints", "m:0=unix:/a/b")}) ==
          "annotation dev.anchorhold.endpoints: \"0\" is not a port");
    CHECK(unread({our("allow", "10.1.0.0/33")}) ==
          "annotation dev.anchorhold.allow: \"10.1.0.0/33\" has no prefix length of 0 to 32");
}

TEST_CASE("R21 C-03: without any annotation of ours the policy's default holds, and it is said")
{
    Request expected;
    expected.why = Why::nothing_asked;
    expected.profile = {"off", ChosenBy::fallback};
    CHECK(*request(Policy(), none) == expected);

    expected.asked = expected.egress = Egress::open;
    expected.profile = {"open", ChosenBy::fallback};
    CHECK(*request(policy_of(R"({"default":"open"})"), none) == expected);
}

TEST_CASE("an annotation says who is process 1, which opens nothing")
{
    const std::string inside =
        R"("relay":"inside","profiles":{"p":{}},"annotation_profiles":["p"])";
    const Policy policy = policy_of("{" + inside + "}");
    CHECK(request(policy, none)->switches.relay == Relay::inside);
    const auto asked = request(policy, {our("relay", "child")});
    CHECK(asked->switches.relay == Relay::child);
    CHECK(asked->why == Why::nothing_asked);
    CHECK(request(policy, {our("relay", "auto"), our("profile", "p")})->switches.relay ==
          Relay::automatic);
    const Policy deaf = policy_of(R"({"annotations":false,)" + inside + "}");
    CHECK(request(deaf, {our("relay", "child")})->switches.relay == Relay::inside);
}

TEST_CASE("a profile of the administrator's fills a request, {id} included")
{
    const Policy policy = policy_of(R"({"vsock":"allow","profiles":{"agent":{
        "env":{"A":"b"},"require":"asked","dns":"none",
        "endpoints":[{"name":"model","listen":8080,"to":"unix:/run/b/{id}/x-{id}.sock"}]}}})");
    Request expected;
    expected.endpoints = {endpoint("model", 8080, "unix:/run/b/4f2a/x-4f2a.sock")};
    expected.bounded = {false};
    expected.require = Require::asked;
    expected.profile = {"agent", ChosenBy::option};
    expected.env = {{"A", "b"}};
    expected.switches = {Voids::refuse, Vsock::allow, Dns::none};
    CHECK(*request(policy, none, "agent") == expected);
    expected.profile.by = ChosenBy::argv0;
    CHECK(*request(policy, none, std::nullopt, "agent") == expected);
}

TEST_CASE("{id} is filled in once, whatever the id holds, and not in an annotation")
{
    const Policy policy = policy_of(R"({"sockets":["/run/b"],"profiles":{"p":{
        "endpoints":[{"name":"m","listen":1,"to":"unix:/run/b/{id}/s"}]}}})");
    const auto strange =
        resolve(policy, {}, {"p", ChosenBy::option}, {*ContainerId::parse("{id}"), {}});
    REQUIRE(strange);
    CHECK(target_text(strange->endpoints[0].to) == "unix:/run/b/{id}/s");
    const auto annotated = request(policy, {our("endpoints", "m:1=unix:/run/b/{id}/s")});
    REQUIRE(annotated);
    CHECK(target_text(annotated->endpoints[0].to) == "unix:/run/b/{id}/s");
}

TEST_CASE("a socket's path is filled in from config.json, and bounded after that")
{
    const std::string profile = R"("profiles":{"p":{
        "endpoints":[{"name":"m","listen":1,"to":"unix:/run/{hostname}/{annotation:k}/s"}]}}})";
    const auto config = json::Document::parse(R"({"hostname":"h","annotations":{"k":"v"}})");
    REQUIRE(config);
    const Container container{*ContainerId::parse("4f2a"), config->root()};
    const auto ours = resolve(policy_of("{" + profile), {}, {"p", ChosenBy::option}, container);
    REQUIRE(ours);
    CHECK(target_text(ours->endpoints[0].to) == "unix:/run/h/v/s");
    const auto theirs = [&](const std::string& sockets) {
        const Policy policy =
            policy_of(R"({"annotation_profiles":["p"],"sockets":[")" + sockets + "\"]," + profile);
        return resolve(policy, {}, {"p", ChosenBy::annotation}, container).has_value();
    };
    CHECK(theirs("/run/h"));
    CHECK_FALSE(theirs("/run/{hostname}"));
}

TEST_CASE("B-49: the operator's choice of a profile comes before the annotation's")
{
    const Policy policy = policy_of(R"({"default":"d","annotation_profiles":["c"],
        "profiles":{"a":{},"b":{},"c":{},"d":{}}})");
    const Annotations asks_c{our("profile", "c")};
    CHECK(request(policy, asks_c, "a", "b")->profile == ProfileChoice{"a", ChosenBy::option});
    CHECK(request(policy, asks_c, std::nullopt, "b")->profile ==
          ProfileChoice{"b", ChosenBy::argv0});
    CHECK(request(policy, asks_c)->profile == ProfileChoice{"c", ChosenBy::annotation});
    CHECK(request(policy, none)->profile == ProfileChoice{"d", ChosenBy::fallback});
}

TEST_CASE("a profile that is not there is refused, naming those that are")
{
    const Policy policy = policy_of(R"({"profiles":{"agent":{},"ci":{}}})");
    CHECK(refusal(policy, none, Code::invalid_request, "open") ==
          "--ah-profile: no profile \"open\", the policy has agent, ci, off");
    CHECK(refusal(policy, none, Code::invalid_request, std::nullopt, "x") ==
          "called as anchorhold-x: no profile \"x\", the policy has agent, ci, off");
    CHECK(refusal(policy, {our("profile", "x")}) ==
          "annotation dev.anchorhold.profile: no profile \"x\", the policy has agent, ci, off");
    const std::string not_listed = "annotation dev.anchorhold.profile: \"ci\" is not one of the "
                                   "policy's annotation_profiles";
    CHECK(refusal(policy, {our("profile", "ci")}) == not_listed);
    // The same holds when the annotation would not have counted.
    CHECK(refusal(policy, {our("profile", "ci")}, Code::invalid_request, "agent") == not_listed);
}

TEST_CASE("R20 B-49: an annotation tightens freely and loosens up to the ceiling")
{
    const Policy closed = policy_of(R"({"profiles":{"open":{}}})");
    const auto tightened = request(closed, {off}, "open");
    REQUIRE(tightened);
    CHECK(tightened->egress == Egress::off);
    CHECK(tightened->why == Why::as_asked);

    const auto bounded = request(closed, {open_egress});
    REQUIRE(bounded);
    CHECK(bounded->asked == Egress::open);
    CHECK(bounded->egress == Egress::off);
    CHECK(bounded->why == Why::policy_ceiling);

    const auto granted = request(policy_of(R"({"ceiling":"open"})"), {open_egress});
    REQUIRE(granted);
    CHECK(granted->egress == Egress::open);
    CHECK(granted->why == Why::as_asked);
    // Between the two, a part of it is not granted.
    CHECK(request(policy_of(R"({"ceiling":"allowlist"})"), {open_egress})->egress == Egress::off);
    // An annotation may repeat what the operator's profile grants.
    CHECK(request(closed, {open_egress}, "open")->egress == Egress::open);
}

TEST_CASE("with require: asked what would be tightened is refused")
{
    CHECK(refusal(Policy(), {open_egress, required}, Code::policy_ceiling) ==
          "egress open is required, the policy permits off");
    CHECK(refusal(policy_of(R"({"profiles":{"p":{"require":"asked"}}})"), {open_egress},
                  Code::policy_ceiling, "p") == "egress open is required, the policy permits off");
    CHECK(refusal(policy_of(R"({"ceiling":"allowlist","allow":["pypi.org"]})"),
                  {listed, our("allow", "github.com"), required},
                  Code::policy_ceiling) == "the policy permits none of the allow list");
    CHECK(request(Policy(), {off, required})->require == Require::asked);
}

TEST_CASE("a profile chosen by annotation counts as one")
{
    const std::string profiles = R"("annotation_profiles":["p"],"vsock":"allow",
        "profiles":{"p":{"egress":"open","env":{"A":"b"},"vsock":"deny",
            "endpoints":[{"name":"m","listen":1,"to":"unix:/run/b/{id}/s"}]}})";
    const Annotations asks_p{our("profile", "p")};

    const auto bounded = request(policy_of(R"({"sockets":["/run/b"],)" + profiles + "}"), asks_p);
    Request expected;
    expected.asked = Egress::open;
    expected.why = Why::policy_ceiling;
    expected.endpoints = {endpoint("m", 1, "unix:/run/b/4f2a/s")};
    expected.bounded = {true};
    expected.profile = {"p", ChosenBy::annotation};
    expected.env = {{"A", "b"}};
    expected.switches.vsock = Vsock::allow;
    REQUIRE(bounded);
    CHECK(*bounded == expected);

    CHECK(refusal(policy_of("{" + profiles + "}"), asks_p) ==
          "endpoint m: \"unix:/run/b/4f2a/s\" is not in a directory of its own below one of the "
          "policy's \"sockets\"; add the parent there, or the endpoint to a profile");
    const auto granted =
        request(policy_of(R"({"ceiling":"open","sockets":["/run/b"],)" + profiles + "}"), asks_p);
    CHECK(granted->egress == Egress::open);
    // The same profile, chosen by the operator, is not bounded.
    const auto by_option = request(policy_of("{" + profiles + "}"), none, "p");
    CHECK(by_option->egress == Egress::open);
    CHECK(by_option->bounded == std::vector<bool>{false});
    CHECK(by_option->switches.vsock == Vsock::deny);
}

TEST_CASE("an annotation's endpoints are added to the profile's")
{
    const Policy policy = policy_of(R"({"sockets":["/run/b"],"tcp_endpoints":["host:5432"],
        "profiles":{"p":{"endpoints":[{"name":"m","listen":1,"to":"unix:/srv/m/s"}]}}})");
    const auto both =
        request(policy, {our("endpoints", "n:2=unix:/run/b/n/s, db:5432=tcp:host:5432")}, "p");
    REQUIRE(both);
    CHECK(both->endpoints == std::vector<Endpoint>{endpoint("m", 1, "unix:/srv/m/s"),
                                                   endpoint("n", 2, "unix:/run/b/n/s"),
                                                   endpoint("db", 5432, "tcp:host:5432")});
    CHECK(both->bounded == std::vector<bool>{false, true, true});
    CHECK(refusal(policy, {our("endpoints", "m:2=unix:/run/b/n/s")}, Code::invalid_request, "p") ==
          "two endpoints are named m");
    CHECK(refusal(policy, {our("endpoints", "n:1=unix:/run/b/n/s")}, Code::invalid_request, "p") ==
          "endpoints m and n both listen on 1");
}

TEST_CASE("an annotation's socket lies in a directory strictly below a permitted one")
{
    const Policy policy = policy_of(R"({"sockets":["/run/b"]})");
    CHECK(refusal(policy, {our("endpoints", "m:1=unix:/run/b/x/s")}).empty());
    CHECK(refusal(policy, {our("endpoints", "m:1=unix:/run/b/x/y/s")}).empty());
    for (const std::string path : {"/run/b/s", "/run/bb/x/s", "/run/docker.sock", "/etc/b/x/s"})
        CHECK(refusal(policy, {our("endpoints", "m:1=unix:" + path)}) ==
              "endpoint m: \"unix:" + path +
                  "\" is not in a directory of its own below one of the policy's \"sockets\"; add "
                  "the parent there, or the endpoint to a profile");
}

TEST_CASE("an annotation's tcp: endpoint is one the policy lists")
{
    const Policy policy = policy_of(R"({"tcp_endpoints":["[2001:DB8::1]:80"]})");
    CHECK(refusal(policy, {our("endpoints", "m:1=tcp:[2001:db8:0::1]:80")}).empty());
    CHECK(refusal(policy, {our("endpoints", "m:1=tcp:[2001:db8::1]:81")}) ==
          "endpoint m: \"tcp:[2001:db8::1]:81\" is not one of the policy's \"tcp_endpoints\"; add "
          "it there, or the endpoint to a profile");
}

TEST_CASE("port 53 is the resolver's where there is one")
{
    const Annotations on_53{our("endpoints", "m:53=unix:/run/b/x/s")};
    CHECK(refusal(policy_of(R"({"sockets":["/run/b"]})"), on_53) ==
          "endpoint m: port 53 is where names are refused; choose another, or \"dns\": \"none\"");
    CHECK(refusal(policy_of(R"({"sockets":["/run/b"],"dns":"none"})"), on_53).empty());
    CHECK(refusal(policy_of(R"({"sockets":["/run/b"],"default":"open"})"), on_53).empty());
}

TEST_CASE("B-49: allow lists of request, profile and policy intersect, and deny wins")
{
    const Policy policy = policy_of(R"({"ceiling":"allowlist","deny":["evil.x.org"],
        "allow":["**.x.org","10.0.0.0/8"],
        "profiles":{"p":{"egress":"allowlist","allow":["*.x.org","10.1.0.0/16","github.com"]}}})");
    CHECK(request(policy, none, "p")->allow == *rules::parse_allow("*.x.org, 10.1.0.0/16"));
    CHECK(
        request(policy, {our("allow", "a.x.org, evil.x.org, b.a.x.org, 10.0.0.0/8")}, "p")->allow ==
        *rules::parse_allow("a.x.org, 10.1.0.0/16"));
    CHECK(request(policy, {listed, our("allow", "b.a.x.org, github.com")})->allow ==
          *rules::parse_allow("b.a.x.org"));
}

TEST_CASE("B-47: an allow list of which nothing is left is severed")
{
    const Policy policy =
        policy_of(R"({"ceiling":"allowlist","deny":["10.0.0.0/8"],"allow":["10.0.0.0/8"]})");
    const auto is_severed = [&](const Annotations& annotations) {
        const auto got = request(policy, annotations);
        REQUIRE(got);
        CHECK(got->asked == Egress::allowlist);
        CHECK(got->egress == Egress::off);
        CHECK(got->why == Why::empty_allow);
        CHECK(got->allow.empty());
    };
    is_severed({listed});
    is_severed({listed, our("allow", "")});
    is_severed({listed, our("allow", "[]")});
    is_severed({listed, our("allow", "github.com")});
    is_severed({listed, our("allow", "10.1.0.0/16")});
    is_severed({listed, our("allow", ""), required}); // nothing was asked for
}

TEST_CASE("an allow list beside another egress is refused, not ignored")
{
    const Policy policy = policy_of(R"({"ceiling":"open"})");
    CHECK(refusal(policy, {our("allow", "github.com")}) ==
          "annotation dev.anchorhold.allow needs egress allowlist, not off");
    CHECK(refusal(policy, {open_egress, our("allow", "github.com")}) ==
          "annotation dev.anchorhold.allow needs egress allowlist, not open");
    // Over the ceiling it is tightened like any other wish.
    CHECK(request(Policy(), {listed, our("allow", "github.com")})->why == Why::policy_ceiling);
}

TEST_CASE("where only profiles speak, annotations are read and then ignored")
{
    const Policy policy = policy_of(R"({"annotations":false,"ceiling":"open","sockets":["/run/b"],
        "annotation_profiles":["p"],"profiles":{"p":{"egress":"open"}}})");
    Request expected;
    expected.why = Why::nothing_asked;
    expected.profile = {"off", ChosenBy::fallback};
    CHECK(*request(policy, {open_egress, our("profile", "p"), required,
                            our("endpoints", "m:1=unix:/run/b/x/s")}) == expected);
    CHECK(!refusal(policy, {our("egress", "al")}).empty());
    CHECK(!refusal(policy, {our("egres", "off")}).empty());
}

} // namespace anchorhold::request_test
