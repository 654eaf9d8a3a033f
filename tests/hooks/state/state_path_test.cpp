// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/state_dir.hpp"
#include "hooks/state/state_path.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

namespace anchorhold::state_path_test {

using namespace state;
namespace {

constexpr const char* identity = "         0          0 4294967295\n";
constexpr const char* rootless =
    "         0       1000          1\n         1     100000      65536\n";

std::string path_for(uid_t euid, std::string_view map, std::string_view xdg)
{
    const auto path = state_path_for(euid, map, xdg);
    return path ? *path : "refused: " + path.error().what;
}

std::string resolved(const std::string& root)
{
    const auto path = resolve_root(root);
    return path ? *path : "refused: " + path.error().what;
}

} // namespace

TEST_CASE("root's state is in one place, whatever its environment says")
{
    CHECK(path_for(0, identity, "") == "/run/anchorhold");
    CHECK(path_for(0, identity, "/run/user/1000") == "/run/anchorhold");
}

TEST_CASE("everybody else's is in his runtime directory, with and without the variable")
{
    CHECK(path_for(1000, identity, "/run/user/1000") == "/run/user/1000/anchorhold");
    CHECK(path_for(1000, identity, "") == "/run/user/1000/anchorhold");
    CHECK(path_for(1000, identity, "relative") == "/run/user/1000/anchorhold");
    CHECK(path_for(0, rootless, "/elsewhere") == "/elsewhere/anchorhold");
    CHECK(path_for(0, rootless, "") == "/run/user/1000/anchorhold");
    CHECK(path_for(3, rootless, "") == "/run/user/100002/anchorhold");
}

TEST_CASE("without an id outside there is no place")
{
    const std::string refused = "refused: find the state directory: this user has no id outside "
                                "its user namespace; set XDG_RUNTIME_DIR";
    CHECK(path_for(65534, rootless + std::string("x"), "") == "/run/user/165533/anchorhold");
    CHECK(path_for(70000, rootless, "") == refused);
    CHECK(path_for(0, "", "") == refused);
    CHECK(path_for(0, "0 0", "") == refused);
}

TEST_CASE("a runtime's root is resolved as far as it exists, the rest by its words")
{
    const Scratch scratch;
    scratch.folder("real/deep");
    REQUIRE(::symlink("real", (scratch / "link").c_str()) == 0);
    CHECK(resolved(scratch / "link/deep") == scratch / "real/deep");
    CHECK(resolved(scratch / "link/deep/") == scratch / "real/deep");
    CHECK(resolved(scratch / "link/not/../there//yet/.") == scratch / "real/there/yet");
    CHECK(resolved("/") == "/");
    CHECK(resolved("//run/./") == "/run");
    CHECK(resolved("") == "refused: resolve the runtime's root: it is empty");
}

TEST_CASE("a relative root hangs from the working directory")
{
    const std::string here = std::filesystem::canonical(".").string();
    CHECK(resolved("no-such-folder/x") == here + "/no-such-folder/x");
    CHECK(resolved(".") == here);
}

} // namespace anchorhold::state_path_test
