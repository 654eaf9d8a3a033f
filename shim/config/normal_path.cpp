// SPDX-License-Identifier: Apache-2.0
#include "shim/config/normal_path.hpp"

#include <algorithm>

namespace anchorhold::config {

std::string normal_path(std::string_view path)
{
    std::string normal;
    while (!path.empty()) {
        const std::string_view name = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(path.size(), name.size() + 1));
        if (name == "..") {
            normal.erase(std::min(normal.size(), normal.rfind('/')));
        } else if (!name.empty() && name != ".") {
            normal.append("/").append(name);
        }
    }
    return normal.empty() ? "/" : normal;
}

} // namespace anchorhold::config
