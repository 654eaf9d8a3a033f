// SPDX-License-Identifier: Apache-2.0
// A netlink socket belongs for ever to the namespace it was opened in (network_namespaces(7)), so
// a short visit is enough, and no child process is needed to stay outside.
#include "hooks/netns.hpp"

#include "hooks/process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/netlink.h>

namespace anchorhold {
namespace {

// Runs `visit` after `enter` brought us into another namespace. Who cannot come back must not go
// on: the error of that wins.
template <typename Enter, typename Visit>
auto away(std::string_view doing, Enter enter, Visit visit) -> decltype(visit())
{
    const UniqueFd home(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!home)
        return fail_errno("open our own network namespace", errno);
    if (enter() != 0)
        return fail_errno(doing, errno);
    auto found = visit();
    if (::setns(home.get(), CLONE_NEWNET) != 0)
        return fail_errno("return to our own network namespace", errno);
    return found;
}

} // namespace

Result<Netns> netns_of(pid_t pid)
{
    const std::string doing = "open the network namespace of process " + std::to_string(pid);
    AH_TRY(const auto before, identify(pid), doing);
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const int number = errno;
    AH_TRY(const auto after, identify(pid), doing);
    if (!before || !after || *before != *after)
        return fail_errno(doing, ESRCH);
    if (!fd)
        return fail_errno(doing, number);
    struct stat found = {};
    if (::fstat(fd.get(), &found) != 0)
        return fail_errno(doing, errno);
    return Netns{std::move(fd), {found.st_dev, found.st_ino}, *after};
}

Result<Conversations> talk_inside(const Netns& netns, const Deadline& deadline)
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
    AH_TRY(const auto pids, every_process(), "");
    for (const pid_t pid : pids) {
        const auto other = namespace_of(pid, "net"); // gone meanwhile: not there
        if (pid != netns.init.pid && other && *other == netns.identity) {
            return fail(Code::network_setup_failed,
                        "process " + std::to_string(pid) +
                            " is in the container's network namespace as well; "
                            "give the container one of its own");
        }
    }
    return {};
}

Result<std::vector<Link>> links_of_fresh_netns(const Deadline& deadline)
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
    AH_TRY(const auto messages, route.list(list_links()), "");
    std::vector<Link> links;
    for (const Message& message : messages) {
        AH_TRY(auto link, read_link(message), "");
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

} // namespace anchorhold
