// SPDX-License-Identifier: Apache-2.0
// Runs every file of a corpus through the fuzz entry that it is linked with.
#include "tests/fuzz/entry.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::fputs("one directory is expected\n", stderr);
        return 2;
    }
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(argv[1])) {
        std::ifstream stream(file.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        ++count;
    }
    return count == 0 ? 1 : 0; // an empty corpus tests nothing
}
