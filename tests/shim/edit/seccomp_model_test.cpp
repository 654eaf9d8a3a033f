// SPDX-License-Identifier: Apache-2.0
// The calls that an edited profile lets through, by a model of how runtimes read rules.
#include "tests/files.hpp"
#include "tests/shim/edit/seccomp_texts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

namespace anchorhold::seccomp_model_test {

using namespace edit;
namespace {

std::uint64_t number(json::View object, std::string_view key)
{
    const auto member = object.find(key);
    return member ? static_cast<std::uint64_t>(*member->integer()) : 0;
}

bool holds(json::View condition, std::uint64_t argument)
{
    const std::uint64_t value = number(condition, "value");
    const std::string op = *condition.find("op")->string();
    if (op == "SCMP_CMP_MASKED_EQ")
        return (argument & value) == number(condition, "valueTwo");
    return op == "SCMP_CMP_EQ"   ? argument == value
           : op == "SCMP_CMP_NE" ? argument != value
           : op == "SCMP_CMP_LT" ? argument < value
           : op == "SCMP_CMP_LE" ? argument <= value
           : op == "SCMP_CMP_GE" ? argument >= value
                                 : argument > value;
}

using Call = std::array<std::uint64_t, 3>; // socket(family, type, protocol)

bool matches(json::View rule, const Call& call)
{
    const auto conditions = rule.find("args");
    if (!conditions || conditions->size() == 0)
        return true;
    std::set<std::uint64_t> arguments;
    bool all = true;
    bool any = false;
    for (const json::View condition : conditions->items()) {
        arguments.insert(number(condition, "index"));
        const bool held = holds(condition, call.at(number(condition, "index")));
        all = all && held;
        any = any || held;
    }
    return arguments.size() < conditions->size() ? any : all;
}

bool socket_matches(json::View rules, std::string_view action, const Call& call)
{
    return std::ranges::any_of(rules.items(), [&](json::View rule) {
        const auto names = rule.find("names")->items();
        return *rule.find("action")->string() == action &&
               std::ranges::any_of(names,
                                   [](json::View name) { return *name.string() == "socket"; }) &&
               matches(rule, call);
    });
}

bool is_kept_protocol(std::uint64_t number)
{
    return std::ranges::find(netlink_protocols, number) != std::end(netlink_protocols);
}

bool is_kept(std::uint64_t number)
{
    return number == 1 || number == 2 || number == 10 || number == 16 || number == 17;
}

} // namespace

TEST_CASE("every family but five is denied, those not invented yet included")
{
    const json::Document document = parsed(whole_profile(closed, "x86_64"));
    const json::View rules = *document.root().find("syscalls");
    const auto denied = [&](std::uint64_t family) {
        return socket_matches(rules, "SCMP_ACT_ERRNO", {family, 0, 0});
    };
    for (std::uint64_t family = 0; family < 4096; ++family) {
        CHECK(denied(family) == !is_kept(family));
        // The kernel does not see that bit.
        CHECK(denied(family | (1ULL << 32)) == !is_kept(family));
    }
    for (unsigned bit = 5; bit < 32; ++bit)
        for (std::uint64_t family = 0; family < 64; ++family)
            CHECK(denied((1ULL << bit) | family));
}

TEST_CASE("every protocol of netlink but seven is denied, those not invented yet included")
{
    const json::Document document = parsed(whole_profile(closed, "x86_64"));
    const json::View rules = *document.root().find("syscalls");
    const auto denied = [&](std::uint64_t family, std::uint64_t protocol) {
        return socket_matches(rules, "SCMP_ACT_ERRNO", {family, 3, protocol});
    };
    for (const std::uint64_t high : {0ULL, 1ULL << 32}) {
        for (std::uint64_t protocol = 0; protocol < 4096; ++protocol) {
            CHECK(denied(high | 16, high | protocol) == !is_kept_protocol(protocol));
            CHECK(!denied(2, protocol));
        }
    }
}

TEST_CASE("what sockets a profile lets through is what it let through before and no other family")
{
    std::vector<std::string> conditions = {""};
    for (const char* const op : {"EQ", "NE", "LT", "LE", "GE", "GT"})
        for (const unsigned value : {0U, 2U, 16U, 40U})
            conditions.push_back(R"({"index":0,"value":)" + std::to_string(value) +
                                 R"(,"op":"SCMP_CMP_)" + op + R"("})");
    for (const char* const masked :
         {R"("value":4294967295,"valueTwo":2)", R"("value":3,"valueTwo":1)"})
        conditions.push_back(R"({"index":0,)" + std::string(masked) +
                             R"(,"op":"SCMP_CMP_MASKED_EQ"})");
    const std::vector<std::string> others = {"", R"({"index":2,"value":9,"op":"SCMP_CMP_NE"})",
                                             R"({"index":0,"value":40,"op":"SCMP_CMP_NE"})"};
    for (const std::string& one : conditions)
        for (const std::string& two : others) {
            const std::string both = one + (one.empty() || two.empty() ? "" : ",") + two;
            const std::string text = profile("SCMP_ACT_ERRNO", family_rule("ALLOW", both));
            const json::Document before = parsed(text);
            const json::Document after = parsed(edited(text));
            for (std::uint64_t family = 0; family < 64; ++family)
                for (std::uint64_t protocol = 0; protocol < 24; ++protocol) {
                    const Call call = {family, 1, protocol};
                    const auto permits = [&](const json::Document& document) {
                        return socket_matches(*document.root().find("syscalls"), "SCMP_ACT_ALLOW",
                                              call);
                    };
                    CAPTURE(both);
                    CAPTURE(family);
                    const bool kept =
                        is_kept(family) && (family != 16 || is_kept_protocol(protocol));
                    CHECK(permits(after) == (permits(before) && kept));
                }
        }
}

TEST_CASE("engines' own configs come back changed in nothing but the rules that permit")
{
    for (const char* const name :
         {"ctr-seccomp", "ctr-plain", "podman-plain", "podman-privileged", "podman-cap-drop-all",
          "podman-seccomp-unconfined", "docker-plain", "cri-sandbox"}) {
        CAPTURE(name);
        const json::Document before =
            parsed(source_file("tests/fixtures/" + std::string(name) + ".json"));
        const json::Document after = parsed(edited_config(std::string(before.text())));
        const auto profile_of = [](const json::Document& document) {
            return document.root().find("linux")->find("seccomp");
        };
        const json::View now = *profile_of(after);
        const auto was = profile_of(before);
        std::string restored(after.text());
        restored.replace(now.span().begin, now.span().end - now.span().begin,
                         was ? was->raw() : "");
        if (!was)
            restored.erase(now.key_span().begin, std::string_view(R"("seccomp":,)").size());
        CHECK(restored == before.text());
        for (const json::View rule : now.find("syscalls")->items())
            for (const json::View call : rule.find("names")->items())
                if (*rule.find("action")->string() == "SCMP_ACT_ALLOW") {
                    const std::string word = *call.string();
                    CHECK(word != "pidfd_getfd");
                    CHECK(word != "socketcall");
                    CHECK(!word.starts_with("io_uring"));
                    CHECK(((word != "socket" && word != "socketpair") ||
                           is_kept(number(rule.find("args")->items()[0], "value"))));
                }
    }
}

} // namespace anchorhold::seccomp_model_test
