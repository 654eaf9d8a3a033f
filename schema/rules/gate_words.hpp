// SPDX-License-Identifier: Apache-2.0
// The words of a rule that only the gate asks about.
#pragma once

#include "schema/rules/allow.hpp"

namespace anchorhold::rules {

// Refuses a member that a rule of such a list does not have.
Status check_members(json::View value, ListKind kind);
// Reads "tls", "within" and "public_suffix" of an object into its rule. Refuses them beside an
// address, and the last one beside a name without a wildcard.
Status read_gate_words(json::View value, AllowRule& rule);
// Lays the words of two rules over each other, into what they have in common.
void join_words(const AllowRule& one, const AllowRule& other, WordsOf words, AllowRule& both);
// Returns what the words add to the text of a rule: " tls any within 10.0.0.0/8".
std::string words_text(const AllowRule& rule);
Result<std::vector<Prefix>> read_within(json::View value);
std::string_view word_for(Tls tls); // "same-name"

} // namespace anchorhold::rules
