// SPDX-License-Identifier: Apache-2.0
#include "shim/config/normal_path.hpp"
#include "shim/edit/config_edit.hpp"
#include "shim/edit/mount_place.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>
#include <initializer_list>

namespace anchorhold::mount_place_test {

using namespace config;
using namespace edit;
namespace {

void link(const Scratch& image, const std::string& at, const std::string& target)
{
    const std::filesystem::path path = image.path() + at;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(target, path);
}

constexpr std::string_view dev = R"({"destination":"/dev","type":"tmpfs","source":"tmpfs"})";

std::string tmpfs(std::string_view destination, std::string_view option = "nosuid")
{
    return R"({"destination":")" + std::string(destination) +
           R"(","type":"tmpfs","source":"t","options":[")" + std::string(option) + "\"]}";
}

std::string bind(std::string_view destination)
{
    return R"({"destination":")" + std::string(destination) +
           R"(","type":"none","source":"/x","options":["rbind"]})";
}

// Returns the place that was found, or why there is none.
std::string place(const Scratch& image, std::initializer_list<std::string_view> mounts)
{
    std::string list;
    for (const std::string_view mount : mounts)
        list.append(list.empty() ? "" : ",").append(mount);
    const auto config = json::Document::parse("{\"mounts\":[" + list + "]}");
    REQUIRE(config.has_value());
    const auto found = mount_place(config->root(), image.path());
    if (found)
        return *found;
    CHECK(found.error().code == Code::endpoint_unavailable);
    return found.error().what;
}

std::string none(std::string_view reasons)
{
    return "no tmpfs of config.json can hold the relay and its sockets (" + std::string(reasons) +
           ")";
}

} // namespace

TEST_CASE("the place is below the runtime's own /dev, whatever else is mounted there (C-09)")
{
    const Scratch image;
    CHECK(place(image, {dev, tmpfs("/dev/shm"), bind("/etc/hosts"), tmpfs("/run")}) ==
          "/dev/anchorhold");
    CHECK(place(image, {tmpfs("/"), dev}) == "/dev/anchorhold");
    CHECK(place(image, {bind("/dev"), dev}) == "/dev/anchorhold");
    CHECK(place(image, {bind("/dev/anchorhold"), dev}) == "/dev/anchorhold");
    CHECK(place(image, {tmpfs("//dev/", "noexec")}) == "/dev/anchorhold");
    CHECK(place(image, {dev, bind("/dev/anchorhold2"), bind("/device")}) == "/dev/anchorhold");
}

TEST_CASE("what covers /dev later, in any spelling, sends us elsewhere (C-09)")
{
    const Scratch image;
    for (const char* path : {"/", "/dev", "/dev/", "//dev", "/run/../dev", "dev", "/./dev/."})
        CHECK(place(image, {dev, bind(path)}).find("/dev: mounts[1] ") != std::string::npos);
    for (const char* path : {"/dev", "/dev/anchorhold", "/dev/anchorhold/x", "/dev/anchorhold//"})
        CHECK(place(image, {dev, bind(path), tmpfs("/run")}) == "/run/anchorhold");
    CHECK(place(image, {dev, bind("/dev"), tmpfs("/dev/shm")}) == "/dev/shm/anchorhold");
    CHECK(place(image, {dev, tmpfs("/")}) ==
          none("/dev: mounts[1] covers it; /run: mounts[1] covers it; "
               "/dev/shm: mounts[1] covers it"));
}

TEST_CASE("a directory that is no tmpfs of its own will not do")
{
    const Scratch image;
    CHECK(place(image, {}) == none("/dev: no mount of its own; /run: no mount of its own; "
                                   "/dev/shm: no mount of its own"));
    CHECK(place(image, {bind("/dev"), tmpfs("/run", "tmpcopyup"), tmpfs("/dev/shm", "ro")}) ==
          none("/dev: mounts[0] is no tmpfs; /run: mounts[1] is filled from the image; "
               "/dev/shm: mounts[2] is read-only"));
    CHECK(place(image, {tmpfs("/dev", "rbind"), tmpfs("/run")}) == "/run/anchorhold");
    CHECK(place(image, {R"({"destination":"/dev","source":"tmpfs"})", tmpfs("/run")}) ==
          "/run/anchorhold");
    CHECK(place(image, {tmpfs("/run"), bind("/run/anchorhold/x")})
              .find("/run: mounts[1] is in the way") != std::string::npos);
}

TEST_CASE("the image's symbolic links are followed, even those that lead nowhere (C-09)")
{
    const Scratch linked;
    link(linked, "/dev", "/nowhere");
    CHECK(place(linked, {dev, tmpfs("/run")}) == "/run/anchorhold");
    CHECK(place(linked, {dev}).find("/dev: a symbolic link in the image") != std::string::npos);

    const Scratch image;
    link(image, "/a", "/dev");
    link(image, "/b", "c/../a");
    link(image, "/x/y", "../../../dev/./");
    link(image, "/l", "l");
    for (const char* path : {"/a", "/b", "/x/y", "/b/."})
        CHECK(place(image, {dev, bind(path), tmpfs("/run")}) == "/run/anchorhold");
    CHECK(place(image, {dev, bind("/a/anchorhold/relay"), tmpfs("/run")}) == "/run/anchorhold");
    CHECK(place(image, {dev, bind("/a/other"), bind("/l")}) == "/dev/anchorhold");
}

TEST_CASE("a mount that goes through a link in a volume may lie anywhere")
{
    const Scratch image;
    const Scratch volume;
    volume.folder("plain");
    link(volume, "/link", "/dev");
    link(volume, "/deep/link", "../../dev");
    const auto at_v = [](const std::string& source) {
        return R"({"destination":"/v/","source":")" + source + R"(","options":["bind"]})";
    };
    const std::string vol = at_v(volume.path());
    for (const char* path : {"/v/link", "/v/deep/link/x"}) {
        CHECK(place(image, {dev, vol, bind(path)})
                  .find("/dev: mounts[2] goes through a link in mounts[1]") != std::string::npos);
        CHECK(place(image, {dev, vol, bind(path), tmpfs("/run")}) == "/run/anchorhold");
    }
    CHECK(place(image, {vol, bind("/v/link"), dev}) == "/dev/anchorhold");
    CHECK(place(image, {dev, vol, bind("/v/plain"), bind("/v/new/one")}) == "/dev/anchorhold");
    CHECK(place(image, {dev, bind("/v/link"), vol, bind("/v2/link")}) == "/dev/anchorhold");
    CHECK(place(image, {dev, at_v("relative"), bind("/v/x"), tmpfs("/run")}) == "/run/anchorhold");
}

TEST_CASE("mounts that make no sense are refused with their place (C-54)")
{
    const Scratch image;
    const auto refusal = [&](const char* text) {
        const auto config = json::Document::parse(text);
        REQUIRE(config.has_value());
        const auto found = mount_place(config->root(), image.path());
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().code == Code::config_ambiguous);
        return found.error().what;
    };
    CHECK(refusal(R"({"mounts":{}})") == "mounts: expected an array");
    CHECK(refusal(R"({"mounts":[1]})") == "mounts[0]: expected an object");
    CHECK(refusal(R"({"mounts":[{}]})") == "mounts[0]: expected a member \"destination\"");
    CHECK(refusal(R"({"mounts":[{"destination":1}]})") ==
          "mounts[0].destination: expected a string");
    CHECK(refusal(R"({"mounts":[{"destination":"/","type":1}]})") ==
          "mounts[0].type: expected a string");
    CHECK(refusal(R"({"mounts":[{"destination":"/","options":"ro"}]})") ==
          "mounts[0].options: expected an array");
}

TEST_CASE("a root filesystem that is not there is said")
{
    const auto config = json::Document::parse("{}");
    const auto found = mount_place(config->root(), "/nowhere/rootfs");
    CHECK(found.error().what ==
          "open the root filesystem \"/nowhere/rootfs\": it is not there (ENOENT)");
    CHECK(found.error().code == Code::invalid_request);
}

TEST_CASE("a path is made normal without looking at it")
{
    CHECK(normal_path("") == "/");
    CHECK(normal_path("/") == "/");
    CHECK(normal_path("//a///b/") == "/a/b");
    CHECK(normal_path("a/./b/../c") == "/a/c");
    CHECK(normal_path("/../../x/..") == "/");
}

} // namespace anchorhold::mount_place_test
