// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/config_edit.hpp"

#include "schema/request.hpp"
#include "shim/edit/config_parts.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace anchorhold {
namespace {

// runtime-spec config.md, "POSIX-platform Hooks". A timeout of 0 means "at once" to runc and
// "never" to crun; without `env` a hook gets whatever its caller has, podman's cleanup nothing.
std::string our_hook(const Plan& plan, const char* verb)
{
    return "{\"path\":" + json::quote(plan.hook_path) + ",\"args\":" +
           quoted_list(
               {plan.hook_path, "--state", plan.state_dir, verb, plan.key, plan.generation}) +
           ",\"env\":[],\"timeout\":10}";
}

// dockerd plugs the network in by a prestart hook: itself, called as "libnetwork-setkey".
Result<bool> is_setkey_hook(json::View hook)
{
    AH_CHECK(hook.object());
    AH_TRY(const auto args, container(hook, "args", json::Kind::array));
    const std::vector<json::View> words = args ? args->items() : std::vector<json::View>();
    for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 2); ++i) {
        AH_TRY(const std::string word, words[i].bytes());
        if (word == "libnetwork-setkey")
            return true;
    }
    return false;
}

Result<std::vector<std::string>> drop_setkey(json::View hooks, Edits& edits)
{
    std::vector<std::string> paths;
    std::vector<json::View> removed;
    AH_TRY(const auto prestart, container(hooks, "prestart", json::Kind::array));
    if (!prestart)
        return paths;
    for (const json::View& hook : prestart->items()) {
        AH_TRY(const bool setkey, is_setkey_hook(hook));
        if (!setkey)
            continue;
        removed.push_back(hook);
        const auto path = hook.find("path");
        paths.push_back(path ? path->bytes().value_or("") : "");
    }
    edits.remove(*prestart, removed);
    return paths;
}

Status edit_args(json::View process, const std::vector<std::string>& prefix, Edits& edits)
{
    AH_TRY(const auto args, container(process, "args", json::Kind::array));
    if (!args || args->size() == 0)
        return std::unexpected(process.wrong("expected \"args\" with a command in it"));
    for (const json::View& word : args->items())
        AH_CHECK(word.bytes());
    const std::string list = quoted_list(prefix);
    edits.add(*args, Side::front, list.substr(1, list.size() - 2));
    return {};
}

Status edit_process(json::View config, const Plan& plan, Edits& edits, Edited& edited)
{
    AH_TRY(const auto process, container(config, "process", json::Kind::object));
    if (!process && plan.command_prefix.empty())
        return {}; // the runtimes create such a container, and start refuses it
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

// Is the plan's mark there already?
Result<bool> is_marked(json::View config, const Plan& plan)
{
    AH_TRY(const auto annotations, container(config, "annotations", json::Kind::object));
    const auto mark = annotations ? annotations->find(mark_annotation) : std::nullopt;
    if (!mark)
        return false;
    AH_TRY(const std::string text, mark->string());
    if (text != plan.mark)
        return std::unexpected(mark->wrong("the edit mark of another run"));
    return true;
}

} // namespace

Result<bool> plugs_in_by_hook(json::View config)
{
    AH_TRY(const auto hooks, container(config, "hooks", json::Kind::object));
    if (!hooks)
        return false;
    AH_TRY(const auto prestart, container(*hooks, "prestart", json::Kind::array));
    for (const json::View& hook : prestart ? prestart->items() : std::vector<json::View>()) {
        AH_TRY(const bool setkey, is_setkey_hook(hook));
        if (setkey)
            return true;
    }
    return false;
}

Result<std::vector<std::string>> edit_hooks(json::View config, const Plan& plan, Edits& edits)
{
    const std::string up = plan.hooks ? our_hook(plan, "up") : "";
    const std::string down = plan.hooks ? our_hook(plan, "down") : "";
    AH_TRY(const auto hooks, container(config, "hooks", json::Kind::object));
    std::vector<std::string> removed;
    if (hooks && plan.drop_setkey_hook) {
        AH_TRY(removed, drop_setkey(*hooks, edits));
    }
    if (!plan.hooks)
        return removed;
    if (!hooks) {
        edits.add_to_member(config, "hooks", json::Kind::object, Side::back,
                            "\"createRuntime\":[" + up + "],\"poststop\":[" + down + "]");
        return removed;
    }
    for (const auto* stage : {"createRuntime", "poststop"})
        AH_CHECK(container(*hooks, stage, json::Kind::array));
    // Up comes after the engine's own, to see what they plugged in; down before them.
    edits.add_to_member(*hooks, "createRuntime", json::Kind::array, Side::back, up);
    edits.add_to_member(*hooks, "poststop", json::Kind::array, Side::front, down);
    return removed;
}

Result<Edited> edit_config(const json::Document& config, const Plan& plan)
{
    const json::View root = config.root();
    AH_CHECK(root.object());
    Edited edited;
    AH_TRY(const bool marked, is_marked(root, plan));
    if (marked) {
        edited.text = std::string(config.text());
        return edited;
    }
    Edits edits;
    AH_CHECK(edit_process(root, plan, edits, edited));
    AH_TRY(edited.seccomp_obstacle, edit_linux(root, plan, edits));
    AH_CHECK(edit_mounts(root, plan, edits));
    AH_TRY(edited.removed_hooks, edit_hooks(root, plan, edits));
    if (!plan.mark.empty()) {
        edits.add_to_member(root, "annotations", json::Kind::object, Side::back,
                            json::quote(mark_annotation) + ":" + json::quote(plan.mark));
    }
    edited.text = json::splice(config.text(), std::move(edits).splices());
    return edited;
}

} // namespace anchorhold
