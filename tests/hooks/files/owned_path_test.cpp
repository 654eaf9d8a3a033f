// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/owned_path.hpp"
#include "shim/inspect/inspection.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

namespace anchorhold::owned_path_test {

using namespace files;
namespace {

std::string judge(const std::string& path)
{
    const Status seen = check_owned_path(path, "the policy", Code::invalid_policy);
    if (seen)
        return "good";
    CHECK(seen.error().code == Code::invalid_policy);
    CHECK(seen.error().what.starts_with("the policy: "));
    return seen.error().what.substr(12);
}

} // namespace

TEST_CASE("a path that only root and we can change is good, below a sticky /tmp too")
{
    const Scratch scratch;
    scratch.folder("a/b", 0755);
    scratch.file("a/b/policy.json", 0600);
    CHECK(judge(scratch / "a/b/policy.json") == "good");
    CHECK(judge(scratch / "a//b/./policy.json") == "good");
    CHECK(judge(scratch / "a/b/../b/policy.json") == "good");
    CHECK(judge("/usr/bin/env") == "good");
}

TEST_CASE("a component that others can write is named, wherever it stands")
{
    const Scratch scratch;
    scratch.folder("a/b", 0755);
    scratch.file("a/b/policy.json", 0664);
    CHECK(judge(scratch / "a/b/policy.json") ==
          (scratch / "a/b/policy.json") + " can be written by others than root; chmod go-w it");
    scratch.folder("a", 0757);
    CHECK(judge(scratch / "a/b") ==
          (scratch / "a") + " can be written by others than root; chmod go-w it");
}

TEST_CASE("the sticky bit guards what is below a directory, not what is put into it")
{
    CHECK(judge("/tmp") == "/tmp can be written by others than root; chmod go-w it");
}

TEST_CASE("a symlink is followed and everything on its way is looked at")
{
    const Scratch scratch;
    scratch.folder("good", 0755);
    scratch.folder("open/inner", 0755);
    scratch.folder("open", 0777);
    std::filesystem::create_symlink("good", scratch / "relative");
    std::filesystem::create_symlink(scratch / "open/inner", scratch / "absolute");
    std::filesystem::create_symlink("loop", scratch / "loop");
    CHECK(judge(scratch / "relative") == "good");
    CHECK(judge(scratch / "absolute") ==
          (scratch / "open") + " can be written by others than root; chmod go-w it");
    CHECK(judge(scratch / "loop").starts_with("look at " + (scratch / "loop") + ": "));
}

TEST_CASE("what is judged is what is opened, also when the name means another file by then")
{
    const Scratch scratch;
    scratch.folder("a", 0755);
    scratch.file("a/policy.json", 0600);
    const std::string path = scratch / "a/policy.json";
    struct stat before = {};
    REQUIRE(::stat(path.c_str(), &before) == 0);
    const auto judged = open_owned_path(path, "the policy", Code::invalid_policy);
    REQUIRE(judged);
    std::filesystem::rename(path, path + ".old");
    scratch.file("a/policy.json", 0666);
    struct stat held = {};
    REQUIRE(::fstat(judged->get(), &held) == 0);
    CHECK(held.st_ino == before.st_ino);
    CHECK(judge(path) == path + " can be written by others than root; chmod go-w it");
}

TEST_CASE("a relative path would be checked from the root and used from elsewhere")
{
    for (const std::string path : {"usr/bin/env", "./usr", "../usr/bin/env", ""})
        CHECK(judge(path) == "\"" + path + "\" is not absolute");
}

TEST_CASE("what is not there cannot be trusted")
{
    CHECK(judge("/nowhere/at/all").starts_with("look at /nowhere: "));
}

} // namespace anchorhold::owned_path_test
