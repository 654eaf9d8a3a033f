// SPDX-License-Identifier: Apache-2.0
// What the names of an allow list are when a run is created. The shim is static and asks the hook,
// which is not: getaddrinfo(3) loads what nsswitch.conf names.
#pragma once

#include "schema/rules/network.hpp"
#include "shim/runtime/helpers.hpp"

#include <string>
#include <vector>

namespace anchorhold::prepare {

// Of every rule's name that is no wildcard, each once, in order. No process is started for none.
Result<std::vector<rules::PinnedName>> pin_names(const runtime::Helpers& helpers,
                                                 const std::vector<rules::AllowRule>& rules);

std::vector<std::string> names_to_pin(const std::vector<rules::AllowRule>& rules);

// What the hook answers for exactly those names; their order is kept. Whatever else it says is
// refused, addresses that are not canonical included.
Result<std::vector<rules::PinnedName>> parse_pinned(std::string answer,
                                                    const std::vector<std::string>& names);

} // namespace anchorhold::prepare
