// SPDX-License-Identifier: Apache-2.0
// Records, decisions and plans as people read them: aligned, one fact a line, and all text from
// outside escaped. Pure. The `--json` output is the records themselves.
#pragma once

#include "schema/record.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anchorhold {

// Returns a table: columns padded to their widest cell, two blanks between them, no trailing
// blanks.
std::string render_table(const std::vector<std::vector<std::string>>& rows);
// Returns "name:  value" lines with aligned values. An entry with an empty value is left out.
// Further lines of a list are indented below the first.
using Facts = std::vector<std::pair<std::string_view, std::vector<std::string>>>;
std::string render_facts(const Facts& facts);

// Returns one line for each run, below a heading. With the owners' uids these come first, because
// nothing that an owner has written can move them.
enum class Owners : std::uint8_t { ours, shown };
std::string render_runs(const std::vector<Record>& records, Owners owners = Owners::ours);
std::string render_record(const Record& record);
// Returns what is printed below a sandbox's record: the containers of its pod, and the least
// confined posture of all.
std::string render_pod(const Record& sandbox, const std::vector<Record>& containers);
// Returns the destinations that were tried and denied, oldest first; only a heading when there are
// none. Below stand the names that were refused, most tries first, or that nobody counts them.
std::string render_denials(const Record& record);
// Returns the same as JSON: in the same order, with the members that a record has.
std::string denials_json(const Record& record);

Facts facts_of(const Plan& plan);

} // namespace anchorhold
