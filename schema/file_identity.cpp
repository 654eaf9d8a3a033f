// SPDX-License-Identifier: Apache-2.0
#include "schema/file_identity.hpp"

#include <charconv>

namespace anchorhold {

std::string FileIdentity::text() const
{
    return std::to_string(device) + ":" + std::to_string(inode);
}

Result<FileIdentity> FileIdentity::parse(std::string_view text, Code code)
{
    FileIdentity identity;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto device = std::from_chars(begin, end, identity.device);
    if (device.ec == std::errc() && device.ptr != end && *device.ptr == ':') {
        const auto inode = std::from_chars(device.ptr + 1, end, identity.inode);
        if (inode.ec == std::errc() && inode.ptr == end)
            return identity;
    }
    return fail(code, in_quotes(text) + " is not a device:inode");
}

} // namespace anchorhold
