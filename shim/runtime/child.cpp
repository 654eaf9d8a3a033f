// SPDX-License-Identifier: Apache-2.0
// The runtime as a child that behaves as if it stood in our place.
//
// Signals. Before the child is made, all signals that can be caught are held. The child gives them
// back before it executes, so that none is lost and it has the engine's dispositions. We take
// signals with sigwaitinfo(2) and pass them on. A signal from a terminal has si_code SI_KERNEL and
// went to the whole foreground group, the child included. It is not passed on, because that would
// deliver it twice.
//
// Stopping. When the child stops, we stop too, so that a shell's job control sees one job. When we
// are continued, we continue the child.
//
// Waiting. SIGCHLD has its default meanwhile: an engine may have it ignored, and then there would
// be nothing to wait for.
//
// Ending. When we are killed, the child is killed too, as if the engine itself had started it.
#include "shim/runtime/child.hpp"

#include "schema/unique_fd.hpp"
#include "shim/runtime/runtime.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace anchorhold::runtime {
namespace {

constexpr int died = 127; // exit status of a child that could not execute the program
constexpr std::size_t stack_size = std::size_t{64} * 1024;

// Holds the signals for as long as it lives. Those that a fault of our own raises are not held.
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

// The variables that a child gets.
enum class Variables : std::uint8_t {
    all,      // the engine's: the runtime stands in our place
    own_work, // those that `is_for_own_work` names
};

// The environment for the child. sd_listen_fds(3) takes LISTEN_FDS only in the process that
// LISTEN_PID names. So where LISTEN_PID is our pid, the child gets a variable with room for its
// own.
class Environment {
public:
    explicit Environment(Variables wanted)
    {
        const std::string ours = std::string(listen_name) + std::to_string(::getpid());
        for (char** variable = environ; *variable != nullptr; ++variable) {
            if (wanted == Variables::all || is_for_own_work(*variable))
                variables_.push_back(*variable == ours ? listen_pid_.data() : *variable);
        }
        variables_.push_back(nullptr);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

    char** of(pid_t child) noexcept
    {
        char* const begin = std::ranges::copy(listen_name, listen_pid_.begin()).out;
        *std::to_chars(begin, listen_pid_.end() - 1, child).ptr = '\0';
        return variables_.data();
    }

private:
    static constexpr std::string_view listen_name = "LISTEN_PID=";
    std::array<char, 32> listen_pid_{};
    std::vector<char*> variables_;
};

// The descriptors that stdout and stderr go to while stdin is empty; -1: the child keeps our stdio.
struct Outlets {
    int out = -1, err = -1;
};

// The data that the child needs. The child runs in our memory, on a stack of its own, while we
// stand still until it executes or exits (clone(2), CLONE_VFORK). posix_spawn(3) does the same but
// cannot set PDEATHSIG. A fork would copy our page tables only to throw them away, which costs a
// tenth of a create. Because the memory is shared, the child allocates nothing, and it writes into
// `number` why it could not become the program.
struct Launch {
    const char* path;
    std::vector<char*> argv;
    Environment environment;
    pid_t parent = ::getpid();
    Outlets outlets;
    Handed handed;
    const HeldSignals& held;
    int number = 0; // errno of the child; 0: it became the program
};

bool settle_stdio(const Outlets& outlets)
{
    if (outlets.out < 0)
        return true;
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return nothing && ::dup2(nothing.get(), STDIN_FILENO) >= 0 &&
           ::dup2(outlets.out, STDOUT_FILENO) >= 0 && ::dup2(outlets.err, STDERR_FILENO) >= 0;
}

// A descriptor that has its number already only loses FD_CLOEXEC.
bool hand_over(const Handed& handed)
{
    if (handed.fd < 0)
        return true;
    return handed.fd == handed.as ? ::fcntl(handed.fd, F_SETFD, 0) == 0
                                  : ::dup2(handed.fd, handed.as) >= 0;
}

// Runs in the child: gives the signals back and executes the program.
int become(void* data)
{
    Launch& launch = *static_cast<Launch*>(data);
    launch.held.give_back();
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && settle_stdio(launch.outlets) &&
        hand_over(launch.handed)) {
        // ESRCH is the error when the parent died before PDEATHSIG was set.
        errno = ESRCH;
        if (::getppid() == launch.parent)
            ::execve(launch.path, launch.argv.data(), launch.environment.of(::getpid()));
    }
    launch.number = errno;
    return died;
}

// Returns the exit status once the child has ended, nothing while it lives.
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
        (void)::raise(SIGSTOP); // both calls cannot fail in a way that matters
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
            (void)::kill(child, signal); // the child may be gone; then SIGCHLD is next
        }
    }
}

Result<int> run(const std::string& path, const std::vector<std::string>& words,
                const Outlets& outlets, Variables variables, const Handed& handed = {})
{
    const HeldSignals held;
    Launch launch{.path = path.c_str(),
                  .argv = argument_vector(path, words),
                  .environment = Environment(variables),
                  .outlets = outlets,
                  .handed = handed,
                  .held = held};
    alignas(16) std::array<std::byte, stack_size> stack; // clone(2) takes the upper end
    const pid_t child =
        ::clone(become, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
    if (child < 0)
        return fail_errno("fork", errno);
    const int status = wait_for(child, held);
    if (launch.number != 0)
        return fail_errno("run " + in_quotes(path), launch.number, Code::delegate_failed);
    return status;
}

std::string text_of(const UniqueFd& file, std::size_t most)
{
    std::string text(most, '\0');
    const ssize_t length = ::pread(file.get(), text.data(), most, 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

// Returns the lines without those that ld.so writes into the stderr of any program on a host with a
// broken /etc/ld.so.preload.
std::string without_loader(std::string_view lines)
{
    std::string kept;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n') + 1);
        const std::string_view whole = line.empty() ? lines : line;
        if (!whole.starts_with("ERROR: ld.so: "))
            kept += whole;
        lines.remove_prefix(whole.size());
    }
    return kept;
}

} // namespace

bool is_for_own_work(std::string_view variable)
{
    constexpr std::array<std::string_view, 6> names{"PATH",
                                                    "HOME",
                                                    "USER",
                                                    "XDG_RUNTIME_DIR",
                                                    "DBUS_SESSION_BUS_ADDRESS",
                                                    "DBUS_SYSTEM_BUS_ADDRESS"};
    return std::ranges::find(names, variable.substr(0, variable.find('='))) != names.end();
}

bool steers_the_loader(std::string_view variable)
{
    constexpr std::array<std::string_view, 11> names{
        "GCONV_PATH",  "GETCONF_DIR",      "GLIBC_TUNABLES", "HOSTALIASES",
        "LOCALDOMAIN", "LOCPATH",          "MALLOC_TRACE",   "NIS_PATH",
        "NLSPATH",     "RESOLV_HOST_CONF", "RES_OPTIONS"};
    const std::string_view name = variable.substr(0, variable.find('='));
    return name.starts_with("LD_") || std::ranges::find(names, name) != names.end();
}

Result<int> run_runtime(const std::string& path, const std::vector<std::string>& rest,
                        const Handed& handed)
{
    return run(path, rest, {}, Variables::all, handed);
}

Result<ProgramOutput> run_quietly(const std::string& path, const std::vector<std::string>& words,
                                  std::size_t most)
{
    const UniqueFd out(::memfd_create("anchorhold", MFD_CLOEXEC));
    const UniqueFd err(::memfd_create("anchorhold", MFD_CLOEXEC));
    if (!out || !err)
        return fail_errno("make a file in memory", errno);
    AH_TRY(const int status, run(path, words, {out.get(), err.get()}, Variables::own_work));
    std::string said = text_of(out, most);
    if (status == 0)
        return ProgramOutput{status, std::move(said)};
    return ProgramOutput{status, without_loader(text_of(err, most)) + said};
}

} // namespace anchorhold::runtime
