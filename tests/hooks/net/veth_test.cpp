// SPDX-License-Identifier: Apache-2.0
// Requests are compared as one text each: header, body, and every attribute in its place.
#include "hooks/net/veth.hpp"

#include <doctest/doctest.h>

#include <array>
#include <libmnl/libmnl.h>
#include <sys/socket.h>

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

namespace anchorhold::veth_test {

using namespace net;
namespace {

constexpr const char* a_name = "ah0123456789ab";

std::string hex_of(const void* data, std::size_t size)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        const auto byte = std::to_integer<unsigned>(static_cast<const std::byte*>(data)[i]);
        text += {digits[byte >> 4], digits[byte & 0xf]};
    }
    return text;
}

std::string of(const nlattr* attribute)
{
    return std::to_string(mnl_attr_get_type(attribute)) + "=" +
           hex_of(mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute)) + " ";
}

// Returns "3=616263 " for each attribute; nested ones are not taken apart.
std::string attributes_in(const void* data, std::size_t size)
{
    std::string text;
    const auto* attribute = static_cast<const nlattr*>(data);
    int left = static_cast<int>(size);
    while (mnl_attr_ok(attribute, left)) {
        text += of(attribute);
        left -= MNL_ALIGN(attribute->nla_len);
        attribute = mnl_attr_next(attribute);
    }
    REQUIRE(left == 0);
    return text;
}

template <typename Body> std::string text_of(const Step& step)
{
    const nlmsghdr* header = header_of(step.message);
    REQUIRE(header->nlmsg_len == step.message.size());
    const auto* body = static_cast<const std::byte*>(mnl_nlmsg_get_payload(header));
    return step.doing + ": " + std::to_string(header->nlmsg_type) + " " +
           std::to_string(header->nlmsg_flags) + " " + hex_of(body, sizeof(Body)) + " " +
           attributes_in(body + sizeof(Body), mnl_nlmsg_get_payload_len(header) - sizeof(Body));
}

std::string zeros(std::size_t bytes)
{
    return std::string(bytes * 2, '0');
}

const std::string changing = std::to_string(NLM_F_REQUEST | NLM_F_ACK);
const std::string making = std::to_string(NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
const std::string no_ipv6 = "26=0c000a80"        // IFLA_AF_SPEC: AF_INET6, 12 bytes:
                            "0500080001000000 "; // IFLA_INET6_ADDR_GEN_MODE 1, padded
const std::string hex_name = "6168303132333435363738396162"
                             "00";

} // namespace

TEST_CASE("a pair is made down, its peer in the other namespace, and the host's end without IPv6")
{
    const auto steps = make_veth(a_name, "eth0", 5);
    REQUIRE(steps.size() == 2);
    const std::string peer = "0900030065746830"
                             "00000000" // IFLA_IFNAME "eth0"
                             "0a000100"
                             "0623456789ab"
                             "0000" // IFLA_ADDRESS
                             "08001c00"
                             "05000000"; // IFLA_NET_NS_FD
    CHECK(text_of<ifinfomsg>(steps[0]) ==
          "make link " + std::string(a_name) + ": 16 " + making + " " + zeros(sizeof(ifinfomsg)) +
              " 3=" + hex_name +
              " 1=0223456789ab " // IFLA_IFNAME, IFLA_ADDRESS
              "18="
              "09000100"
              "7665746800000000" // IFLA_LINKINFO: IFLA_INFO_KIND "veth"
              "38000280"
              "34000180" +
              zeros(sizeof(ifinfomsg)) + peer + " ");
    CHECK(text_of<ifinfomsg>(steps[1]) ==
          "keep link " + std::string(a_name) + " without IPv6: 16 " + changing + " " +
              zeros(sizeof(ifinfomsg)) + " 3=" + hex_name + " " + no_ipv6);
}

TEST_CASE("the host's end bears the alias that its run gives it")
{
    const auto steps = make_veth(a_name, "eth0", 5, "us");
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].message == make_veth(a_name, "eth0", 5)[0].message);
    CHECK(text_of<ifinfomsg>(steps[1]).ends_with(" " + no_ipv6 + "20=757300 "));
}

TEST_CASE("the container's end is kept without IPv6 by its index")
{
    CHECK(text_of<ifinfomsg>(without_ipv6(3)) == "keep link 3 without IPv6: 16 " + changing +
                                                     " 00000000"
                                                     "03000000" +
                                                     zeros(8) + " " + no_ipv6);
}

TEST_CASE("an address is one of a /30, and new")
{
    CHECK(text_of<ifaddrmsg>(add_address(3, 0xc6120001)) ==
          "give link 3 its address: 20 " + making +
              " 021e0000"
              "03000000"
              " 2=c6120001 1=c6120001 "); // IFA_LOCAL, IFA_ADDRESS
}

TEST_CASE("a neighbour is named for good, by the MAC that its end was given")
{
    CHECK(text_of<ndmsg>(add_neighbour(3, 0xc6120001, a_name, End::host))
              .starts_with("name the neighbour on link 3: 28 "));
    const Message& message = add_neighbour(3, 0xc6120001, a_name, End::host).message;
    std::string bytes;
    for (const std::byte byte : message)
        bytes += {"0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4],
                  "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15]};
    std::string mac = mac_of(a_name, End::host);
    std::erase(mac, ':');
    CHECK(bytes.contains("8000")); // NUD_PERMANENT
    CHECK(bytes.contains("c6120001"));
    CHECK(bytes.contains(mac));
}

TEST_CASE("the default route leads to the gateway, over the link, and is new")
{
    CHECK(text_of<rtmsg>(add_default_route(3, 0xc6120001)) ==
          "add the default route over link 3: 24 " + making +
              " 02000000"
              "fe040001"
              "00000000"
              " 5=c6120001 4=03000000 "); // RTA_GATEWAY, RTA_OIF
}

TEST_CASE("a MAC is the key's and the end's own, of one station and locally administered")
{
    CHECK(mac_of(a_name, End::host) == "02:23:45:67:89:ab");
    CHECK(mac_of(a_name, End::inside) == "06:23:45:67:89:ab");
    CHECK(mac_of("ahffffffffffff", End::host) == "fa:ff:ff:ff:ff:ff");
    CHECK(mac_of("ahffffffffffff", End::inside) == "fe:ff:ff:ff:ff:ff");
    CHECK(mac_of("", End::host) == "02:00:00:00:00:00");
}

} // namespace anchorhold::veth_test
