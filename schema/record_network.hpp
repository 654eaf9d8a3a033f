// SPDX-License-Identifier: Apache-2.0
// The members of a record that are objects of their own. record.cpp has the others.
#pragma once

#include "schema/json/json.hpp"
#include "schema/rules/network.hpp"
#include "schema/rules/refused_names.hpp"

#include <vector>

namespace anchorhold {

// Writes and reads them. A missing member keeps its default, and an unknown one is passed over. A
// wrong one is refused with its place, because what is read here becomes rules and lines of a hosts
// file.
void write_network(json::Writer& out, const rules::Network& network); // the value of "network"
Result<rules::Network> read_network(json::View object);
void write_denied(json::Writer& out,
                  const std::vector<rules::Denied>& denied); // the value of "denied"
Result<std::vector<rules::Denied>> read_denied(json::View array);
void write_refused_names(json::Writer& out,
                         const rules::RefusedNames& refused); // the value of "refused_names"
Result<rules::RefusedNames> read_refused_names(json::View object);

} // namespace anchorhold
