// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/original.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/state/process.hpp"
#include "schema/run_key.hpp"
#include "schema/sha256.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace anchorhold::state {

namespace {

constexpr const char* config_name = "config.json";
constexpr const char* kept_name = "config.json";
// The temporary file has one fixed name. A file of that name that a crash left is removed first.
// Two writers at the same time are kept apart by the bundle's lock.
constexpr const char* temporary_name = ".config.json.anchorhold";

constexpr const char* beside_prefix = ".config.json.anchorhold-";

constexpr std::size_t most_bytes = std::size_t{16} * 1024 * 1024; // as json::Limits

std::string kept_path(const StateDir& state, const RunKey& key)
{
    return state.run_path(key) + "/" + kept_name;
}

Status write_whole(int fd, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_errno("write beside config.json", errno);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Status fill_and_rename(int directory, int file, const struct stat& like, const std::string& text)
{
    if (::fchown(file, like.st_uid, like.st_gid) != 0)
        return fail_errno("give config.json its owner", errno);
    if (::fchmod(file, like.st_mode & 07777) != 0)
        return fail_errno("give config.json its mode", errno);
    AH_CHECK(write_whole(file, text));
    if (::renameat(directory, temporary_name, directory, config_name) != 0)
        return fail_errno("replace config.json", errno);
    return {};
}

// Returns why nothing can be written beside config.json, from errno.
Error cannot_write_beside()
{
    const int number = errno;
    return number == EROFS
               ? system_error("the bundle is on a read-only filesystem, config.json cannot be "
                              "edited; put the bundle on a writable one",
                              number)
               : system_error("write beside config.json", number);
}

Status replace_text(int directory, const std::string& text)
{
    struct stat like = {};
    if (::fstatat(directory, config_name, &like, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_errno("look at config.json", errno);
    (void)::unlinkat(directory, temporary_name, 0); // one that a crash left; usually there is none
    const UniqueFd file(::openat(directory, temporary_name,
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
        return std::unexpected(cannot_write_beside());
    auto done = fill_and_rename(directory, file.get(), like, text);
    if (!done)
        (void)::unlinkat(directory, temporary_name, 0); // `done` already says what went wrong
    return done;
}

std::string config_at(int directory)
{
    return "/proc/self/fd/" + std::to_string(directory) + "/" + config_name;
}

// The process that owns a run, and where that process is to be looked for.
struct Owner {
    std::string boot;
    FileIdentity pidns;
    ProcessIdentity process;
};

std::string name_beside(const Record& record)
{
    std::string name = beside_prefix + run_name(record) + "." + record.boot_id;
    for (const std::uint64_t number :
         {record.host_pidns.device, record.host_pidns.inode,
          static_cast<std::uint64_t>(record.creator.pid), record.creator.start})
        name += "." + std::to_string(number);
    return name;
}

// Reads the owner from the part of a name behind the run: "BOOT.DEVICE.INODE.PID.START".
std::optional<Owner> read_owner(std::string_view text)
{
    Owner owner;
    owner.boot = text.substr(0, text.find('.'));
    std::array<std::uint64_t, 4> numbers{};
    for (std::uint64_t& number : numbers) {
        const std::size_t dot = text.find('.');
        if (dot == std::string_view::npos)
            return std::nullopt;
        text.remove_prefix(dot + 1);
        if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
            return std::nullopt;
    }
    owner.pidns = {numbers[0], numbers[1]};
    owner.process = {static_cast<std::int64_t>(numbers[2]), numbers[3]};
    return owner;
}

// Lists the originals in a bundle whose names begin with `prefix`.
Result<std::vector<std::string>> list_beside(int directory, const std::string& prefix)
{
    struct Closer {
        void operator()(DIR* open) const noexcept { ::closedir(open); }
    };
    UniqueFd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, Closer> listed(again ? ::fdopendir(again.get()) : nullptr);
    if (!listed)
        return fail_errno("list the bundle", errno);
    (void)again.release(); // closedir closes it
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listed.get())) {
        if (std::string_view(entry->d_name).starts_with(prefix))
            names.emplace_back(entry->d_name);
    }
    return names;
}

// Says whether the process lives that owns the original of that name.
Result<Lives> look_for_owner(int directory, const std::string& name)
{
    constexpr std::size_t run_length = 12 + 1 + 16; // "KEY.GENERATION"
    const std::size_t behind = std::string_view(beside_prefix).size() + run_length + 1;
    const auto owner =
        name.size() > behind ? read_owner(std::string_view(name).substr(behind)) : std::nullopt;
    struct stat kept = {};
    if (::fstatat(directory, name.c_str(), &kept, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_errno("look at " + name, errno);
    if (!owner)
        return Lives::unknown;
    // Making the link, or the copy, set its time of change.
    return look_for(owner->process, owner->boot, owner->pidns, kept.st_ctim.tv_sec);
}

// Removes the originals that killed runs left beside a config.json that was not edited yet.
void drop_leftovers(int directory)
{
    const auto names = list_beside(directory, beside_prefix);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
        const auto lives = look_for_owner(directory, name);
        if (lives && *lives == Lives::no)
            (void)::unlinkat(directory, name.c_str(), 0); // if this fails, the next run tries
    }
}

// Makes the file beside config.json its original again. Refuses anything but a file.
Status take_beside(int directory, const std::string& name)
{
    struct stat kept = {};
    if (::fstatat(directory, name.c_str(), &kept, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_errno("look at " + name, errno);
    if (!S_ISREG(kept.st_mode))
        return fail(Code::network_setup_failed, name + " is no regular file");
    if (::renameat(directory, name.c_str(), directory, config_name) != 0)
        return fail_errno("put config.json back", errno);
    return {};
}

Status copy_beside(int directory, const std::string& name)
{
    struct stat like = {};
    AH_TRY(const auto text, files::read_file(config_at(directory), most_bytes), "keep config.json");
    if (!text || ::fstatat(directory, config_name, &like, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_errno("look at config.json", text ? errno : ENOENT);
    const UniqueFd file(::openat(directory, name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
        return std::unexpected(cannot_write_beside());
    if (::fchown(file.get(), like.st_uid, like.st_gid) != 0 ||
        ::fchmod(file.get(), like.st_mode & 07777) != 0)
        return fail_errno("give config.json its owner", errno);
    return write_whole(file.get(), *text);
}

// Puts the original back, or says that there is none. The caller holds the bundle's lock.
Status undo_edit(const StateDir& state, const RunKey& key, int directory,
                 const std::vector<std::string>& beside)
{
    if (!beside.empty())
        return take_beside(directory, beside[0]);
    const std::string kept = kept_path(state, key);
    AH_TRY(const auto original, files::read_file(kept, most_bytes));
    if (!original) {
        return fail(Code::network_setup_failed,
                    "config.json holds our edits, and its original is gone; write it anew");
    }
    AH_CHECK(replace_text(directory, *original));
    (void)::unlink(kept.c_str()); // if this fails, it goes with the run's folder
    return {};
}

bool is_our_edit(const std::string& text, const Record& record)
{
    return text.contains(run_name(record)) || sha256_hex(text) == record.config_digest;
}

} // namespace

Result<files::FileLock> lock_bundle(const StateDir& state, int directory)
{
    struct stat bundle = {};
    if (::fstat(directory, &bundle) != 0)
        return fail_errno("look at the bundle", errno);
    return files::FileLock::take_in_turn(state.path() + "/locks/bundle-" +
                                             std::to_string(bundle.st_dev) + "-" +
                                             std::to_string(bundle.st_ino),
                                         std::chrono::seconds(10));
}

Status replace_config(int directory, const std::string& expected, const std::string& text)
{
    AH_TRY(const auto standing, files::read_file(config_at(directory), most_bytes),
           "edit config.json");
    if (!standing || *standing != expected)
        return fail(Code::config_ambiguous, "config.json changed after it was read");
    return replace_text(directory, text);
}

Status keep_original(const StateDir& state, const RunKey& key, const std::string& text)
{
    return files::replace_file(kept_path(state, key), text, 0600);
}

Status keep_beside(int directory, const Record& record)
{
    const std::string name = name_beside(record);
    drop_leftovers(directory);
    if (::linkat(directory, config_name, directory, name.c_str(), 0) == 0)
        return {};
    if (errno == EROFS)
        return std::unexpected(cannot_write_beside());
    auto copied = copy_beside(directory, name); // the filesystem may have no hard links
    if (!copied)
        (void)::unlinkat(directory, name.c_str(), 0); // `copied` already says what went wrong
    return copied;
}

Status put_back(const StateDir& state, const Record& record)
{
    constexpr std::string_view doing = "put config.json back";
    AH_TRY(const RunKey key, RunKey::parse(record.key), doing);
    const UniqueFd bundle(::open(record.bundle.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!bundle)
        return {};
    AH_TRY(const files::FileLock lock, lock_bundle(state, bundle.get()), doing);
    // The lock's holder is the only writer, so this one was left by a kill.
    (void)::unlinkat(bundle.get(), temporary_name, 0);
    auto read = files::read_file(config_at(bundle.get()), most_bytes);
    if (!read && (read.error().number == ELOOP || read.error().number == EFBIG))
        read = std::nullopt; // we wrote no such file
    AH_TRY(const auto standing, std::move(read), doing);
    AH_TRY(const auto beside, list_beside(bundle.get(), beside_prefix + run_name(record) + "."),
           doing);
    if (standing && is_our_edit(*standing, record))
        return undo_edit(state, key, bundle.get(), beside);
    for (const std::string& name : beside) {
        if (::unlinkat(bundle.get(), name.c_str(), 0) != 0 && errno != ENOENT)
            return fail_errno("remove " + name, errno);
    }
    return {};
}

Result<bool> restore_unrecorded(int directory, std::string_view mark)
{
    AH_TRY(const auto names, list_beside(directory, beside_prefix + std::string(mark) + "."),
           "put config.json back");
    if (names.empty())
        return false;
    AH_TRY(const Lives lives, look_for_owner(directory, names[0]));
    if (lives != Lives::no) {
        return fail(Code::invalid_request,
                    "config.json holds the edit of run " + printable(mark) + ", whose process " +
                        (lives == Lives::yes ? "lives" : "cannot be looked at from here"));
    }
    (void)::unlinkat(directory, temporary_name, 0); // usually there is none
    AH_CHECK(take_beside(directory, names[0]));
    return true;
}

} // namespace anchorhold::state
