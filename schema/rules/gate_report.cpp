// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_report.hpp"

#include "schema/json/json.hpp"

namespace anchorhold::rules {
namespace {

Status read_number(json::View object, std::string_view key, std::int64_t& number)
{
    const auto member = object.find(key);
    if (!member)
        return std::unexpected(object.wrong("has no \"" + std::string(key) + "\""));
    AH_TRY(number, member->integer());
    return {};
}

Result<DeniedName> read_denied_name(json::View value)
{
    DeniedName denied;
    const auto name = value.find("name");
    if (!name)
        return std::unexpected(value.wrong("has no \"name\""));
    AH_TRY(denied.name, name->string());
    AH_CHECK(read_number(value, "count", denied.count));
    AH_CHECK(read_number(value, "last", denied.last));
    return denied;
}

} // namespace

Result<GateReport> read_gate_report(std::string text)
{
    AH_TRY(const json::Document document,
           json::Document::parse(std::move(text), Code::network_setup_failed), "the gate's report");
    const json::View root = document.root();
    GateReport report;
    const auto denied = root.find("denied");
    const auto resets = root.find("resets");
    if (!denied || !resets)
        return std::unexpected(root.wrong("has not \"denied\" and \"resets\""));
    for (const json::View item : denied->items()) {
        AH_TRY(DeniedName name, read_denied_name(item));
        report.denied.push_back(std::move(name));
    }
    for (const json::View item : resets->items()) {
        AH_TRY(const std::int64_t count, item.integer());
        report.resets.emplace_back(item.key(), count);
    }
    AH_CHECK(read_number(root, "others", report.others));
    AH_CHECK(read_number(root, "servfail", report.servfail));
    return report;
}

} // namespace anchorhold::rules
