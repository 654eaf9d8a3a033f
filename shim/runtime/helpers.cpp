// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/helpers.hpp"

#include "hooks/files/owned_path.hpp"
#include "hooks/state/gate_program.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <unistd.h>

namespace anchorhold::runtime {

namespace {

Result<std::string> find_one(const std::string& bin, const std::string& room,
                             const std::string& name)
{
    // As `meson install` puts them: absolute, or relative to our own directory.
    constexpr std::string_view configured = ANCHORHOLD_HELPERS;
    const std::string installed =
        (configured.starts_with('/') ? "" : bin + "/") + std::string(configured);
    const std::array<std::string, 2> places{installed + "/" + name,
                                            bin + "/../" + room + "/" + name};
    for (const std::string& place : places) {
        std::array<char, PATH_MAX> resolved{};
        if (::realpath(place.c_str(), resolved.data()) == nullptr)
            continue;
        std::string path = resolved.data();
        AH_CHECK(files::check_owned_path(path, name, Code::network_setup_failed), "find " + name);
        return path;
    }
    return fail(Code::network_setup_failed, "find " + name + ": neither in " + installed +
                                                " nor in " + bin + "/../" + room +
                                                "; install it there");
}

} // namespace

Result<Helpers> find_helpers()
{
    std::array<char, PATH_MAX> self{};
    const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
    if (length < 0)
        return fail_errno("read /proc/self/exe", errno);
    Helpers found;
    found.self.assign(self.data(), static_cast<std::size_t>(length));
    const std::string bin = found.self.substr(0, found.self.rfind('/'));
    AH_TRY(found.hook, find_one(bin, "hooks", "anchorhold-hook"), "look for our parts");
    AH_TRY(found.relay, find_one(bin, "relay", "anchorhold-relay"), "look for our parts");
    found.gate = state::find_gate(found.hook);
    return found;
}

} // namespace anchorhold::runtime
