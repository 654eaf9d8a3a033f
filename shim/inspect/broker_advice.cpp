// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/broker_advice.hpp"

#include <sys/stat.h>

namespace anchorhold::inspect {

namespace {

// Returns the uid under which a broker serves; nothing where that cannot be known. SO_PEERCRED has
// the uid of who called listen(2). That may have been root, which binds the socket and then becomes
// somebody else, or process 1, which hands it to a service. /proc/PID belongs to the uid that the
// process has now (proc(5)).
std::optional<uid_t> uid_of_broker(const SocketServer& server)
{
    struct stat process = {};
    const std::string path = "/proc/" + std::to_string(server.pid);
    if (server.pid > 1 && ::lstat(path.c_str(), &process) == 0)
        return process.st_uid;
    return server.uid == uid_t{0} ? std::nullopt : server.uid;
}

} // namespace

// pidfd_getfd(2) asks what ptrace(2) calls "Ptrace access mode checking". The asker needs the same
// uid, the target must be dumpable, and in the same user namespace the target must hold no
// capability that the asker lacks. Measured: a container in a user namespace of its own is refused
// even under the broker's uid.
std::optional<std::string> broker_advice(const SocketServer& server, const CommandUser& user)
{
    const auto uid = uid_of_broker(server);
    if (!uid || user.own_users || (!user.takes_any_uid && user.host_uid != *uid))
        return std::nullopt;
    // The files in /proc/PID become root's when the process is not dumpable; the directory itself
    // always shows the euid (proc(5)). A process that is gone cannot be judged.
    struct stat file = {};
    const std::string path = "/proc/" + std::to_string(server.pid) + "/environ";
    const bool seen = server.pid > 0 && ::lstat(path.c_str(), &file) == 0;
    if (seen && *uid != 0 && file.st_uid == 0)
        return std::nullopt;
    return "endpoint " + server.place.endpoint.name + ": its broker runs as uid " +
           std::to_string(*uid) +
           ", which the container may be, and could be robbed of its descriptors: give the broker "
           "a uid of its own, not dumpable";
}

} // namespace anchorhold::inspect
