// SPDX-License-Identifier: Apache-2.0
// The delegate as a child that behaves as if it stood in our place.
//
// All signals that can be caught are held before the fork and given back in the child before it
// executes, so none is lost and its dispositions are the engine's. We take them with sigwaitinfo(2)
// and pass them on. What a terminal sends has si_code SI_KERNEL and went to the whole foreground
// group, the child included: passing it on would deliver it twice. When the child stops we stop,
// so that a shell's job control sees one job; continued, we continue it. SIGCHLD is set to its
// default meanwhile, because an engine may have it ignored, and then there is nothing to wait for.
// When we are killed the child is killed, as it would be if the engine had started it.
#include "schema/unique_fd.hpp"
#include "shim/delegate.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace anchorhold {
namespace {

constexpr int died = 127; // of a child that never became the program; the pipe says why
constexpr std::size_t most_caught = 4096;

class HeldSignals {
public:
    HeldSignals() noexcept
    {
        ::sigfillset(&held_);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
            ::sigdelset(&held_, own);
        ::sigprocmask(SIG_BLOCK, &held_, &before_);
        struct sigaction plain = {};
        plain.sa_handler = SIG_DFL;
        ::sigaction(SIGCHLD, &plain, &child_before_);
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;
    ~HeldSignals() { give_back(); }

    void give_back() const noexcept
    {
        ::sigaction(SIGCHLD, &child_before_, nullptr);
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    }
    int take(siginfo_t& info) const noexcept { return ::sigwaitinfo(&held_, &info); }

private:
    sigset_t held_ = {};
    sigset_t before_ = {};
    struct sigaction child_before_ = {};
};

// sd_listen_fds(3) believes LISTEN_FDS only of the process that LISTEN_PID names.
void rename_listen_pid(pid_t parent)
{
    const char* const named = ::getenv("LISTEN_PID"); // NOLINT(concurrency-mt-unsafe): one thread
    if (named != nullptr && named == std::to_string(parent))
        ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1); // NOLINT: as above
}

// -1: our own stdio. Else that descriptor behind stdout and stderr, and nothing to read.
bool settle_stdio(int out)
{
    if (out < 0)
        return true;
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return nothing && ::dup2(nothing.get(), STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0 &&
           ::dup2(out, STDERR_FILENO) >= 0;
}

// In the child. Comes back only with why it could not become the program.
int become(const std::string& path, const std::vector<std::string>& words, pid_t parent, int out)
{
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return errno;
    if (::getppid() != parent) // it died before it could be asked to take us along
        return ESRCH;
    rename_listen_pid(parent);
    if (!settle_stdio(out))
        return errno;
    return exec_delegate(path, words).number;
}

// Nothing while it lives.
std::optional<int> reap(pid_t child)
{
    for (;;) {
        int status = 0;
        const pid_t got = ::waitpid(child, &status, WNOHANG | WUNTRACED);
        if (got != child)
            return std::nullopt;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        if (WIFSIGNALED(status))
            return 128 + WTERMSIG(status);
        (void)::raise(SIGSTOP); // what could fail? the child runs on and we do as well
        (void)::kill(child, SIGCONT);
    }
}

int wait_for(pid_t child, const HeldSignals& held)
{
    for (;;) {
        siginfo_t info = {};
        const int signal = held.take(info);
        if (signal == SIGCHLD) {
            if (const auto status = reap(child))
                return *status;
        } else if (signal > 0 && info.si_code != SI_KERNEL) {
            (void)::kill(child, signal); // it may be gone; then SIGCHLD is next
        }
    }
}

Result<int> run(const std::string& path, const std::vector<std::string>& words, int out)
{
    std::array<int, 2> ends = {};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return fail_errno("make a pipe", errno);
    const UniqueFd why(ends[0]);
    UniqueFd told(ends[1]);
    const HeldSignals held;
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        return fail_errno("fork", errno);
    if (child == 0) {
        held.give_back();
        const int number = become(path, words, parent, out);
        (void)!::write(told.get(), &number, sizeof number); // the status tells of it as well
        ::_exit(died);
    }
    told = UniqueFd();
    int number = 0;
    const ssize_t got = ::read(why.get(), &number, sizeof number); // ends when it executes
    const int status = wait_for(child, held);
    if (got == static_cast<ssize_t>(sizeof number))
        return fail_errno("run " + quoted(path), number, Code::delegate_failed);
    return status;
}

} // namespace

Result<int> run_delegate(const std::string& path, const std::vector<std::string>& rest)
{
    return run(path, rest, -1);
}

Result<Caught> run_quietly(const std::string& path, const std::vector<std::string>& words)
{
    const UniqueFd memory(::memfd_create("anchorhold", MFD_CLOEXEC));
    if (!memory)
        return fail_errno("make a file in memory", errno);
    AH_TRY(const int status, run(path, words, memory.get()), "");
    Caught caught{status, std::string(most_caught, '\0')};
    const ssize_t length = ::pread(memory.get(), caught.text.data(), most_caught, 0);
    caught.text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return caught;
}

} // namespace anchorhold
