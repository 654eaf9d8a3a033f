// SPDX-License-Identifier: Apache-2.0
// Destinations as elements of sets. The kernel refuses elements that overlap (EEXIST, and which
// of two depends on their order), so what is said twice is said once here. Pure.
#pragma once

#include "hooks/nft/nft.hpp"
#include "schema/rules/network.hpp"

#include <vector>

namespace anchorhold::nft {

// For a set of addresses, kind ranges: of `prefixes`, those of that version.
std::vector<Element> ranges_of(const std::vector<rules::Prefix>& prefixes, Ip ip);
// For a set of reaches, kind ranges.
std::vector<Element> reaches_of(const std::vector<rules::Reach>& reaches, Ip ip);

// Keys of sets of the kind single: the first address of each prefix, and an interface's name.
std::vector<Bytes> addresses_of(const std::vector<rules::Prefix>& prefixes, Ip ip);
Bytes bytes_of_link(const std::string& name);

} // namespace anchorhold::nft
