// SPDX-License-Identifier: Apache-2.0
// How a file, directory or namespace is recognised, whatever its path says.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace anchorhold {

// device:inode; how a file, directory or namespace is recognised whatever its path says.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::string text() const; // "DEVICE:INODE", decimal
    static Result<FileIdentity> parse(std::string_view text, Code code);
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

} // namespace anchorhold
