// SPDX-License-Identifier: Apache-2.0
// The first line of the input names the format, the rest is the document.
#include "schema/import/import.hpp"
#include "schema/policy.hpp"

#include "tests/fuzz/embedded.hpp"
#include "tests/fuzz/entry.hpp"

#include <algorithm>

using namespace anchorhold;
using namespace anchorhold::imports;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t line = std::min(text.find('\n'), text.size());
    const std::string document(text.substr(std::min(line + 1, text.size())));
    const auto imported = import_policy(text.substr(0, line), document);
    if (!imported) {
        must(imported.error().code == Code::invalid_request);
        return 0;
    }
    must(json::validate(imported->policy, policy_schema, Code::invalid_policy).has_value());
    const auto policy = parse_policy(imported->policy);
    must(policy.has_value());
    for (const auto& [name, profile] : policy->profiles)
        must(profile.egress != Egress::open && profile.endpoints.empty());
    return 0;
}
