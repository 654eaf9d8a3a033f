// SPDX-License-Identifier: Apache-2.0
// Records, decisions and plans as people read them: aligned, one fact a line, whatever came from
// outside escaped. Pure; `--json` output is the records themselves.
#pragma once

#include "schema/record.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anchorhold {

// Columns padded to their widest cell, two blanks between them; no trailing blanks.
std::string render_table(const std::vector<std::vector<std::string>>& rows);
// "name:  value" lines, values aligned; an entry with an empty value is left out, further lines of
// a list are indented below the first.
using Facts = std::vector<std::pair<std::string_view, std::vector<std::string>>>;
std::string render_facts(const Facts& facts);

std::string render_runs(const std::vector<Record>& records); // one line each, with a heading
std::string render_record(const Record& record);
// What a sandbox's record is followed by: the containers of its pod, and the least confined of all.
std::string render_pod(const Record& sandbox, const std::vector<Record>& containers);
// What was tried and refused, oldest first; a heading alone when nothing was.
std::string render_denials(const Record& record);
std::string denials_json(const Record& record); // in the same order, as members of the record
Facts facts_of(const Plan& plan);

} // namespace anchorhold
