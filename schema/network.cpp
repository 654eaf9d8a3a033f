// SPDX-License-Identifier: Apache-2.0
#include "schema/network.hpp"

namespace anchorhold {

Prefix Network::default_pool()
{
    return *Prefix::parse("198.18.0.0/15", Code::invalid_policy); // RFC 2544
}

std::string link_name(std::string_view key)
{
    return "ah" + std::string(key);
}

} // namespace anchorhold
