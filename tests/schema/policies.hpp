// SPDX-License-Identifier: Apache-2.0
// Policies of tests: read, and compared with the schema that is handed out.
#pragma once

#include "schema/policy.hpp"
#include "tests/files.hpp"

#include <doctest/doctest.h>

namespace anchorhold {

inline Policy policy_of(std::string text)
{
    static const std::string schema = source_file("schema/policy.schema.json");
    const auto valid = json::validate(text, schema, Code::invalid_policy);
    CHECK_MESSAGE(valid.has_value(), valid.error().what);
    auto policy = parse_policy(std::move(text));
    REQUIRE_MESSAGE(policy.has_value(), policy.error().what);
    return *std::move(policy);
}

// Returns why it is refused; empty: it is not.
inline std::string refusal(std::string text)
{
    const auto policy = parse_policy(std::move(text));
    if (policy)
        return "";
    CHECK(policy.error().code == Code::invalid_policy);
    return policy.error().what;
}

} // namespace anchorhold
