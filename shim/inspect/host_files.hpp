// SPDX-License-Identifier: Apache-2.0
// What of the host no container may see, recognised by device:inode: an alias made by a bind mount
// is the same file under another name.
#pragma once

#include "hooks/state/mountinfo.hpp"
#include "schema/file_identity.hpp"
#include "shim/inspect/inspection.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anchorhold::inspect {

// "/run/podman/podman.sock" and the like: by its name, wherever it lies.
bool is_engine_socket(std::string_view path);

class HostFiles {
public:
    static HostFiles look(const InspectionContext& context);

    // Why that file may not be bound: "the host's /run", "a directory above /etc/anchorhold";
    // nothing when it may.
    std::optional<std::string> reason(const FileIdentity& file) const;
    // Unix sockets of our network namespace that processes are bound to below a directory. What
    // is bound by a relative name, or lives in another namespace, is not among them.
    std::vector<std::string> sockets_below(const std::string& directory) const;
    // Filesystems mounted below a directory.
    std::vector<state::HostMount> mounts_below(const std::string& directory) const;

private:
    void add(const std::string& path, const std::string& reason);
    void add_with_parents(const std::string& path, const std::string& reason);

    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> reasons_;
    std::set<std::string> parents_; // that were looked at, and all above them
    std::vector<std::string> sockets_;
    std::vector<state::HostMount> mounts_;
};

} // namespace anchorhold::inspect
