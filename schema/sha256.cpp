// SPDX-License-Identifier: Apache-2.0
#include "schema/sha256.hpp"

#include <array>
#include <cstdint>
#include <sha256.h>
#include <sys/types.h>

namespace anchorhold {

std::string sha256_hex(std::string_view bytes)
{
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    std::array<char, SHA256_DIGEST_STRING_LENGTH> hex{};
    return SHA256End(&context, hex.data());
}

} // namespace anchorhold
