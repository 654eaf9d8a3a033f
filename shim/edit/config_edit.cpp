// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/config_edit.hpp"

#include "schema/request.hpp"
#include "shim/edit/capabilities.hpp"
#include "shim/edit/env.hpp"
#include "shim/edit/hooks.hpp"
#include "shim/edit/linux.hpp"
#include "shim/edit/mounts.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace anchorhold::edit {
namespace {

Status edit_args(json::View process, const std::vector<std::string>& prefix, config::Edits& edits)
{
    AH_TRY(const auto args, config::container(process, "args", json::Kind::array));
    if (!args || args->size() == 0)
        return std::unexpected(process.wrong("expected \"args\" with a command in it"));
    for (const json::View& word : args->items())
        AH_CHECK(word.bytes());
    const std::string list = config::quoted_list(prefix);
    edits.add(*args, config::Side::front, list.substr(1, list.size() - 2));
    return {};
}

Status edit_process(json::View config, const Plan& plan, config::Edits& edits, EditedConfig& edited)
{
    AH_TRY(const auto process, config::container(config, "process", json::Kind::object));
    if (!process && plan.command_prefix.empty())
        return {}; // the runtimes create a container without a process, and start refuses it
    if (!process)
        return std::unexpected(config.wrong("expected \"process\" with a command in it"));
    if (!plan.command_prefix.empty())
        AH_CHECK(edit_args(*process, plan.command_prefix, edits));
    AH_TRY(EnvEdit env, edit_env(*process, plan));
    edits.take(std::move(env.splices));
    edited.removed_env = std::move(env.removed);
    if (plan.strip_net_caps) {
        AH_TRY(CapsEdit caps, edit_capabilities(*process));
        edits.take(std::move(caps.splices));
        edited.removed_caps = std::move(caps.removed);
    }
    return {};
}

// Says whether the config carries the plan's mark already. The mark of another run is an error.
Result<bool> is_marked(json::View config, const Plan& plan)
{
    AH_TRY(const auto annotations, config::container(config, "annotations", json::Kind::object));
    const auto mark = annotations ? annotations->find(mark_annotation) : std::nullopt;
    if (!mark)
        return false;
    AH_TRY(const std::string text, mark->string());
    if (text != plan.mark)
        return std::unexpected(mark->wrong("the edit mark of another run"));
    return true;
}

} // namespace

Result<EditedConfig> edit_config(const json::Document& config, const Plan& plan)
{
    const json::View root = config.root();
    AH_CHECK(root.object());
    EditedConfig edited;
    AH_TRY(const bool marked, is_marked(root, plan));
    if (marked) {
        edited.text = std::string(config.text());
        return edited;
    }
    config::Edits edits;
    AH_CHECK(edit_process(root, plan, edits, edited));
    AH_TRY(edited.seccomp_obstacle, edit_linux(root, plan, edits));
    AH_CHECK(edit_mounts(root, plan, edits));
    AH_TRY(edited.removed_hooks, edit_hooks(root, plan, edits));
    if (!plan.mark.empty()) {
        edits.add_to_member(root, "annotations", json::Kind::object, config::Side::back,
                            json::quote(mark_annotation) + ":" + json::quote(plan.mark));
    }
    edited.text = json::splice(config.text(), std::move(edits).splices());
    return edited;
}

} // namespace anchorhold::edit
