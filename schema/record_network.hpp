// SPDX-License-Identifier: Apache-2.0
// The members of a record that are objects of their own. record.cpp has the others.
#pragma once

#include "schema/json/json.hpp"
#include "schema/record.hpp"

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
void write_gate(json::Writer& out, const RunGate& gate); // the value of "gate"
Result<RunGate> read_gate(json::View object);
void write_process(json::Writer& out, const ProcessIdentity& process);
Result<ProcessIdentity> read_process(json::View object);
Result<std::uint64_t> read_count(json::View at);

// Returns the number as a signed one, as JSON has no unsigned integers. Nothing that we count comes
// near the end of the signed ones.
std::int64_t signed_of(std::uint64_t number);

} // namespace anchorhold
