// SPDX-License-Identifier: Apache-2.0
// The files of the host that no container may see. They are recognised by device:inode, because an
// alias made by a bind mount is the same file under another name.
#pragma once

#include "hooks/files/mountinfo.hpp"
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

// Says whether the path has the name of an engine's socket ("/run/podman/podman.sock" and the
// like), wherever it lies.
bool is_engine_socket(std::string_view path);

// The host's files at one moment.
class HostFiles {
public:
    // Looks at the host now. What cannot be looked at is left out.
    static HostFiles look(const InspectionContext& context);

    // Returns why that file may not be bound: "the host's /run", "a directory above
    // /etc/anchorhold"; nothing when it may.
    std::optional<std::string> reason(const FileIdentity& file) const;
    // Returns the Unix sockets below a directory that processes of our network namespace are bound
    // to. A socket that is bound by a relative name, or lives in another namespace, is not among
    // them.
    std::vector<std::string> sockets_below(const std::string& directory) const;
    // Returns the filesystems mounted below a directory.
    std::vector<files::HostMount> mounts_below(const std::string& directory) const;

private:
    void add(const std::string& path, const std::string& reason);
    void add_with_parents(const std::string& path, const std::string& reason);

    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> reasons_;
    std::set<std::string> parents_; // directories that were looked at, with all above them
    std::vector<std::string> sockets_;
    std::vector<files::HostMount> mounts_;
};

} // namespace anchorhold::inspect
