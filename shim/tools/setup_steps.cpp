// SPDX-License-Identifier: Apache-2.0
#include "shim/tools/setup_steps.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

std::string folder_of(const std::string& path)
{
    return path.substr(0, path.rfind('/'));
}

// Returns the text in the width of what is shown, without an empty line at its beginning.
std::string indented(const std::string& text)
{
    std::string out;
    for (std::size_t at = text.starts_with('\n') ? 1 : 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const bool empty = text[at] == '\n';
        out += (empty ? "" : "    ") + text.substr(at, end - at);
        at = end;
    }
    return out + (out.ends_with('\n') ? "" : "\n");
}

Status sync_folder(const std::string& folder)
{
    const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0)
        return fail_errno("sync " + folder, errno);
    return {};
}

// Returns the names under which a file is written before it gets its own. The first is not in its
// folder, because CRI-O reads whatever lies in its own; the second is for a folder that is mounted.
std::array<std::string, 2> fresh_names(const std::string& path)
{
    constexpr const char* name = "/.anchorhold-setup.new";
    const std::string folder = folder_of(path);
    return {folder_of(folder) + name, folder + name};
}

Status write_file(const Step& step)
{
    const auto [beside, within] = fresh_names(step.path);
    auto written = files::replace_file_by(beside, step.path, step.text, step.mode);
    if (written || (written.error().number != EXDEV && written.error().number != EROFS))
        return written;
    return files::replace_file_by(within, step.path, step.text, step.mode);
}

Status make_folder(const std::string& path)
{
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        return fail_errno("make " + path, error.value());
    return {};
}

Status change(const Step& step)
{
    const char* const path = step.path.c_str();
    const char* const other = step.text.c_str();
    switch (step.change) {
    case Change::make_folder: return make_folder(step.path);
    case Change::make_link:
        return ::symlink(other, path) == 0 ? Status() : fail_errno("link " + step.path, errno);
    case Change::keep:
        return ::link(path, other) == 0 ? Status() : fail_errno("link " + step.text, errno);
    case Change::write: return write_file(step);
    case Change::put_back:
        return ::rename(other, path) == 0 ? Status() : fail_errno("rename " + step.text, errno);
    case Change::take_away:
        return ::unlink(path) == 0 ? Status() : fail_errno("remove " + step.path, errno);
    }
    std::abort(); // a byte that is no Change
}

} // namespace

bool is_same_file(const std::string& one, const std::string& other)
{
    struct stat a = {};
    struct stat b = {};
    return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

mode_t mode_of(const std::string& path)
{
    struct stat there = {};
    return ::stat(path.c_str(), &there) == 0 ? there.st_mode & 07777 : 0644;
}

std::vector<std::string> left_by_a_crash(const std::string& path)
{
    std::vector<std::string> found;
    for (const std::string& name : fresh_names(path)) {
        if (::access(name.c_str(), F_OK) == 0)
            found.push_back(name);
    }
    return found;
}

std::string step_text(const Step& step)
{
    const std::string path = printable(step.path, 1000);
    switch (step.change) {
    case Change::make_folder: return "make " + path + "\n";
    case Change::make_link: return "link " + path + " -> " + step.text + "\n";
    case Change::keep: return "keep " + path + " as it is in " + printable(step.text, 1000) + "\n";
    case Change::write:
        return "write " + path + (step.shown.empty() ? "\n" : ":\n" + indented(step.shown));
    case Change::put_back: return "put back " + path + "\n";
    case Change::take_away: return "remove " + path + "\n";
    }
    std::abort(); // a byte that is no Change
}

Status take_step(const Step& step)
{
    AH_CHECK(change(step));
    return sync_folder(folder_of(step.path));
}

} // namespace anchorhold::tools
