// SPDX-License-Identifier: Apache-2.0
// Seccomp profiles as text, and the text that the edit makes of them.
#pragma once

#include "shim/edit/seccomp.hpp"
#include "tests/shim/edit/edited.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace anchorhold {

using namespace edit;

constexpr SeccompPlan closed = {.wanted = true, .deny_vsock = true};
constexpr SeccompPlan vsock_open = {.wanted = true, .deny_vsock = false};

// Returns the config after the edit, and checks that a second edit changes nothing.
inline std::string edited_config(const std::string& config, const SeccompPlan& plan = closed)
{
    const json::Document before = parsed(config);
    const auto edit = edit_seccomp(before.root(), plan);
    REQUIRE_MESSAGE(edit.has_value(), edit.error().what);
    REQUIRE(edit->obstacle == "");
    const json::Document after = parsed(json::splice(before.text(), edit->splices));
    const auto again = edit_seccomp(after.root(), plan);
    REQUIRE(again.has_value());
    CHECK(again->splices == std::vector<json::Splice>{});
    return std::string(after.text());
}

inline std::string around(const std::string& profile)
{
    return R"({"linux":{"seccomp":)" + profile + "}}";
}

inline std::string edited(const std::string& profile, const SeccompPlan& plan = closed)
{
    const std::string config = edited_config(around(profile), plan);
    return config.substr(around("").size() - 2, config.size() - around("").size());
}

inline std::string profile(const std::string& action, const std::string& rules)
{
    return R"({"defaultAction":")" + action + R"(","syscalls":[)" + rules + "]}";
}

// Returns a rule on socket(2) with one condition.
inline std::string family_rule(const std::string& action, const std::string& condition)
{
    return R"({"names":["socket"],"action":"SCMP_ACT_)" + action + R"(","args":[)" + condition +
           "]}";
}

inline std::string family(unsigned number)
{
    return R"({"index":0,"value":)" + std::to_string(number) + R"(,"op":"SCMP_CMP_EQ"})";
}

constexpr unsigned netlink_protocols[] = {0, 2, 4, 6, 12, 15, 16};

inline std::string protocol(unsigned number)
{
    return R"({"index":2,"value":)" + std::to_string(number) + R"(,"op":"SCMP_CMP_EQ"})";
}

// Returns the rules that grant families; netlink (16) protocol by protocol.
inline std::string granted(const std::vector<unsigned>& families, const std::string& more = "")
{
    std::string rules;
    const auto add = [&](const std::string& conditions) {
        rules += (rules.empty() ? "" : ",") + family_rule("ALLOW", conditions + more);
    };
    for (const unsigned number : families) {
        if (number != 16) {
            add(family(number));
            continue;
        }
        for (const unsigned netlink : netlink_protocols)
            add(family(number) + "," + protocol(netlink));
    }
    return rules;
}

} // namespace anchorhold
