// SPDX-License-Identifier: Apache-2.0
// A Plan carried out on config.json as splices of its text (DESIGN 5). Everything outside the
// edited spots survives byte for byte; a second pass over our own output changes nothing.
#pragma once

#include "schema/json.hpp"
#include "schema/plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold {

struct Edited {
    std::string text;
    std::vector<std::string> removed_env;   // names, each once, in order
    std::vector<std::string> removed_caps;  // "CAP_NET_RAW"
    std::vector<std::string> removed_hooks; // paths
    std::string seccomp_obstacle;           // a void: why that profile could not be rewritten
};
// config_ambiguous when a member an edit needs has the wrong type.
Result<Edited> edit_config(const json::Document& config, const Plan& plan);

// process.env (an array of strings) with proxies out and `env` set; nullopt: nothing to change.
// Shared with the exec edit.
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
