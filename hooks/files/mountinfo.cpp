// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/mountinfo.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace anchorhold::files {
namespace {

// Removes the next word and the separator behind it from `text`. Returns the word.
std::string_view take(std::string_view& text, char separator)
{
    const std::string_view word = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

// Replaces the table's escapes, three octal digits each: a blank in a mount point is \040.
std::string unescaped(std::string_view text)
{
    std::string plain;
    while (!text.empty()) {
        unsigned value = 0;
        const char* digits = text.data() + 1;
        if (text.front() == '\\' && text.size() >= 4 &&
            std::from_chars(digits, digits + 3, value, 8).ptr == digits + 3) {
            plain += static_cast<char>(value);
            text.remove_prefix(4);
        } else {
            plain += text.front();
            text.remove_prefix(1);
        }
    }
    return plain;
}

// Reads a line "id parent device root place options [optional...] - type source options".
std::optional<HostMount> mount_of(std::string_view line)
{
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos)
        return std::nullopt;
    std::string_view behind = line.substr(dash + 3);
    for (int before = 0; before < 3; ++before)
        take(line, ' ');
    const std::string_view root = take(line, ' ');
    const std::string_view place = take(line, ' ');
    const std::string_view type = take(behind, ' ');
    if (!place.starts_with('/') || type.empty())
        return std::nullopt;
    return HostMount{.place = unescaped(place), .type = std::string(type), .root = unescaped(root)};
}

} // namespace

std::vector<HostMount> read_mountinfo(std::string_view table)
{
    std::vector<HostMount> mounts;
    while (!table.empty()) {
        if (auto mount = mount_of(take(table, '\n')))
            mounts.push_back(std::move(*mount));
    }
    return mounts;
}

bool keeps_netns(const HostMount& mount, std::uint64_t inode)
{
    return mount.type == "nsfs" && mount.root == "net:[" + std::to_string(inode) + "]";
}

} // namespace anchorhold::files
