// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/target.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>

namespace anchorhold::gate {
namespace {

Target refused(Refusal why)
{
    Target target;
    target.why = why;
    return target;
}

Target by_handle(std::uint32_t address, std::uint16_t port, const rules::GateMatcher& matcher,
                 const Handles& handles)
{
    constexpr std::uint16_t dns_port = 53;
    Target target;
    if (address == handles.address(1) && port == dns_port) {
        target.kind = Target::Kind::dns;
        return target;
    }
    const std::string* const text = handles.name_of(address);
    if (text == nullptr)
        return refused(Refusal::no_handle);
    const auto name = rules::NamePattern::parse(*text, Code::network_setup_failed);
    target.rule = name ? matcher.rule_for(*name, port) : nullptr;
    if (target.rule == nullptr)
        return refused(Refusal::port);
    target.kind = Target::Kind::rule;
    target.name = *text;
    target.port = port;
    return target;
}

Target by_address(const char* text, std::uint16_t port, const rules::GateMatcher& matcher)
{
    const auto address = rules::Prefix::parse(text, Code::network_setup_failed);
    Target target;
    target.rule = address ? matcher.rule_for(*address, port) : nullptr;
    if (target.rule == nullptr)
        return refused(Refusal::address);
    target.kind = Target::Kind::rule;
    target.address = *address;
    target.port = port;
    return target;
}

} // namespace

Target find_target(const sockaddr_storage& local, const rules::GateMatcher& matcher,
                   const Handles& handles)
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (local.ss_family == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, &local, sizeof v4);
        const std::uint32_t address = ntohl(v4.sin_addr.s_addr);
        if (handles.holds(address))
            return by_handle(address, ntohs(v4.sin_port), matcher, handles);
        ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
        return by_address(text.data(), ntohs(v4.sin_port), matcher);
    }
    if (local.ss_family == AF_INET6) {
        sockaddr_in6 v6;
        std::memcpy(&v6, &local, sizeof v6);
        ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
        return by_address(text.data(), ntohs(v6.sin6_port), matcher);
    }
    return refused(Refusal::address);
}

} // namespace anchorhold::gate
