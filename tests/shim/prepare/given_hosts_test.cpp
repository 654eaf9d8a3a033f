// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/given_hosts.hpp"

#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

namespace anchorhold::given_hosts_test {
namespace {

FileIdentity identity(const std::string& path)
{
    struct stat file = {};
    REQUIRE(::stat(path.c_str(), &file) == 0);
    return {file.st_dev, file.st_ino};
}

std::string given(const std::string& mounts, const std::string& rootfs,
                  const std::vector<BindSource>& looked_at)
{
    const auto config = json::Document::parse(R"({"mounts": [)" + mounts + "]}");
    REQUIRE(config);
    return prepare::given_hosts(config->root(), rootfs, looked_at);
}

} // namespace

TEST_CASE("the hosts file is the mounted one, and only the one that was looked at")
{
    const Scratch scratch;
    const std::string hosts = scratch.file("hosts");
    const std::string mount =
        R"({"destination": "/etc//hosts", "type": "bind", "source": ")" + hosts + "\"}";
    const std::vector<BindSource> looked_at{{"mounts[0].source", "/etc/hosts", identity(hosts)}};
    CHECK(given(mount, "/nowhere", looked_at) == "text");
    CHECK(given(mount, "/nowhere", {}) == "");
    std::filesystem::rename(hosts, scratch / "away"); // its inode stays taken
    scratch.file("hosts");
    CHECK(given(mount, "/nowhere", looked_at) == "");
}

TEST_CASE("without a mount it is the image's, of the root that was looked at")
{
    const Scratch scratch;
    const std::string root = scratch.folder("root", 0755);
    scratch.folder("root/etc", 0755);
    scratch.file("root/etc/hosts");
    const std::vector<BindSource> looked_at{{"root.path", "/", identity(root)}};
    CHECK(given("", root, looked_at) == "text");
    std::filesystem::rename(root, scratch / "away");
    scratch.folder("root", 0755);
    scratch.folder("root/etc", 0755);
    scratch.file("root/etc/hosts");
    CHECK(given("", root, looked_at) == "");
}

} // namespace anchorhold::given_hosts_test
