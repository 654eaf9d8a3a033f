// SPDX-License-Identifier: Apache-2.0
// Runs the runtime, or another program, as a child. Code delegate_failed when it cannot be
// executed.
#pragma once

#include "schema/error.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace anchorhold::runtime {

// Runs the runtime in our place and returns its exit status as a shell would: 0 to 255, or 128 +
// signal. Signals are passed on to it, except those that a terminal sends to both of us. We stop
// when it stops. It is killed when we die (PDEATHSIG), and LISTEN_PID names it where it named us.
Result<int> run_runtime(const std::string& path, const std::vector<std::string>& rest);

// The result of a program that was run for purposes of our own.
struct ProgramOutput {
    int status = 0;
    std::string text; // stdout and stderr
};
constexpr std::size_t most_output = 4096; // bytes of output that are kept; the rest is lost
// Runs a program in the same way, but with nothing on stdin, and keeps at most `most` bytes of what
// it prints.
Result<ProgramOutput> run_quietly(const std::string& path, const std::vector<std::string>& words,
                                  std::size_t most = most_output);

} // namespace anchorhold::runtime
