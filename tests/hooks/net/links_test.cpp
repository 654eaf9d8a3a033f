// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/links.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <libmnl/libmnl.h>
#include <net/if.h>
#include <net/if_arp.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace anchorhold::links_test {

using namespace net;
namespace {

const Link lo{1, "lo", "", ARPHRD_LOOPBACK, "", true};
const Link sit{2, "sit0", "sit", ARPHRD_SIT, "", false};
const Link veth{3, "eth0", "veth", ARPHRD_ETHER, "06:23:45:67:89:ab", true};
const Link card{4, "enp1s0", "", ARPHRD_ETHER, "00:00:00:00:00:00", false};

// Returns the message in which the kernel answers RTM_GETLINK.
Message link_message(const Link& link)
{
    alignas(nlmsghdr) std::array<char, 512> buffer{};
    nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = RTM_NEWLINK;
    auto* body = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg)));
    body->ifi_index = static_cast<int>(link.index);
    body->ifi_type = link.type;
    body->ifi_flags = link.up ? IFF_UP | IFF_RUNNING : IFF_RUNNING;
    mnl_attr_put_u32(header, IFLA_MTU, 1500);
    mnl_attr_put_strz(header, IFLA_IFNAME, link.name.c_str());
    if (!link.mac.empty()) {
        std::array<std::uint8_t, 6> bytes{};
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] =
                static_cast<std::uint8_t>(std::stoul(link.mac.substr(3 * i, 2), nullptr, 16));
        mnl_attr_put(header, IFLA_ADDRESS, bytes.size(), bytes.data());
    }
    if (!link.kind.empty()) {
        nlattr* info = mnl_attr_nest_start(header, IFLA_LINKINFO);
        mnl_attr_put_strz(header, IFLA_INFO_KIND, link.kind.c_str());
        mnl_attr_nest_end(header, info);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    return {bytes, bytes + header->nlmsg_len};
}

struct Request {
    std::string doing;
    unsigned type, flags;
    int index;
    unsigned change, set;
    std::string name = {};
    friend bool operator==(const Request&, const Request&) = default;
};

Request read_request(const Step& step)
{
    const nlmsghdr* header = header_of(step.message);
    REQUIRE(header->nlmsg_len == step.message.size());
    const auto* body = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(header));
    Request request{step.doing,      header->nlmsg_type, header->nlmsg_flags,
                    body->ifi_index, body->ifi_change,   body->ifi_flags};
    if (header->nlmsg_len > mnl_nlmsg_size(sizeof(ifinfomsg))) {
        const auto* attribute =
            static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(header, sizeof(ifinfomsg)));
        REQUIRE(mnl_attr_get_type(attribute) == IFLA_IFNAME);
        request.name = mnl_attr_get_str(attribute);
        REQUIRE(mnl_nlmsg_size(sizeof(ifinfomsg)) + mnl_attr_get_len(attribute) <=
                header->nlmsg_len);
    }
    return request;
}

} // namespace

TEST_CASE("a link is read as the kernel tells it")
{
    for (const Link& link : {lo, sit, veth, card}) {
        const auto read = read_link(link_message(link));
        REQUIRE(read);
        CHECK(*read == link);
    }
}

TEST_CASE("what is no link is refused")
{
    Message message = link_message(lo);
    reinterpret_cast<nlmsghdr*>(message.data())->nlmsg_type = RTM_DELLINK;
    CHECK(!read_link(message));
    Message cut = link_message(lo);
    reinterpret_cast<nlmsghdr*>(cut.data())->nlmsg_len = sizeof(nlmsghdr) + 4;
    CHECK(!read_link(cut));
}

TEST_CASE("requests are about one link, by its index or its name, and ask for an acknowledgement")
{
    constexpr unsigned acked = NLM_F_REQUEST | NLM_F_ACK;
    CHECK(read_request(remove_link(veth)) ==
          Request{"remove link eth0 (veth)", RTM_DELLINK, acked, 3, 0, 0});
    CHECK(read_request(set_link(card, Flag::down)) ==
          Request{"set down link enp1s0", RTM_NEWLINK, acked, 4, IFF_UP, 0});
    CHECK(read_request(set_link(lo, Flag::up)) ==
          Request{"bring up link lo", RTM_NEWLINK, acked, 1, IFF_UP, IFF_UP});
    CHECK(read_request(find_link_named("ah0")) ==
          Request{"find link ah0", RTM_GETLINK, acked, 0, 0, 0, "ah0"});
    CHECK(read_request(remove_link_named("ah0")) ==
          Request{"remove link ah0", RTM_DELLINK, acked, 0, 0, 0, "ah0"});
    CHECK(read_request(list_links()) ==
          Request{"list links", RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 0, 0, 0});
}

TEST_CASE("a fallback tunnel that the kernel gives to every namespace is no stray while it is down")
{
    const std::vector<Link> born = {lo, sit};
    CHECK(strays_among({lo}, {}).empty());
    CHECK(strays_among({lo, sit}, born).empty());
    Link up = sit;
    up.up = true;
    CHECK(strays_among({lo, up}, born) == std::vector{up});
}

TEST_CASE("whatever else is there is a stray, up or down, also under an inborn name")
{
    const std::vector<Link> born = {lo, sit};
    CHECK(strays_among({lo, sit, veth, card}, born) == std::vector{veth, card});
    CHECK(strays_among({lo, sit}, {lo}) == std::vector{sit});
    Link named_alike = veth;
    named_alike.name = "sit0";
    named_alike.up = false;
    CHECK(strays_among({lo, named_alike}, born) == std::vector{named_alike});
    Link of_another_kind = sit;
    of_another_kind.kind = "ip6tnl";
    CHECK(strays_among({lo, of_another_kind}, born) == std::vector{of_another_kind});
}

TEST_CASE("another link that is called lo is a stray, loopback is the first")
{
    Link other = veth;
    other.name = "lo";
    CHECK(strays_among({lo, other}, {lo}) == std::vector{other});
}

TEST_CASE("a name with a terminal's escapes is shown escaped")
{
    Link bad = veth;
    bad.name = "e\x1b[31m";
    CHECK(text_of(bad) == "e\\x1b[31m (veth)");
}

} // namespace anchorhold::links_test
