// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/seccomp_rules.hpp"

#include "schema/json/json.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace anchorhold::edit {

namespace {

// The calls that get EPERM. 32-bit programs that know socketcall(2) but not socket(2) have no
// sockets then.
const std::vector<std::string> refused_calls = {"socketcall", "request_key", "pidfd_getfd"};
// The calls that get ENOSYS, as from a kernel without them: programs then fall back to epoll.
const std::vector<std::string> ring_calls = {"io_uring_setup", "io_uring_enter",
                                             "io_uring_register"};

// Returns a denial of one block of families. Its errno is that of a kernel without the family, as
// systemd answers for RestrictAddressFamilies=.
std::string family_denial(std::uint32_t mask, std::uint32_t value)
{
    json::Writer rule;
    rule.begin_object().strings("names", {"socket"}).member("action", "SCMP_ACT_ERRNO");
    rule.key("errnoRet").integer(EAFNOSUPPORT);
    rule.key("args").begin_array().begin_object().key("index").integer(0);
    rule.key("value").integer(mask).key("valueTwo").integer(value);
    rule.member("op", "SCMP_CMP_MASKED_EQ").end_object().end_array().end_object();
    return rule.take();
}

// Denies the 32-bit values from `first` on, 2^bits of them, except the kept families. Families that
// are not invented yet are among them. A block is one rule; it is halved as long as a kept family
// lies in it.
void deny_block(const Families& kept, std::uint64_t first, unsigned bits,
                std::vector<std::string>& rules)
{
    const std::uint64_t size = std::uint64_t{1} << bits;
    const auto inside = [&](std::uint64_t family) {
        return family >= first && family < first + size;
    };
    if (std::ranges::none_of(kept, inside)) {
        const auto mask = static_cast<std::uint32_t>(~(size - 1));
        rules.push_back(family_denial(mask, static_cast<std::uint32_t>(first)));
    } else if (bits > 0) {
        deny_block(kept, first, bits - 1, rules);
        deny_block(kept, first + size / 2, bits - 1, rules);
    }
}

} // namespace

Families kept_families(const SeccompPlan& plan)
{
    // AF_PACKET may stay: a packet socket sees only the links of its own namespace, and needs
    // CAP_NET_RAW.
    Families kept = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET};
    if (!plan.deny_vsock)
        kept.push_back(AF_VSOCK);
    return kept;
}

bool goes_round(std::string_view call)
{
    return call == "socket" || std::ranges::find(refused_calls, call) != refused_calls.end() ||
           std::ranges::find(ring_calls, call) != ring_calls.end();
}

std::string denial(const std::vector<std::string>& calls, int number)
{
    json::Writer rule;
    rule.begin_object().strings("names", calls).member("action", "SCMP_ACT_ERRNO");
    rule.key("errnoRet").integer(number).end_object();
    return rule.take();
}

std::vector<std::string> all_denials(const Families& kept)
{
    std::vector<std::string> rules = {denial(refused_calls, EPERM), denial(ring_calls, ENOSYS)};
    deny_block(kept, 0, 32, rules);
    return rules;
}

std::string array_of(const std::vector<std::string>& rules)
{
    std::string text = "[";
    for (const std::string& rule : rules)
        text += (text.size() == 1 ? "" : ",") + rule;
    return text + "]";
}

} // namespace anchorhold::edit
