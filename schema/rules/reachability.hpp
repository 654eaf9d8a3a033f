// SPDX-License-Identifier: Apache-2.0
// What `anchorhold check` answers: would a run reach a destination, and by which rule. Pure; the
// addresses of names are in the network, as they were looked up.
#pragma once

#include "schema/decide.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::rules {

// "github.com", "10.1.2.3:5432", "[2001:db8::1]:443": one address or name at one tcp port, 443 when
// there is none.
Result<AllowRule> parse_question(std::string_view text);

struct Reachability {
    bool reachable = false;
    std::vector<std::string> lines; // "refused: 10.0.0.1 tcp 443, no rule allows it"
    friend bool operator==(const Reachability&, const Reachability&) = default;
};
// `network` matters to a filtered run alone. A name is reachable when one of its addresses is; one
// that was not pinned resolves to nothing there.
Reachability reachability(const Request& request, const Decision& decision, const Network& network,
                          const AllowRule& question);

} // namespace anchorhold::rules
