// SPDX-License-Identifier: Apache-2.0
// Folders of the last records of runs, KEY.GENERATION.json each: ended/ and refused/ in the state
// directory, and the one of the policy's member "records", which outlasts the host's next start.
// Files of other names are neither read nor removed: the operator may have named a folder that
// holds more.
#pragma once

#include "schema/record.hpp"

#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

namespace anchorhold::state {

constexpr std::size_t largest_record = std::size_t{4} * 1024 * 1024; // bytes

// How much a folder of ended records holds.
struct EndedBounds {
    std::size_t most;    // files
    std::size_t spare;   // how many more may lie there, so that not every end prunes
    std::time_t longest; // seconds; 0: for ever
};
constexpr EndedBounds ended_bounds{256, 32, 86400}; // a day
constexpr EndedBounds refused_bounds{64, 0, 86400}; // anybody may ask for what is refused
constexpr EndedBounds kept_bounds{4096, 128, 0};

// A record as it lay in its folder.
struct EndedRecord {
    Record record;
    std::int64_t written = 0; // when its file was, in nanoseconds
};

bool is_ended_name(std::string_view name); // "KEY.GENERATION.json"
std::string ended_path(const std::string& folder, const Record& record);
// Reads a folder, in no order. Passes over what is no record that we know.
Result<std::vector<EndedRecord>> read_ended(const std::string& folder);
// Sorts records of one or more folders. Of a run that is there twice the first one stays.
std::vector<Record> newest_first(std::vector<EndedRecord> found);
// Removes the oldest records above the bounds. Does nothing while there are no more than
// `left_alone`.
Status prune_ended(const std::string& folder, const EndedBounds& bounds, std::size_t left_alone);

// Returns the text of a record that is kept. If it grew too long to be read again, that is the
// record without its advice and its denied connections.
std::string last_text(Record record);
// Keeps the record where its member `records` says, if it says so. What stands in the way becomes
// advice in the record, because it must not hold up a teardown. Returns whether all is well.
bool keep_record(Record& record);

} // namespace anchorhold::state
