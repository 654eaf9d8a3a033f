// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/process.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/state/deadline.hpp"
#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace anchorhold::state {
namespace {

// The numbers of the fields of /proc/PID/stat, which proc(5) counts from 1. All of these come after
// the command's closing parenthesis.
constexpr std::size_t first_field = 3;
constexpr std::size_t state_field = 3;
constexpr std::size_t threads_field = 20;
constexpr std::size_t start_field = 22;

std::vector<std::string_view> words_of(std::string_view text)
{
    std::vector<std::string_view> words;
    for (;;) {
        const std::size_t begin = text.find_first_not_of(" \n");
        if (begin == std::string_view::npos)
            return words;
        text.remove_prefix(begin);
        const std::size_t length = std::min(text.find_first_of(" \n"), text.size());
        words.push_back(text.substr(0, length));
        text.remove_prefix(length);
    }
}

std::optional<std::uint64_t> number_in(std::string_view text)
{
    std::uint64_t number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

// Whole seconds are compared, and two clocks that are read one after the other.
constexpr std::int64_t odd_seconds = 2;

// Returns when this kernel was booted, in seconds since the epoch.
std::int64_t booted_at()
{
    timespec since = {};
    if (::clock_gettime(CLOCK_BOOTTIME, &since) != 0)
        return 0; // then nothing is called older
    return std::time(nullptr) - since.tv_sec;
}

std::string proc_path(pid_t pid, std::string_view rest)
{
    return "/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid)) + std::string(rest);
}

} // namespace

Result<std::optional<ProcessIdentity>> read_stat(pid_t pid, std::string_view stat)
{
    const Error odd{Code::network_setup_failed, 0,
                    "read process " + std::to_string(pid) + ": its stat line is unreadable"};
    const std::size_t command_end = stat.rfind(')'); // the command may itself hold a ')'
    if (command_end == std::string_view::npos)
        return std::unexpected(odd);
    const auto words = words_of(stat.substr(command_end + 1));
    if (words.size() <= start_field - first_field)
        return std::unexpected(odd);
    const auto threads = number_in(words[threads_field - first_field]);
    const auto start = number_in(words[start_field - first_field]);
    if (!threads || !start)
        return std::unexpected(odd);
    const char state = words[state_field - first_field].front();
    // A process whose first thread has ended while others live is shown as a zombie, and is none.
    if ((state == 'Z' || state == 'X') && *threads <= 1)
        return std::nullopt;
    return ProcessIdentity{pid, *start};
}

Result<std::optional<ProcessIdentity>> identify(pid_t pid)
{
    if (pid <= 0)
        return std::nullopt;
    auto read = files::read_file(proc_path(pid, "/stat"), 4096);
    if (!read && read.error().number == ESRCH) // the process ended between open(2) and read(2)
        return std::nullopt;
    AH_TRY(const auto stat, std::move(read));
    if (!stat)
        return std::nullopt;
    return read_stat(pid, *stat);
}

bool is_alive(const ProcessIdentity& process)
{
    const auto now = identify(static_cast<pid_t>(process.pid));
    return !now || *now == process; // a process that cannot be looked at is not called dead
}

Result<Lives> look_for(const ProcessIdentity& process, std::string_view boot,
                       const FileIdentity& pidns, std::int64_t since)
{
    AH_TRY(const std::string now, boot_id(), "look for a process");
    AH_TRY(const FileIdentity here, namespace_of(0, "pid"), "look for a process");
    if (boot != now && since < booted_at() - odd_seconds)
        return Lives::no;
    if (pidns != here)
        return Lives::unknown;
    return is_alive(process) ? Lives::yes : Lives::no;
}

bool is_gone_within(const ProcessIdentity& process, std::chrono::milliseconds bound)
{
    if (!is_alive(process))
        return true;
    const UniqueFd handle(
        static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0)));
    // The handle is another process's only if ours has ended before. Then is_alive says so.
    if (handle && is_alive(process))
        (void)Deadline(bound).wait_readable(handle.get(), "wait"); // is_alive below decides
    return !is_alive(process);
}

Result<std::string> boot_id()
{
    AH_TRY(auto text, files::read_file("/proc/sys/kernel/random/boot_id", 256), "read the boot id");
    if (!text)
        return fail_errno("read the boot id", ENOENT);
    text->erase(std::min(text->find('\n'), text->size()));
    return *std::move(text);
}

Result<FileIdentity> namespace_of(pid_t pid, const char* name)
{
    const std::string path = proc_path(pid, "/ns/") + name;
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0)
        return fail_errno("look at " + path, errno);
    return FileIdentity{found.st_dev, found.st_ino};
}

std::uint64_t netns_cookie()
{
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    if (!socket || ::getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0)
        return 0;
    return cookie;
}

Result<std::string> random_generation()
{
    std::array<unsigned char, 8> bytes;
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return fail_errno("draw a random generation", errno);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

Result<std::vector<pid_t>> every_process()
{
    std::vector<pid_t> pids;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        pid_t pid = 0;
        const auto [rest, number] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (number == std::errc() && rest == name.data() + name.size())
            pids.push_back(pid);
    }
    if (error)
        return fail_errno("list /proc", error.value());
    return pids;
}

Result<bool> is_inhabited(const FileIdentity& place, const char* name)
{
    AH_TRY(const auto pids, every_process());
    return std::ranges::any_of(pids, [&](pid_t pid) {
        const auto there = namespace_of(pid, name);
        return there ? *there == place
                     : there.error().number != ENOENT && there.error().number != ESRCH;
    });
}

} // namespace anchorhold::state
