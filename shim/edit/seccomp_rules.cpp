// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/seccomp_rules.hpp"

#include "schema/json/json.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace anchorhold::edit {

namespace {

// 32-bit programs that know no socket(2), only socketcall(2), lose sockets.
const std::vector<std::string> refused_calls = {"socketcall", "request_key", "pidfd_getfd"};
// Refused as if the kernel had none: programs then fall back to epoll.
const std::vector<std::string> ring_calls = {"io_uring_setup", "io_uring_enter",
                                             "io_uring_register"};

// As systemd answers for RestrictAddressFamilies=: like a kernel that lacks the family.
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

// Denials of every 32-bit value but the kept ones, families not invented yet included: blocks of
// 2^bits values, halved for as long as a kept one lies inside.
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
    // A packet socket sees its own namespace's links, and needs CAP_NET_RAW.
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
