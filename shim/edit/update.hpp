// SPDX-License-Identifier: Apache-2.0
// The limits of `update`, edited as create edits those of config.json: the command has the places
// that it is given, and the relay has one beside them.
#pragma once

#include "schema/json/json.hpp"
#include "shim/words/command_line.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

// Reads a resources file, as `update --resources` takes it, into a config.json of which it is the
// section linux.resources. Refuses (invalid_request) what runtimes could read in two ways.
Result<json::Document> parse_resources(std::string_view text);

// Returns the text of the resources file with a higher limit of processes.
Result<std::string> edit_resources(const json::Document& resources, std::int64_t extra_pids);

// Returns the words of `update` with every --pids-limit raised. What is no plain positive number is
// the runtime's to judge and stays: 0 and -1 mean no limit.
std::vector<std::string> edit_limits(std::vector<std::string> rest, const words::Invocation& call,
                                     std::int64_t extra_pids);

} // namespace anchorhold::edit
