// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/places.hpp"

#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

namespace anchorhold::places_test {
namespace {

std::string judge(const config::Bundle& bundle, const std::string& path,
                  const std::string& text = "{}")
{
    const auto config = json::Document::parse(text);
    REQUIRE(config);
    const Status seen = verbs::check_bundle_place(bundle, path, config->root());
    return seen ? "good" : seen.error().what;
}

} // namespace

TEST_CASE("the bundle that is judged is the one that was read")
{
    const Scratch scratch;
    const std::string path = scratch.folder("bundle", 0755);
    const auto bundle = config::Bundle::open(path);
    REQUIRE(bundle);
    CHECK(judge(*bundle, path) == "good");
    CHECK(judge(*bundle, path + "/.") == "good");
    std::filesystem::rename(path, scratch / "away");
    scratch.folder("bundle", 0755);
    CHECK(judge(*bundle, path) == "the bundle: \"" + path +
                                      "\" leads to another directory than the one that was read; "
                                      "it was replaced meanwhile");
    CHECK(judge(*bundle, scratch / "away") == "good");
}

TEST_CASE("a bundle that others can write is refused")
{
    const Scratch scratch;
    const std::string path = scratch.folder("bundle", 0777);
    const auto bundle = config::Bundle::open(path);
    REQUIRE(bundle);
    CHECK(judge(*bundle, path) ==
          "the bundle: " + path + " can be written by others than root; chmod go-w it");
}

TEST_CASE("a bundle may be the mapped root's, unless an account of the host has that uid")
{
    const Scratch scratch;
    const std::string path = scratch.folder("bundle", 0755);
    const auto judged_for = [&](unsigned uid) {
        const std::string host = std::to_string(uid);
        REQUIRE(::chown(path.c_str(), uid, uid) == 0);
        const auto bundle = config::Bundle::open(path);
        REQUIRE(bundle);
        return judge(*bundle, path,
                     R"({"linux":{"uidMappings":[{"containerID":0,"hostID":)" + host +
                         R"(,"size":1}]}})");
    };
    if (::geteuid() != 0) {
        MESSAGE("not tried: only root can give a folder away");
        return;
    }
    CHECK(judged_for(1'234'567) == "good");
    CHECK(judged_for(1) == "the bundle: " + path + " belongs to uid 1; chown it to root");
    REQUIRE(::chown(path.c_str(), 0, 0) == 0);
}

} // namespace anchorhold::places_test
