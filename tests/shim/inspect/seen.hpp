// SPDX-License-Identifier: Apache-2.0
// The findings of an inspection, as lines of text.
#pragma once

#include "shim/inspect/inspection.hpp"
#include "shim/inspect/void_kinds.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace anchorhold {

using namespace inspect;

using Texts = std::vector<std::string>;

inline const std::string only = "; mount only what is needed";

struct Seen {
    Texts voids; // "WHERE: WHAT"
    Texts channels;
    Texts advice;
    std::vector<BindSource> sources;
};

inline Seen seen_in(const std::string& config, const InspectionContext& context)
{
    const auto document = json::Document::parse(config);
    REQUIRE_MESSAGE(document.has_value(), document.error().what);
    auto found = inspect_bundle(document->root(), context);
    REQUIRE_MESSAGE(found.has_value(), found.error().what);
    Seen seen;
    for (const Finding& finding : found->voids) {
        CHECK_MESSAGE(void_kind_at(finding.where) != nullptr, finding.where);
        if (finding.where != "linux.resources.devices") // no configuration here has device rules
            seen.voids.push_back(finding.where + ": " + finding.what);
    }
    REQUIRE(found->other_channels.at(0) == "stdio");
    seen.channels.assign(found->other_channels.begin() + 1, found->other_channels.end());
    seen.advice = found->advice;
    seen.sources = found->sources;
    return seen;
}

inline InspectionContext context_of(const Scratch& scratch)
{
    return {.id = {}, .bundle = scratch / "bundle", .own_paths = {}, .places = {}};
}

} // namespace anchorhold
