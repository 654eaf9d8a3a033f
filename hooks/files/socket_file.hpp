// SPDX-License-Identifier: Apache-2.0
// Reaches Unix sockets by their files.
#pragma once

namespace anchorhold::files {

// Connects `socket` to the socket file `place`, a descriptor opened with O_PATH. A path is not
// used: it may be too long for sun_path, and by now it could lead to another file. Returns 0 or an
// errno, never EINTR. The caller keeps both descriptors.
int connect_to_file(int socket, int place);

} // namespace anchorhold::files
