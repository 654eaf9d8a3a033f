// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/broker_advice.hpp"

#include <sys/stat.h>

namespace anchorhold::inspect {

// pidfd_getfd(2) asks what ptrace(2) calls "Ptrace access mode checking". The asker needs the same
// uid, the target must be dumpable, and in the same user namespace the target must hold no
// capability that the asker lacks. Measured: a container in a user namespace of its own is refused
// even under the broker's uid.
std::optional<std::string> broker_advice(const SocketServer& server, const CommandUser& user)
{
    const bool same_uid = user.takes_any_uid || user.host_uid == server.uid;
    if (user.own_users || (server.uid && !same_uid))
        return std::nullopt;
    // The files in /proc/PID become root's when the process is not dumpable; the directory itself
    // always shows the euid (proc(5)). A process that is gone cannot be judged.
    struct stat file = {};
    const std::string path = "/proc/" + std::to_string(server.pid) + "/environ";
    const bool seen = server.pid > 0 && ::lstat(path.c_str(), &file) == 0;
    if (seen && server.uid != 0 && file.st_uid == 0)
        return std::nullopt;
    const std::string who = server.uid ? "uid " + std::to_string(*server.uid) : "an unknown uid";
    return "endpoint " + server.place.endpoint.name + ": its broker runs as " + who +
           ", which the container may be, and could be robbed of its descriptors: give the broker "
           "a uid of its own, not dumpable";
}

} // namespace anchorhold::inspect
