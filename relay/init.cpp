// SPDX-License-Identifier: Apache-2.0
#include "relay/init.hpp"

#include "relay/terminal.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

constexpr uint64_t every_signal = ~uint64_t{0};
constexpr size_t mask_size = sizeof every_signal; // the kernel's sigset_t, not libc's

uint64_t set_signal_mask(uint64_t mask)
{
    uint64_t before = 0;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, mask_size); // cannot fail
    return before;
}

UniqueFd open_null()
{
    UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    return null ? UniqueFd(null.release()) : UniqueFd(eventfd(0, EFD_CLOEXEC));
}

void close_range_of(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    // The way before Linux 5.9, or under a seccomp profile that does not know the call.
    constexpr rlim_t most = 65'536;
    rlimit limit = {};
    (void)getrlimit(RLIMIT_NOFILE, &limit); // cannot fail
    const rlim_t end = limit.rlim_cur < most ? limit.rlim_cur : most;
    for (rlim_t fd = first; fd <= last && fd < end; ++fd)
        const UniqueFd closed(static_cast<int>(fd));
}

// Prepares the fork. From here until the command's execve neither process can be reached by
// ptrace(2) or pidfd_getfd(2).
Failure prepare_fork(const char* doing, Start& start, UniqueFd& for_relay, UniqueFd& for_command)
{
    int ends[2];
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return {.doing = doing, .number = errno};
    for_command = UniqueFd(ends[0]);
    for_relay = UniqueFd(ends[1]);
    start.first = getpid();
    start.signal_mask = set_signal_mask(every_signal);
    return {};
}

int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

} // namespace

void fill_standard_descriptors()
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (fcntl(fd, F_GETFD) == -1)
            (void)open_null().release(); // gets the lowest free number, which is fd
    }
}

Failure fork_command(Start& start)
{
    constexpr const char* doing = "start the command's process";
    UniqueFd for_relay;
    UniqueFd for_command;
    if (const Failure failed = prepare_fork(doing, start, for_relay, for_command))
        return failed;
    if (start.first != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return {.doing = doing, .number = errno};
    release_terminal();
    start.command = fork();
    if (start.command < 0)
        return {.doing = doing, .number = errno};
    start.role = start.command == 0 ? Role::command : Role::relay;
    start.go = UniqueFd((start.role == Role::command ? for_command : for_relay).release());
    return {};
}

Failure fork_relay(Start& start)
{
    constexpr const char* doing = "step aside";
    if (getpid() != 1)
        return {.doing = doing, .why = "this is not process 1"};
    UniqueFd for_relay;
    UniqueFd for_command;
    if (const Failure failed = prepare_fork(doing, start, for_relay, for_command))
        return failed;
    // This is fork(2) with an exit signal of 0. There is only one thread, so libc need not be told.
    const long pid = syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
    if (pid < 0)
        return {.doing = doing, .number = errno};
    start.role = pid == 0 ? Role::relay : Role::command;
    start.go = UniqueFd((start.role == Role::command ? for_command : for_relay).release());
    return {};
}

void give_word(Start& start, Word word)
{
    (void)!write(start.go.get(), word == Word::go ? "g" : "r", 1);
    start.go = UniqueFd();
}

Word await_word(const Start& start)
{
    const bool forked = getpid() != start.first;
    bool orphaned = false;
    if (forked && start.first != 1) {
        // The signal would never come if the relay had died before this call, so look whether it is
        // still our parent.
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // cannot fail
        orphaned = getppid() != start.first;
    }
    if (forked) {
        (void)setsid(); // a forked process leads no group, so this cannot fail
        take_terminal();
    }
    char byte = 0;
    if (read(start.go.get(), &byte, 1) != 1)
        return Word::none;
    if (byte != 'g')
        return Word::refused;
    if (orphaned)
        return Word::none;
    (void)set_signal_mask(start.signal_mask);
    return Word::go;
}

void step_aside(char* name)
{
    (void)setsid(); // gives up the terminal too; a forked process leads no group
    name[0] = '@';
}

void leave_inheritance(const Start& start)
{
    const auto mine = static_cast<unsigned>(start.go.get());
    close_range_of(3, mine - 1);
    close_range_of(mine + 1, ~0U);
    rlimit limit = {};
    (void)getrlimit(RLIMIT_NOFILE, &limit); // cannot fail
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); // on failure there are fewer connections
}

Failure drop_privileges()
{
    constexpr const char* doing = "drop capabilities";
    // Needs CAP_SETPCAP, so it comes first. Without that capability nobody here can use the
    // bounding set.
    for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;)
        ++capability;
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (syscall(SYS_capset, &header, none) != 0) // clears the ambient set too
        return {.doing = doing, .number = errno};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return {.doing = doing, .number = errno};
    return {};
}

void close_standard_descriptors()
{
    const UniqueFd null = open_null();
    for (int fd = STDIN_FILENO; null && fd <= STDERR_FILENO; ++fd)
        (void)dup2(null.get(), fd); // both are open, so this cannot fail
}

Failure Init::open(int epoll, pid_t command)
{
    constexpr const char* doing = "watch signals";
    struct sigaction by_default = {};
    by_default.sa_handler = SIG_DFL;
    if (sigaction(SIGCHLD, &by_default, nullptr) != 0)
        return {.doing = doing, .number = errno};
    command_ = command;
    ready = signals_ready;
    signals_ = UniqueFd(static_cast<int>(
        syscall(SYS_signalfd4, -1, &every_signal, mask_size, SFD_NONBLOCK | SFD_CLOEXEC)));
    if (!signals_)
        return {.doing = doing, .number = errno};
    if (const int number = watch(epoll, signals_.get(), EPOLLIN, *this); number != 0)
        return {.doing = doing, .number = number};
    return {};
}

void Init::signals_ready(Watch& self, uint32_t)
{
    auto& init = static_cast<Init&>(self);
    signalfd_siginfo signal;
    while (read(init.signals_.get(), &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGCHLD) {
            init.reap();
        } else if (!init.has_ended()) {
            init.forward(signal);
        }
    }
}

// Forwards a signal, with the value that sigqueue(3) sends along. It is no error when the command
// has just ended.
void Init::forward(const signalfd_siginfo& signal) const
{
    const auto number = static_cast<int>(signal.ssi_signo);
    sigval value = {};
    memcpy(&value, &signal.ssi_ptr, sizeof value);
    if (signal.ssi_code == SI_QUEUE) {
        (void)sigqueue(command_, number, value);
    } else {
        (void)kill(command_, number);
    }
}

void Init::reap()
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == command_)
            exit_status_ = status_of(status);
    }
    // The command ended before SIGCHLD had its default, and the kernel reaped it: there is no
    // status to pass on.
    if (pid < 0 && errno == ECHILD && !has_ended())
        exit_status_ = 125;
}

} // namespace anchorhold::relay
