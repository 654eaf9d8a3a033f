// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/hooks.hpp"

#include "shim/config/view.hpp"

#include <array>

namespace anchorhold::inspect {
namespace {

// The stages behind createRuntime, where our hook runs last (runtime-spec config.md,
// "POSIX-platform Hooks"). poststop is left out: the container is gone by then.
constexpr std::array<std::string_view, 3> late_stages{"createContainer", "startContainer",
                                                      "poststart"};

} // namespace

Status inspect_late_hooks(json::View config, Inspection& into)
{
    const auto hooks = config::member(config, "hooks");
    if (hooks)
        AH_CHECK(hooks->object());
    for (const std::string_view stage : late_stages) {
        AH_TRY(const auto entries, config::elements(hooks, stage));
        for (const json::View entry : entries) {
            AH_CHECK(entry.object());
            AH_TRY(const std::string path, config::text_of(entry, "path"));
            into.other_channels.push_back(entry.where() + ": " + printable(path) +
                                          " runs after the network was verified");
        }
    }
    return {};
}

} // namespace anchorhold::inspect
