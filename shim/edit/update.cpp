// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/update.hpp"

#include "shim/config/oci_keys.hpp"
#include "shim/config/splice.hpp"
#include "shim/edit/linux.hpp"

namespace anchorhold::edit {
namespace {

// The text around a resources file, so that it is read as a part of config.json: error places and
// rules are the same.
constexpr std::string_view before_resources = R"({"linux":{"resources":)";
constexpr std::string_view behind_resources = "}}";

} // namespace

Result<json::Document> parse_resources(std::string_view text)
{
    // By itself first: behind its end nothing may stand that the text around it would swallow.
    AH_TRY(const json::Document alone,
           json::Document::parse(std::string(text), Code::invalid_request));
    AH_CHECK(alone.root().object());
    AH_TRY(auto document, json::Document::parse(std::string(before_resources) + std::string(text) +
                                                    std::string(behind_resources),
                                                Code::invalid_request));
    AH_CHECK(config::check_oci_keys(document.root(), config::OciKeys::all));
    return document;
}

Result<std::string> edit_resources(const json::Document& resources, std::int64_t extra_pids)
{
    AH_TRY(const auto section, config::container(resources.root(), "linux", json::Kind::object));
    config::Edits edits;
    AH_CHECK(edit_pids(*section, extra_pids, edits));
    const std::string text = json::splice(resources.text(), std::move(edits).splices());
    return text.substr(before_resources.size(),
                       text.size() - before_resources.size() - behind_resources.size());
}

std::vector<std::string> edit_limits(std::vector<std::string> rest, const words::Invocation& call,
                                     std::int64_t extra_pids)
{
    for (const words::OptionAt& option : call.options) {
        if (option.name == "pids-limit")
            rest = words::with_value(std::move(rest), option, raised(option.value, extra_pids));
    }
    return rest;
}

} // namespace anchorhold::edit
