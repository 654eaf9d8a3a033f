// SPDX-License-Identifier: Apache-2.0
#include "shim/tools/handler_program.hpp"

#include "hooks/files/owned_path.hpp"
#include "shim/runtime/bounded_child.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

// Returns the first that is there, as engines take it; a name without a path is looked for on PATH.
std::string program_of(const engine::Handler& handler)
{
    for (const std::string& program : handler.programs) {
        const auto found = program.starts_with('/') ? Result<std::string>(program)
                                                    : runtime::find_on_path(program);
        if (found && ::access(found->c_str(), F_OK) == 0)
            return *found;
    }
    return handler.programs.empty() ? "" : handler.programs.front();
}

} // namespace

engine::HandlerFacts facts_of_program(const engine::Handler& handler)
{
    engine::HandlerFacts facts;
    const std::string program = program_of(handler);
    struct stat file = {};
    struct stat self = {};
    facts.program = program;
    if (!program.starts_with('/') || ::stat(program.c_str(), &file) != 0 ||
        ::stat("/proc/self/exe", &self) != 0) {
        facts.standing = engine::ProgramIs::missing;
    } else if (file.st_dev != self.st_dev || file.st_ino != self.st_ino) {
        facts.standing = engine::ProgramIs::other;
    } else if (auto owned = files::check_owned_path(program, "program", Code::delegate_failed);
               !owned) {
        facts.standing = engine::ProgramIs::unsafe;
        facts.why = std::move(owned).error().what;
    } else {
        facts.standing = engine::ProgramIs::same;
    }
    return facts;
}

} // namespace anchorhold::tools
