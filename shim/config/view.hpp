// SPDX-License-Identifier: Apache-2.0
// config.json as the runtimes read it: a member that is null counts as absent.
#pragma once

#include "schema/json/json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::config {

// The names of the sets in process.capabilities.
constexpr std::array<std::string_view, 5> capability_sets{"bounding", "effective", "inheritable",
                                                          "permitted", "ambient"};

// Returns a member; nothing when it, or its parent, is absent or null.
inline std::optional<json::View> member(const std::optional<json::View>& parent,
                                        std::string_view key)
{
    const auto found = parent ? parent->find(key) : std::nullopt;
    return found && !found->is_null() ? found : std::nullopt;
}

// Returns the elements of an array member; none when there is no such member.
inline Result<std::vector<json::View>> elements(const std::optional<json::View>& parent,
                                                std::string_view key)
{
    const auto found = member(parent, key);
    return found ? found->array() : Result<std::vector<json::View>>();
}

// Returns a string member; an empty text when there is no such member.
inline Result<std::string> text_of(const std::optional<json::View>& parent, std::string_view key)
{
    const auto found = member(parent, key);
    return found ? found->string() : Result<std::string>("");
}

// Says whether an entry of `mounts` is a bind mount. runc and crun go by the option, whatever the
// type says.
inline bool is_bind(json::View mount)
{
    const auto options = elements(mount, "options");
    return text_of(mount, "type").value_or("") == "bind" ||
           (options && std::ranges::any_of(*options, [](json::View option) {
                const std::string word = option.string().value_or("");
                return word == "bind" || word == "rbind";
            }));
}

} // namespace anchorhold::config
