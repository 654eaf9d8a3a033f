// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/env.hpp"

#include "schema/proxy_env.hpp"
#include "shim/config/splice.hpp"
#include "shim/config/view.hpp"

#include <algorithm>
#include <iterator>

namespace anchorhold::edit {
namespace {

void add_once(std::vector<std::string>& list, std::string text)
{
    if (std::ranges::find(list, text) == list.end())
        list.push_back(std::move(text));
}

Result<std::vector<std::string>> entries_of(const std::vector<json::View>& items)
{
    std::vector<std::string> entries;
    for (const json::View& item : items) {
        AH_TRY(entries.emplace_back(), item.bytes());
    }
    return entries;
}

} // namespace

bool sets(const Variables& variables, std::string_view name)
{
    return std::ranges::any_of(variables, [&](const auto& set) { return set.first == name; });
}

Variables variables_for(const std::vector<std::string>& given, const Plan& plan)
{
    Variables variables = plan.env;
    if (!plan.exempt_relay)
        return variables;
    std::vector<std::string> all;
    std::ranges::copy_if(given, std::back_inserter(all), [&](const std::string& entry) {
        return !sets(plan.env, env_name(entry));
    });
    for (const auto& [name, value] : plan.env)
        all.push_back(name + "=" + value);
    if (auto exemption = exempt_relay(all)) {
        std::erase_if(variables, [](const auto& set) {
            return set.first == "NO_PROXY" || set.first == "no_proxy";
        });
        variables.emplace_back("NO_PROXY", std::move(exemption->upper));
        variables.emplace_back("no_proxy", std::move(exemption->lower));
    }
    return variables;
}

Result<EnvEdit> edit_env(json::View process, const Plan& plan)
{
    EnvEdit result;
    config::Edits edits;
    AH_TRY(const auto env, config::container(process, "env", json::Kind::array));
    const std::vector<json::View> items = env ? env->items() : std::vector<json::View>();
    AH_TRY(const std::vector<std::string> entries, entries_of(items));
    const Variables variables = variables_for(entries, plan);
    std::vector<json::View> removed;
    for (std::size_t at = 0; at < items.size(); ++at) {
        const std::string name(env_name(entries[at]));
        const bool proxy = plan.strip_proxies && is_proxy_name(name);
        if (proxy)
            add_once(result.removed, name);
        if (proxy || sets(variables, name))
            removed.push_back(items[at]);
    }
    if (env)
        edits.remove(*env, removed);
    std::string list;
    for (const auto& [name, value] : variables)
        list += (list.empty() ? "" : ",") + json::quote(name + "=" + value);
    if (!list.empty())
        edits.add_to_member(process, "env", json::Kind::array, config::Side::back, list);
    result.splices = std::move(edits).splices();
    return result;
}

} // namespace anchorhold::edit
