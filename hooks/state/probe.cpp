// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/probe.hpp"

#include "hooks/files/file_owner.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/deadline.hpp"
#include "hooks/state/probe_cache.hpp"
#include "hooks/state/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::chrono::seconds patience_for_child(5);
constexpr int relay_refuses = 125; // the relay's exit status when the relay itself fails
constexpr int not_executed = 126;

enum class Did : std::uint8_t { all, unshare_net, compare, loopback, listen, execute };

// The step at which the child failed. The child writes it into its pipe; all zero means no failure.
struct Obstacle {
    Did at = Did::all;
    int number = 0; // errno, or 0
};

struct Ran {
    Obstacle obstacle;
    int status = 0; // from waitpid(2)
};

// Keeps the status of ended children. The engine may have left SIGCHLD ignored, and then the kernel
// would throw the status away.
class ChildrenAreKept {
public:
    ChildrenAreKept()
    {
        struct sigaction fresh = {};
        fresh.sa_handler = SIG_DFL;
        (void)::sigaction(SIGCHLD, &fresh, &before_); // cannot fail for a valid signal
    }
    ChildrenAreKept(const ChildrenAreKept&) = delete;
    ChildrenAreKept& operator=(const ChildrenAreKept&) = delete;
    ~ChildrenAreKept() { (void)::sigaction(SIGCHLD, &before_, nullptr); }

private:
    struct sigaction before_ = {};
};

template <typename Work> [[noreturn]] void be_child(Work work, int report)
{
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL); // without it the child still ends by itself, soon
    const Obstacle obstacle = work();
    // If this does not arrive, the parent still has the exit status.
    (void)::write(report, &obstacle, sizeof obstacle);
    ::_exit(obstacle.at == Did::all ? 0 : not_executed);
}

Result<Ran> wait_for(pid_t child, int report)
{
    const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    const auto ended =
        Deadline(patience_for_child).wait_readable(handle.get(), "wait for the probe");
    if (!ended)
        (void)::kill(child, SIGKILL); // the pid is still our child's: it was not waited for yet
    Ran ran;
    while (::waitpid(child, &ran.status, 0) < 0) {
        if (errno != EINTR)
            return fail_errno("wait for the probe", errno);
    }
    if (!ended)
        return std::unexpected(ended.error());
    Obstacle obstacle;
    if (::read(report, &obstacle, sizeof obstacle) == static_cast<ssize_t>(sizeof obstacle))
        ran.obstacle = obstacle;
    return ran;
}

template <typename Work> Result<Ran> in_child(Work work)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return fail_errno("make a pipe", errno);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const ChildrenAreKept kept;
    const pid_t child = ::fork();
    if (child < 0)
        return fail_errno("fork", errno);
    if (child == 0)
        be_child(work, writing.get());
    writing = UniqueFd();
    return wait_for(child, reading.get());
}

bool bring_loopback_up()
{
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request = {};
    constexpr std::string_view name = "lo";
    name.copy(request.ifr_name, sizeof request.ifr_name - 1);
    request.ifr_flags = IFF_UP;
    return socket && ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

Obstacle isolate()
{
    const auto before = namespace_of(0, "net");
    if (::unshare(CLONE_NEWNET) != 0)
        return {Did::unshare_net, errno};
    const auto after = namespace_of(0, "net");
    if (!before && is_circumstance(before.error().number))
        return {Did::compare, before.error().number};
    if (!before || !after || *before == *after)
        return {Did::compare, 0};
    if (!bring_loopback_up())
        return {Did::loopback, errno};
    return {};
}

std::string_view text_of(Did step)
{
    switch (step) {
    case Did::all: return "";
    case Did::unshare_net: return "unshare(CLONE_NEWNET)";
    case Did::compare: return "compare the namespaces";
    case Did::loopback: return "bring lo up";
    case Did::listen: return "listen on 127.0.0.1";
    case Did::execute: return "execute the relay";
    }
    std::abort();
}

std::string_view remedy_for_isolation(int number)
{
    switch (number) {
    case EPERM: return "run as root with CAP_SYS_ADMIN and CAP_NET_ADMIN";
    case ENOSPC: return "raise user.max_net_namespaces";
    case EINVAL:
    case ENOSYS: return "use a kernel with CONFIG_NET_NS";
    default: return "see the step and its errno";
    }
}

ProbeAnswer no(std::string_view name, std::string_view step, int number, std::string_view remedy)
{
    return {.name = std::string(name),
            .step = std::string(step),
            .number = number,
            .remedy = std::string(remedy),
            .unknown = is_circumstance(number)};
}

ProbeAnswer ask_can_isolate()
{
    constexpr std::string_view name = "can_isolate";
    const auto ran = in_child(isolate);
    if (!ran)
        return no(name, ran.error().what, ran.error().number, "see the step and its errno");
    if (ran->obstacle.at != Did::all || ran->status != 0) {
        return no(name, text_of(ran->obstacle.at), ran->obstacle.number,
                  remedy_for_isolation(ran->obstacle.number));
    }
    return {.name = std::string(name), .yes = true, .step = {}, .remedy = {}};
}

// Listens on a port and returns the port. The socket is left open on purpose, also in the program
// that is executed next.
Result<std::uint16_t> hold_a_port()
{
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (!socket || ::bind(socket.get(), raw, size) != 0 || ::listen(socket.get(), 1) != 0 ||
        ::getsockname(socket.get(), raw, &size) != 0)
        return fail_errno("listen on 127.0.0.1", errno);
    (void)socket.release(); // on purpose
    return ntohs(address.sin_port);
}

// Becomes the relay, told to listen on a port that is already held. Does so in a network namespace
// of its own where that is possible: the host's loopback may be down, and its ports are not ours.
Obstacle be_relay(const std::string& path)
{
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (null < 0 || ::dup2(null, number) != number)
            return {Did::execute, errno};
    }
    if (::unshare(CLONE_NEWNET) == 0)
        (void)bring_loopback_up(); // if this fails, listening below fails and is reported
    const auto port = hold_a_port();
    if (!port)
        return {Did::listen, port.error().number};
    const std::string endpoint = std::to_string(*port) + "=/dev/null";
    const std::array<const char*, 6> words = {path.c_str(), "--endpoint", endpoint.c_str(),
                                              "--",         "/bin/true",  nullptr};
    std::array<char*, 1> environment = {nullptr};
    ::execve(path.c_str(), const_cast<char**>(words.data()), environment.data());
    return {Did::execute, errno};
}

ProbeAnswer ask_can_relay(const std::string& path)
{
    constexpr std::string_view name = "can_relay";
    const auto ran = in_child([&path] { return be_relay(path); });
    if (!ran)
        return no(name, ran.error().what, ran.error().number, "see the step and its errno");
    if (ran->obstacle.at != Did::all) {
        return no(name, text_of(ran->obstacle.at), ran->obstacle.number,
                  "install the anchorhold-relay of this version and this machine's architecture");
    }
    if (!WIFEXITED(ran->status) || WEXITSTATUS(ran->status) != relay_refuses) {
        ProbeAnswer answer = no(name, "the relay did not refuse a port that is held", 0,
                                "install the anchorhold-relay of this version");
        // A kernel that is short of memory kills.
        answer.unknown = WIFSIGNALED(ran->status) && WTERMSIG(ran->status) == SIGKILL;
        return answer;
    }
    return {.name = std::string(name), .yes = true, .step = {}, .remedy = {}};
}

std::string identity_of(const std::string& path)
{
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0)
        return {};
    return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino) + ":" +
           std::to_string(found.st_size) + ":" + std::to_string(found.st_ctim.tv_sec) + "." +
           std::to_string(found.st_ctim.tv_nsec);
}

} // namespace

bool is_circumstance(int number)
{
    constexpr std::array circumstances = {EMFILE, ENFILE, ENOMEM,  EAGAIN,   ENOBUFS,
                                          EINTR,  EBUSY,  ETXTBSY, ETIMEDOUT};
    return std::ranges::find(circumstances, number) != circumstances.end();
}

std::optional<ProbeAnswer> obstacle_in_file(const std::string& path)
{
    constexpr std::string_view name = "can_relay";
    struct stat found = {};
    struct statvfs filesystem = {};
    if (::stat(path.c_str(), &found) != 0 || ::statvfs(path.c_str(), &filesystem) != 0) {
        const int number = errno;
        return no(name, "look at " + path, number, "install anchorhold-relay there");
    }
    if (!S_ISREG(found.st_mode) || (found.st_mode & S_IXUSR) == 0)
        return no(name, path + " is no program", 0, "install anchorhold-relay anew");
    if (!files::is_owned_well(path, found) || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return no(name, path + " can be changed by others", 0,
                  "chown it to root and chmod go-w it");
    }
    if ((filesystem.f_flag & ST_NOEXEC) != 0) {
        return no(name, path + " is on a filesystem mounted noexec", 0,
                  "install anchorhold-relay on a filesystem without noexec");
    }
    return std::nullopt;
}

Result<std::vector<ProbeAnswer>> probe_host(const StateDir& state, const ProbedFiles& files,
                                            const AskNetwork& ask_network, Freshness freshness)
{
    timespec now = {};
    if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return fail_errno("read the clock", errno);
    AH_TRY(std::string boot, boot_id(), "probe");
    const auto ask = [&files, &ask_network] {
        std::vector<ProbeAnswer> answers = {ask_can_isolate(), ask_can_relay(files.relay)};
        for (ProbeAnswer& more : ask_network())
            answers.push_back(std::move(more));
        return answers;
    };
    const ProbeKey key{std::move(boot), identity_of(files.relay), identity_of(files.hook),
                       identity_of("/proc/self/exe")};
    AH_TRY(auto answers, answer(state, {key, now.tv_sec, ask}, freshness), "probe");
    // The file is looked at each time: a remount leaves no trace in the file's identity.
    if (auto obstacle = obstacle_in_file(files.relay)) {
        std::ranges::replace_if(
            answers, [](const ProbeAnswer& one) { return one.name == "can_relay"; }, *obstacle);
    }
    if (!files.gate) {
        std::ranges::replace_if(
            answers, [](const ProbeAnswer& one) { return one.name == "can_gate"; },
            no("can_gate", files.gate.error().what, 0,
               "install the anchorhold-gate of this version beside anchorhold-hook"));
    }
    return answers;
}

std::optional<std::string> obstacle_to_forwarding(const std::string& file, Forwarding policy)
{
    const auto read = files::read_file(file, 64);
    const std::string text = read ? read->value_or("") : "";
    if (text.starts_with('1'))
        return std::nullopt;
    if (::access(file.c_str(), W_OK) != 0)
        return "ip_forward is 0 and read-only";
    if (policy == Forwarding::enable)
        return std::nullopt;
    return "ip_forward is 0; set net.ipv4.ip_forward=1, or \"forwarding\": \"enable\" in the "
           "policy";
}

HostCaps caps_of(const std::vector<ProbeAnswer>& answers)
{
    const auto says_yes = [&answers](std::string_view name) {
        return std::ranges::any_of(
            answers, [name](const ProbeAnswer& one) { return one.name == name && one.yes; });
    };
    HostCaps caps{.can_isolate = says_yes("can_isolate"),
                  .can_relay = says_yes("can_relay"),
                  .can_seal = says_yes("can_seal"),
                  .can_filter = says_yes("can_filter"),
                  .can_gate = says_yes("can_gate")};
    for (const ProbeAnswer& one : answers) {
        if (one.name == "can_filter" && !one.yes) {
            caps.no_filter = one.step + (one.number == 0 ? "" : ": ") +
                             (one.number == 0 ? "" : std::strerror(one.number));
        }
    }
    return caps;
}

} // namespace anchorhold::state
