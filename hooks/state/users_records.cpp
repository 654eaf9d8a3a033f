// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/users_records.hpp"

#include "hooks/files/directory.hpp"
#include "hooks/files/mountinfo.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/ended_records.hpp"
#include "schema/run_key.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::size_t most_names = 4096; // looked at in one folder
// A file system that a user has mounted may never answer, so no other one is entered.
constexpr std::uint64_t no_links = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
constexpr std::uint64_t only_here = no_links | RESOLVE_NO_XDEV;

struct UsersFolder {
    uid_t uid;
    Which which;
    UniqueFd folder; // anchorhold/runs or anchorhold/ended
};

Result<UniqueFd> open_strictly(int at, const std::string& path, std::uint64_t flags,
                               std::uint64_t resolve)
{
    open_how how = {};
    how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = resolve;
    UniqueFd file(static_cast<int>(::syscall(SYS_openat2, at, path.c_str(), &how, sizeof how)));
    if (!file)
        return fail_errno("open " + printable(path), errno);
    return file;
}

std::optional<uid_t> uid_in(std::string_view name)
{
    uid_t uid = 0;
    const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), uid);
    if (ec != std::errc() || end != name.data() + name.size() || std::to_string(uid) != name)
        return std::nullopt;
    return uid;
}

// Refuses a runtime directory over which something else than a tmpfs is mounted: its user may have
// done so. One that is no mount lies in root's /run.
Status check_mount(const std::string& path)
{
    AH_TRY(const auto table, files::read_file("/proc/self/mountinfo", files::most_mountinfo));
    std::string type = "tmpfs";
    for (const files::HostMount& mount : files::read_mountinfo(table.value_or(""))) {
        if (mount.place == path)
            type = mount.type;
    }
    if (type != "tmpfs")
        return fail(Code::network_setup_failed, path + " is no tmpfs but " + printable(type));
    return {};
}

// Opens the folder of a user's records. Returns nullopt when there is none.
Result<std::optional<UsersFolder>> open_folder(int place, const std::string& path, uid_t uid,
                                               Which which)
{
    AH_CHECK(check_mount(path + "/" + std::to_string(uid)));
    constexpr std::uint64_t directory = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
    AH_TRY(const UniqueFd user, open_strictly(place, std::to_string(uid), directory, no_links));
    const std::string below = which == Which::live ? "anchorhold/runs" : "anchorhold/ended";
    auto folder = open_strictly(user.get(), below, directory, only_here);
    if (!folder && folder.error().number == ENOENT)
        return std::nullopt;
    AH_TRY(UniqueFd opened, std::move(folder));
    return UsersFolder{uid, which, std::move(opened)};
}

// Lists the names of runs in a folder, sorted. Looks at no more than most_names of all names.
std::vector<std::string> runs_in(const UsersFolder& from, std::vector<std::string>& left_out)
{
    struct Closer {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    std::vector<std::string> names;
    const int copy = ::fcntl(from.folder.get(), F_DUPFD_CLOEXEC, 0);
    const std::unique_ptr<DIR, Closer> directory(::fdopendir(copy));
    std::size_t looked_at = 0;
    const dirent* entry = nullptr;
    while (directory && looked_at++ < most_names &&
           (entry = ::readdir(directory.get())) != nullptr) {
        const std::string_view name = entry->d_name;
        if (from.which == Which::live ? RunKey::parse(name).has_value() : is_ended_name(name))
            names.emplace_back(name);
    }
    std::ranges::sort(names);
    if (names.size() > most_users_runs || looked_at > most_names) {
        names.resize(std::min(names.size(), most_users_runs));
        left_out.emplace_back("there are more runs than are looked at");
    }
    return names;
}

// Reads one record. Returns nullopt when there is none any more.
Result<std::optional<Record>> read_one(const UsersFolder& from, const std::string& name)
{
    const std::string path = from.which == Which::live ? name + "/record.json" : name;
    auto file = open_strictly(from.folder.get(), path, O_RDONLY | O_NONBLOCK | O_NOCTTY, only_here);
    if (!file && file.error().number == ENOENT)
        return std::nullopt;
    AH_TRY(const UniqueFd opened, std::move(file));
    struct stat found = {};
    if (::fstat(opened.get(), &found) != 0)
        return fail_errno("look at " + path, errno);
    if (!S_ISREG(found.st_mode) || found.st_uid != from.uid)
        return fail(Code::network_setup_failed, path + " is no regular file of theirs");
    AH_TRY(std::string text, files::read_all(opened.get(), most_users_record, path));
    AH_TRY(Record record, parse_record(std::move(text)), path);
    if (!name.starts_with(record.key))
        return fail(Code::network_setup_failed, path + " is another run's");
    record.seen.clear();
    record.seen_at = 0;
    record.owner = from.uid;
    return record;
}

void read_folder(const UsersFolder& from, UsersRecords& into)
{
    std::vector<std::string> left_out;
    for (const std::string& name : runs_in(from, left_out)) {
        auto record = read_one(from, name);
        if (!record) {
            left_out.push_back(std::move(record).error().what);
        } else if (*record) {
            into.records.push_back(**std::move(record));
        }
    }
    for (const std::string& sentence : left_out)
        into.left_out.push_back("uid " + std::to_string(from.uid) + ": " + printable(sentence));
}

} // namespace

UsersRecords read_users_records(const std::string& place, Which which)
{
    UsersRecords all;
    const auto names = files::names_in(place);
    const UniqueFd here(::open(place.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::vector<uid_t> users;
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
        if (const auto uid = uid_in(name); uid && *uid != 0)
            users.push_back(*uid);
    }
    std::ranges::sort(users);
    for (const uid_t uid : users) {
        const auto folder = open_folder(here.get(), place, uid, which);
        if (!folder) {
            all.left_out.push_back("uid " + std::to_string(uid) + ": " + folder.error().what);
        } else if (*folder) {
            read_folder(**folder, all);
        }
    }
    return all;
}

} // namespace anchorhold::state
