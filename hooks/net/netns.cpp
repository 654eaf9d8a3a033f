// SPDX-License-Identifier: Apache-2.0
// How a socket is opened in another network namespace. A socket belongs for ever to the namespace
// in which it was opened (network_namespaces(7)), so a short visit is enough.
//
// 1. A child is made, which shares our memory and our descriptors. It is almost a thread.
// 2. The child enters the namespace and opens the socket. We wait until it has ended.
// 3. The descriptors that it opened are ours.
//
// This process does not go itself, because it might be unable to return: the hook of a rootless
// engine comes from a network that its user namespace does not own.
#include "hooks/net/netns.hpp"

#include "hooks/state/process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <linux/netlink.h>

namespace anchorhold::net {
namespace {

constexpr std::size_t visit_stack = std::size_t{128} * 1024; // bytes

// Runs `go` in such a child and waits for its end. The child sends no signal when it ends, because
// an engine may have left SIGCHLD ignored. waitpid(2) finds it all the same, with __WALL.
Status in_visitor(int (*go)(void*), void* trip)
{
    const auto stack = std::make_unique_for_overwrite<std::byte[]>(visit_stack);
    const pid_t child =
        ::clone(go, stack.get() + visit_stack, CLONE_VM | CLONE_VFORK | CLONE_FILES, trip);
    if (child < 0)
        return fail_errno("visit a network namespace", errno);
    int status = 0;
    while (::waitpid(child, &status, __WALL) < 0) {
        if (errno != EINTR)
            return fail_errno("wait for the visit to a network namespace", errno);
    }
    if (!WIFEXITED(status))
        return fail(Code::network_setup_failed, "the visit to a network namespace was cut short");
    return {};
}

// Runs `enter` and then `visit` in a child. Returns what `visit` returned. If `enter` fails, the
// error is its errno with the words `doing`.
template <typename Enter, typename Visit>
auto away(std::string_view doing, Enter enter, Visit visit) -> decltype(visit())
{
    struct Trip {
        Enter enter;
        Visit visit;
        int refusal = 0;
        std::optional<decltype(visit())> found = std::nullopt;
    } trip{enter, visit};
    AH_CHECK(in_visitor(
        [](void* raw) {
            Trip& there = *static_cast<Trip*>(raw);
            if (there.enter() == 0)
                there.found.emplace(there.visit());
            else
                there.refusal = errno;
            return 0;
        },
        &trip));
    if (!trip.found)
        return fail_errno(doing, trip.refusal);
    return std::move(*trip.found);
}

} // namespace

Result<Netns> netns_of(pid_t pid)
{
    const std::string doing = "open the network namespace of process " + std::to_string(pid);
    AH_TRY(const auto before, state::identify(pid), doing);
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const int number = errno;
    AH_TRY(const auto after, state::identify(pid), doing);
    if (!before || !after || *before != *after)
        return fail_errno(doing, ESRCH);
    if (!fd)
        return fail_errno(doing, number);
    struct stat found = {};
    if (::fstat(fd.get(), &found) != 0)
        return fail_errno(doing, errno);
    return Netns{std::move(fd), {found.st_dev, found.st_ino}, *after};
}

Result<Conversations> talk_inside(const Netns& netns, const state::Deadline& deadline)
{
    return away(
        "enter the container's network namespace",
        [&netns] { return ::setns(netns.fd.get(), CLONE_NEWNET); },
        [&deadline]() -> Result<Conversations> {
            AH_TRY(auto route, Netlink::open(NETLINK_ROUTE, deadline), "talk about links");
            return Conversations{std::move(route), Netlink::open(NETLINK_NETFILTER, deadline),
                                 Netlink::open(NETLINK_SOCK_DIAG, deadline)};
        });
}

Status visit_inside(const Netns& netns, const std::function<Status()>& visit)
{
    return away(
        "enter the container's network namespace",
        [&netns] { return ::setns(netns.fd.get(), CLONE_NEWNET); }, [&visit] { return visit(); });
}

Result<UniqueFd> socket_inside(const Netns& netns)
{
    return away(
        "enter the container's network namespace",
        [&netns] { return ::setns(netns.fd.get(), CLONE_NEWNET); },
        []() -> Result<UniqueFd> {
            UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            if (!socket)
                return fail_errno("open a socket", errno);
            return socket;
        });
}

Status check_alone(const Netns& netns)
{
    AH_TRY(const auto pids, state::every_process());
    for (const pid_t pid : pids) {
        const auto other = state::namespace_of(pid, "net"); // an error if it ended meanwhile
        if (pid != netns.init.pid && other && *other == netns.identity) {
            return fail(Code::network_setup_failed,
                        "process " + std::to_string(pid) +
                            " is in the container's network namespace as well; "
                            "give the container one of its own");
        }
    }
    return {};
}

Result<std::vector<Link>> links_of_fresh_netns(const state::Deadline& deadline)
{
    AH_TRY(auto route,
           away(
               "make a fresh network namespace", [] { return ::unshare(CLONE_NEWNET); },
               [&deadline] { return Netlink::open(NETLINK_ROUTE, deadline); }),
           "look at a fresh network namespace");
    return links_in(route);
}

Result<std::vector<Link>> links_in(Netlink& route)
{
    AH_TRY(const auto messages, route.list(list_links()));
    std::vector<Link> links;
    for (const Message& message : messages) {
        AH_TRY(auto link, read_link(message));
        links.push_back(std::move(link));
    }
    return links;
}

Result<std::optional<Link>> find_link(Netlink& route, const std::string& name)
{
    const auto answers = route.list(find_link_named(name));
    if (!answers && answers.error().number == ENODEV)
        return std::nullopt;
    AH_CHECK(answers, "find link " + name);
    if (answers->empty())
        return std::nullopt;
    AH_TRY(Link link, read_link(answers->front()), "find link " + name);
    return link;
}

} // namespace anchorhold::net
