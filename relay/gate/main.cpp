// SPDX-License-Identifier: Apache-2.0
// anchorhold-gate: started by anchorhold-hook, with sockets of the container's network namespace.
// It says nothing once it serves: its standard descriptors are then /dev/null, which tells whoever
// reads its stderr that it is ready. Before that, one line there says why it does not start.
#include "relay/gate/options.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <malloc.h>
#include <string_view>
#include <unistd.h>

namespace anchorhold::gate {
namespace {

Result<std::string> read_all(int fd)
{
    constexpr std::size_t most = std::size_t{16} << 20;
    std::string text;
    for (;;) {
        std::array<char, 16384> part;
        const ssize_t got = ::pread(fd, part.data(), part.size(), static_cast<off_t>(text.size()));
        if (got < 0)
            return fail_errno("read the rules", errno);
        if (got == 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > most)
            return fail(Code::invalid_policy, "the rules are too long");
    }
}

// Opens what takes the place of the standard descriptors.
Result<UniqueFd> open_null()
{
    UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null)
        return fail_errno("open /dev/null", errno);
    return null;
}

Status serve(std::span<const char* const> words)
{
    AH_TRY(Options options, read_options(words));
    AH_CHECK(close_others(options));
    if (::clearenv() != 0 || ::signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return fail_errno("prepare", errno);
    AH_TRY(std::string text, read_all(options.rules.get()));
    options.rules = UniqueFd();
    AH_TRY(const rules::GateRules rules, rules::read_gate_rules(std::move(text)), "rules");
    AH_TRY(const UniqueFd null, open_null());
    static Gate gate(rules);
    AH_CHECK(gate.open(std::move(options.inherited)));
    AH_CHECK(enter_sandbox(options.identity));
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::dup3(null.get(), standard, 0) != standard)
            return fail_errno("leave the standard descriptors", errno);
    }
    (void)::malloc_trim(0); // gives back what reading the rules and building the filter took
    gate.run();
    return {};
}

} // namespace
} // namespace anchorhold::gate

int main(int argc, char** argv)
{
    const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
    if (words.size() == 2 && std::string_view(words[1]) == "--version") {
        std::puts("anchorhold-gate " ANCHORHOLD_VERSION);
        return EXIT_SUCCESS;
    }
    const auto served = anchorhold::gate::serve(words.subspan(argc > 0 ? 1 : 0));
    if (!served)
        std::fprintf(stderr, "anchorhold-gate: %s\n", served.error().what.c_str());
    // Not by way of destructors: what is open is to be reset, all at once.
    ::_exit(served ? EXIT_SUCCESS : EXIT_FAILURE);
}
