// SPDX-License-Identifier: Apache-2.0
// Runs the runtime, or another program, as a child. Code delegate_failed when it cannot be
// executed.
#pragma once

#include "schema/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::runtime {

// Says whether a variable ("NAME=VALUE") goes to programs that are run for purposes of our own: the
// hook, the runtime when it deletes. All others stay away, LD_PRELOAD and GCONV_PATH among them,
// with which whoever calls us would have code of his own in those.
bool is_for_own_work(std::string_view variable);
// Says whether a variable has a program load code or answers of the caller's choice: what glibc
// takes from the environment of set-user-ID programs (elf/, unsecvars.h), and all of LD_*.
bool steers_the_loader(std::string_view variable);

// One more descriptor for a child.
struct Handed {
    int fd = -1; // ours; -1: there is none
    int as = -1; // its number in the child
};
// Runs the runtime in our place and returns its exit status as a shell would: 0 to 255, or 128 +
// signal. Signals are passed on to it, except those that a terminal sends to both of us. We stop
// when it stops. It is killed when we die (PDEATHSIG), and LISTEN_PID names it where it named us.
Result<int> run_runtime(const std::string& path, const std::vector<std::string>& rest,
                        const Handed& handed = {});

// The result of a program that was run for purposes of our own.
struct ProgramOutput {
    int status = 0;
    std::string text; // stdout; of a program that failed stderr stands before it
};
constexpr std::size_t most_output = 4096; // bytes of output that are kept; the rest is lost
// Runs a program in the same way, but with nothing on stdin and the environment that own work
// needs, and keeps at most `most` bytes of what it prints.
Result<ProgramOutput> run_quietly(const std::string& path, const std::vector<std::string>& words,
                                  std::size_t most = most_output);

} // namespace anchorhold::runtime
