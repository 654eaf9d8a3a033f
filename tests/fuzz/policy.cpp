// SPDX-License-Identifier: Apache-2.0
#include "schema/policy.hpp"

#include "tests/fuzz/embedded.hpp"
#include "tests/fuzz/entry.hpp"

using namespace anchorhold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto policy = parse_policy(text);
    if (!policy) {
        must(policy.error().code == Code::invalid_policy);
        return 0;
    }
    must(json::validate(text, policy_schema, Code::invalid_policy).has_value());
    must(policy->find("off") != nullptr && policy->find("off")->egress == Egress::off);
    must(policy->find(policy->fallback) != nullptr);
    must(policy->pool.is_v4() && policy->pool.length() >= 8 && policy->pool.length() <= 29);
    for (const auto& [name, profile] : policy->profiles)
        must(name == profile.name && is_short_name(name) &&
             check_distinct(profile.endpoints, Code::invalid_policy));
    return 0;
}
