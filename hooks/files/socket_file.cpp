// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/socket_file.hpp"

#include <cerrno>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

namespace anchorhold::files {

int connect_to_file(int socket, int place)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(place);
    path.copy(std::data(address.sun_path), sizeof address.sun_path - 1);
    const auto* const raw = reinterpret_cast<const sockaddr*>(&address);
    int number = EINTR;
    while (number == EINTR)
        number = ::connect(socket, raw, sizeof address) == 0 ? 0 : errno;
    return number;
}

} // namespace anchorhold::files
