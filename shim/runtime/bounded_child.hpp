// SPDX-License-Identifier: Apache-2.0
// Runs other programs for a tool of ours, each with a deadline. The signals that would end us are
// held meanwhile, until everything that was made is removed.
#pragma once

#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::runtime {

// Holds SIGHUP, SIGINT, SIGQUIT and SIGTERM for as long as it lives, except those that were ignored
// anyway. A signal that came meanwhile ends us when the object is destroyed.
class DeferredSignals {
public:
    static Result<DeferredSignals> hold();
    DeferredSignals(DeferredSignals&& other) noexcept;
    DeferredSignals& operator=(DeferredSignals&&) = delete;
    ~DeferredSignals();

    // Says whether a held signal has come.
    bool came() const;
    // signalfd(2), readable once a signal came; stays ours.
    int fd() const noexcept { return fd_.get(); }
    // Returns the signal mask that was in force before.
    const sigset_t& before() const noexcept { return before_; }

private:
    DeferredSignals() = default;
    bool holds_ = false;
    sigset_t before_ = {};
    UniqueFd fd_;
};

// The answer of a program.
struct Answer {
    int status = 0;       // as a shell has it: 0 to 255, 128 + signal
    bool late = false;    // the deadline passed, or a signal ended it
    std::string out, err; // stdout and stderr, at most 1 MiB each

    bool good() const { return status == 0 && !late; }
};
// The effect of a held signal on a program that runs.
enum class OnSignal : bool {
    end_it, // it is ended, as at the deadline
    go_on,  // it goes on to its end
};
// Runs a program in a process group of its own, so that a terminal's ^C reaches us alone. `input`
// is a descriptor that is read from its beginning, -1: nothing. At the deadline the group gets
// SIGTERM and, after 10 s, SIGKILL. Code delegate_failed when the program cannot be run.
Result<Answer> ask(const DeferredSignals& held, OnSignal heed, const std::string& program,
                   const std::vector<std::string>& words, int input, std::chrono::seconds deadline);

// Returns the absolute path of the first program of this name on the caller's PATH. Refuses it when
// somebody but root (or our euid) could replace it. Code delegate_failed.
Result<std::string> find_on_path(std::string_view name);

// Returns a file in memory that holds `text`; it can be passed on as input or by path_of.
Result<UniqueFd> file_in_memory(std::string_view text);
// Returns a path to the open file, valid as long as it stays open.
std::string path_of(const UniqueFd& file);

} // namespace anchorhold::runtime
