// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/hello.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace anchorhold::gate {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t first_content = 20; // change_cipher_spec
constexpr std::uint8_t alert = 21;
constexpr std::uint8_t last_content = 24; // heartbeat
constexpr std::uint8_t handshake = 22;
constexpr std::uint8_t client_hello = 1;
constexpr std::size_t record_header = 5;
constexpr std::size_t message_header = 4;

// Reads forward. Once something was missing, everything is.
class Reader {
public:
    explicit Reader(Bytes bytes) : bytes_(bytes) {}
    bool is_good() const { return good_; }
    bool is_at_end() const { return bytes_.empty(); }

    std::size_t number(std::size_t width)
    {
        std::size_t value = 0;
        for (const std::uint8_t byte : take(width))
            value = value << 8 | byte;
        return value;
    }
    Bytes take(std::size_t size)
    {
        if (size > bytes_.size())
            good_ = false;
        if (!good_)
            return {};
        const Bytes taken = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return taken;
    }
    // A field that begins with its length.
    Bytes field(std::size_t width) { return take(number(width)); }

private:
    Bytes bytes_;
    bool good_ = true;
};

// What has come of the handshake's first message, without the headers of its records.
struct Joined {
    std::vector<std::uint8_t> bytes;
    bool is_bad = false;
    std::size_t headers = 0; // bytes of the records around them
};

bool is_whole(const std::vector<std::uint8_t>& message)
{
    if (message.size() < message_header)
        return false;
    const std::size_t length =
        std::size_t{message[1]} << 16 | std::size_t{message[2]} << 8 | message[3];
    return message.size() - message_header >= length;
}

// Stops at the end of the message: what is behind it is not ours.
Joined join_records(Bytes bytes)
{
    constexpr std::size_t longest_record = 16 << 10;
    Joined joined;
    while (!bytes.empty() && !is_whole(joined.bytes)) {
        if (bytes[0] != handshake || (bytes.size() > 1 && bytes[1] != 3))
            return {{}, true, 0};
        if (bytes.size() < record_header)
            break;
        const std::size_t length = static_cast<std::size_t>(bytes[3]) << 8 | bytes[4];
        if (length == 0 || length > longest_record)
            return {{}, true, 0};
        joined.headers += record_header;
        bytes = bytes.subspan(record_header);
        const Bytes part = bytes.first(length < bytes.size() ? length : bytes.size());
        joined.bytes.insert(joined.bytes.end(), part.begin(), part.end());
        bytes = bytes.subspan(part.size());
    }
    return joined;
}

// Reads the one host name of a server_name extension.
std::optional<std::string> read_server_name(Bytes extension)
{
    Reader outer(extension);
    Reader list(outer.field(2));
    const std::size_t type = list.number(1);
    const Bytes name = list.field(2);
    if (!outer.is_good() || !outer.is_at_end() || !list.is_good() || !list.is_at_end() ||
        type != 0 || name.empty())
        return std::nullopt;
    return std::string(name.begin(), name.end());
}

bool is_ech(std::size_t type)
{
    constexpr std::size_t first_draft = 0xfe08, final_one = 0xfe0d, esni = 0xffce;
    return (type >= first_draft && type <= final_one) || type == esni;
}

bool read_extensions(Reader extensions, Hello& hello)
{
    constexpr std::size_t server_name = 0;
    while (extensions.is_good() && !extensions.is_at_end()) {
        const std::size_t type = extensions.number(2);
        const Bytes data = extensions.field(2);
        if (!extensions.is_good())
            return false;
        hello.has_ech = hello.has_ech || is_ech(type);
        if (type != server_name)
            continue;
        const auto name = read_server_name(data);
        if (!name || !hello.server_name.empty())
            return false; // malformed, or the second one
        hello.server_name = *name;
    }
    return extensions.is_good();
}

bool read_body(Reader body, Hello& hello)
{
    constexpr std::size_t version_and_random = 2 + 32;
    (void)body.take(version_and_random);
    (void)body.field(1); // session
    (void)body.field(2); // cipher suites
    (void)body.field(1); // compression
    if (!body.is_good())
        return false;
    if (body.is_at_end())
        return true; // TLS 1.2 and older: no extensions at all
    const Bytes extensions = body.field(2);
    return body.is_good() && body.is_at_end() && read_extensions(Reader(extensions), hello);
}

Hello bad()
{
    return {Hello::Kind::bad, {}, false, 0};
}

// Judges what has the first byte of a record and not the major version of TLS, which is 3. Some
// servers take any that is below 16 in the first records, and go on as if it were right. No client
// sends one. Messages of other protocols may begin so too, with a length for example, so only what
// such a server would take is bad: a ClientHello, or what may stand in front of it.
Hello read_other_version(Bytes bytes)
{
    constexpr std::uint8_t never_taken = 16;
    const Hello other{Hello::Kind::other, {}, false, 0};
    if (bytes[1] >= never_taken)
        return other;
    if (bytes.size() <= record_header)
        return {};
    const std::size_t length = static_cast<std::size_t>(bytes[3]) << 8 | bytes[4];
    const std::uint8_t first = bytes[record_header];
    switch (bytes[0]) {
    case first_content: return length == 1 && first == 1 ? bad() : other;
    case alert: return length == 2 && (first == 1 || first == 2) ? bad() : other;
    case handshake: return first == client_hello ? bad() : other;
    default: return other;
    }
}

} // namespace

Hello read_hello(std::span<const std::uint8_t> bytes)
{
    if (bytes.empty())
        return {};
    if (bytes[0] < first_content || bytes[0] > last_content)
        return {Hello::Kind::other, {}, false, 0};
    if (bytes.size() == 1)
        return {};
    if (bytes[1] != 3)
        return read_other_version(bytes);
    if (bytes[0] != handshake)
        return bad();
    const Joined joined = join_records(bytes);
    if (joined.is_bad || (!joined.bytes.empty() && joined.bytes[0] != client_hello))
        return bad();
    Reader reader(joined.bytes);
    (void)reader.take(1);
    const std::size_t length = reader.number(3);
    if (reader.is_good() && length > most_hello - record_header - message_header)
        return bad();
    const Bytes body = reader.take(length);
    if (!reader.is_good())
        return bytes.size() < most_hello ? Hello{} : bad();
    Hello hello{Hello::Kind::hello, {}, false, joined.headers + message_header + length};
    return read_body(Reader(body), hello) ? hello : bad();
}

std::optional<bool> asks_again(Bytes bytes)
{
    // The type, the message's and the old version, and the random that says so.
    constexpr std::uint8_t server_hello = 2;
    constexpr std::array<std::uint8_t, 32> random{0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
                                                  0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
                                                  0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
                                                  0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
    constexpr std::size_t random_at = record_header + message_header + 2;
    const auto differs = [bytes](std::size_t at, std::uint8_t byte) {
        return at < bytes.size() && bytes[at] != byte;
    };
    if (differs(0, handshake) || differs(1, 3) || differs(record_header, server_hello))
        return false;
    for (std::size_t i = 0; i < random.size(); ++i) {
        if (differs(random_at + i, random[i]))
            return false;
    }
    if (bytes.size() < random_at + random.size())
        return std::nullopt;
    return true;
}

Bytes without_change(Bytes bytes)
{
    constexpr std::array<std::uint8_t, 6> change{first_content, 3, 3, 0, 1, 1};
    if (!std::ranges::equal(bytes.first(std::min(bytes.size(), change.size())),
                            std::span(change).first(std::min(bytes.size(), change.size()))))
        return bytes;
    return bytes.subspan(std::min(bytes.size(), change.size()));
}

} // namespace anchorhold::gate
