// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/summary.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace anchorhold::engine {

std::string runtimes_of_ours(const EngineSetup& setup)
{
    std::vector<std::pair<std::string, std::string>> files; // each with its runtimes
    for (const Handler& handler : setup.handlers) {
        if (!handler.ours)
            continue;
        auto file =
            std::ranges::find(files, handler.file, &std::pair<std::string, std::string>::first);
        if (file == files.end())
            file = files.insert(files.end(), {handler.file, ""});
        file->second += (file->second.empty() ? "" : ", ") + printable(handler.name);
    }
    std::string text;
    for (const auto& [file, names] : files)
        text += (text.empty() ? "" : "; ") + names + " in " + printable(file);
    for (const Handler& hook : setup.hooks)
        text += (text.empty() ? "" : "; ") + hook.called;
    return text;
}

std::string summary_of(const EngineSetup& setup)
{
    const std::string told = runtimes_of_ours(setup);
    switch (standing_of(setup)) {
    case Standing::not_told: return "not told of anchorhold; " + setup.faults.front().remedy;
    case Standing::told:
        return told + "; whether it is called: anchorhold verify " +
               std::string(word_for(setup.engine));
    case Standing::told_wrongly: return told.empty() ? "told wrongly" : "told wrongly: " + told;
    }
    std::abort(); // a byte that is no Standing
}

} // namespace anchorhold::engine
