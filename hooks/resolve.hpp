// SPDX-License-Identifier: Apache-2.0
// What names are at this moment, asked of the host's own resolver: getaddrinfo(3) with whatever
// nsswitch.conf and resolv.conf say. It has no time-out of its own and cannot be interrupted, so
// each name is asked for by a child that is killed when it is too late; many at once, so that one
// dead name server does not delay them one by one.
#pragma once

#include "hooks/state/deadline.hpp"
#include "schema/rules/network.hpp"

#include <span>
#include <string>
#include <vector>

namespace anchorhold {

// In the order given; addresses canonical, sorted, each once. None where there are none, where
// nobody could say, and where it was not said in time.
Result<std::vector<rules::PinnedName>> resolve_names(const std::vector<std::string>& names,
                                                     const state::Deadline& deadline);

// `anchorhold-hook resolve NAME...`: the line it prints, {"github.com":["140.82.121.3"]}. Gives up
// every capability first: what answers from outside is read by libraries of the host's.
Result<std::string> run_resolve(std::span<char* const> names);

} // namespace anchorhold
