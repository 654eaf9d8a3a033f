// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/gate_program.hpp"

#include "hooks/files/owned_path.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::string_view gate_name = "anchorhold-gate";

} // namespace

Result<std::string> find_gate(const std::string& hook)
{
    const std::string folder = hook.substr(0, hook.rfind('/'));
    for (const char* const place : {"/", "/../relay/gate/"}) {
        const std::string path = folder + place + std::string(gate_name);
        std::array<char, PATH_MAX> resolved{};
        if (::realpath(path.c_str(), resolved.data()) == nullptr)
            continue;
        std::string found = resolved.data();
        AH_CHECK(files::check_owned_path(found, gate_name, Code::network_setup_failed));
        if (::access(found.c_str(), X_OK) != 0)
            return fail_errno(found, errno);
        return found;
    }
    return fail(Code::network_setup_failed, std::string(gate_name) + " is not in " + folder);
}

Result<std::string> find_own_gate()
{
    std::array<char, PATH_MAX> self{};
    const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
    if (length < 0)
        return fail_errno("read /proc/self/exe", errno);
    return find_gate(std::string(self.data(), static_cast<std::size_t>(length)));
}

} // namespace anchorhold::state
