// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/hooks.hpp"

#include "shim/config/setkey_hook.hpp"

#include <utility>

namespace anchorhold::edit {

namespace {

// Returns our hook as an entry of config.json (runtime-spec config.md, "POSIX-platform Hooks"). The
// timeout is 10 s, because 0 means "at once" to runc and "never" to crun. `env` is given, because
// without it a hook gets whatever its caller has, and from podman's cleanup nothing.
std::string our_hook(const Plan& plan, const char* verb)
{
    return "{\"path\":" + json::quote(plan.hook_path) + ",\"args\":" +
           config::quoted_list(
               {plan.hook_path, "--state", plan.state_dir, verb, plan.key, plan.generation}) +
           ",\"env\":[],\"timeout\":10}";
}

// Takes Docker's hooks out of hooks.prestart and returns their paths.
Result<std::vector<std::string>> drop_setkey(json::View hooks, config::Edits& edits)
{
    std::vector<std::string> paths;
    std::vector<json::View> removed;
    AH_TRY(const auto prestart, config::container(hooks, "prestart", json::Kind::array));
    if (!prestart)
        return paths;
    for (const json::View& hook : prestart->items()) {
        AH_TRY(const bool setkey, config::is_setkey_hook(hook));
        if (!setkey)
            continue;
        removed.push_back(hook);
        const auto path = hook.find("path");
        paths.push_back(path ? path->bytes().value_or("") : "");
    }
    edits.remove(*prestart, removed);
    return paths;
}

} // namespace

Result<std::vector<std::string>> edit_hooks(json::View config, const Plan& plan,
                                            config::Edits& edits)
{
    const std::string up = plan.hooks ? our_hook(plan, "up") : "";
    const std::string down = plan.hooks ? our_hook(plan, "down") : "";
    AH_TRY(const auto hooks, config::container(config, "hooks", json::Kind::object));
    std::vector<std::string> removed;
    if (hooks && plan.drop_setkey_hook) {
        AH_TRY(removed, drop_setkey(*hooks, edits));
    }
    if (!plan.hooks)
        return removed;
    if (!hooks) {
        edits.add_to_member(config, "hooks", json::Kind::object, config::Side::back,
                            "\"createRuntime\":[" + up + "],\"poststop\":[" + down + "]");
        return removed;
    }
    for (const auto* stage : {"createRuntime", "poststop"})
        AH_CHECK(config::container(*hooks, stage, json::Kind::array));
    // `up` stands behind the engine's own hooks, to see what they plugged in; `down` stands before
    // them.
    edits.add_to_member(*hooks, "createRuntime", json::Kind::array, config::Side::back, up);
    edits.add_to_member(*hooks, "poststop", json::Kind::array, config::Side::front, down);
    return removed;
}

} // namespace anchorhold::edit
