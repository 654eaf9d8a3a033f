// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/destination.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace anchorhold::rules {
namespace {

constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned mapped_bits = 96;

std::optional<unsigned> prefix_length(std::string_view text, unsigned most)
{
    unsigned length = 0;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto [stop, ec] = std::from_chars(begin, end, length);
    const bool padded = text.size() > 1 && text.front() == '0';
    if (ec != std::errc() || stop != end || padded || length > most)
        return std::nullopt;
    return length;
}

bool is_url(std::string_view text)
{
    return text.contains("://");
}

// Returns "api.example.com:8443" of "https://user@api.example.com:8443/v1".
std::string host_in(std::string_view url)
{
    url.remove_prefix(url.find("://") + 3);
    url = url.substr(0, url.find_first_of("/?#"));
    url.remove_prefix(url.rfind('@') + 1); // npos + 1 is 0
    return printable(url);
}

bool looks_like_address(std::string_view text)
{
    return text.find_first_of(":/") != std::string_view::npos || ends_in_number(text);
}

} // namespace

Result<Prefix> Prefix::parse(std::string_view text, Code code)
{
    const std::size_t slash = text.find('/');
    const std::string address(text.substr(0, slash));
    Prefix prefix;
    prefix.v4_ = address.find(':') == std::string::npos;
    // inet_pton(3) stops at a NUL, which would hide the bytes behind it.
    if (address.find('\0') != std::string::npos ||
        inet_pton(prefix.v4_ ? AF_INET : AF_INET6, address.c_str(), prefix.bytes_.data()) != 1)
        return fail(code, in_quotes(text) + " is not an address");
    prefix.length_ = prefix.bits();
    if (slash != std::string_view::npos) {
        const auto length = prefix_length(text.substr(slash + 1), prefix.bits());
        if (!length) {
            return fail(code, in_quotes(text) + " has no prefix length of 0 to " +
                                  std::to_string(prefix.bits()));
        }
        prefix.length_ = *length;
    }
    if (!prefix.has_only_zeros_beyond())
        return fail(code, in_quotes(text) + " has bits set beyond its prefix length");
    // The bits of ::ffff: are set and none beyond the length is, so the length is at least 96.
    if (!prefix.v4_ && std::equal(mapped.begin(), mapped.end(), prefix.bytes_.begin())) {
        std::rotate(prefix.bytes_.begin(), prefix.bytes_.begin() + mapped.size(),
                    prefix.bytes_.end());
        std::fill(prefix.bytes_.begin() + 4, prefix.bytes_.end(), std::uint8_t{0});
        prefix.v4_ = true;
        prefix.length_ -= mapped_bits;
    }
    return prefix;
}

bool Prefix::has_only_zeros_beyond() const
{
    for (unsigned bit = length_; bit < bits(); ++bit) {
        if ((bytes_[bit / 8] & (0x80U >> (bit % 8))) != 0)
            return false;
    }
    return true;
}

bool Prefix::contains(const Prefix& other) const
{
    if (v4_ != other.v4_ || length_ > other.length_)
        return false;
    for (unsigned bit = 0; bit < length_; ++bit) {
        if (((bytes_[bit / 8] ^ other.bytes_[bit / 8]) & (0x80U >> (bit % 8))) != 0)
            return false;
    }
    return true;
}

Prefix Prefix::half(std::uint8_t which) const
{
    Prefix part = *this;
    if (which != 0)
        part.bytes_[length_ / 8] |= static_cast<std::uint8_t>(0x80U >> (length_ % 8));
    part.length_ = length_ + 1;
    return part;
}

std::string Prefix::text() const
{
    std::array<char, INET6_ADDRSTRLEN> address{};
    inet_ntop(v4_ ? AF_INET : AF_INET6, bytes_.data(), address.data(), address.size());
    return std::string(address.data()) + "/" + std::to_string(length_);
}

// Looks into halves only where some of `by` lie inside, so the work is bounded by their number
// times the address length.
bool is_covered(const Prefix& range, const std::vector<Prefix>& by)
{
    std::vector<Prefix> inside;
    for (const Prefix& other : by) {
        if (other.contains(range))
            return true;
        if (range.contains(other))
            inside.push_back(other);
    }
    return !inside.empty() && is_covered(range.half(0), inside) &&
           is_covered(range.half(1), inside);
}

Result<Destination> parse_destination(std::string_view text, Code code)
{
    if (is_url(text))
        return fail(code, in_quotes(text) + " is a URL; say the host: " + host_in(text));
    if (looks_like_address(text)) {
        AH_TRY(const Prefix prefix, Prefix::parse(text, code));
        return prefix;
    }
    AH_TRY(NamePattern name, NamePattern::parse(text, code));
    return name;
}

std::string text_of(const Destination& destination)
{
    return std::visit([](const auto& one) { return one.text(); }, destination);
}

bool covers(const Destination& whole, const Destination& part)
{
    if (whole.index() != part.index())
        return false;
    if (const auto* range = std::get_if<Prefix>(&whole))
        return range->contains(std::get<Prefix>(part));
    return std::get<NamePattern>(whole).covers(std::get<NamePattern>(part));
}

} // namespace anchorhold::rules
