// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/bounded_child.hpp"

#include "hooks/files/owned_path.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/runtime.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace anchorhold::runtime {
namespace {

constexpr std::size_t most_said = std::size_t{1024} * 1024; // bytes of each stream that are kept
// The signals that ask us to end.
constexpr std::array<int, 4> ends{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
constexpr std::chrono::seconds grace(10); // between SIGTERM and SIGKILL

// The streams of the child. They stay the caller's.
struct Streams {
    int input; // -1: nothing to read
    const UniqueFd& out;
    const UniqueFd& err;
};

// The attributes that posix_spawn(3) needs: the child gets a process group of its own and the
// signal mask that was there before ours.
class SpawnSetup {
public:
    SpawnSetup(const DeferredSignals& held, const Streams& streams)
    {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
        if (streams.input >= 0) {
            ::posix_spawn_file_actions_adddup2(&actions_, streams.input, STDIN_FILENO);
        } else {
            ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        }
        ::posix_spawn_file_actions_adddup2(&actions_, streams.out.get(), STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions_, streams.err.get(), STDERR_FILENO);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setsigmask(&attributes_, &held.before());
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;
    ~SpawnSetup()
    {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    int spawn(pid_t& child, const std::string& program, const std::vector<std::string>& words) const
    {
        // An engine's client needs its user's variables (DOCKER_HOST), but none that has it load
        // code.
        std::vector<char*> variables;
        for (char** variable = environ; *variable != nullptr; ++variable) {
            if (!steers_the_loader(*variable))
                variables.push_back(*variable);
        }
        variables.push_back(nullptr);
        return ::posix_spawn(&child, program.c_str(), &actions_, &attributes_,
                             argument_vector(program, words).data(), variables.data());
    }

private:
    posix_spawn_file_actions_t actions_ = {};
    posix_spawnattr_t attributes_ = {};
};

// The reason why a wait ended.
enum class Event : std::uint8_t {
    end,     // the child ended
    signal,  // a held signal came
    nothing, // the time was over
};

// Waits until the child has ended, a held signal came, or the time is over. `child` is a pidfd;
// `signals` is a signalfd, or -1 when no signal shall end the wait.
Event wait_until(int child, int signals, std::chrono::steady_clock::time_point end)
{
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        std::array<pollfd, 2> watched{{{child, POLLIN, 0}, {signals, POLLIN, 0}}};
        const int ready = ::poll(watched.data(), watched.size(),
                                 static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return Event::nothing;
        return watched[0].revents != 0 ? Event::end : Event::signal;
    }
}

// Waits for the child, and at the deadline or on a signal ends its whole group: programs that an
// engine starts for its own purposes go along. Returns whether the child ended by itself.
bool bring_to_end(pid_t child, int handle, int signals, std::chrono::seconds deadline)
{
    const auto now = [] { return std::chrono::steady_clock::now(); };
    if (wait_until(handle, signals, now() + deadline) == Event::end)
        return true;
    (void)::kill(-child, SIGTERM); // the child may have ended by now
    if (wait_until(handle, -1, now() + grace) != Event::end)
        (void)::kill(-child, SIGKILL);
    return false;
}

int status_of(pid_t child)
{
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Returns what was written to the file, up to most_said bytes.
std::string said_in(const UniqueFd& file)
{
    std::string text(most_said, '\0');
    const ssize_t length = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

bool is_program(const std::string& path)
{
    struct stat file = {};
    return ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

} // namespace

Result<DeferredSignals> DeferredSignals::hold()
{
    DeferredSignals held;
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int signal : ends) {
        struct sigaction action = {};
        if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
            ::sigaddset(&wanted, signal);
    }
    held.fd_ = UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC));
    if (!held.fd_)
        return fail_errno("watch for signals", errno);
    ::sigprocmask(SIG_BLOCK, &wanted, &held.before_);
    held.holds_ = true;
    return held;
}

DeferredSignals::DeferredSignals(DeferredSignals&& other) noexcept
    : holds_(std::exchange(other.holds_, false)), before_(other.before_), fd_(std::move(other.fd_))
{
}

DeferredSignals::~DeferredSignals()
{
    if (holds_)
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool DeferredSignals::came() const
{
    pollfd watched{fd(), POLLIN, 0};
    return ::poll(&watched, 1, 0) > 0;
}

Result<Answer> ask(const DeferredSignals& held, OnSignal heed, const std::string& program,
                   const std::vector<std::string>& words, int input, std::chrono::seconds deadline)
{
    AH_TRY(const UniqueFd out, file_in_memory(""));
    AH_TRY(const UniqueFd err, file_in_memory(""));
    pid_t child = 0;
    const int number = SpawnSetup(held, {input, out, err}).spawn(child, program, words);
    if (number != 0)
        return fail_errno("run " + in_quotes(program), number, Code::delegate_failed);
    // The child's number stays its own until we have waited for it, and nobody else waits for it.
    const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    const int signals = heed == OnSignal::end_it ? held.fd() : -1;
    const bool in_time = bring_to_end(child, handle.get(), signals, deadline);
    const int status = status_of(child);
    return Answer{status, !in_time, said_in(out), said_in(err)};
}

Result<std::string> find_on_path(std::string_view name)
{
    const char* const said = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): one thread
    std::string_view path =
        said != nullptr ? said : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    for (;;) {
        const std::size_t length = std::min(path.find(':'), path.size());
        std::string file = std::string(path.substr(0, length)) + "/" + std::string(name);
        if (file.starts_with('/') && is_program(file)) {
            AH_CHECK(files::check_owned_path(file, name, Code::delegate_failed));
            return file;
        }
        if (length == path.size())
            break;
        path.remove_prefix(length + 1);
    }
    return fail(Code::delegate_failed, std::string(name) + " is not on PATH");
}

Result<UniqueFd> file_in_memory(std::string_view text)
{
    UniqueFd file(::memfd_create("anchorhold-verify", MFD_CLOEXEC));
    if (!file)
        return fail_errno("make a file in memory", errno);
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t wrote =
            ::pwrite(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
        if (wrote <= 0)
            return fail_errno("fill a file in memory", errno);
        at += static_cast<std::size_t>(wrote);
    }
    return file;
}

std::string path_of(const UniqueFd& file)
{
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get());
}

} // namespace anchorhold::runtime
