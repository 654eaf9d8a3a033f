// SPDX-License-Identifier: Apache-2.0
// A fuzz entry: one function over bytes. clang links libFuzzer to it, any other compiler links
// replay.cpp, which runs the corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace anchorhold {

// Checks what must hold for every input.
inline void must(bool truth)
{
    if (!truth)
        std::abort();
}

} // namespace anchorhold
