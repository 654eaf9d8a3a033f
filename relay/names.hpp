// SPDX-License-Identifier: Apache-2.0
// Counts the names that were refused, in a file of the host's that the first process was handed
// (schema/rules/names_table.hpp). The file is mapped and its descriptor closed before the command's
// process is forked: with a descriptor somebody could make the file larger, with a mapping nobody
// can. The shim has reserved every page of it, so no write can fail.
//
// The table is bounded: a name that finds no room is counted among the unlisted ones.
#pragma once

#include "relay/dns.hpp"

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::relay {

class NameCounts {
public:
    // Takes over `fd` if it is such a file. Any other descriptor is left alone, as it is not ours,
    // and nothing is counted.
    void open(int fd);
    void count(const AskedName& question);

private:
    uint32_t* counts_of(const AskedName& question);

    uint8_t* table_ = nullptr;
    // What the header says of the entries is never read back.
    size_t used_ = 0;
    unsigned names_ = 0;
};

} // namespace anchorhold::relay
