// SPDX-License-Identifier: Apache-2.0
// Third stage: what stands on this host: the brokers' sockets, the addresses of names, and what in
// the bundle could make the posture's sentence false.
#pragma once

#include "shim/inspect/command_user.hpp"
#include "shim/inspect/inspection.hpp"
#include "shim/prepare/chosen.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold::prepare {

struct SeenRun {
    inspect::CommandUser user;
    std::vector<EndpointPlace> places;     // of the unix: endpoints; none where the pod has them
    std::optional<rules::Network> network; // of a sealed or filtered run, and of the pod joined
    std::optional<rules::GateRules> gate;  // of a run with a gate
    std::size_t destinations = 0;          // of a filtered run: rules that lead somewhere
    std::string rootfs;                    // host path
    std::string hostname;                  // the container's own name
    std::string given_hosts; // of a filtered run: the text of the hosts file that ours goes over
    std::optional<MountPoints> mount_points; // that the runtime will make for it
    inspect::Inspection inspection;
};

// Looks at the host and changes nothing. Refuses an endpoint that nobody serves, a name that cannot
// be looked up, a bundle that cannot be read.
Result<SeenRun> look(const Session& session, const AskedRun& asked, const ChosenRun& chosen,
                     const ContainerId& id);

} // namespace anchorhold::prepare
