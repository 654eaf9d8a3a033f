// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/elements.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <netinet/in.h>
#include <random>

namespace anchorhold::nft_elements_test {

using namespace nft;
using namespace rules;
using nft::Bytes;
using nft::Element;
using nft::Ip;

namespace {

Prefix prefix(const std::string& text)
{
    return *Prefix::parse(text, Code::invalid_policy);
}

Reach reach(const std::string& to, std::uint16_t first, std::uint16_t last, bool udp = false)
{
    return {prefix(to), {first, last, udp}};
}

std::string text_of(const Bytes& bytes)
{
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += (text.empty() ? "" : ".") + std::to_string(byte);
    return text;
}

std::vector<std::string> texts_of(const std::vector<Element>& elements)
{
    std::vector<std::string> texts;
    for (const Element& element : elements)
        texts.push_back(text_of(element.key) + (element.last.empty() ? "" : " to ") +
                        text_of(element.last) + (element.is_end ? " end" : ""));
    return texts;
}

using Texts = std::vector<std::string>;

bool is_in(const Bytes& key, const Element& element)
{
    for (std::size_t i = 0, size = 0; i < key.size(); i += size) {
        size = i == 0 ? key.size() - 8 : 4;
        const auto part = [&](const Bytes& bytes) {
            return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                         bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
        };
        if (part(key) < part(element.key) || part(element.last) < part(key))
            return false;
    }
    return true;
}

} // namespace

TEST_CASE("ranges that touch or overlap are one, and the last has no end")
{
    CHECK(texts_of(nft::ranges_of({prefix("10.2.0.0/16"), prefix("10.1.0.0/16"),
                                   prefix("10.1.7.0/24"), prefix("240.0.0.0/4"),
                                   prefix("192.0.2.1"), prefix("192.0.2.1"), prefix("fd00::/8")},
                                  Ip::v4)) ==
          Texts{"10.1.0.0", "10.3.0.0 end", "192.0.2.1", "192.0.2.2 end", "240.0.0.0"});
    CHECK(texts_of(nft::ranges_of({prefix("0.0.0.0/0"), prefix("10.0.0.0/8")}, Ip::v4)) ==
          Texts{"0.0.0.0"});
    CHECK(texts_of(nft::ranges_of({prefix("ff00::/8"), prefix("10.0.0.0/8")}, Ip::v6)) ==
          Texts{"255.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0"});
    CHECK(nft::ranges_of({}, Ip::v4).empty());
}

TEST_CASE("a reach is address, protocol and port, each padded to four bytes")
{
    CHECK(texts_of(nft::reaches_of({reach("10.1.0.0/16", 5432, 5440), reach("fd01::/64", 443, 443)},
                                   Ip::v4)) ==
          Texts{"10.1.0.0.6.0.0.0.21.56.0.0 to 10.1.255.255.6.0.0.0.21.64.0.0"});
    CHECK(texts_of(nft::reaches_of({reach("fd01::/64", 53, 53, true)}, Ip::v6)) ==
          Texts{"253.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.17.0.0.0.0.53.0.0 to "
                "253.1.0.0.0.0.0.0.255.255.255.255.255.255.255.255.17.0.0.0.0.53.0.0"});
}

TEST_CASE("a prefix gets the ports that no prefix around it has")
{
    CHECK(texts_of(nft::reaches_of({reach("10.1.2.0/24", 400, 500), reach("10.1.0.0/16", 443, 443),
                                    reach("10.1.2.3", 450, 600), reach("10.1.2.3", 443, 443),
                                    reach("10.1.2.3", 601, 601)},
                                   Ip::v4)) ==
          Texts{"10.1.0.0.6.0.0.0.1.187.0.0 to 10.1.255.255.6.0.0.0.1.187.0.0",
                "10.1.2.0.6.0.0.0.1.144.0.0 to 10.1.2.255.6.0.0.0.1.186.0.0",
                "10.1.2.0.6.0.0.0.1.188.0.0 to 10.1.2.255.6.0.0.0.1.244.0.0",
                "10.1.2.3.6.0.0.0.1.245.0.0 to 10.1.2.3.6.0.0.0.2.89.0.0"});
}

TEST_CASE("whatever the reaches, each packet they name is in exactly one element, no other in any")
{
    std::mt19937 random(1);
    const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
    for (int round = 0; round < 200; ++round) {
        std::vector<Reach> reaches;
        for (unsigned n = below(12); n > 0; --n) {
            const unsigned length = 28 + below(5);
            const std::string to =
                "10.0.0." + std::to_string(below(16) >> (32 - length) << (32 - length));
            const auto first = static_cast<std::uint16_t>(1 + below(8));
            reaches.push_back(reach(to + "/" + std::to_string(length), first,
                                    static_cast<std::uint16_t>(first + below(4)), below(2) == 1));
        }
        const auto elements = nft::reaches_of(reaches, Ip::v4);
        for (unsigned host = 0; host < 16; ++host)
            for (std::uint16_t port = 1; port < 14; ++port)
                for (const bool udp : {false, true}) {
                    const Prefix address = prefix("10.0.0." + std::to_string(host));
                    const auto names = [&](const Reach& one) {
                        return one.to.contains(address) && one.ports.first <= port &&
                               port <= one.ports.last && one.ports.udp == udp;
                    };
                    const Bytes key = {10,
                                       0,
                                       0,
                                       static_cast<std::uint8_t>(host),
                                       static_cast<std::uint8_t>(udp ? IPPROTO_UDP : IPPROTO_TCP),
                                       0,
                                       0,
                                       0,
                                       0,
                                       static_cast<std::uint8_t>(port),
                                       0,
                                       0};
                    const auto in = std::ranges::count_if(
                        elements, [&](const Element& one) { return is_in(key, one); });
                    REQUIRE(in == (std::ranges::any_of(reaches, names) ? 1 : 0));
                }
    }
}

TEST_CASE("an address is once in a set, and a link's name fills its key")
{
    CHECK(nft::addresses_of(
              {prefix("10.0.0.2"), prefix("fd00::2"), prefix("10.0.0.1"), prefix("10.0.0.2")},
              Ip::v4) == std::vector<Bytes>{{10, 0, 0, 1}, {10, 0, 0, 2}});
    CHECK(nft::bytes_of_link("ah0") == Bytes{'a', 'h', '0', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("a comment is kept as nft(8) keeps it, behind whatever else is kept")
{
    CHECK(comment_of("ab") == Bytes{0, 3, 'a', 'b', 0});
    CHECK(comment_in(Bytes{0, 3, 'a', 'b', 0}) == "ab");
    CHECK(comment_in(Bytes{1, 2, 7, 7, 0, 3, 'a', 'b', 0}) == "ab");
    CHECK(comment_in(Bytes{}).empty());
    CHECK(comment_in(Bytes{0, 9, 'a', 'b', 0}).empty()); // cut short
}

} // namespace anchorhold::nft_elements_test
