// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/interfaces.hpp"

namespace anchorhold::inspect {

std::vector<std::string> interfaces_in(std::string_view table)
{
    std::vector<std::string> names;
    while (!table.empty()) {
        const std::string_view line = table.substr(0, table.find('\n'));
        table.remove_prefix(line.size() < table.size() ? line.size() + 1 : line.size());
        // A line is "  eth0: 1 2 ...", below two lines of headings. No name holds a colon or a
        // blank.
        const std::size_t colon = line.find(':');
        const std::size_t begin = line.find_first_not_of(' ');
        if (colon != std::string_view::npos)
            names.emplace_back(line.substr(begin, colon - begin));
    }
    return names;
}

} // namespace anchorhold::inspect
