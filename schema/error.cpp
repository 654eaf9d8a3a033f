// SPDX-License-Identifier: Apache-2.0
#include "schema/error.hpp"

#include "schema/json/utf8.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace anchorhold {
namespace {

// Returns our words for three errors, else nothing. podman replaces whole messages that contain the
// C library's words for them.
std::string_view reworded(int number)
{
    switch (number) {
    case EACCES: return "file permissions forbid it";
    case EPERM: return "the kernel refuses it";
    case ENOENT: return "it is not there";
    default: return {};
    }
}

// Returns the C library's words, beginning with a small letter unless they begin with an acronym.
std::string describe(int number)
{
    if (const std::string_view ours = reworded(number); !ours.empty())
        return std::string(ours);
    const char* const words = ::strerrordesc_np(number);
    if (words == nullptr)
        return "unknown error";
    std::string text = words;
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = static_cast<char>(text[0] - 'A' + 'a');
    return text;
}

// Returns whether a character moves the cursor, rearranges the line or ends it: C0, DEL, C1, line
// and paragraph separator, and the bidirectional controls, which make a terminal show another order
// than was written.
bool is_control(char32_t point)
{
    return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x61c ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

void append_escaped(std::string& out, std::string_view bytes)
{
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char character : bytes) {
        const auto byte = static_cast<unsigned char>(character);
        out += "\\x";
        out += digits[byte >> 4];
        out += digits[byte & 0xf];
    }
}

std::string escape(std::string_view text, std::size_t limit, std::string_view also)
{
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const json::Utf8Step step = json::utf8_step(text.substr(at));
        const std::string_view piece = text.substr(at, step.length == 0 ? 1 : step.length);
        if (at + piece.size() > limit)
            return out + "...";
        const bool unsafe = step.length == 0 || is_control(step.point);
        if (unsafe || also.find(piece.front()) != std::string_view::npos) {
            append_escaped(out, piece);
        } else {
            out += piece;
        }
        at += piece.size();
    }
    return out;
}

} // namespace

std::string_view name_of(Code code)
{
    switch (code) {
    case Code::network_setup_failed: return "network_setup_failed";
    case Code::invalid_request: return "invalid_request";
    case Code::invalid_policy: return "invalid_policy";
    case Code::config_ambiguous: return "config_ambiguous";
    case Code::policy_ceiling: return "policy_ceiling";
    case Code::endpoint_unavailable: return "endpoint_unavailable";
    case Code::posture_unavailable: return "posture_unavailable";
    case Code::bundle_voids_posture: return "bundle_voids_posture";
    case Code::delegate_failed: return "delegate_failed";
    }
    std::abort(); // a byte that is no Code
}

Error system_error(std::string_view doing, int number, Code code)
{
    const char* const name = ::strerrorname_np(number);
    const std::string id = name != nullptr ? name : "errno " + std::to_string(number);
    return {code, number, std::string(doing) + ": " + describe(number) + " (" + id + ")"};
}

std::string printable(std::string_view text, std::size_t limit)
{
    return escape(text, limit, {});
}

std::string one_line(std::string_view text)
{
    std::string joined;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty())
            joined.append(joined.empty() ? "" : "; ").append(line);
    }
    return printable(joined, 600);
}

std::string in_quotes(std::string_view text, std::size_t limit)
{
    return '"' + escape(text, limit, "\"\\") + '"';
}

} // namespace anchorhold
