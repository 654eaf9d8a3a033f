// SPDX-License-Identifier: Apache-2.0
// A plan that holds everything a plan can, and the check that its edits leave the rest alone.
#pragma once

#include "shim/edit/config_edit.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace anchorhold {

inline Plan everything()
{
    Plan plan;
    plan.drop_setkey_hook = true;
    plan.strip_net_caps = true;
    plan.strip_proxies = true;
    plan.env = {{"ANTHROPIC_BASE_URL", "http://127.0.0.1:8080"}};
    plan.command_prefix = {"/dev/anchorhold/relay", "--"};
    plan.mounts = {{"/dev/anchorhold/relay", "/usr/libexec/anchorhold/anchorhold-relay", {"bind"}}};
    plan.cover_resolv_conf = true;
    plan.resolv_conf = "/run/anchorhold/runs/0123456789ab/inside/resolv.conf";
    plan.extra_pids = 1;
    plan.free_low_ports = true;
    plan.seccomp = {.wanted = true};
    plan.hooks = true;
    plan.hook_path = "/usr/libexec/anchorhold/anchorhold-hook";
    plan.state_dir = "/run/anchorhold";
    plan.key = "0123456789ab";
    plan.generation = "0011223344556677";
    plan.mark = plan.key + "." + plan.generation;
    return plan;
}

// The spots of config.json that a plan may edit. What is below a spot may change, and nothing else.
inline constexpr std::array<std::string_view, 14> edited_spots{"process.args",
                                                               "process.env",
                                                               "process.capabilities.bounding",
                                                               "process.capabilities.effective",
                                                               "process.capabilities.inheritable",
                                                               "process.capabilities.permitted",
                                                               "process.capabilities.ambient",
                                                               "mounts",
                                                               "hooks",
                                                               "annotations",
                                                               "linux.namespaces",
                                                               "linux.sysctl",
                                                               "linux.seccomp",
                                                               "linux.resources.pids.limit"};

inline bool is_spot(const std::string& place)
{
    return std::ranges::find(edited_spots, place) != edited_spots.end();
}

// Returns whether a spot is below this place, or may be put there.
inline bool holds_a_spot(const std::string& place)
{
    return place == "the document" || std::ranges::any_of(edited_spots, [&](auto spot) {
               return spot.starts_with(place + ".");
           });
}

// Returns a place outside the spots where the two differ; empty when there is none.
inline std::string changed_outside(json::View before, json::View after)
{
    const std::string place = before.where();
    if (is_spot(place) || before.raw() == after.raw())
        return {};
    const bool object = before.kind() == json::Kind::object || before.is_null();
    if (!object || after.kind() != json::Kind::object || !holds_a_spot(place))
        return place;
    // The members keep their order, and none is added but a spot or what holds one.
    std::vector<json::View> old = before.items();
    auto next = old.begin();
    for (const json::View& member : after.items()) {
        if (next == old.end() || next->key() != member.key()) {
            if (!is_spot(member.where()) && !holds_a_spot(member.where()))
                return member.where();
        } else if (std::string changed = changed_outside(*next++, member); !changed.empty()) {
            return changed;
        }
    }
    return next == old.end() ? std::string() : next->where();
}

} // namespace anchorhold
