// SPDX-License-Identifier: Apache-2.0
#include "shim/report.hpp"
#include "shim/session.hpp"
#include "shim/tools.hpp"

#include <unistd.h>

using namespace anchorhold;

namespace {

constexpr int refused = 1;
constexpr int exec_refused = 255; // as runc has it, apart from what a command might exit with

// One write, so that an engine which reads once gets it all.
void print(int fd, std::string_view text)
{
    (void)!::write(fd, text.data(), text.size()); // who would be told?
}

} // namespace

int main(int argc, char** argv)
{
    const Session session = open_session({argv, static_cast<std::size_t>(argc)});
    const bool tool = !session.rest.empty() && is_tool(session.rest[0]);
    Told told;
    const Result<int> status = tool ? run_tool(session, told) : carry_out(session);
    print(STDOUT_FILENO, told.text);
    if (status)
        return *status;
    const std::string line = error_line(session.invocation, status.error());
    append_to_log(log_target(session.invocation), line);
    print(STDERR_FILENO, line + "\n");
    return session.invocation.verb == Verb::exec ? exec_refused : refused;
}
