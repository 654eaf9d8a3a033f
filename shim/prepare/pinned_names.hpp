// SPDX-License-Identifier: Apache-2.0
// Looks up the names of an allow list when a run is created. The shim is static and asks the hook,
// which is not: getaddrinfo(3) loads the libraries that nsswitch.conf names.
#pragma once

#include "schema/rules/network.hpp"
#include "shim/runtime/helpers.hpp"

#include <string>
#include <vector>

namespace anchorhold::prepare {

// Returns the addresses of every name in the rules that is no wildcard, each name once, in order.
// No process is started when there is none. Code network_setup_failed when names cannot be looked
// up.
Result<std::vector<rules::PinnedName>> pin_names(const runtime::Helpers& helpers,
                                                 const std::vector<rules::AllowRule>& rules);

// Returns those names.
std::vector<std::string> names_to_pin(const std::vector<rules::AllowRule>& rules);

// Reads the hook's answer about exactly those names and keeps their order. Refuses
// (network_setup_failed) everything else, addresses that are not canonical included.
Result<std::vector<rules::PinnedName>> parse_pinned(std::string answer,
                                                    const std::vector<std::string>& names);

} // namespace anchorhold::prepare
