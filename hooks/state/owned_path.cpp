// SPDX-License-Identifier: Apache-2.0
// Walks a path as the kernel does, one component at a time. Asks of each component who could put
// something else in its place.
#include "hooks/state/owned_path.hpp"

#include "hooks/state/owner.hpp"

#include <array>
#include <cerrno>
#include <deque>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::state {

namespace {

constexpr unsigned most_links = 40; // path_resolution(7)

struct PathWalk {
    std::deque<std::string> ahead; // the components that are still to come
    std::string behind; // the checked path: it has no links, and nobody else can change it
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

Result<std::string> link_target(const std::string& path)
{
    std::array<char, 4096> buffer{};
    const ssize_t length = ::readlink(path.c_str(), buffer.data(), buffer.size());
    if (length < 0)
        return fail_errno("read the link " + printable(path), errno);
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

Status back_to_root(PathWalk& walk)
{
    walk.behind.clear();
    struct stat root = {};
    if (::lstat("/", &root) != 0)
        return fail_errno("look at /", errno);
    return check_owner(root, "/", walk);
}

// Checks the next component. Uses its full path from the root, whose earlier components were all
// checked before.
Status step(PathWalk& walk)
{
    std::string path = walk.behind + "/" + walk.ahead.front();
    walk.ahead.pop_front();
    struct stat file = {};
    if (::lstat(path.c_str(), &file) != 0)
        return fail_errno("look at " + printable(path), errno);
    AH_CHECK(check_owner(file, path, walk));
    if (!S_ISLNK(file.st_mode)) {
        walk.behind = std::move(path);
        return {};
    }
    if (++walk.links > most_links)
        return fail_errno("look at " + printable(path), ELOOP);
    AH_TRY(const std::string target, link_target(path));
    prepend(walk.ahead, target);
    return target.starts_with('/') ? back_to_root(walk) : Status();
}

} // namespace

Status check_owned_path(const std::string& path, std::string_view what, Code code)
{
    PathWalk walk;
    prepend(walk.ahead, path);
    Status good = back_to_root(walk);
    while (good && !walk.ahead.empty())
        good = step(walk);
    if (good)
        return {};
    Error error = std::move(good).error();
    error.code = code;
    return std::unexpected(std::move(error).in(what));
}

} // namespace anchorhold::state
