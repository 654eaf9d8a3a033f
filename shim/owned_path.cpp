// SPDX-License-Identifier: Apache-2.0
// Walks a path as the kernel would, one component at a time, and asks of each who could put
// another thing in its place.
#include "schema/unique_fd.hpp"
#include "shim/inspection.hpp"

#include <array>
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <sys/stat.h>

namespace anchorhold {

namespace {

constexpr unsigned most_links = 40; // path_resolution(7)

struct Walk {
    std::deque<std::string> ahead; // components still to come
    std::string behind;            // how we got here, for the sentence
    UniqueFd here;                 // O_PATH
    unsigned links = 0;
};

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

enum class Place : std::uint8_t { on_the_way, last };

Place place_of(const Walk& walk)
{
    return walk.ahead.empty() ? Place::last : Place::on_the_way;
}

// In a sticky directory only a file's owner, the directory's and root can replace it, and the
// file's owner is looked at next. The group bits are the mask of an access control list as well
// (acl(5)), so they count for any group.
Status check_owner(const struct stat& file, const std::string& shown, Place place)
{
    const uid_t me = ::geteuid();
    if (file.st_uid != 0 && file.st_uid != me)
        return fail(Code::invalid_request, printable(shown) + " belongs to uid " +
                                               std::to_string(file.st_uid) + "; chown it to root");
    const bool sticky = place == Place::on_the_way && (file.st_mode & S_ISVTX) != 0;
    if (!S_ISLNK(file.st_mode) && !sticky && (file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return fail(Code::invalid_request,
                    printable(shown) + " can be written by others than root; chmod go-w it");
    return {};
}

Result<std::string> link_target(const Walk& walk, const std::string& name, const std::string& shown)
{
    std::array<char, 4096> buffer{};
    const ssize_t length =
        ::readlinkat(walk.here.get(), name.c_str(), buffer.data(), buffer.size());
    if (length < 0)
        return fail_errno("read the link " + printable(shown), errno);
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

Status back_to_root(Walk& walk)
{
    walk.here = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    walk.behind.clear();
    struct stat root = {};
    if (!walk.here || ::fstat(walk.here.get(), &root) != 0)
        return fail_errno("open /", errno);
    return check_owner(root, "/", place_of(walk));
}

Status step(Walk& walk)
{
    const std::string name = std::move(walk.ahead.front());
    walk.ahead.pop_front();
    const std::string shown = walk.behind + "/" + name;
    UniqueFd next(::openat(walk.here.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat file = {};
    if (!next || ::fstat(next.get(), &file) != 0)
        return fail_errno("open " + printable(shown), errno);
    AH_CHECK(check_owner(file, shown, place_of(walk)), "");
    if (!S_ISLNK(file.st_mode)) {
        walk.here = std::move(next);
        walk.behind = shown;
        return {};
    }
    if (++walk.links > most_links)
        return fail_errno("open " + printable(shown), ELOOP);
    AH_TRY(const std::string target, link_target(walk, name, shown), "");
    prepend(walk.ahead, target);
    return target.starts_with('/') ? back_to_root(walk) : Status();
}

} // namespace

Status check_owned_path(const std::string& path, std::string_view what, Code code)
{
    Walk walk;
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

} // namespace anchorhold
