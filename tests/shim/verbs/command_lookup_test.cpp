// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/command_lookup.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

namespace anchorhold::command_lookup_test {

using namespace verbs;
namespace {

struct Root {
    Scratch scratch;
    UniqueFd fd;

    Root()
    {
        for (const char* const folder : {"bin", "usr/bin", "home", "opt/tool"})
            (void)scratch.folder(folder, 0755);
        (void)scratch.file("bin/sh", 0755);
        (void)scratch.file("bin/theirs", 0100);
        (void)scratch.file("bin/text", 0644);
        (void)scratch.file("usr/bin/text", 0755);
        (void)scratch.file("home/run", 0755);
        std::filesystem::create_symlink("/bin/sh", scratch / "usr/bin/link");
        // The host has such a file, the image has not.
        std::filesystem::create_symlink("/etc/passwd", scratch / "usr/bin/out");
        std::filesystem::create_symlink("loop", scratch / "usr/bin/loop");
        // This is /proc/self as seen from another pid namespace: it leads nowhere.
        (void)scratch.folder("proc", 0755);
        (void)scratch.folder("dev", 0755);
        std::filesystem::create_symlink("4294967", scratch / "proc/self");
        std::filesystem::create_symlink("/proc/self/fd", scratch / "dev/fd");
        fd = UniqueFd(::open(scratch.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    std::string missing(const std::string& name,
                        std::vector<std::string> path = {"/usr/bin", "/bin"}) const
    {
        return missing_command(fd.get(), {name, std::move(path), "/home"}).value_or("");
    }
};

CommandLookup lookup(const std::string& process, std::size_t relay_words = 0)
{
    const auto config = json::Document::parse(R"({"process":)" + process + "}");
    REQUIRE(config);
    const auto found = command_lookup(config->root(), relay_words);
    REQUIRE(found);
    return *found;
}

} // namespace

TEST_CASE("a command is looked up where it will run")
{
    const CommandLookup found = lookup(
        R"({"args":["/relay","--","sh","-c"],"cwd":"/w","env":["A=1","PATH=/c","PATH=/a::/b"]})",
        2);
    CHECK(found.name == "sh");
    CHECK(found.cwd == "/w");
    CHECK(found.directories == std::vector<std::string>{"/a", ".", "/b"});
    CHECK(lookup(R"({"args":["sh"],"env":["PATH="]})").directories.empty());
    CHECK(lookup(R"({"env":["PATH=/a:"]})").directories == std::vector<std::string>{"/a", "."});
    CHECK(lookup(R"({"args":["a"]})", 1).name.empty());
}

TEST_CASE("C-60 what is there is left to the start")
{
    const Root root;
    for (const std::string name :
         {"sh", "theirs", "link", "text", "loop", "/bin/sh", "../bin/sh", "./run",
          "/usr/bin/../../../../bin/sh", "/proc/self/exe", "out", "/dev/fd/3", "//proc/self/exe",
          "/usr/../proc/self/root/bin/sh", "../proc/self/exe"})
        CHECK_MESSAGE(root.missing(name).empty(), name);
    CHECK(root.missing("run", {"."}).empty());
}

TEST_CASE("C-60 a command that is not there is missed in runc's words")
{
    const Root root;
    const std::string not_found = ": executable file not found in $PATH";
    for (const std::string name : {"nosuch", "run", ""})
        CHECK(root.missing(name) == "exec: \"" + name + "\"" + not_found);
    CHECK(root.missing("sh", {}) == "exec: \"sh\"" + not_found);
    CHECK(root.missing("/nosuch") == "exec: \"/nosuch\": stat /nosuch: no such file or directory");
    CHECK(root.missing("./sh") == "exec: \"./sh\": stat ./sh: no such file or directory");
    CHECK(root.missing("/bin/sh/x") ==
          "exec: \"/bin/sh/x\": stat /bin/sh/x: no such file or directory");
    CHECK(root.missing("/none/sh") ==
          "exec: \"/none/sh\": stat /none/sh: no such file or directory");
}

TEST_CASE("C-60 what nobody may execute is missed in runc's words")
{
    const Root root;
    CHECK(root.missing("/bin/text") == "exec: \"/bin/text\": permission denied");
    CHECK(root.missing("/opt/tool") == "exec: \"/opt/tool\": permission denied");
    CHECK(root.missing("text", {"/bin", "/nosuch"}) == "exec: \"text\": permission denied");
    CHECK(root.missing("tool", {"/opt"}) == "exec: \"tool\": permission denied");
}

} // namespace anchorhold::command_lookup_test
