// SPDX-License-Identifier: Apache-2.0
// A file of ours that takes the place of the runtime's --log while it runs. Engines read the whole
// log after a failed creation: podman takes it as one JSON object, containerd takes its last error.
// So the log may hold one error line only. Only afterwards it is known whether the creation failed.
#pragma once

#include "schema/unique_fd.hpp"
#include "shim/report.hpp"
#include "shim/session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::runtime {

// A private file in place of the engine's log. The caller passes it on in one of two ways.
class PrivateLog {
public:
    // Makes the file in `directory`; makes none when the runtime logs to stderr or to a journal.
    static Result<PrivateLog> open(const Session& session, const std::string& directory);
    // Returns the runtime's words, with the private file as the value of the last --log.
    const std::vector<std::string>& words() const noexcept { return words_; }

    // Appends the whole file to the engine's log, unchanged.
    void pass_on() const;
    // Appends it with its last error line only. A runtime that wrote no error gets a line of ours.
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
    std::string silent_; // the error line for a runtime that wrote none
    UniqueFd file_;
};

// Returns `log` with only the last of its error lines, at the end; `silent` stands there when it
// has none.
std::string with_one_error(std::string_view log, words::LogFormat format, words::Flavour flavour,
                           std::string_view silent);

} // namespace anchorhold::runtime
