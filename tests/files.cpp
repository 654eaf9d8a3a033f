// SPDX-License-Identifier: Apache-2.0
#include "tests/files.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

namespace anchorhold {

std::string source_file(std::string_view path)
{
    const std::string whole = std::string(AH_SOURCE_ROOT) + "/" + std::string(path);
    std::ifstream file(whole, std::ios::binary);
    REQUIRE_MESSAGE(file.good(), whole);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace anchorhold
