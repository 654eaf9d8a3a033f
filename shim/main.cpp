// SPDX-License-Identifier: Apache-2.0
#include "shim/report.hpp"
#include "shim/session.hpp"
#include "shim/tools/tools.hpp"

#include <fcntl.h>
#include <unistd.h>

using namespace anchorhold;

namespace {

constexpr int refused = 1;
// The status for exec, as runc has it: a command rarely exits with it.
constexpr int exec_refused = 255;

// Prints with a single write, so that an engine which reads once gets all of it.
void print(int fd, std::string_view text)
{
    (void)!::write(fd, text.data(), text.size()); // nobody could be told of a failure
}

// Opens standard input, output and error where they are closed, so that a file of ours cannot
// become one of them. They are close-on-exec: the runtime finds them closed, as the engine left
// them.
void settle_descriptors()
{
    int fd = STDIN_FILENO;
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const UniqueFd not_needed(fd);
}

} // namespace

int main(int argc, char** argv)
{
    settle_descriptors();
    const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
    if (const auto text = tools::text_asked_for(words.empty() ? words : words.subspan(1))) {
        print(STDOUT_FILENO, *text);
        return 0;
    }
    const Session session = open_session(words);
    const bool tool = !session.rest.empty() && tools::is_tool(session.rest[0]);
    tools::ToolOutput output;
    const Result<int> status = tool ? tools::run_tool(session, output) : carry_out(session);
    print(STDERR_FILENO, output.remarks);
    print(STDOUT_FILENO, output.text);
    if (status)
        return *status;
    const std::string line = error_line(session.invocation, status.error());
    append_to_log(log_target(session.invocation), line);
    print(STDERR_FILENO, line + "\n");
    return session.invocation.verb == words::Verb::exec ? exec_refused : refused;
}
