// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/grpc.hpp"

#include <array>

namespace anchorhold::engine {
namespace {

enum Frame : std::uint8_t {
    data_frame = 0,
    headers_frame = 1,
    reset_frame = 3,
    settings_frame = 4,
    ping_frame = 6,
    goaway_frame = 7,
    window_frame = 8,
    continuation_frame = 9,
};
constexpr std::uint8_t flag_ack = 1, flag_end_stream = 1, flag_end_headers = 4, flag_padded = 8,
                       flag_priority = 0x20;
constexpr std::size_t frame_head = 9;
constexpr std::size_t message_head = 5; // not compressed, and its length
constexpr std::uint32_t window = 16U * 1024 * 1024;

std::string big_endian(std::uint64_t number, std::size_t bytes)
{
    std::string text(bytes, '\0');
    for (std::size_t at = bytes; at > 0; number >>= 8U)
        text[--at] = static_cast<char>(number & 0xffU);
    return text;
}

std::uint32_t number_at(std::string_view text, std::size_t at, std::size_t bytes)
{
    std::uint32_t number = 0;
    for (std::size_t i = at; i < at + bytes; ++i)
        number = number << 8U | static_cast<std::uint8_t>(text[i]);
    return number;
}

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload)
{
    return big_endian(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
           big_endian(stream, 4) + std::string(payload);
}

std::string setting(std::uint16_t name, std::uint32_t value)
{
    return big_endian(name, 2) + big_endian(value, 4);
}

// Returns a header as a literal that no table remembers. Both texts are shorter than 127 bytes.
std::string header(std::string_view name, std::string_view value)
{
    return std::string(1, '\0') + static_cast<char>(name.size()) + std::string(name) +
           static_cast<char>(value.size()) + std::string(value);
}

std::string varint(std::uint64_t number)
{
    std::string text;
    for (; number >= 0x80U; number >>= 7U)
        text += static_cast<char>((number & 0x7fU) | 0x80U);
    return text + static_cast<char>(number);
}

// Takes a number of protocol buffers off the front of a text.
std::optional<std::uint64_t> take_varint(std::string_view& text)
{
    std::uint64_t number = 0;
    for (unsigned shift = 0; !text.empty() && shift < 64; shift += 7) {
        const auto byte = static_cast<std::uint8_t>(text.front());
        text.remove_prefix(1);
        number |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
        if ((byte & 0x80U) == 0)
            return number;
    }
    return std::nullopt;
}

// Takes a number of HPACK's (RFC 7541, 5.1), which begins in the last `bits` of a byte.
std::optional<std::size_t> take_number(std::string_view& text, unsigned bits)
{
    if (text.empty())
        return std::nullopt;
    const std::size_t most = (std::size_t{1} << bits) - 1;
    const std::size_t number = static_cast<std::uint8_t>(text.front()) & most;
    text.remove_prefix(1);
    if (number < most)
        return number;
    const auto more = take_varint(text);
    return more && *more < window ? std::optional(number + *more) : std::nullopt;
}

std::optional<std::string> take_text(std::string_view& text)
{
    const bool coded = !text.empty() && (static_cast<std::uint8_t>(text.front()) & 0x80U) != 0;
    const auto size = take_number(text, 7);
    if (!size || *size > text.size())
        return std::nullopt;
    const std::string_view bytes = text.substr(0, *size);
    text.remove_prefix(*size);
    return coded ? huffman_text(bytes) : std::string(bytes);
}

// The printable characters by the length of their code. Within a length codes count up in the order
// of the characters; NUL is one of those with 13 bits.
struct Codes {
    unsigned bits;
    std::string_view characters;
};
using namespace std::string_view_literals;
constexpr std::array codes{Codes{5, "012aceiost"sv},
                           Codes{6, " %-./3456789=A_bdfghlmnpru"sv},
                           Codes{7, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"sv},
                           Codes{8, "&*,;XZ"sv},
                           Codes{10, "!\"()?"sv},
                           Codes{11, "'+|"sv},
                           Codes{12, "#>"sv},
                           Codes{13, "\0$@[]~"sv},
                           Codes{14, "^}"sv},
                           Codes{15, "<`{"sv},
                           Codes{19, "\\"sv}};

// Returns the character of a code with so many bits; NUL: there is none.
char character_of(std::uint32_t code, unsigned bits)
{
    std::uint32_t first = 0;
    unsigned length = codes.front().bits;
    for (const Codes& one : codes) {
        first <<= one.bits - length;
        length = one.bits;
        if (length == bits && code >= first && code - first < one.characters.size())
            return one.characters[code - first];
        first += static_cast<std::uint32_t>(one.characters.size());
    }
    return '\0';
}

// gRPC writes what is not printable, and "%", as %XX.
std::string without_percents(std::string_view text)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::size_t high = at + 2 < text.size() ? digits.find(text[at + 1]) : digits.npos;
        const std::size_t low = at + 2 < text.size() ? digits.find(text[at + 2]) : digits.npos;
        if (text[at] != '%' || high == digits.npos || low == digits.npos) {
            plain += text[at];
            continue;
        }
        plain += static_cast<char>(high * 16 + low);
        at += 2;
    }
    return plain;
}

} // namespace

std::string field(std::uint32_t number, std::string_view content)
{
    constexpr std::uint32_t of_bytes = 2; // the kind of field
    return varint(number << 3U | of_bytes) + varint(content.size()) + std::string(content);
}

std::vector<std::string> fields(std::string_view message, std::uint32_t number)
{
    std::vector<std::string> found;
    while (!message.empty()) {
        const auto key = take_varint(message);
        const std::uint64_t kind = key ? *key & 7U : 7;
        std::size_t size = kind == 1 ? 8 : kind == 5 ? 4 : 0;
        if (kind == 0 || kind == 2) {
            const auto value = take_varint(message);
            if (!value)
                return found;
            size = kind == 2 ? *value : 0;
        } else if (size == 0) {
            return found;
        }
        if (size > message.size())
            return found;
        if (kind == 2 && *key >> 3U == number)
            found.emplace_back(message.substr(0, size));
        message.remove_prefix(size);
    }
    return found;
}

std::string grpc_request(std::string_view method, std::string_view message)
{
    constexpr std::uint16_t header_table_size = 1, initial_window_size = 4;
    const std::string headers = header(":method", "POST") + header(":scheme", "http") +
                                header(":path", method) + header(":authority", "localhost") +
                                header("content-type", "application/grpc") +
                                header("te", "trailers");
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
           frame(settings_frame, 0, 0,
                 setting(header_table_size, 0) + setting(initial_window_size, window)) +
           frame(window_frame, 0, 0, big_endian(window, 4)) +
           frame(headers_frame, flag_end_headers, 1, headers) +
           frame(data_frame, flag_end_stream, 1,
                 std::string(1, '\0') + big_endian(message.size(), 4) + std::string(message));
}

std::string GrpcAnswer::take(std::string_view received)
{
    pending_ += received;
    std::string back;
    while (!ended_ && pending_.size() >= frame_head) {
        const std::size_t size = number_at(pending_, 0, 3);
        if (pending_.size() < frame_head + size)
            break;
        const auto type = static_cast<std::uint8_t>(pending_[3]);
        const auto flags = static_cast<std::uint8_t>(pending_[4]);
        const std::string payload = pending_.substr(frame_head, size);
        pending_.erase(0, frame_head + size);
        back += take_frame(type, flags, payload);
    }
    return back;
}

std::string GrpcAnswer::take_frame(std::uint8_t type, std::uint8_t flags, std::string_view payload)
{
    const bool of_stream = type == data_frame || type == headers_frame;
    if (of_stream && (flags & flag_padded) != 0) {
        const std::size_t padding =
            payload.empty() ? 1 : static_cast<std::uint8_t>(payload[0]) + 1U;
        payload = padding > payload.size() ? "" : payload.substr(1, payload.size() - padding);
    }
    switch (type) {
    case settings_frame:
        return (flags & flag_ack) != 0 ? "" : frame(settings_frame, flag_ack, 0, {});
    case ping_frame: return (flags & flag_ack) != 0 ? "" : frame(ping_frame, flag_ack, 0, payload);
    case reset_frame:
    case goaway_frame: ended_ = true; return {};
    case data_frame: data_ += payload; break;
    case headers_frame:
        block_ = payload.substr((flags & flag_priority) != 0 && payload.size() > 4 ? 5 : 0);
        ends_with_block_ = (flags & flag_end_stream) != 0;
        break;
    case continuation_frame: block_ += payload; break;
    default: return {};
    }
    if (type == data_frame) {
        ended_ = (flags & flag_end_stream) != 0;
    } else if ((flags & flag_end_headers) != 0) {
        take_headers(block_);
        ended_ = ends_with_block_;
    }
    return {};
}

// Looks for the two headers that count. Names from HPACK's tables are neither of them: the static
// table lacks them, and the other one has no room by our settings.
void GrpcAnswer::take_headers(std::string_view block)
{
    while (!block.empty()) {
        const auto kind = static_cast<std::uint8_t>(block.front());
        const bool indexed = (kind & 0x80U) != 0;
        const bool resized = (kind & 0xe0U) == 0x20U;
        const auto number = take_number(block, indexed               ? 7
                                               : (kind & 0x40U) != 0 ? 6
                                               : resized             ? 5
                                                                     : 4);
        if (!number)
            return;
        if (indexed || resized)
            continue;
        const auto name = *number == 0 ? take_text(block) : std::string();
        const auto value = name ? take_text(block) : std::nullopt;
        if (!value)
            return;
        if (*name == "grpc-status")
            status_ = *value;
        if (*name == "grpc-message")
            says_ = without_percents(*value);
    }
}

std::optional<std::string> GrpcAnswer::message() const
{
    if (!ended_ || status_ != "0" || data_.size() < message_head || data_[0] != '\0' ||
        number_at(data_, 1, 4) != data_.size() - message_head)
        return std::nullopt;
    return data_.substr(message_head);
}

std::string GrpcAnswer::error() const
{
    if (!says_.empty())
        return says_;
    return status_.empty() || status_ == "0" ? "no answer that can be read" : "status " + status_;
}

std::string huffman_text(std::string_view code)
{
    std::string text;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (std::size_t at = 0; at < code.size() * 8 && count < 20; ++at) {
        const auto byte = static_cast<std::uint8_t>(code[at / 8]);
        bits = bits << 1U | (byte >> (7 - at % 8) & 1U);
        const char character = character_of(bits, ++count);
        if (character == '\0')
            continue;
        text += character;
        bits = 0;
        count = 0;
    }
    return text;
}

} // namespace anchorhold::engine
