// SPDX-License-Identifier: Apache-2.0
// Resolves names with the host's own resolver: getaddrinfo(3), which follows nsswitch.conf and
// resolv.conf. It has no time-out of its own and cannot be interrupted. So a child asks for each
// name, and is killed at the deadline. Many children ask at once: else one dead name server would
// delay the names one after the other.
#pragma once

#include "hooks/state/deadline.hpp"
#include "schema/rules/network.hpp"

#include <span>
#include <string>
#include <vector>

namespace anchorhold {

// Returns the names in the order given, each with its addresses: canonical, sorted, each once. A
// name has no addresses if there are none, if the resolver failed, or if it did not answer in time.
Result<std::vector<rules::PinnedName>> resolve_names(const std::vector<std::string>& names,
                                                     const state::Deadline& deadline);

// Returns the line that `anchorhold-hook resolve NAME...` prints: {"github.com":["140.82.121.3"]}.
// Drops every capability first, because libraries of the host then read answers from outside.
Result<std::string> run_resolve(std::span<char* const> names);

} // namespace anchorhold
