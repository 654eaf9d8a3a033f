// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/original.hpp"

#include "hooks/state/files.hpp"
#include "schema/run_key.hpp"
#include "schema/sha256.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::state {

namespace {

constexpr const char* config_name = "config.json";
constexpr const char* kept_name = "config.json";
// The temporary file has one fixed name. A file of that name that a crash left is removed first.
// Two writers at the same time are kept apart by the bundle's lock.
constexpr const char* temporary_name = ".config.json.anchorhold";

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

Status replace_text(int directory, const std::string& text)
{
    struct stat like = {};
    if (::fstatat(directory, config_name, &like, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_errno("look at config.json", errno);
    (void)::unlinkat(directory, temporary_name, 0); // one that a crash left; usually there is none
    const UniqueFd file(::openat(directory, temporary_name,
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file && errno == EROFS) {
        return fail_errno("the bundle is on a read-only filesystem, config.json cannot be edited; "
                          "put the bundle on a writable one",
                          EROFS);
    }
    if (!file)
        return fail_errno("write beside config.json", errno);
    auto done = fill_and_rename(directory, file.get(), like, text);
    if (!done)
        (void)::unlinkat(directory, temporary_name, 0); // `done` already says what went wrong
    return done;
}

} // namespace

Result<FileLock> lock_bundle(const StateDir& state, int directory)
{
    struct stat bundle = {};
    if (::fstat(directory, &bundle) != 0)
        return fail_errno("look at the bundle", errno);
    return FileLock::take(state.path() + "/locks/bundle-" + std::to_string(bundle.st_dev) + "-" +
                              std::to_string(bundle.st_ino),
                          std::chrono::seconds(2));
}

Status replace_config(int directory, const std::string& expected, const std::string& text)
{
    const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + config_name;
    AH_TRY(const auto standing, read_file(path, most_bytes), "edit config.json");
    if (!standing || *standing != expected)
        return fail(Code::config_ambiguous, "config.json changed after it was read");
    return replace_text(directory, text);
}

Status keep_original(const StateDir& state, const RunKey& key, const std::string& text)
{
    return replace_file(kept_path(state, key), text, 0600);
}

Status put_back(const StateDir& state, const Record& record)
{
    AH_TRY(const RunKey key, RunKey::parse(record.key), "put config.json back");
    const std::string kept = kept_path(state, key);
    AH_TRY(const auto original, read_file(kept, most_bytes), "put config.json back");
    if (!original)
        return {}; // it was put back already, or never kept
    const UniqueFd bundle(::open(record.bundle.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!bundle)
        return {};
    AH_TRY(const FileLock lock, lock_bundle(state, bundle.get()), "put config.json back");
    const std::string path = record.bundle + "/" + config_name;
    AH_TRY(const auto standing, read_file(path, most_bytes), "put config.json back");
    if (!standing || sha256_hex(*standing) != record.config_digest)
        return {};
    AH_CHECK(replace_text(bundle.get(), *original));
    (void)::unlink(kept.c_str()); // if this fails, it goes with the run's folder
    return {};
}

} // namespace anchorhold::state
