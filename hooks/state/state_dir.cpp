// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/state_dir.hpp"

#include "hooks/files/mountinfo.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/process.hpp"
#include "schema/file_identity.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::size_t largest_record = std::size_t{4} * 1024 * 1024;
constexpr std::size_t most_ended = 256;
constexpr std::size_t most_refused = 64; // of their own: anybody may ask for what is refused
constexpr std::size_t spare_ended = 32;  // more than most_ended, so that not every end prunes
constexpr const char* pidns_name = "pidns";
constexpr std::time_t longest_ended = 86400; // a day

// Refuses a directory if anybody but root (or our euid) could put files into it.
Status check_directory(const std::string& path)
{
    struct stat found = {};
    if (::lstat(path.c_str(), &found) != 0)
        return fail_errno("look at " + path, errno);
    if (!S_ISDIR(found.st_mode))
        return fail_errno("look at " + path, ENOTDIR);
    if (found.st_uid != 0 && found.st_uid != ::geteuid()) {
        return fail(Code::network_setup_failed, path + " belongs to uid " +
                                                    std::to_string(found.st_uid) +
                                                    "; chown it to root");
    }
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return fail(Code::network_setup_failed, path + " is writable by others; chmod go-w it");
    return {};
}

// Makes a directory, or checks the one that is there.
Status make_directory(const std::string& path, mode_t mode)
{
    Status standing = check_directory(path);
    if (standing || standing.error().number != ENOENT)
        return standing;
    if (::mkdir(path.c_str(), mode) == 0) {
        if (::chmod(path.c_str(), mode) != 0) // the caller's umask may have taken bits away
            return fail_errno("set the mode of " + path, errno);
    } else if (errno != EEXIST) {
        return fail_errno("make directory " + path, errno);
    }
    return check_directory(path);
}

// Lists a directory's names without "." and "..", in no order. Returns none when the directory is
// not there.
Result<std::vector<std::string>> names_in(const std::string& path)
{
    struct Closer {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    const std::unique_ptr<DIR, Closer> directory(::opendir(path.c_str()));
    std::vector<std::string> names;
    if (!directory && errno == ENOENT)
        return names;
    if (!directory)
        return fail_errno("open directory " + path, errno);
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            names.emplace_back(name);
    }
    if (errno != 0)
        return fail_errno("list " + path, errno);
    return names;
}

Result<std::vector<RunKey>> keys_in(const std::string& path)
{
    AH_TRY(auto names, names_in(path), "list the runs");
    std::ranges::sort(names);
    std::vector<RunKey> keys;
    for (const std::string& name : names) {
        if (auto key = RunKey::parse(name))
            keys.push_back(*std::move(key));
    }
    return keys;
}

Status remove_tree(const std::string& path)
{
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error)
        return fail_errno("remove " + path, error.value());
    return {};
}

// Removes the records that are older than a day, and all but the newest `most`. Does nothing while
// there are no more than `left_alone`.
Status prune(const std::string& ended, std::size_t left_alone, std::size_t most)
{
    AH_TRY(const auto names, names_in(ended), "list the ended runs");
    if (names.size() <= left_alone)
        return {};
    std::vector<std::pair<std::time_t, std::string>> kept;
    for (const std::string& name : names) {
        std::string path = ended + "/";
        path += name;
        struct stat found = {};
        if (::lstat(path.c_str(), &found) != 0)
            continue; // another process removed it meanwhile
        kept.emplace_back(found.st_mtime, path);
    }
    std::ranges::sort(kept, std::greater());
    const std::time_t oldest = std::time(nullptr) - longest_ended;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (i >= most || kept[i].first < oldest)
            (void)::unlink(kept[i].second.c_str()); // if this fails, the next pruning tries again
    }
    return {};
}

} // namespace

Result<StateDir> StateDir::open(std::string path)
{
    AH_TRY(auto state, from(std::move(path)), "open the state directory");
    AH_CHECK(make_directory(state.path_, 0711), "open the state directory");
    for (const char* name : {"/runs", "/locks", "/ended", "/refused", "/subnets"})
        AH_CHECK(make_directory(state.path_ + name, 0700), "open the state directory");
    return state;
}

Result<std::optional<StateDir>> StateDir::existing(std::string path)
{
    AH_TRY(auto state, from(std::move(path)), "open the state directory");
    const Status standing = check_directory(state.path_);
    if (!standing && standing.error().number == ENOENT)
        return std::nullopt;
    AH_CHECK(standing, "open the state directory");
    return state;
}

Result<StateDir> StateDir::from(std::string path)
{
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    if (!path.starts_with('/') || path.size() == 1) {
        return fail(Code::invalid_request, in_quotes(path) + " is not an absolute path of its own");
    }
    return StateDir(std::move(path));
}

std::string StateDir::run_path(const RunKey& key) const
{
    return path_ + "/runs/" + key.text();
}

std::string StateDir::inside_path(const RunKey& key) const
{
    return run_path(key) + "/inside";
}

bool StateDir::has_run(const RunKey& key) const
{
    return ::access(run_path(key).c_str(), F_OK) == 0;
}

Status StateDir::make_run(const RunKey& key) const
{
    AH_CHECK(remove_run(key), "clear the run's folder");
    AH_CHECK(make_directory(run_path(key), 0700), "make the run's folder");
    AH_TRY(const FileIdentity pids, namespace_of(0, "pid"), "make the run's folder");
    if (::symlink(pids.text().c_str(), (run_path(key) + "/" + pidns_name).c_str()) != 0)
        return fail_errno("write down the pid namespace", errno);
    return make_directory(inside_path(key), 0755);
}

Result<bool> StateDir::is_used(const RunKey& key) const
{
    std::array<char, 64> made_in{};
    const std::string link = run_path(key) + "/" + pidns_name;
    const ssize_t length = ::readlink(link.c_str(), made_in.data(), made_in.size());
    AH_TRY(const FileIdentity here, namespace_of(0, "pid"), "look who uses run " + key.text());
    if (length > 0 &&
        std::string_view(made_in.data(), static_cast<std::size_t>(length)) != here.text())
        return fail(Code::network_setup_failed, "it was made in another pid namespace");
    AH_TRY(const auto pids, every_process(), "look who uses run " + key.text());
    std::set<std::uint64_t> seen; // mount namespaces
    for (const pid_t pid : pids) {
        const auto mounts = namespace_of(pid, "mnt");
        if (mounts && !seen.insert(mounts->inode).second)
            continue;
        const auto table =
            files::read_file("/proc/" + std::to_string(pid) + "/mountinfo", files::most_mountinfo);
        const int number = table ? 0 : table.error().number;
        if (number == EINVAL || number == ESRCH)
            continue; // the process has ended
        AH_CHECK(table, "look who uses run " + key.text());
        if (table->value_or("").contains("/runs/" + key.text() + "/inside"))
            return true;
    }
    return false;
}

Status StateDir::remove_run(const RunKey& key) const
{
    return remove_tree(run_path(key));
}

Status StateDir::remove_inside(const RunKey& key) const
{
    return remove_tree(inside_path(key));
}

Result<std::vector<RunKey>> StateDir::runs() const
{
    return keys_in(path_ + "/runs");
}

Status StateDir::drop_dead_locks() const
{
    AH_TRY(const auto names, names_in(path_ + "/locks"), "list the locks");
    for (const std::string& name : names)
        AH_CHECK(files::FileLock::try_take(path_ + "/locks/" + name), "drop a dead lock");
    return {}; // each lock was let go at once, which removed its file
}

Result<std::optional<Record>> StateDir::read(const RunKey& key) const
{
    AH_TRY(auto text, files::read_file(run_path(key) + "/record.json", largest_record),
           "read the record of run " + key.text());
    if (!text)
        return std::nullopt;
    AH_TRY(auto record, parse_record(*std::move(text)), "read the record of run " + key.text());
    if (record.key != key.text()) {
        return fail(Code::network_setup_failed,
                    "read the record of run " + key.text() + ": it is another run's");
    }
    return record;
}

bool StateDir::says(const RunKey& key, std::string_view text) const
{
    const auto record = files::read_file(run_path(key) + "/record.json", largest_record);
    return record && *record && (*record)->contains(text);
}

Result<std::vector<Record>> StateDir::living_in(const FileIdentity& netns) const
{
    const std::string named = '"' + netns.text() + '"';
    AH_TRY(const auto keys, runs(), "list the runs");
    std::vector<Record> found;
    for (const RunKey& key : keys) {
        auto text = files::read_file(run_path(key) + "/record.json", largest_record);
        if (!text || !*text || !(*text)->contains(named))
            continue;
        auto record = parse_record(**std::move(text));
        if (record && record->key == key.text() && record->state == RunState::enforced &&
            record->netns == netns && is_alive(record->init))
            found.push_back(*std::move(record));
    }
    return found;
}

Status StateDir::write(const Record& record) const
{
    AH_TRY(const RunKey key, RunKey::parse(record.key), "write a record");
    const std::string text = to_json(record);
    if (text.size() > largest_record) // a record that cannot be read cannot be torn down
        return fail_errno("write the record of run " + record.key, EFBIG);
    return files::replace_file(run_path(key) + "/record.json", text, 0600);
}

Status StateDir::write_last(Record record) const
{
    Status written = write(record);
    if (written || written.error().number != EFBIG)
        return written;
    record.more_denied = record.more_denied || !record.denied.empty();
    record.denied.clear();
    record.refused_names.reset();
    record.advice = {"its advice, and what it was denied, grew too long to be kept"};
    return write(record);
}

Status StateDir::archive(const Record& record) const
{
    AH_CHECK(write_last(record), "archive the record");
    const std::string from = path_ + "/runs/" + record.key + "/record.json";
    const std::string to = path_ + "/ended/" + run_name(record) + ".json";
    if (::rename(from.c_str(), to.c_str()) != 0)
        return fail_errno("move the record to " + to, errno);
    return prune(path_ + "/ended", most_ended + spare_ended, most_ended);
}

Status StateDir::archive_refusal(const Record& record) const
{
    const std::string refused = path_ + "/refused";
    AH_CHECK(files::replace_file(refused + "/" + run_name(record) + ".json", to_json(record), 0600),
             "archive the refusal");
    return prune(refused, most_refused, most_refused);
}

Status StateDir::drop_old_ended() const
{
    AH_CHECK(prune(path_ + "/refused", 0, most_refused));
    return prune(path_ + "/ended", 0, most_ended);
}

Result<std::vector<Record>> StateDir::ended() const
{
    std::vector<std::string> paths;
    for (const std::string& folder : {path_ + "/ended/", path_ + "/refused/"}) {
        AH_TRY(const auto names, names_in(folder), "list the ended runs");
        for (const std::string& name : names)
            paths.push_back(folder + name);
    }
    // The record's times are in seconds and cannot order two runs of one id that ended in the same
    // second. The files' own times can.
    using Written = std::pair<std::int64_t, Record>;
    std::vector<Written> found;
    for (const std::string& path : paths) {
        struct stat file = {};
        AH_TRY(auto text, files::read_file(path, largest_record));
        auto record = text ? parse_record(*std::move(text)) : fail(Code::network_setup_failed, {});
        // A file that cannot be read was pruned meanwhile, or a newer version wrote it.
        if (record && ::stat(path.c_str(), &file) == 0) {
            found.emplace_back(file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec,
                               *std::move(record));
        }
    }
    std::ranges::sort(found, std::greater(), [](const Written& written) {
        const Record& record = written.second;
        return std::tuple(record.ended, record.created, written.first, record.key);
    });
    std::vector<Record> records;
    for (Written& written : found)
        records.push_back(std::move(written.second));
    return records;
}

Result<RunLock> RunLock::take(const StateDir& state, const RunKey& key,
                              std::chrono::milliseconds bound)
{
    AH_TRY(auto lock, files::FileLock::take(state.path() + "/locks/" + key.text(), bound),
           "lock run " + key.text());
    return RunLock(std::move(lock));
}

Result<std::optional<RunLock>> RunLock::try_take(const StateDir& state, const RunKey& key)
{
    AH_TRY(auto lock, files::FileLock::try_take(state.path() + "/locks/" + key.text()),
           "lock run " + key.text());
    if (!lock)
        return std::nullopt;
    return RunLock(*std::move(lock));
}

} // namespace anchorhold::state
