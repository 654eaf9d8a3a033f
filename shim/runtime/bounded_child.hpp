// SPDX-License-Identifier: Apache-2.0
// Programs of others that a tool of ours asks, each with a deadline; and the signals that would end
// us meanwhile, held until all is put away that was made.
#pragma once

#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::runtime {

// HUP, INT, QUIT and TERM wait while this lives, unless they were ignored anyway. One that came in
// ends us when it is destroyed.
class DeferredSignals {
public:
    static Result<DeferredSignals> hold();
    DeferredSignals(DeferredSignals&& other) noexcept;
    DeferredSignals& operator=(DeferredSignals&&) = delete;
    ~DeferredSignals();

    bool came() const;
    int fd() const noexcept { return fd_.get(); } // readable once one came
    const sigset_t& before() const noexcept { return before_; }

private:
    DeferredSignals() = default;
    bool holds_ = false;
    sigset_t before_ = {};
    UniqueFd fd_;
};

struct Answer {
    int status = 0; // as a shell has it
    bool late = false;
    std::string out, err; // at most 1 MiB each

    bool good() const { return status == 0 && !late; }
};
enum class OnSignal : bool { end_it, go_on }; // does one of the held signals end it?
// In a process group of its own, so that a terminal's ^C is ours alone. `input`: a descriptor read
// from its beginning, -1: nothing. At the deadline the group is told to end, then killed.
Result<Answer> ask(const DeferredSignals& held, OnSignal heed, const std::string& program,
                   const std::vector<std::string>& words, int input, std::chrono::seconds deadline);

// A program of this name on the caller's PATH, absolute. The first that is there is taken, or
// refused where somebody but root (or our euid) could replace it. Code delegate_failed.
Result<std::string> find_on_path(std::string_view name);

// A file in memory that holds `text`, to be handed over as input or by path_of.
Result<UniqueFd> file_in_memory(std::string_view text);
std::string path_of(const UniqueFd& file); // as long as it is open

} // namespace anchorhold::runtime
