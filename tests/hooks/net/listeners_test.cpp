// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/listeners.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <netinet/in.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

namespace anchorhold::listeners_test {

using namespace net;
namespace {

Message socket_message(std::uint8_t family, const char* address, std::uint16_t port)
{
    alignas(nlmsghdr) std::array<char, 256> buffer{};
    nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    auto* body =
        static_cast<inet_diag_msg*>(mnl_nlmsg_put_extra_header(header, sizeof(inet_diag_msg)));
    body->idiag_family = family;
    body->id.idiag_sport = htons(port);
    REQUIRE(::inet_pton(family, address, body->id.idiag_src) == 1);
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    return {bytes, bytes + header->nlmsg_len};
}

Listener heard(const std::string& protocol, const Message& message)
{
    const auto listener = read_listener(protocol, message);
    REQUIRE(listener);
    return *listener;
}

} // namespace

TEST_CASE("a listener is told by protocol, address and port")
{
    CHECK(heard("tcp", socket_message(AF_INET, "127.0.0.1", 8080)) ==
          Listener{"tcp 127.0.0.1:8080", false});
    CHECK(heard("udp", socket_message(AF_INET6, "::", 53)) == Listener{"udp [::]:53", false});
}

TEST_CASE("Docker's resolver is known by its address, not by its looks")
{
    CHECK(heard("udp", socket_message(AF_INET, "127.0.0.11", 41000)) ==
          Listener{"udp 127.0.0.11:41000", true});
    CHECK(!heard("udp", socket_message(AF_INET, "127.0.0.110", 53)).docker_resolver);
    CHECK(!heard("tcp", socket_message(AF_INET6, "::ffff:127.0.0.11", 53)).docker_resolver);
}

TEST_CASE("tcp and udp of both families are asked for")
{
    std::vector<std::string> asked;
    for (const ListenerQuestion& question : ask_for_listeners()) {
        const auto* body = static_cast<const inet_diag_req_v2*>(
            mnl_nlmsg_get_payload(header_of(question.request.message)));
        asked.push_back(question.protocol + " " + std::to_string(body->sdiag_family) + " " +
                        std::to_string(body->sdiag_protocol) + " " +
                        std::to_string(body->idiag_states));
    }
    CHECK(asked == std::vector<std::string>{"tcp 2 6 1024", "tcp 10 6 1024", "udp 2 17 4294967295",
                                            "udp 10 17 4294967295"});
}

TEST_CASE("a message too short for a socket is refused")
{
    Message message = socket_message(AF_INET, "127.0.0.1", 1);
    reinterpret_cast<nlmsghdr*>(message.data())->nlmsg_len = 24;
    CHECK(!read_listener("tcp", message));
}

} // namespace anchorhold::listeners_test
