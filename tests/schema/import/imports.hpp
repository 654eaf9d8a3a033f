// SPDX-License-Identifier: Apache-2.0
// The helpers for tests of the imported formats: they compare a whole policy, and the whole list of
// what was lost.
#pragma once

#include "schema/import/import.hpp"
#include "schema/policy.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

using namespace imports;

using Lines = std::vector<std::string>;

inline Imported imported(std::string_view format, std::string text)
{
    auto result = import_policy(format, std::move(text));
    REQUIRE_MESSAGE(result.has_value(), result.error().what);
    return *std::move(result);
}

inline Policy policy_in(std::string text)
{
    auto policy = parse_policy(std::move(text));
    REQUIRE_MESSAGE(policy.has_value(), policy.error().what);
    return *std::move(policy);
}

inline std::string import_refusal(std::string_view format, std::string text)
{
    const auto result = import_policy(format, std::move(text));
    if (result)
        return "";
    CHECK(result.error().code == Code::invalid_request);
    return result.error().what;
}

// Returns a policy with the one profile "imported"; without rules its egress is off.
inline Policy one_profile(const std::string& allow, const std::string& deny = "[]")
{
    const std::string egress = allow == "[]" ? R"("off")" : R"("allowlist","allow":)" + allow;
    return policy_in(R"({"default":"imported","deny":)" + deny +
                     R"(,"profiles":{"imported":{"egress":)" + egress + "}}}");
}

} // namespace anchorhold
