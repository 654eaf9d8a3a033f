// SPDX-License-Identifier: Apache-2.0
#include "schema/json/utf8.hpp"

namespace anchorhold::json {

Utf8Step utf8_step(std::string_view text)
{
    if (text.empty())
        return {};
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80)
        return {lead, 1};
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
        return {};
    char32_t point = lead & (0x7fU >> length);
    for (std::size_t at = 1; at < length; ++at) {
        if ((byte(at) & 0xc0) != 0x80)
            return {};
        point = (point << 6) | (byte(at) & 0x3fU);
    }
    // Refused by RFC 3629, section 3: a shorter form exists, or it is half a UTF-16 pair, or it
    // lies beyond the last plane.
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    if (overlong || (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff)
        return {};
    return {point, length};
}

bool is_utf8(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = utf8_step(text).length;
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

} // namespace anchorhold::json
