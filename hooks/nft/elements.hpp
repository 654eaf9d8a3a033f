// SPDX-License-Identifier: Apache-2.0
// Turns destinations into elements of sets. The kernel refuses elements that overlap (EEXIST; which
// of the two it refuses depends on their order). So the elements made here never overlap. Pure.
#pragma once

#include "hooks/nft/messages.hpp"
#include "schema/rules/network.hpp"

#include <vector>

namespace anchorhold::nft {

// Returns the elements for a set of addresses of kind `ranges`. Takes the prefixes of that IP
// version and leaves out the others.
std::vector<Element> ranges_of(const std::vector<rules::Prefix>& prefixes, Ip ip);
// Returns the elements for a set of reaches of kind `ranges`. Takes the reaches of that IP version.
std::vector<Element> reaches_of(const std::vector<rules::Reach>& reaches, Ip ip);

// Return keys for sets of kind `single`: the first address of each prefix, and a link's name.
std::vector<Bytes> addresses_of(const std::vector<rules::Prefix>& prefixes, Ip ip);
Bytes bytes_of_link(const std::string& name);

// Return the comment of an element as nft(8) keeps it, and its text: "" when there is none.
Bytes comment_of(const std::string& text);
std::string comment_in(std::span<const std::uint8_t> kept);

} // namespace anchorhold::nft
