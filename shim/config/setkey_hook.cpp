// SPDX-License-Identifier: Apache-2.0
#include "shim/config/setkey_hook.hpp"

#include "shim/config/splice.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace anchorhold::config {

Result<bool> is_setkey_hook(json::View hook)
{
    AH_CHECK(hook.object());
    AH_TRY(const auto args, container(hook, "args", json::Kind::array));
    const std::vector<json::View> words = args ? args->items() : std::vector<json::View>();
    for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 2); ++i) {
        AH_TRY(const std::string word, words[i].bytes());
        if (word == "libnetwork-setkey")
            return true;
    }
    return false;
}

Result<bool> plugs_in_by_hook(json::View config)
{
    AH_TRY(const auto hooks, container(config, "hooks", json::Kind::object));
    if (!hooks)
        return false;
    AH_TRY(const auto prestart, container(*hooks, "prestart", json::Kind::array));
    for (const json::View& hook : prestart ? prestart->items() : std::vector<json::View>()) {
        AH_TRY(const bool setkey, is_setkey_hook(hook));
        if (setkey)
            return true;
    }
    return false;
}

} // namespace anchorhold::config
