// SPDX-License-Identifier: Apache-2.0
// The words of a rule that only the gate asks about.
#pragma once

#include "schema/rules/allow.hpp"

namespace anchorhold::rules {

// Reads "tls" and "within" of an object into its rule. Refuses them beside an address.
Status read_gate_words(json::View value, AllowRule& rule);
std::string_view word_for(Tls tls); // "same-name"

} // namespace anchorhold::rules
