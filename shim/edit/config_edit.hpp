// SPDX-License-Identifier: Apache-2.0
// A Plan carried out on config.json as splices of its text (DESIGN 5). Everything outside the
// edited spots survives byte for byte; a second pass over our own output changes nothing.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anchorhold {

// Does Docker bring the network by a hook of its own, which runs before ours?
Result<bool> plugs_in_by_hook(json::View config);

struct Edited {
    std::string text;
    std::vector<std::string> removed_env;   // names, each once, in order
    std::vector<std::string> removed_caps;  // "CAP_NET_RAW"
    std::vector<std::string> removed_hooks; // paths
    std::string seccomp_obstacle;           // a void: why that profile could not be rewritten
};
// config_ambiguous when a member an edit needs has the wrong type.
Result<Edited> edit_config(const json::Document& config, const Plan& plan);

// What is to be set in a process that is given that environment, replacing equal names: the plan's
// variables, and where proxies stay the relay's exemption from them.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables variables_for(const std::vector<std::string>& given, const Plan& plan);
bool sets(const Variables& variables, std::string_view name);

// process.env (an array of strings) with proxies out and those set. Shared with the exec edit.
struct EnvEdit {
    std::vector<json::Splice> splices;
    std::vector<std::string> removed;
};
Result<EnvEdit> edit_env(json::View process, const Plan& plan);
// The five sets of process.capabilities without CAP_NET_ADMIN and CAP_NET_RAW.
struct CapsEdit {
    std::vector<json::Splice> splices;
    std::vector<std::string> removed;
};
Result<CapsEdit> edit_capabilities(json::View process);

// Where the relay and the sockets can be mounted: "/dev/anchorhold" or another tmpfs of the
// config's own that nothing later covers; endpoint_unavailable when there is none.
// `rootfs` is the absolute root path (a /dev that is a symlink there is refused).
Result<std::string> mount_place(json::View config, const std::string& rootfs);

} // namespace anchorhold
