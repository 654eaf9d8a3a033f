// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/options.hpp"

#include "hooks/files/file_owner.hpp"

#include <cstdlib>

namespace anchorhold::inspect {

void inspect_options(const words::Invocation& call, Inspection& into)
{
    for (const words::OptionAt& option : call.options) {
        const std::string where = "--" + option.name;
        switch (words::verdict_on(call, option)) {
        case words::Verdict::passes: break;
        case words::Verdict::channel:
            into.other_channels.push_back(where + ": the caller's keys (keyrings(7))");
            break;
        case words::Verdict::opens_devices:
            if (!files::is_rootless()) { // see inspect_rules
                into.voids.push_back({where, in_quotes(option.value, 64) +
                                                 " leaves the host's devices open whatever "
                                                 "linux.resources.devices says; leave it out"});
            }
            break;
        case words::Verdict::below:
        case words::Verdict::refused: break; // check_words
        }
    }
}

} // namespace anchorhold::inspect
