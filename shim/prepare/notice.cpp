// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/notice.hpp"

namespace anchorhold::prepare {

std::string notice_text(const Record& record, const Record& network)
{
    std::string reached;
    for (const Endpoint& endpoint : network.endpoints)
        reached +=
            "  127.0.0.1:" + std::to_string(endpoint.listen.number()) + "  " + endpoint.name + "\n";
    if (record.posture == Posture::filtered || network.posture == Posture::filtered) {
        for (const std::string& rule : network.allow)
            reached += "  " + printable(rule, 320) + "\n";
    }
    if (reached.empty())
        reached = "  nothing outside of the container\n";
    return "The network of this container is confined by anchorhold.\n\n" + record.sentence +
           "\n\nWhat it can reach:\n" + reached +
           "\nEverything else is refused at once, and other names do not exist here. To try again\n"
           "does not help. Say what you needed: who runs this container can grant it.\n";
}

} // namespace anchorhold::prepare
