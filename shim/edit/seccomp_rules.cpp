// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/seccomp_rules.hpp"

#include "schema/json/json.hpp"

#include <algorithm>
#include <cerrno>
#include <linux/netlink.h>
#include <sys/socket.h>

namespace anchorhold::edit {

namespace {

// The calls that get EPERM. 32-bit programs that know socketcall(2) but not socket(2) have no
// sockets then.
const std::vector<std::string> refused_calls = {"socketcall", "request_key", "pidfd_getfd"};
// The calls that get ENOSYS, as from a kernel without them: programs then fall back to epoll.
const std::vector<std::string> ring_calls = {"io_uring_setup", "io_uring_enter",
                                             "io_uring_register"};

// A block of 32-bit values of an argument.
struct Block {
    int argument;
    std::uint32_t mask, value;
};

void write_condition(json::Writer& rule, const Block& block)
{
    rule.begin_object().key("index").integer(block.argument);
    rule.key("value").integer(block.mask).key("valueTwo").integer(block.value);
    rule.member("op", "SCMP_CMP_MASKED_EQ").end_object();
}

// Returns a denial of one block of families. Its errno is that of a kernel without the family, as
// systemd answers for RestrictAddressFamilies=.
std::string family_denial(const Block& families)
{
    json::Writer rule;
    rule.begin_object().strings("names", socket_calls).member("action", "SCMP_ACT_ERRNO");
    rule.key("errnoRet").integer(EAFNOSUPPORT).key("args").begin_array();
    write_condition(rule, families);
    rule.end_array().end_object();
    return rule.take();
}

// Returns a denial of one block of netlink's protocols. Its errno is that of a kernel without the
// protocol: libaudit takes that for a kernel without an audit log.
std::string protocol_denial(const Block& protocols)
{
    json::Writer rule;
    rule.begin_object().strings("names", {"socket"}).member("action", "SCMP_ACT_ERRNO");
    rule.key("errnoRet").integer(EPROTONOSUPPORT).key("args").begin_array();
    write_condition(rule, {0, ~std::uint32_t{0}, AF_NETLINK});
    write_condition(rule, protocols);
    rule.end_array().end_object();
    return rule.take();
}

using Denial = std::string (*)(const Block&);

// Denies the 32-bit values of an argument from `first` on, 2^bits of them, except the kept ones.
// Values that are not invented yet are among them. A block is one rule; it is halved as long as a
// kept value lies in it.
struct BlockDenial {
    int argument;
    const Values& kept;
    Denial denial;

    void add(std::uint64_t first, unsigned bits, std::vector<std::string>& rules) const
    {
        const std::uint64_t size = std::uint64_t{1} << bits;
        const auto inside = [&](std::uint64_t value) {
            return value >= first && value < first + size;
        };
        if (std::ranges::none_of(kept, inside)) {
            const auto mask = static_cast<std::uint32_t>(~(size - 1));
            rules.push_back(denial({argument, mask, static_cast<std::uint32_t>(first)}));
        } else if (bits > 0) {
            add(first, bits - 1, rules);
            add(first + size / 2, bits - 1, rules);
        }
    }
};

} // namespace

const std::vector<std::string> socket_calls = {"socket", "socketpair"};

// Left out, and so are those that are not invented yet: audit, SELinux's, iSCSI, SCSI transport,
// the process connector, eCryptfs, RDMA, SMC and crypto. They speak to the host and not to a
// network namespace, or to hardware that all share. The others end at the namespace. Of generic
// netlink the kernel shows a namespace only the families that know namespaces.
const Values kept_protocols = {NETLINK_ROUTE,  NETLINK_USERSOCK,  NETLINK_SOCK_DIAG,
                               NETLINK_XFRM,   NETLINK_NETFILTER, NETLINK_KOBJECT_UEVENT,
                               NETLINK_GENERIC};

Values kept_families(const SeccompPlan& plan)
{
    // AF_PACKET may stay: a packet socket sees only the links of its own namespace, and needs
    // CAP_NET_RAW.
    Values kept = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET};
    if (!plan.deny_vsock)
        kept.push_back(AF_VSOCK);
    return kept;
}

bool goes_round(std::string_view call)
{
    return std::ranges::find(socket_calls, call) != socket_calls.end() ||
           std::ranges::find(refused_calls, call) != refused_calls.end() ||
           std::ranges::find(ring_calls, call) != ring_calls.end();
}

std::string denial(const std::vector<std::string>& calls, int number)
{
    json::Writer rule;
    rule.begin_object().strings("names", calls).member("action", "SCMP_ACT_ERRNO");
    rule.key("errnoRet").integer(number).end_object();
    return rule.take();
}

std::vector<std::string> all_denials(const Values& kept)
{
    std::vector<std::string> rules = {denial(refused_calls, EPERM), denial(ring_calls, ENOSYS)};
    BlockDenial{0, kept, family_denial}.add(0, 32, rules);
    BlockDenial{2, kept_protocols, protocol_denial}.add(0, 32, rules);
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
