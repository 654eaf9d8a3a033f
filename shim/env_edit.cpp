// SPDX-License-Identifier: Apache-2.0
// process.env and process.capabilities, of config.json and of an exec's process alike.
#include "schema/proxy_env.hpp"
#include "shim/config_edit.hpp"
#include "shim/json_edit.hpp"

#include <algorithm>

namespace anchorhold {
namespace {

constexpr std::string_view capability_sets[] = {"bounding", "effective", "inheritable", "permitted",
                                                "ambient"};

void add_once(std::vector<std::string>& list, std::string text)
{
    if (std::ranges::find(list, text) == list.end())
        list.push_back(std::move(text));
}

bool is_replaced(std::string_view name, const Plan& plan)
{
    return std::ranges::any_of(plan.env, [&](const auto& set) { return set.first == name; });
}

// crun hands the text to cap_from_name(3), which ignores letter case and what follows, and takes
// numbers ("13", "0xd", "015" are all CAP_NET_RAW); runc takes exactly this spelling (measured).
bool is_plain_capability(std::string_view name)
{
    return name.starts_with("CAP_") && std::ranges::all_of(name, [](char c) {
               return (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
           });
}

} // namespace

Result<EnvEdit> edit_env(json::View process, const Plan& plan)
{
    EnvEdit result;
    Edits edits;
    AH_TRY(const auto env, container(process, "env", json::Kind::array), "");
    if (env) {
        std::vector<json::View> removed;
        for (const json::View& entry : env->items()) {
            AH_TRY(const std::string text, entry.bytes(), "");
            const std::string name(env_name(text));
            const bool proxy = plan.strip_proxies && is_proxy_name(name);
            if (proxy)
                add_once(result.removed, name);
            if (proxy || is_replaced(name, plan))
                removed.push_back(entry);
        }
        edits.remove(*env, removed);
    }
    std::string list;
    for (const auto& [name, value] : plan.env)
        list += (list.empty() ? "" : ",") + json::quote(name + "=" + value);
    if (!list.empty())
        edits.add_to_member(process, "env", json::Kind::array, Side::back, list);
    result.splices = std::move(edits).splices();
    return result;
}

Result<CapsEdit> edit_capabilities(json::View process)
{
    CapsEdit result;
    Edits edits;
    // Absent means none at all, to runc and crun alike (measured).
    AH_TRY(const auto capabilities, container(process, "capabilities", json::Kind::object), "");
    if (!capabilities)
        return result;
    for (const std::string_view name : capability_sets) {
        AH_TRY(const auto set, container(*capabilities, name, json::Kind::array), "");
        if (!set)
            continue;
        std::vector<json::View> removed;
        for (const json::View& entry : set->items()) {
            const Result<std::string> capability = entry.string();
            if (!capability)
                return std::unexpected(capability.error());
            if (!is_plain_capability(*capability))
                return std::unexpected(
                    entry.wrong(quoted(*capability, 64) + " is no capability's one spelling"));
            if (*capability != "CAP_NET_ADMIN" && *capability != "CAP_NET_RAW")
                continue;
            removed.push_back(entry);
            add_once(result.removed, *capability);
        }
        edits.remove(*set, removed);
    }
    result.splices = std::move(edits).splices();
    return result;
}

} // namespace anchorhold
