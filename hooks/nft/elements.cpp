// SPDX-License-Identifier: Apache-2.0
// How reaches (prefixes with ports) become disjoint:
//
// 1. Two prefixes are disjoint, or one holds the other.
// 2. The reaches are sorted, so that a prefix comes after all prefixes that hold it.
// 3. Each prefix gets only the ports that none of the prefixes holding it has already.
//
// The set then lets through exactly the same as before.
#include "hooks/nft/elements.hpp"

#include <algorithm>
#include <net/if.h>
#include <netinet/in.h>

namespace anchorhold::nft {
namespace {

constexpr std::uint8_t comment_type = 0; // NFTNL_UDATA_SET_ELEM_COMMENT

bool is(const rules::Prefix& prefix, Ip ip)
{
    return prefix.is_v4() == (ip == Ip::v4);
}

Bytes first_of(const rules::Prefix& prefix)
{
    return {prefix.bytes().begin(), prefix.bytes().begin() + (prefix.is_v4() ? 4 : 16)};
}

Bytes last_of(const rules::Prefix& prefix)
{
    Bytes last = first_of(prefix);
    for (std::size_t bit = prefix.length(); bit < last.size() * 8; ++bit)
        last[bit / 8] = static_cast<std::uint8_t>(last[bit / 8] | 0x80U >> bit % 8);
    return last;
}

// Returns the next address, or no bytes after the last address of all.
Bytes successor(Bytes address)
{
    for (auto byte = address.rbegin(); byte != address.rend(); ++byte) {
        *byte = static_cast<std::uint8_t>(*byte + 1);
        if (*byte != 0)
            return address;
    }
    return {};
}

// A range of ports, `first` and `last` included. 32 bits wide, so that one can be added to 65535.
struct Span {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};
using Ports = std::vector<Span>;

Ports united(Ports ports, const Ports& more)
{
    ports.insert(ports.end(), more.begin(), more.end());
    std::ranges::sort(ports, {}, &Span::first);
    Ports merged;
    for (const Span& span : ports) {
        if (merged.empty() || span.first > merged.back().last + 1) {
            merged.push_back(span);
        } else {
            merged.back().last = std::max(merged.back().last, span.last);
        }
    }
    return merged;
}

// Returns the ports without those in `taken`. Both are sorted and disjoint, as united() leaves
// them.
Ports without(const Ports& ports, const Ports& taken)
{
    Ports left;
    for (Span span : ports) {
        for (const Span& hole : taken) {
            if (hole.last < span.first || hole.first > span.last)
                continue;
            if (hole.first > span.first)
                left.push_back({span.first, hole.first - 1});
            span.first = hole.last + 1;
        }
        if (span.first <= span.last)
            left.push_back(span);
    }
    return left;
}

Bytes key(const Bytes& address, std::uint8_t protocol, std::uint32_t port)
{
    Bytes all = address; // each part of the key begins at a multiple of four bytes
    all.insert(all.end(), {protocol, 0, 0, 0, static_cast<std::uint8_t>(port >> 8),
                           static_cast<std::uint8_t>(port), 0, 0});
    return all;
}

struct Holder {
    rules::Prefix to;
    Ports ports; // its own ports and those of all prefixes that hold it
};

void add_reaches(std::vector<Element>& elements, const std::vector<const rules::Reach*>& sorted,
                 std::uint8_t protocol)
{
    std::vector<Holder> holders;
    for (std::size_t i = 0; i < sorted.size();) {
        const rules::Prefix& to = sorted[i]->to;
        Ports own;
        for (; i < sorted.size() && sorted[i]->to == to; ++i)
            own.push_back({sorted[i]->ports.first, sorted[i]->ports.last});
        while (!holders.empty() && !holders.back().to.contains(to))
            holders.pop_back();
        const Ports above = holders.empty() ? Ports() : holders.back().ports;
        own = united(own, {});
        for (const Span& span : without(own, above)) {
            elements.push_back({key(first_of(to), protocol, span.first),
                                key(last_of(to), protocol, span.last), false});
        }
        holders.push_back({to, united(own, above)});
    }
}

} // namespace

std::vector<Element> ranges_of(const std::vector<rules::Prefix>& prefixes, Ip ip)
{
    std::vector<std::pair<Bytes, Bytes>> ranges;
    for (const rules::Prefix& prefix : prefixes) {
        if (is(prefix, ip))
            ranges.emplace_back(first_of(prefix), last_of(prefix));
    }
    std::ranges::sort(ranges);
    std::vector<Element> elements;
    for (std::size_t i = 0; i < ranges.size();) {
        const Bytes first = ranges[i].first;
        Bytes behind = successor(ranges[i].second);
        for (++i; i < ranges.size() && (behind.empty() || ranges[i].first <= behind); ++i) {
            if (const Bytes next = successor(ranges[i].second); next.empty() || next > behind)
                behind = behind.empty() ? behind : next;
        }
        elements.push_back({first, {}, false});
        if (!behind.empty())
            elements.push_back({behind, {}, true});
    }
    return elements;
}

std::vector<Element> reaches_of(const std::vector<rules::Reach>& reaches, Ip ip)
{
    std::vector<Element> elements;
    for (const bool udp : {false, true}) {
        std::vector<const rules::Reach*> some;
        for (const rules::Reach& reach : reaches) {
            if (is(reach.to, ip) && reach.ports.udp == udp)
                some.push_back(&reach);
        }
        std::ranges::sort(some, {}, [](const rules::Reach* reach) {
            return std::pair(reach->to.bytes(), reach->to.length());
        });
        add_reaches(elements, some, udp ? IPPROTO_UDP : IPPROTO_TCP);
    }
    return elements;
}

std::vector<Bytes> addresses_of(const std::vector<rules::Prefix>& prefixes, Ip ip)
{
    std::vector<Bytes> addresses;
    for (const rules::Prefix& prefix : prefixes) {
        if (is(prefix, ip))
            addresses.push_back(first_of(prefix));
    }
    std::ranges::sort(addresses);
    const auto twice = std::ranges::unique(addresses);
    addresses.erase(twice.begin(), twice.end());
    return addresses;
}

Bytes bytes_of_link(const std::string& name)
{
    Bytes bytes(name.begin(), name.end());
    bytes.resize(IFNAMSIZ);
    return bytes;
}

// A list of attributes: a byte for the type, one for the size, then the value.
Bytes comment_of(const std::string& text)
{
    Bytes kept(text.size() + 3);
    kept[0] = comment_type;
    kept[1] = static_cast<std::uint8_t>(text.size() + 1);
    std::ranges::copy(text, kept.begin() + 2);
    return kept;
}

std::string comment_in(std::span<const std::uint8_t> kept)
{
    while (kept.size() > 2 && kept.size() - 2 >= kept[1]) {
        const auto value = kept.subspan(2, kept[1]);
        if (kept[0] == comment_type)
            return {value.begin(), std::ranges::find(value, 0)};
        kept = kept.subspan(2 + value.size());
    }
    return {};
}

} // namespace anchorhold::nft
