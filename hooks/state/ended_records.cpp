// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/ended_records.hpp"

#include "hooks/files/directory.hpp"
#include "hooks/files/whole_file.hpp"
#include "schema/run_key.hpp"

#include <algorithm>
#include <set>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::string_view ending = ".json";
constexpr std::string_view unfinished = ".new"; // files::replace_file: a crash may leave one

Status write_kept(const Record& record)
{
    AH_CHECK(files::make_directory(record.records, 0700));
    const std::string path = ended_path(record.records, record);
    if (Status written = files::replace_file(path, last_text(record), 0600); !written) {
        (void)::unlink((path + std::string(unfinished)).c_str()); // the disk may be full
        return written;
    }
    return prune_ended(record.records, kept_bounds, kept_bounds.most + kept_bounds.spare);
}

} // namespace

bool is_ended_name(std::string_view name)
{
    constexpr std::size_t key = 12;
    constexpr std::size_t generation = 16;
    if (name.size() != key + 1 + generation + ending.size() || !name.ends_with(ending))
        return false;
    const std::string_view digits = name.substr(key + 1, generation);
    return RunKey::parse(name.substr(0, key)) && name[key] == '.' &&
           digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string ended_path(const std::string& folder, const Record& record)
{
    return folder + "/" + run_name(record) + std::string(ending);
}

Result<std::vector<EndedRecord>> read_ended(const std::string& folder)
{
    AH_TRY(const auto names, files::names_in(folder), "list the ended runs");
    std::vector<EndedRecord> found;
    for (const std::string& name : names) {
        if (!is_ended_name(name))
            continue;
        const std::string path = folder + "/" + name;
        struct stat file = {};
        AH_TRY(auto text, files::read_file(path, largest_record));
        auto record = text ? parse_record(*std::move(text)) : fail(Code::network_setup_failed, {});
        // A file that cannot be read was pruned meanwhile, or a newer version wrote it.
        if (record && ::stat(path.c_str(), &file) == 0) {
            found.push_back(
                {*std::move(record), file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec});
        }
    }
    return found;
}

std::vector<Record> newest_first(std::vector<EndedRecord> found)
{
    std::set<std::string> seen;
    std::erase_if(found, [&seen](const EndedRecord& one) {
        return !seen.insert(run_name(one.record)).second;
    });
    // The record's times are in seconds and cannot order two runs of one id that ended in the same
    // second. The files' own times can.
    std::ranges::sort(found, std::greater(), [](const EndedRecord& one) {
        return std::tuple(one.record.ended, one.record.created, one.written, one.record.key);
    });
    std::vector<Record> records;
    for (EndedRecord& one : found)
        records.push_back(std::move(one.record));
    return records;
}

Status prune_ended(const std::string& folder, const EndedBounds& bounds, std::size_t left_alone)
{
    AH_TRY(auto names, files::names_in(folder), "list the ended runs");
    std::erase_if(names, [](std::string_view name) {
        if (name.ends_with(unfinished))
            name.remove_suffix(unfinished.size());
        return !is_ended_name(name);
    });
    if (names.size() <= left_alone)
        return {};
    std::vector<std::pair<std::time_t, std::string>> kept;
    for (const std::string& name : names) {
        std::string path = folder + "/" + name;
        struct stat found = {};
        if (::lstat(path.c_str(), &found) == 0) // else another process removed it meanwhile
            kept.emplace_back(found.st_mtime, std::move(path));
    }
    std::ranges::sort(kept, std::greater());
    const std::time_t oldest = bounds.longest == 0 ? 0 : std::time(nullptr) - bounds.longest;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (i >= bounds.most || kept[i].first < oldest)
            (void)::unlink(kept[i].second.c_str()); // if this fails, the next pruning tries again
    }
    return {};
}

std::string last_text(Record record)
{
    std::string text = to_json(record);
    if (text.size() <= largest_record)
        return text;
    record.more_denied = record.more_denied || !record.denied.empty();
    record.denied.clear();
    record.refused_names.reset();
    record.advice = {"its advice, and what it was denied, grew too long to be kept"};
    return to_json(record);
}

bool keep_record(Record& record)
{
    const Status kept = record.records.empty() ? Status() : write_kept(record);
    if (kept)
        return true;
    record.advice.push_back("this record is not kept in " + printable(record.records) + ": " +
                            kept.error().what);
    return false;
}

} // namespace anchorhold::state
