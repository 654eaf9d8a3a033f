// SPDX-License-Identifier: Apache-2.0
// Finds our state directory and the runtime's. An engine may call with XDG_RUNTIME_DIR and later
// without it for the same container: podman's clean-up has no environment at all. Root's state must
// be in one place, whatever the caller's environment says.
#include "hooks/state/state_path.hpp"

#include "hooks/files/whole_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <unistd.h>
#include <vector>

namespace anchorhold::state {
namespace {

constexpr std::string_view folder = "/anchorhold";

struct UidRange { // user_namespaces(7), "User and group ID mappings"
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    std::uint64_t count = 0;
};

std::optional<std::uint64_t> take_number(std::string_view& text)
{
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    std::uint64_t number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::vector<UidRange> ranges_in(std::string_view map)
{
    std::vector<UidRange> ranges;
    for (;;) {
        const auto inside = take_number(map);
        const auto outside = take_number(map);
        const auto count = take_number(map);
        if (!inside || !outside || !count)
            return ranges;
        ranges.push_back({*inside, *outside, *count});
    }
}

bool is_identity(const std::vector<UidRange>& ranges)
{
    return ranges.size() == 1 && ranges[0].inside == 0 && ranges[0].outside == 0 &&
           ranges[0].count == 4294967295;
}

} // namespace

Result<std::string> state_path_for(uid_t euid, std::string_view uid_map,
                                   std::string_view xdg_runtime_dir)
{
    const auto ranges = ranges_in(uid_map);
    if (euid == 0 && is_identity(ranges))
        return "/run" + std::string(folder);
    if (xdg_runtime_dir.starts_with('/'))
        return std::string(xdg_runtime_dir) + std::string(folder);
    for (const UidRange& range : ranges) {
        if (euid >= range.inside && euid - range.inside < range.count) {
            return "/run/user/" + std::to_string(euid - range.inside + range.outside) +
                   std::string(folder);
        }
    }
    return fail(Code::network_setup_failed,
                "find the state directory: this user has no id outside its user namespace; "
                "set XDG_RUNTIME_DIR");
}

Result<std::string> default_state_path()
{
    AH_TRY(const auto map, files::read_file("/proc/self/uid_map", 65536),
           "find the state directory");
    const char* const xdg = std::getenv("XDG_RUNTIME_DIR");
    return state_path_for(::geteuid(), map.value_or(""), xdg == nullptr ? "" : xdg);
}

Result<std::string> resolve_root(std::string_view root)
{
    if (root.empty())
        return fail(Code::invalid_request, "resolve the runtime's root: it is empty");
    std::error_code error;
    const auto absolute = std::filesystem::absolute(std::filesystem::path(root), error);
    if (error)
        return fail_errno("resolve " + in_quotes(root), error.value());
    auto text = std::filesystem::weakly_canonical(absolute, error).string();
    if (error)
        return fail_errno("resolve " + in_quotes(root), error.value());
    if (text.size() > 1 && text.ends_with('/'))
        text.pop_back();
    return text;
}

} // namespace anchorhold::state
