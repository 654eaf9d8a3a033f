// SPDX-License-Identifier: Apache-2.0
// How answers are read. The kernel answers a request with NLM_F_ACK by NLMSG_ERROR, whose number is
// 0 when the request worked (netlink(7)). An nftables transaction can fail in two ways:
//
// 1. One step is refused. The kernel answers each good step with a success, and this one with its
//    error.
// 2. The transaction as a whole is refused: the caller may not, the kernel has no such subsystem,
// or
//    the commit fails. The kernel then sends one error for the first message, although that message
//    asked for no acknowledgement.
//
// So answers are read until every step that asked for one has it, or until one of our messages was
// refused.
#include "hooks/net/netlink.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <libmnl/libmnl.h>
#include <sys/socket.h>

#include <linux/netlink.h>

namespace anchorhold::net {
namespace {

constexpr std::size_t receive_size = 32768; // bytes; the kernel fills no more in a dump
constexpr int most_interrupted_lists = 5;

int keep_text(const nlattr* attribute, void* data)
{
    if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG &&
        mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0)
        *static_cast<std::string*>(data) = mnl_attr_get_str(attribute);
    return MNL_CB_OK;
}

// Returns the kernel's own words for an error (NETLINK_EXT_ACK). They are an attribute behind the
// error, and behind the request if the kernel repeats that in its answer.
std::string kernel_words(const nlmsghdr* answer)
{
    if ((answer->nlmsg_flags & NLM_F_ACK_TLVS) == 0)
        return {};
    const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(answer));
    std::size_t offset = sizeof(nlmsgerr);
    if ((answer->nlmsg_flags & NLM_F_CAPPED) == 0)
        offset += mnl_nlmsg_get_payload_len(&error->msg);
    if (offset > mnl_nlmsg_get_payload_len(answer))
        return {};
    std::string words;
    // Broken attributes only cost us the words.
    (void)mnl_attr_parse(answer, static_cast<unsigned>(offset), keep_text, &words);
    return words;
}

// Returns the errno that an answer carries, 0 or positive. NLMSG_ERROR and NLMSG_DONE begin with
// it.
int number_in(const nlmsghdr* answer)
{
    int number = 0;
    if (mnl_nlmsg_get_payload_len(answer) >= sizeof number)
        std::memcpy(&number, mnl_nlmsg_get_payload(answer), sizeof number);
    return -number;
}

std::unexpected<Error> refused(const std::string& doing, const nlmsghdr* answer)
{
    Error error = system_error(doing, number_in(answer));
    if (const std::string words = kernel_words(answer); !words.empty())
        error.what += ": " + printable(words);
    return std::unexpected(std::move(error));
}

// Makes room in the socket for one large datagram. A list of thousands of elements is one datagram,
// and larger than a socket usually accepts (net.core.wmem_default). The kernel doubles the size
// that it is given, because it counts its own overhead.
void make_room(const mnl_socket* socket, std::size_t size)
{
    constexpr std::size_t usual = 65536;
    const int wanted = static_cast<int>(size);
    if (size > usual) { // if this is refused, the message is still tried
        (void)::setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_SNDBUFFORCE, &wanted,
                           sizeof wanted);
    }
}

} // namespace

const nlmsghdr* header_of(const Message& message)
{
    return reinterpret_cast<const nlmsghdr*>(message.data()); // aligned, as operator new made it
}

void Netlink::Close::operator()(mnl_socket* socket) const noexcept
{
    mnl_socket_close(socket);
}

Result<Netlink> Netlink::open(int protocol, const state::Deadline& deadline)
{
    Socket socket(mnl_socket_open2(protocol, SOCK_CLOEXEC));
    if (!socket)
        return fail_errno("open a netlink socket", errno);
    if (mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) != 0)
        return fail_errno("bind a netlink socket", errno);
    int on = 1;
    // If these are refused, errors are longer and lack the kernel's words. That is all.
    (void)mnl_socket_setsockopt(socket.get(), NETLINK_EXT_ACK, &on, sizeof on);
    (void)mnl_socket_setsockopt(socket.get(), NETLINK_CAP_ACK, &on, sizeof on);
    // If this is refused, the kernel lists more than we ask for. That is all.
    (void)mnl_socket_setsockopt(socket.get(), NETLINK_GET_STRICT_CHK, &on, sizeof on);
    return Netlink(std::move(socket), deadline);
}

Status Netlink::transmit(std::span<const Step> steps)
{
    Message all;
    for (const Step& step : steps) {
        nlmsghdr header = *header_of(step.message);
        header.nlmsg_seq = ++sent_;
        const auto* bytes = reinterpret_cast<const std::byte*>(&header);
        all.insert(all.end(), bytes, bytes + sizeof header);
        all.insert(all.end(), step.message.begin() + sizeof header, step.message.end());
        all.resize(MNL_ALIGN(all.size()));
    }
    make_room(socket_.get(), all.size());
    if (mnl_socket_sendto(socket_.get(), all.data(), all.size()) < 0)
        return fail_errno(steps.front().doing, errno);
    return {};
}

Result<std::vector<Message>> Netlink::receive(std::string_view doing)
{
    AH_CHECK(deadline_.wait_readable(mnl_socket_get_fd(socket_.get()), doing));
    alignas(nlmsghdr) std::array<std::byte, receive_size> buffer;
    const ssize_t got = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (got < 0)
        return fail_errno(doing, errno);
    std::vector<Message> messages;
    int left = static_cast<int>(got);
    const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
    for (; mnl_nlmsg_ok(header, left); header = mnl_nlmsg_next(header, &left)) {
        const auto* bytes = reinterpret_cast<const std::byte*>(header);
        messages.emplace_back(bytes, bytes + header->nlmsg_len);
    }
    return messages;
}

Status Netlink::send(std::span<const Step> steps)
{
    const std::uint32_t first = sent_ + 1;
    AH_CHECK(transmit(steps));
    std::size_t awaited = 0;
    for (const Step& step : steps)
        awaited += (header_of(step.message)->nlmsg_flags & NLM_F_ACK) != 0 ? 1 : 0;
    while (awaited > 0) {
        AH_TRY(const auto answers, receive(steps.back().doing));
        for (const Message& message : answers) {
            const nlmsghdr* answer = header_of(message);
            const std::uint32_t place = answer->nlmsg_seq - first;
            if (answer->nlmsg_type != NLMSG_ERROR || place >= steps.size())
                continue; // an answer to an earlier call that had failed already
            if (number_in(answer) != 0)
                return refused(steps[place].doing, answer);
            --awaited;
        }
    }
    return {};
}

Result<std::vector<Message>> Netlink::list_once(const Step& request)
{
    AH_CHECK(transmit({&request, 1}));
    std::vector<Message> listed;
    bool interrupted = false;
    for (;;) {
        AH_TRY(auto answers, receive(request.doing));
        for (Message& message : answers) {
            const nlmsghdr* answer = header_of(message);
            if (answer->nlmsg_seq != sent_)
                continue;
            interrupted = interrupted || (answer->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
            const bool ends = answer->nlmsg_type == NLMSG_DONE || answer->nlmsg_type == NLMSG_ERROR;
            if (ends && number_in(answer) != 0)
                return refused(request.doing, answer);
            if (ends && interrupted)
                return fail_errno(request.doing, EINTR);
            if (ends)
                return listed;
            listed.push_back(std::move(message));
        }
    }
}

// Asks again when the list changed while it was read, at most five times in all.
Result<std::vector<Message>> Netlink::list(const Step& request)
{
    for (int tries = 1;; ++tries) {
        auto listed = list_once(request);
        if (listed || listed.error().number != EINTR || tries == most_interrupted_lists)
            return listed;
    }
}

} // namespace anchorhold::net
