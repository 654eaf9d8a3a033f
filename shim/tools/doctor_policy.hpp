// SPDX-License-Identifier: Apache-2.0
// The policy's profiles, each resolved as for a run that asks for nothing.
#pragma once

#include "hooks/state/probe.hpp"
#include "schema/json/json.hpp"
#include "schema/policy.hpp"

#include <string>
#include <vector>

namespace anchorhold::tools {

struct ProfileState {
    std::string name;
    bool fit = true;  // its runs are not refused for what the profile says
    std::string says; // why they are, or that a broker is not there at the moment
};

// Judges each profile on this host, in the words of create. A broker that is not started is no
// fault of the profile; a socket that can never be one is.
std::vector<ProfileState> look_at_profiles(const Policy& policy,
                                           const std::vector<state::ProbeAnswer>& answers);
bool are_fit(const std::vector<ProfileState>& profiles);

// Writes the array of profiles.
void write_profiles(json::Writer& writer, const std::vector<ProfileState>& profiles);
// Appends a row for each profile of which there is something to say.
void add_profile_rows(std::vector<std::vector<std::string>>& rows,
                      const std::vector<ProfileState>& profiles);

} // namespace anchorhold::tools
