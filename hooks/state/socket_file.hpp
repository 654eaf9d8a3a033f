// SPDX-License-Identifier: Apache-2.0
// Unix sockets by their files.
#pragma once

namespace anchorhold::state {

// Connects `socket` to the socket file that `place`, a descriptor opened with O_PATH, is of: a path
// may be longer than sun_path, and could lead elsewhere by now. 0 or an errno, never EINTR.
int connect_to_file(int socket, int place);

} // namespace anchorhold::state
