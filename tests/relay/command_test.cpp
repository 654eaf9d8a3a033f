// SPDX-License-Identifier: Apache-2.0
#include "relay/command.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace anchorhold::relay::command_test {
namespace {

std::vector<std::string> candidates(const char* path, const char* name)
{
    std::vector<std::string> found;
    while (path != nullptr) {
        char candidate[PATH_MAX];
        if (next_candidate(path, name, candidate))
            found.emplace_back(candidate);
    }
    return found;
}

// A directory of the test's own with files that cannot be executed, each for another reason.
struct Scratch {
    std::filesystem::path path;
    Scratch()
    {
        char name[] = "/tmp/anchorhold-command-XXXXXX";
        path = mkdtemp(name);
        write("plain", "text", 0644);
        write("orphan", "#!/nosuch/interpreter\n", 0755);
        write("shell", "exit 0\n", 0755);
        std::filesystem::create_directory(path / "directory");
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::filesystem::remove_all(path); }
    void write(const char* name, const char* content, mode_t mode) const
    {
        std::ofstream(path / name) << content;
        chmod((path / name).c_str(), mode);
    }
};

struct Refused {
    int status = 0;
    std::string why;
    friend bool operator==(const Refused&, const Refused&) = default;
};

Refused run(std::string name, std::vector<std::string> environment)
{
    std::vector<char*> command = {name.data(), nullptr};
    std::vector<char*> variables;
    for (std::string& variable : environment)
        variables.push_back(variable.data());
    variables.push_back(nullptr);
    Line why;
    const int status = execute(command.data(), variables.data(), why);
    return {status, why.text()};
}

std::vector<std::string> renamed(std::vector<std::string> environment, pid_t from, pid_t to)
{
    std::vector<char*> variables;
    for (std::string& variable : environment)
        variables.push_back(variable.data());
    variables.push_back(nullptr);
    char replacement[40];
    rename_listen_pid(variables.data(), from, to, replacement);
    variables.pop_back();
    return {variables.begin(), variables.end()};
}

} // namespace

TEST_CASE("PATH is searched in order, an empty element is the working directory")
{
    using Names = std::vector<std::string>;
    CHECK(candidates("/a:/b/c", "x") == Names{"/a/x", "/b/c/x"});
    CHECK(candidates(":/a::", "x") == Names{"./x", "/a/x", "./x", "./x"});
    CHECK(candidates("", "x") == Names{"./x"});
    const std::string endless(PATH_MAX, 'p');
    CHECK(candidates((endless + ":/a").c_str(), "x") == Names{"/a/x"});
    const std::string fits = "/" + std::string(PATH_MAX - 4, 'p');
    CHECK(candidates(fits.c_str(), "x").size() == 1);
    CHECK(candidates((fits + "p").c_str(), "x").empty());
}

TEST_CASE("a command that is not there is 127 in runc's words, C-60")
{
    const Scratch scratch;
    const std::string here = scratch.path;
    const Refused unknown = {127, "exec: \"nosuch\": executable file not found in $PATH"};
    CHECK(run("nosuch", {"PATH=/nosuch:" + here}) == unknown);
    CHECK(run("nosuch", {"PATH="}) == unknown);
    CHECK(run("nosuch", {}) == unknown);
    CHECK(run("", {"PATH=" + here}) ==
          Refused{127, "exec: \"\": executable file not found in $PATH"});
    CHECK(run("/nosuch", {"PATH=" + here}) ==
          Refused{127, "exec: \"/nosuch\": stat /nosuch: no such file or directory"});
}

TEST_CASE("a missing interpreter is not a missing file")
{
    const Scratch scratch;
    const std::string orphan = scratch.path / "orphan";
    const Refused expected = {127, "exec " + orphan + ": no such file or directory"};
    CHECK(run(orphan, {}) == expected);
    CHECK(run("orphan", {"PATH=" + scratch.path.string()}) == expected);
}

TEST_CASE("what cannot be executed is 126, and no shell is tried, C-60")
{
    const Scratch scratch;
    const std::string here = scratch.path;
    const std::string plain = here + "/plain";
    CHECK(run(plain, {}) == Refused{126, "exec: \"" + plain + "\": permission denied"});
    CHECK(run(here, {}) == Refused{126, "exec: \"" + here + "\": permission denied"});
    CHECK(run("plain", {"PATH=" + here + ":/nosuch"}) ==
          Refused{126, "exec: \"plain\": permission denied"});
    CHECK(run("directory", {"PATH=" + here}) ==
          Refused{126, "exec: \"directory\": permission denied"});
    const Refused shell = {126, "exec " + here + "/shell: exec format error"};
    CHECK(run("shell", {"PATH=" + here}) == shell);
    CHECK(run(here + "/shell", {}) == shell);
    CHECK(run(plain + "/x", {}) ==
          Refused{126, "exec: \"" + plain + "/x\": stat " + plain + "/x: not a directory"});
}

TEST_CASE("LISTEN_PID follows the descriptors to the command, C-66")
{
    using Words = std::vector<std::string>;
    CHECK(renamed({"A=1", "LISTEN_PID=1", "LISTEN_FDS=2"}, 1, 2) ==
          Words{"A=1", "LISTEN_PID=2", "LISTEN_FDS=2"});
    CHECK(renamed({"LISTEN_PID=10"}, 10, 2147483647) == Words{"LISTEN_PID=2147483647"});
    const Words others = {"LISTEN_PID=12", "LISTEN_PID=01", "LISTEN_PID=",
                          "LISTEN_PID",    "XLISTEN_PID=1", "listen_pid=1"};
    CHECK(renamed(others, 1, 2) == others);
}

} // namespace anchorhold::relay::command_test
