// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace anchorhold::runtime {

// Forks, forwards signals (not a terminal's own, SI_KERNEL), stops when the child is stopped, gives
// the child PDEATHSIG and a LISTEN_PID of its own, waits. The exit status as a shell would report
// it: 0 to 255, 128 + signal.
Result<int> run_runtime(const std::string& path, const std::vector<std::string>& rest);

// The same for purposes of our own: nothing on stdin, and what it prints is caught.
struct ProgramOutput {
    int status = 0;
    std::string text; // stdout and stderr
};
constexpr std::size_t most_output = 4096; // bytes; what is behind is lost
Result<ProgramOutput> run_quietly(const std::string& path, const std::vector<std::string>& words,
                                  std::size_t most = most_output);

} // namespace anchorhold::runtime
