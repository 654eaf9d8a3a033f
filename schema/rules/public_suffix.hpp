// SPDX-License-Identifier: Apache-2.0
// Public suffixes, as the list at publicsuffix.org has them: domains below which names belong to
// anybody, like com, co.uk and github.io. A wildcard there would allow strangers.
#pragma once

#include "schema/rules/allow.hpp"

#include <string_view>
#include <vector>

namespace anchorhold::rules {

// Returns whether the domain is a public suffix, or has one below it. `list` is the text of the
// list. A single label is one in any case. Suffixes that are not ASCII are not looked for.
bool is_at_suffix(std::string_view list, std::string_view domain);

// Returns whether a rule has a wildcard that has to be looked up in the list.
bool needs_suffixes(const std::vector<AllowRule>& rules);
// Refuses (invalid_request) a wildcard at or above a public suffix, unless its rule may have it.
Status check_suffixes(const std::vector<AllowRule>& rules, std::string_view list);

} // namespace anchorhold::rules
