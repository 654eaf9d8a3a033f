// SPDX-License-Identifier: Apache-2.0
// The runtime's --log while it runs (DESIGN 3.8). podman reads the engine's log as one JSON object
// and containerd takes its last error, so what a failed creation leaves there must be one line; and
// whether it failed is known only afterwards.
#pragma once

#include "schema/unique_fd.hpp"
#include "shim/report.hpp"
#include "shim/session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::runtime {

class PrivateLog {
public:
    // A file in `directory`; none when the runtime logs to stderr or to a journal.
    static Result<PrivateLog> open(const Session& session, const std::string& directory);
    // The runtime's words, with the private file for the last --log.
    const std::vector<std::string>& words() const noexcept { return words_; }

    // Appends all of it to the engine's log, unchanged.
    void pass_on() const;
    // The same with the last error line for the only one; one of ours if it has none.
    void pass_on_one_error() const;

private:
    PrivateLog(const Session& session, std::string silent)
        : words_(session.rest),
          target_(log_target(session.invocation)),
          flavour_(session.invocation.flavour),
          silent_(std::move(silent))
    {
    }
    std::string read() const;

    std::vector<std::string> words_;
    LogTarget target_;
    words::Flavour flavour_;
    std::string silent_; // the line for a runtime that said nothing
    UniqueFd file_;
};

// `log` without its error lines but the last; `silent` takes the place of one that is missing.
std::string with_one_error(std::string_view log, words::LogFormat format, words::Flavour flavour,
                           std::string_view silent);

} // namespace anchorhold::runtime
