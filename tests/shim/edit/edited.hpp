// SPDX-License-Identifier: Apache-2.0
// The helpers for tests of edit_config().
#pragma once

#include "shim/edit/config_edit.hpp"

#include <doctest/doctest.h>
#include <initializer_list>

namespace anchorhold {

using namespace edit;

inline json::Document parsed(std::string text)
{
    auto document = json::Document::parse(std::move(text));
    REQUIRE_MESSAGE(document.has_value(), document.error().what);
    return *std::move(document);
}

inline EditedConfig edited(std::string text, const Plan& plan)
{
    const json::Document document = parsed(std::move(text));
    auto result = edit_config(document, plan);
    REQUIRE_MESSAGE(result.has_value(), result.error().what);
    parsed(result->text); // our own gate accepts what we write
    return *std::move(result);
}

inline std::string refusal(std::string text, const Plan& plan)
{
    const json::Document document = parsed(std::move(text));
    const auto result = edit_config(document, plan);
    if (result)
        return "";
    CHECK(result.error().code == Code::config_ambiguous);
    return result.error().what;
}

inline Plan nothing()
{
    Plan plan;
    plan.network = NetworkNamespace::keep;
    return plan;
}

inline std::string text_of(std::initializer_list<std::string_view> parts)
{
    std::string text;
    for (const std::string_view part : parts)
        text += part;
    return text;
}

} // namespace anchorhold
