// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hooks/net/links.hpp"

namespace anchorhold::net {

// Returns the MACs from which the host sends to these links of a container. Empty when that is not
// known of all of them: it is known of a veth whose other end is the host's, by itself or as a port
// of a bridge. A bridge without a MAC of its own takes one of its ports', so all of those count.
// Nobody else can have them and get answers: a bridge keeps what is sent to a MAC of its own.
std::vector<std::string> macs_of_node(const std::vector<Link>& inside,
                                      const std::vector<Link>& host);

} // namespace anchorhold::net
