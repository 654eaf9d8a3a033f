// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/capabilities.hpp"

#include "shim/config/view.hpp"
#include "shim/inspect/namespaces.hpp"

#include <algorithm>
#include <array>

namespace anchorhold::inspect {

namespace {

// The capabilities that are a way out of a network namespace, for a process of the host's own user
// namespace.
constexpr std::array<std::string_view, 9> voiding_capabilities{
    "CAP_SYS_ADMIN", "CAP_SYS_PTRACE",      "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_BPF",
    "CAP_PERFMON",   "CAP_DAC_READ_SEARCH", "CAP_SYS_BOOT",   "CAP_MAC_ADMIN"};

Result<std::vector<json::View>> all_capabilities(const std::optional<json::View>& process)
{
    std::vector<json::View> all;
    const auto sets = config::member(process, "capabilities");
    if (sets)
        AH_CHECK(sets->object());
    for (const std::string_view name : config::capability_sets) {
        AH_TRY(const auto set, config::elements(sets, name));
        all.insert(all.end(), set.begin(), set.end());
    }
    return all;
}

} // namespace

// Other spellings that crun takes ("21", "cap_sys_admin") are not found here; the edit refuses
// them.
Result<std::string> voiding_capabilities_of(const std::optional<json::View>& process)
{
    AH_TRY(const auto views, all_capabilities(process));
    std::vector<std::string> found;
    std::string list;
    for (const json::View view : views) {
        AH_TRY(const std::string name, view.string());
        if (std::ranges::find(voiding_capabilities, name) == voiding_capabilities.end() ||
            std::ranges::find(found, name) != found.end())
            continue;
        found.push_back(name);
        list += (list.empty() ? "" : ", ") + name;
    }
    return list;
}

// A capability is checked against the user namespace that owns the object (capabilities(7)). A user
// namespace of the container's own owns nothing of the host's. But where the host's root is mapped
// into it, that root still owns the host's files.
Status inspect_capabilities(json::View config, Inspection& into)
{
    AH_TRY(const bool own_users, has_own_users(config));
    AH_TRY(const std::string list, voiding_capabilities_of(config::member(config, "process")));
    if (!list.empty() && !own_users) {
        into.voids.push_back({"process.capabilities",
                              "holds " + list +
                                  " over the host; drop them, or give the "
                                  "container a user namespace",
                              "--cap-add, --privileged"});
    }
    return {};
}

} // namespace anchorhold::inspect
