// SPDX-License-Identifier: Apache-2.0
#include "shim/config/bundle.hpp"

#include "tests/shim/scratch.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace anchorhold::bundle_test {

using namespace config;
namespace fs = std::filesystem;

namespace {

std::string contents(const std::string& path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

Bundle bundle_at(const std::string& path)
{
    auto bundle = Bundle::open(path);
    REQUIRE_MESSAGE(bundle.has_value(), bundle.error().what);
    return *std::move(bundle);
}

std::string why_unread(const std::string& path)
{
    const Bundle bundle = bundle_at(path);
    const auto text = bundle.read_config();
    const Status fit = text ? bundle.check_config() : Status(std::unexpected(text.error()));
    if (fit)
        return "";
    CHECK(fit.error().code == Code::invalid_request);
    return fit.error().what;
}

std::vector<std::string> names_in(const std::string& directory)
{
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory))
        names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

} // namespace

TEST_CASE("a bundle is one directory, however its path is written (C-53)")
{
    const Scratch place;
    place.folder("a b/c", 0755);
    const std::string real = fs::canonical(place / "a b");
    fs::create_symlink("a b", place / "link");
    CHECK(bundle_at(place / "a b/").path() == real);
    CHECK(bundle_at(place / "a b/c/..").path() == real);
    CHECK(bundle_at(place / "link").path() == real);
    CHECK(bundle_at(fs::relative(real)).path() == real);
    CHECK(bundle_at(".").path() == fs::canonical("."));
}

TEST_CASE("a path that is no directory is no bundle")
{
    const Scratch place;
    place.file("f");
    CHECK(Bundle::open(place / "f").error().what ==
          "\"" + place / "f" + "\": not a directory (ENOTDIR)");
    CHECK(Bundle::open(place / "x").error().what ==
          "\"" + place / "x" + "\": it is not there (ENOENT)");
    CHECK(Bundle::open("").error().code == Code::invalid_request);
}

TEST_CASE("what is read stays with the directory, whatever its name leads to later (C-53)")
{
    const Scratch place;
    place.folder("b", 0755);
    place.file("b/config.json");
    const Bundle bundle = bundle_at(place / "b");
    fs::rename(place / "b", place / "moved");
    place.folder("b", 0755);
    CHECK(bundle.read_config() == "text");
    REQUIRE(bundle.write_config("text", "new").has_value());
    CHECK(contents(place / "moved/config.json") == "new");
    CHECK(names_in(place / "b").empty());
}

TEST_CASE("R11 config.json is a regular file of its own, or refused (C-53, C-64)")
{
    const Scratch place;
    const std::string name = "\"" + place / "config.json" + "\": ";
    CHECK(why_unread(place.path()) == name + "it is not there (ENOENT)");
    place.file("real");
    fs::create_symlink("real", place / "config.json");
    CHECK(why_unread(place.path()) == name + "it is a symbolic link");
    fs::remove(place / "config.json");
    REQUIRE(::mkfifo((place / "config.json").c_str(), 0600) == 0);
    CHECK(why_unread(place.path()) == name + "it is no regular file");
    fs::remove(place / "config.json");
    place.folder("config.json", 0755);
    CHECK(why_unread(place.path()) == name + "it is no regular file");
    fs::remove(place / "config.json");
    const UniqueFd socket = unix_socket(place / "config.json");
    CHECK(why_unread(place.path()) != "");
}

TEST_CASE("R11 config.json has at most 16 MiB, and is not read to find out")
{
    const Scratch place;
    place.file("config.json");
    fs::resize_file(place / "config.json", std::uintmax_t{200} * 1024 * 1024); // a sparse file
    CHECK(why_unread(place.path()) == "\"" + place / "config.json" +
                                          "\": 209715200 bytes, more than the 16777216 that are "
                                          "read");
    fs::resize_file(place / "config.json", 16777216);
    CHECK(bundle_at(place.path()).read_config()->size() == 16777216);
    fs::resize_file(place / "config.json", 0);
    CHECK(bundle_at(place.path()).read_config() == "");
}

TEST_CASE("a config.json that others can write is refused")
{
    const Scratch place;
    for (const mode_t mode : {0664U, 0646U, 0666U}) {
        fs::remove(place / "config.json");
        place.file("config.json", mode);
        CHECK(why_unread(place.path()) ==
              "\"" + place / "config.json" +
                  "\": it can be written by others than root; chmod go-w it");
    }
    ::chmod((place / "config.json").c_str(), 0400);
    CHECK(bundle_at(place.path()).read_config() == "text");
}

TEST_CASE(
    "R10 the edited file takes the place, mode and owner of the old one, which stays whole (C-53)")
{
    const Scratch place;
    place.file("config.json", 0640);
    fs::create_hard_link(place / "config.json", place / "other name");
    const Bundle bundle = bundle_at(place.path());
    const UniqueFd reader(::open((place / "config.json").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(bundle.write_config("text", "edited").has_value());
    struct stat now = {};
    REQUIRE(::stat((place / "config.json").c_str(), &now) == 0);
    CHECK((now.st_mode & 07777) == 0640);
    CHECK(now.st_uid == ::geteuid());
    CHECK(contents(place / "config.json") == "edited");
    CHECK(contents(place / "other name") == "text");
    char byte = 0;
    CHECK(::read(reader.get(), &byte, 1) == 1);
    CHECK(byte == 't');
    CHECK(names_in(place.path()) == std::vector<std::string>{"config.json", "other name"});
}

TEST_CASE("a config.json that changed since it was read is not written over")
{
    const Scratch place;
    place.file("config.json");
    const Bundle bundle = bundle_at(place.path());
    const auto done = bundle.write_config("what was read", "edited");
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code == Code::config_ambiguous);
    CHECK(contents(place / "config.json") == "text");
    CHECK(names_in(place.path()) == std::vector<std::string>{"config.json"});
}

TEST_CASE("R10 what a crash left beside config.json is not mistaken for ours")
{
    const Scratch place;
    place.file("config.json");
    const Bundle bundle = bundle_at(place.path());
    REQUIRE(bundle.write_config("text", "once").has_value());
    // A temporary file of our name may stand there already, even a link that leads elsewhere.
    place.file("victim");
    fs::create_symlink("victim", place / ".config.json.anchorhold");
    REQUIRE(bundle.write_config("once", "twice").has_value());
    CHECK(contents(place / "config.json") == "twice");
    CHECK(contents(place / "victim") == "text");
    CHECK(names_in(place.path()) == std::vector<std::string>{"config.json", "victim"});
}

TEST_CASE("R10 a write that cannot finish leaves the old file and nothing beside it")
{
    const Scratch place;
    place.file("config.json");
    const Bundle bundle = bundle_at(place.path());
    fs::remove(place / "config.json");
    // Nothing can be renamed over a directory that is not empty.
    place.folder("config.json/full", 0755);
    CHECK_FALSE(bundle.write_config("text", "new").has_value());
    CHECK(names_in(place.path()) == std::vector<std::string>{"config.json"});
}

} // namespace anchorhold::bundle_test
