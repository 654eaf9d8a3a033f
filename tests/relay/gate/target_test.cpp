// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/target.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>

#include <cstring>

namespace anchorhold::gate::target_test {
namespace {

sockaddr_storage local(const std::string& address, std::uint16_t port)
{
    sockaddr_storage storage = {};
    if (address.find(':') == std::string::npos) {
        sockaddr_in v4 = {};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        REQUIRE(inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1);
        std::memcpy(&storage, &v4, sizeof v4);
        return storage;
    }
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    REQUIRE(inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1);
    std::memcpy(&storage, &v6, sizeof v6);
    return storage;
}

std::string target_of(const sockaddr_storage& address)
{
    const auto rules = rules::read_gate_rules(
        R"({"allow":["a.org","*.b.org:22","9.9.9.0/24","[2001:db8::]:443"]})");
    REQUIRE(rules);
    const rules::GateMatcher matcher(*rules);
    Handles handles(rules->handles, 0, matcher.names());
    (void)handles.take("x.b.org");
    const Target target = find_target(address, matcher, handles);
    switch (target.kind) {
    case Target::Kind::dns: return "dns";
    case Target::Kind::refused: return "refused " + std::to_string(static_cast<int>(target.why));
    case Target::Kind::rule: break;
    }
    const std::string who = target.name.empty() ? target.address->text() : target.name;
    return who + " " + std::to_string(target.port) + " by " + rules::text_of(*target.rule);
}

const std::string no_handle = "refused 0";
const std::string port = "refused 1";
const std::string address = "refused 2";

} // namespace

TEST_CASE("a handle means its name, at the ports of its rule")
{
    CHECK(target_of(local("198.19.1.0", 443)) == "a.org 443 by a.org tcp 443");
    CHECK(target_of(local("198.19.1.0", 80)) == port);
    CHECK(target_of(local("198.19.1.1", 22)) == "x.b.org 22 by *.b.org tcp 22");
    CHECK(target_of(local("198.19.1.2", 443)) == no_handle);
}

TEST_CASE("an address means itself")
{
    CHECK(target_of(local("9.9.9.9", 443)) == "9.9.9.9/32 443 by 9.9.9.0/24 tcp 443");
    CHECK(target_of(local("2001:db8::", 443)) == "2001:db8::/128 443 by 2001:db8::/128 tcp 443");
    CHECK(target_of(local("::ffff:9.9.9.9", 443)) == "9.9.9.9/32 443 by 9.9.9.0/24 tcp 443");
    CHECK(target_of(local("9.9.9.9", 80)) == address);
    CHECK(target_of(local("127.0.0.1", 443)) == address);
    CHECK(target_of(sockaddr_storage{}) == address);
}

TEST_CASE("of lo's address only DNS is served, of the listener's nothing")
{
    CHECK(target_of(local("198.19.0.1", 53)) == "dns");
    CHECK(target_of(local("198.19.0.1", 443)) == no_handle);
    CHECK(target_of(local("198.19.0.2", 1)) == no_handle);
    CHECK(target_of(local("198.19.0.2", 53)) == no_handle);
}

} // namespace anchorhold::gate::target_test
