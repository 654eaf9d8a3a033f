// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/child.hpp"
#include "shim/runtime/runtime.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace anchorhold::runtime_test {

using namespace runtime;
namespace {

std::string refusal(const Result<std::string>& result)
{
    return result ? "found " + *result : result.error().what;
}

Result<ProgramOutput> shell(const std::string& script)
{
    return run_quietly("/bin/sh", {"-c", script});
}

} // namespace

TEST_CASE("R6 a runtime that was named is fit or refused, never passed over")
{
    CHECK(find_runtime("/bin/sh", "/bin/cat") == "/bin/sh");
    CHECK(find_runtime(std::nullopt, "/bin/cat") == "/bin/cat");
    CHECK(refusal(find_runtime("runc", {})) == "runtime \"runc\" is not absolute");
    CHECK(refusal(find_runtime("/", {})) == "runtime \"/\" is not an executable file");
    CHECK(refusal(find_runtime("/etc/passwd", {})) ==
          "runtime \"/etc/passwd\" is not an executable file");
    CHECK(refusal(find_runtime("/proc/self/exe", {})) ==
          "runtime \"/proc/self/exe\" is anchorhold itself; name runc or crun");
    CHECK(refusal(find_runtime({}, "/nowhere/runc")) ==
          "look at the runtime \"/nowhere/runc\": it is not there (ENOENT)");
    CHECK(find_runtime("/nowhere", {}).error().code == Code::invalid_request);
    CHECK(find_runtime({}, "/nowhere").error().code == Code::invalid_policy);
}

TEST_CASE("the search takes the first that is fit")
{
    CHECK(first_fit({"/nowhere/runc", "/proc/self/exe", "/bin/sh", "/bin/cat"}) == "/bin/sh");
    CHECK(refusal(first_fit({"/nowhere/a", "/nowhere/b"})) ==
          "no runtime at /nowhere/a, /nowhere/b; install runc or crun, or name one in the policy");
    CHECK(refusal(first_fit({"/nowhere/a", "/etc/passwd"})) ==
          "runtime \"/etc/passwd\" is not an executable file");
}

TEST_CASE("the exit status is the one a shell would report")
{
    CHECK(run_runtime("/bin/sh", {"-c", "exit 0"}) == 0);
    CHECK(run_runtime("/bin/sh", {"-c", "exit 255"}) == 255);
    CHECK(run_runtime("/bin/sh", {"-c", "kill -KILL $$"}) == 128 + 9);
    CHECK(run_runtime("/bin/sh", {"-c", "kill -TERM $$"}) == 128 + 15);
}

TEST_CASE("a program that cannot be executed is an error, not a status")
{
    const auto missing = run_runtime("/nowhere/runc", {"create"});
    REQUIRE_FALSE(missing);
    CHECK(missing.error().what == "run \"/nowhere/runc\": it is not there (ENOENT)");
    CHECK(missing.error().code == Code::delegate_failed);
}

TEST_CASE("a child that is waited for has our stdio's place taken only when it runs quietly")
{
    const auto caught = shell("cat; echo out; echo err >&2; exit 3");
    REQUIRE(caught);
    CHECK(caught->status == 3);
    CHECK(caught->text == "err\nout\n");
    const auto long_winded = shell("i=0; while [ $i -lt 999 ]; do echo 12345678; i=$((i+1)); done");
    REQUIRE(long_winded);
    CHECK(long_winded->text.size() == 4096);
}

TEST_CASE("nothing that a program's loader says is taken for the program's answer")
{
    const std::string loader = "echo \"ERROR: ld.so: object 'x' cannot be preloaded\" >&2; ";
    const auto good = shell(loader + "echo answer");
    REQUIRE(good);
    CHECK(good->text == "answer\n");
    const auto bad = shell(loader + "echo one >&2; printf two >&2; exit 1");
    REQUIRE(bad);
    CHECK(bad->text == "one\ntwo");
}

TEST_CASE("children for our own work get an environment of ours, the runtime gets the engine's")
{
    const std::vector<std::pair<const char*, const char*>> foreign = {
        {"GCONV_PATH", "/nowhere"},   {"LD_BIND_NOT", "1"},  {"RES_OPTIONS", "debug"},
        {"HOSTALIASES", "/dev/null"}, {"EDITOR", "nowhere"}, {"LISTEN_FDS", "1"}};
    for (const auto& [name, value] : foreign)
        ::setenv(name, value, 1);
    ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    const auto caught = run_quietly("/usr/bin/env", {});
    REQUIRE(caught);
    for (const auto& [name, value] : foreign) {
        CAPTURE(name);
        CHECK(caught->text.find(std::string(name) + "=") == std::string::npos);
        const std::string arrives = "[ \"$" + std::string(name) + "\" = " + value + " ]";
        CHECK(run_runtime("/bin/sh", {"-c", arrives}) == 0);
    }
    CHECK(caught->text.find("PATH=") != std::string::npos);
    CHECK(caught->text.find("XDG_RUNTIME_DIR=/run/user/7\n") != std::string::npos);
    for (const auto& [name, value] : foreign)
        ::unsetenv(name);
    ::unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE("the child's mask and dispositions are the ones we were started with")
{
    // The command uses exec, because a shell that waits for its child in vfork(2) blocks all
    // signals.
    const auto caught = shell("exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
    REQUIRE(caught);
    std::ifstream status("/proc/self/status");
    std::string wanted;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigBlk") || line.starts_with("SigIgn"))
            wanted += line + "\n";
    CHECK(caught->text == wanted);
}

TEST_CASE("R5 LISTEN_PID follows when it named us, else it is left alone")
{
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    CHECK(run_runtime("/bin/sh", {"-c", "[ $LISTEN_PID = $$ ]"}) == 0);
    ::setenv("LISTEN_PID", "1", 1);
    CHECK(run_runtime("/bin/sh", {"-c", "[ $LISTEN_PID = 1 ]"}) == 0);
    ::unsetenv("LISTEN_PID");
    CHECK(run_runtime("/bin/sh", {"-c", "[ -z \"${LISTEN_PID+x}\" ]"}) == 0);
}

} // namespace anchorhold::runtime_test
