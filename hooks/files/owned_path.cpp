// SPDX-License-Identifier: Apache-2.0
// Walks a path as the kernel does, one component at a time. Asks of each component who could put
// something else in its place. Each component is opened and then looked at through its descriptor,
// so what was judged at the end is what the caller gets: with two look-ups by name, a file could
// be read by its first name and judged by its second.
#include "hooks/files/owned_path.hpp"

#include "hooks/files/file_owner.hpp"

#include <array>
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::files {

namespace {

constexpr unsigned most_links = 40; // path_resolution(7)

struct PathWalk {
    std::deque<std::string> ahead; // the components that are still to come
    std::string behind; // the checked path: it has no links, and nobody else can change it
    UniqueFd at;        // O_PATH, what lies there
    unsigned links = 0; // the links followed so far
};

// Puts the components of `path` before those of `ahead`, without "" and ".".
void prepend(std::deque<std::string>& ahead, const std::string& path)
{
    std::size_t end = path.size();
    while (end > 0) {
        const std::size_t slash = path.rfind('/', end - 1);
        const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
        if (begin < end && path.substr(begin, end - begin) != ".")
            ahead.push_front(path.substr(begin, end - begin));
        end = slash == std::string::npos ? 0 : slash;
    }
}

// Refuses a component that another user owns or can write. A sticky directory may be writable: only
// the file's owner, the directory's owner and root can replace a file in it, and the file's owner
// is looked at in the next step. The group bits count for any group, because they also are the mask
// of an access control list (acl(5)).
Status check_owner(const struct stat& file, const std::string& path, const PathWalk& walk)
{
    if (!is_owned_well(path, file)) {
        return fail(Code::invalid_request, printable(path) + " belongs to uid " +
                                               std::to_string(file.st_uid) + "; chown it to root");
    }
    const bool sticky = !walk.ahead.empty() && (file.st_mode & S_ISVTX) != 0;
    if (!S_ISLNK(file.st_mode) && !sticky && (file.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return fail(Code::invalid_request,
                    printable(path) + " can be written by others than root; chmod go-w it");
    }
    return {};
}

Result<std::string> link_target(const UniqueFd& link, const std::string& path)
{
    std::array<char, 4096> buffer{};
    const ssize_t length = ::readlinkat(link.get(), "", buffer.data(), buffer.size());
    if (length < 0)
        return fail_errno("read the link " + printable(path), errno);
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

// Opens a file to look at it, without following a link.
Result<UniqueFd> open_to_look(int directory, const std::string& name, const std::string& path,
                              struct stat& file)
{
    UniqueFd fd(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::fstat(fd.get(), &file) != 0)
        return fail_errno("look at " + printable(path), errno);
    return fd;
}

Status back_to_root(PathWalk& walk)
{
    walk.behind.clear();
    struct stat root = {};
    AH_TRY(walk.at, open_to_look(AT_FDCWD, "/", "/", root));
    return check_owner(root, "/", walk);
}

// Checks the next component, which lies in the directory that was checked before.
Status step(PathWalk& walk)
{
    const std::string name = walk.ahead.front();
    std::string path = walk.behind + "/" + name;
    walk.ahead.pop_front();
    struct stat file = {};
    AH_TRY(UniqueFd next, open_to_look(walk.at.get(), name, path, file));
    AH_CHECK(check_owner(file, path, walk));
    if (!S_ISLNK(file.st_mode)) {
        walk.behind = std::move(path);
        walk.at = std::move(next);
        return {};
    }
    if (++walk.links > most_links)
        return fail_errno("look at " + printable(path), ELOOP);
    AH_TRY(const std::string target, link_target(next, path));
    prepend(walk.ahead, target);
    return target.starts_with('/') ? back_to_root(walk) : Status();
}

// Walks the whole path.
Status walk_all(PathWalk& walk, const std::string& path)
{
    if (!path.starts_with('/')) // it would be checked from the root and used from elsewhere
        return fail(Code::invalid_request, in_quotes(path) + " is not absolute");
    prepend(walk.ahead, path);
    AH_CHECK(back_to_root(walk));
    while (!walk.ahead.empty())
        AH_CHECK(step(walk));
    return {};
}

} // namespace

Result<UniqueFd> open_owned_path(const std::string& path, std::string_view what, Code code)
{
    PathWalk walk;
    if (Status good = walk_all(walk, path); !good) {
        Error error = std::move(good).error();
        error.code = code;
        return std::unexpected(std::move(error).in(what));
    }
    return std::move(walk.at);
}

Status check_owned_path(const std::string& path, std::string_view what, Code code)
{
    AH_TRY(const UniqueFd file, open_owned_path(path, what, code));
    return {};
}

} // namespace anchorhold::files
