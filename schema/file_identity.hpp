// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace anchorhold {

// A file, directory or namespace as device and inode: it is recognised by these, whatever its path
// says.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::string text() const; // "DEVICE:INODE", decimal
    static Result<FileIdentity> parse(std::string_view text, Code code);
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

} // namespace anchorhold
