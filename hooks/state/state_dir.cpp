// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/state_dir.hpp"

#include "hooks/files/directory.hpp"
#include "hooks/files/mountinfo.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/process.hpp"
#include "schema/file_identity.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr const char* pidns_name = "pidns";

Result<std::vector<RunKey>> keys_in(const std::string& path)
{
    AH_TRY(auto names, files::names_in(path), "list the runs");
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

} // namespace

Result<StateDir> StateDir::open(std::string path)
{
    AH_TRY(auto state, from(std::move(path)), "open the state directory");
    AH_CHECK(files::make_directory(state.path_, 0711), "open the state directory");
    for (const char* name : {"/runs", "/locks", "/ended", "/refused", "/subnets"})
        AH_CHECK(files::make_directory(state.path_ + name, 0700), "open the state directory");
    return state;
}

Result<std::optional<StateDir>> StateDir::existing(std::string path)
{
    AH_TRY(auto state, from(std::move(path)), "open the state directory");
    const Status standing = files::check_directory(state.path_);
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
    AH_CHECK(files::make_directory(run_path(key), 0700), "make the run's folder");
    AH_TRY(const FileIdentity pids, namespace_of(0, "pid"), "make the run's folder");
    if (::symlink(pids.text().c_str(), (run_path(key) + "/" + pidns_name).c_str()) != 0)
        return fail_errno("write down the pid namespace", errno);
    return files::make_directory(inside_path(key), 0755);
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
    AH_TRY(const auto names, files::names_in(path_ + "/locks"), "list the locks");
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

Status StateDir::write_text(const Record& record, std::string_view text) const
{
    AH_TRY(const RunKey key, RunKey::parse(record.key), "write a record");
    if (text.size() > largest_record) // a record that cannot be read cannot be torn down
        return fail_errno("write the record of run " + record.key, EFBIG);
    return files::replace_file(run_path(key) + "/record.json", text, 0600);
}

Status StateDir::write(const Record& record) const
{
    return write_text(record, to_json(record));
}

Status StateDir::write_last(const Record& record) const
{
    return write_text(record, last_text(record));
}

std::string StateDir::ended_folder() const
{
    return path_ + "/ended";
}

std::string StateDir::refused_folder() const
{
    return path_ + "/refused";
}

Status StateDir::archive(const Record& record) const
{
    AH_CHECK(write_last(record), "archive the record");
    const std::string from = path_ + "/runs/" + record.key + "/record.json";
    const std::string to = ended_path(ended_folder(), record);
    if (::rename(from.c_str(), to.c_str()) != 0)
        return fail_errno("move the record to " + to, errno);
    return prune_ended(ended_folder(), ended_bounds, ended_bounds.most + ended_bounds.spare);
}

Status StateDir::archive_refusal(const Record& record) const
{
    AH_CHECK(files::replace_file(ended_path(refused_folder(), record), to_json(record), 0600),
             "archive the refusal");
    return prune_ended(refused_folder(), refused_bounds, refused_bounds.most);
}

Status StateDir::drop_old_ended() const
{
    AH_CHECK(prune_ended(refused_folder(), refused_bounds, 0));
    return prune_ended(ended_folder(), ended_bounds, 0);
}

Result<std::vector<EndedRecord>> StateDir::last_records() const
{
    AH_TRY(auto found, read_ended(ended_folder()), "list the ended runs");
    AH_TRY(auto refused, read_ended(refused_folder()), "list the refused runs");
    std::ranges::move(refused, std::back_inserter(found));
    return found;
}

Result<std::vector<Record>> StateDir::ended() const
{
    AH_TRY(auto found, last_records());
    return newest_first(std::move(found));
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
