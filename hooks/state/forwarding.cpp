// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/forwarding.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/state/probe.hpp"
#include "hooks/state/process.hpp"
#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::size_t most_remembered = std::size_t{1} << 20; // bytes

std::string memory_of(const StateDir& state)
{
    return state.path() + "/forwarding";
}

std::string switch_of(const std::string& link)
{
    return "/proc/sys/net/ipv4/conf/" + link + "/forwarding";
}

bool is_off(const std::string& link)
{
    const auto read = files::read_file(switch_of(link), 64);
    return read && read->value_or("").starts_with('0');
}

// Returns the first line of the file: a boot, and a network namespace of it.
Result<std::string> here_and_now()
{
    AH_TRY(const std::string boot, boot_id());
    AH_TRY(const FileIdentity netns, namespace_of(0, "net"));
    return boot + " " + netns.text() + "\n";
}

} // namespace

bool is_router()
{
    const auto read = files::read_file(ip_forward, 64);
    return read && read->value_or("").starts_with('1');
}

Result<LinkNames> claimed_links(const StateDir& state)
{
    AH_TRY(const std::string first, here_and_now());
    AH_TRY(const auto read, files::read_file(memory_of(state), most_remembered));
    const std::string text = read.value_or("");
    LinkNames links;
    if (!text.starts_with(first))
        return links;
    for (std::size_t at = first.size(); at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        links.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return links;
}

bool has_claimed_links(const StateDir& state)
{
    return ::access(memory_of(state).c_str(), F_OK) == 0;
}

Result<LinkNames> claim_links(const StateDir& state, const LinkNames& links)
{
    AH_TRY(LinkNames claimed, claimed_links(state));
    const std::size_t before = claimed.size();
    for (const std::string& link : links) {
        if (is_off(link) && std::ranges::find(claimed, link) == claimed.end())
            claimed.push_back(link);
    }
    if (claimed.size() == before)
        return claimed;
    AH_TRY(std::string text, here_and_now());
    for (const std::string& link : claimed)
        text += link + "\n";
    AH_CHECK(files::replace_file(memory_of(state), text, 0600));
    return claimed;
}

Status forget_links(const StateDir& state)
{
    if (::unlink(memory_of(state).c_str()) != 0 && errno != ENOENT)
        return fail_errno("remove " + memory_of(state), errno);
    return {};
}

Status switch_links(const LinkNames& links, Switch to)
{
    const char word = to == Switch::on ? '1' : '0';
    for (const std::string& link : links) {
        const UniqueFd file(::open(switch_of(link).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
        if (!file && errno == ENOENT)
            continue;
        if (!file || ::write(file.get(), &word, 1) != 1) {
            return fail_errno("switch " + switch_of(link) + " " + (to == Switch::on ? "on" : "off"),
                              errno, Code::posture_unavailable);
        }
    }
    return {};
}

} // namespace anchorhold::state
