// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/capabilities.hpp"

#include "shim/config/splice.hpp"
#include "shim/config/view.hpp"

#include <algorithm>

namespace anchorhold::edit {
namespace {

// Says whether the name has the spelling that all runtimes read alike. crun hands the text to
// cap_from_name(3), which ignores letter case and what follows, and takes numbers ("13", "0xd" and
// "015" are all CAP_NET_RAW). runc takes exactly this spelling (measured).
bool is_plain_capability(std::string_view name)
{
    return name.starts_with("CAP_") && std::ranges::all_of(name, [](char c) {
               return (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
           });
}

} // namespace

Result<CapsEdit> edit_capabilities(json::View process)
{
    CapsEdit result;
    config::Edits edits;
    // A missing member means no capabilities at all, to runc and crun alike (measured).
    AH_TRY(const auto capabilities, config::container(process, "capabilities", json::Kind::object));
    if (!capabilities)
        return result;
    for (const std::string_view name : config::capability_sets) {
        AH_TRY(const auto set, config::container(*capabilities, name, json::Kind::array));
        if (!set)
            continue;
        std::vector<json::View> removed;
        for (const json::View& entry : set->items()) {
            const Result<std::string> capability = entry.string();
            if (!capability)
                return std::unexpected(capability.error());
            if (!is_plain_capability(*capability)) {
                return std::unexpected(
                    entry.wrong(in_quotes(*capability, 64) + " is no capability's one spelling"));
            }
            if (*capability != "CAP_NET_ADMIN" && *capability != "CAP_NET_RAW")
                continue;
            removed.push_back(entry);
            if (std::ranges::find(result.removed, *capability) == result.removed.end())
                result.removed.push_back(*capability);
        }
        edits.remove(*set, removed);
    }
    result.splices = std::move(edits).splices();
    return result;
}

} // namespace anchorhold::edit
