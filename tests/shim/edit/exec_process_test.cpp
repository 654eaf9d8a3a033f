// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/exec_process.hpp"

#include <doctest/doctest.h>

namespace anchorhold::process_edit_test {

using namespace edit;
using namespace words;
namespace {

Plan plan_with(std::vector<std::pair<std::string, std::string>> env = {})
{
    Plan plan;
    plan.strip_proxies = true;
    plan.strip_net_caps = true;
    plan.env = std::move(env);
    return plan;
}

std::string edited_process(std::string_view text, const Plan& plan = plan_with())
{
    const auto result = edit_process(text, plan);
    return result ? *result : "refused: " + result.error().what;
}

std::string from_flags(const std::vector<std::string>& rest, const std::string& process)
{
    const auto result = process_from_flags(R"({"root":{"path":"r"},"process":)" + process + "}",
                                           read_invocation(rest, Flavour::runc));
    return result ? *result : "refused: " + result.error().what;
}

std::vector<std::string> kept(const std::vector<std::string>& rest, Flavour flavour)
{
    const auto words = edit_flags(rest, read_invocation(rest, flavour), plan_with({{"A", "1"}}));
    return words ? *words : std::vector<std::string>{words.error().what};
}

using Words = std::vector<std::string>;

} // namespace

TEST_CASE("R24 proxies and network capabilities do not come back through exec (C-22)")
{
    CHECK(edited_process(
              R"({"args":["env"],"env":["PATH=/bin","HTTP_PROXY=http://x:1","no_proxy=*"],)"
              R"("capabilities":{"bounding":["CAP_KILL","CAP_NET_RAW"],)"
              R"("effective":["CAP_NET_ADMIN"]}})") ==
          R"({"args":["env"],"env":["PATH=/bin"],)"
          R"("capabilities":{"bounding":["CAP_KILL"],"effective":[]}})");
}

TEST_CASE("capabilities that would void a posture are told from the rest")
{
    CHECK(voiding_capabilities_in(R"({"capabilities":{"bounding":["CAP_KILL","CAP_BPF"],)"
                                  R"("ambient":["CAP_SYS_ADMIN","CAP_BPF"]}})") ==
          "CAP_BPF, CAP_SYS_ADMIN");
    CHECK(voiding_capabilities_in(R"({"capabilities":{"bounding":["CAP_NET_RAW"]}})") == "");
    CHECK(voiding_capabilities_in(R"({"capabilities":null})") == "");
    CHECK(voiding_capabilities_in("{}") == "");
    CHECK(voiding_capabilities_in(process_from_crun_flags(read_invocation(
              {"exec", "-cCAP_SYS_PTRACE", "id", "x"}, Flavour::crun))) == "CAP_SYS_PTRACE");
}

TEST_CASE("the profile's variables are set in an exec, in place of equal ones")
{
    CHECK(edited_process(R"({ "env": ["A=0", "B=1"] })",
                         plan_with({{"A", "http://127.0.0.1:8080"}})) ==
          R"({ "env": ["B=1","A=http://127.0.0.1:8080"] })");
    CHECK(edited_process("{}", plan_with({{"A", "1"}})) == R"({"env":["A=1"]})");
}

TEST_CASE("what needs no edit is handed on byte for byte")
{
    const std::string text = "{\n\t\"args\" : [\"\\u0041\"], \"x\":1e3, \"env\":[ \"A=B\" ] }\n";
    CHECK(edited_process(text) == text);
    const std::string once = edited_process(R"({"env":["http_proxy=x","B=1"]})");
    CHECK(edited_process(once) == once);
}

TEST_CASE("a process that readers would take differently is refused")
{
    CHECK(edited_process(R"({"env":[],"env":["HTTP_PROXY=x"]})").starts_with("refused: "));
    CHECK(edited_process(R"({"Env":["HTTP_PROXY=x"]})").starts_with("refused: "));
    CHECK(edited_process(R"({"env":"HTTP_PROXY=x"})") == "refused: process.env: expected an array");
    CHECK(edited_process(R"({},"linux":{})") == "refused: process: text behind the object");
    CHECK(edited_process("{}}").starts_with("refused: "));
    CHECK(edited_process("{} {}").starts_with("refused: "));
    CHECK(edited_process("").starts_with("refused: "));
    CHECK(edited_process("[]") == "refused: process: expected an object");
    CHECK(edited_process(R"({"capabilities":{"bounding":["13"]}})").starts_with("refused: "));
}

TEST_CASE("runc's flags make the process that runc would have made of them")
{
    const std::string process = R"({"terminal":true,"user":{"uid":0,"gid":0},"args":["sh"],)"
                                R"("env":["A=1"],"cwd":"/"})";
    CHECK(from_flags({"exec", "id", "ls", "-l"}, process) ==
          R"({"terminal":false,"user":{"uid":0,"gid":0},"args":["ls","-l"],"env":["A=1"],)"
          R"("cwd":"/"})");
    CHECK(from_flags({"exec", "-t", "--cwd=/tmp", "-e", "B=\"", "-u", "5:6", "-g", "7", "-g=8",
                      "--no-new-privs", "--apparmor=x", "--process-label", "y", "id", "ls"},
                     process) ==
          R"({"terminal":true,"user":{"uid":5,"gid":6,"additionalGids":[7,8]},"args":["ls"],)"
          R"("env":["A=1","B=\""],"cwd":"/tmp","noNewPrivileges":true,"apparmorProfile":"x",)"
          R"("selinuxLabel":"y"})");
    CHECK(from_flags({"exec", "id"}, process) == "refused: exec needs a command or --process");
    CHECK(from_flags({"exec", "-u", "root", "id", "ls"}, process) ==
          "refused: --user: \"root\" is not a user or group number");
    CHECK(from_flags({"exec", "id", "ls"}, "null") ==
          "refused: config.json: process: expected an object");
}

TEST_CASE("runc's --cap goes where runc puts it")
{
    CHECK(
        from_flags({"exec", "--cap", "CAP_KILL", "-c=CAP_CHOWN", "id", "ls"},
                   R"({"terminal":false,"args":[],"capabilities":{"bounding":["CAP_FOWNER"]}})") ==
        R"({"terminal":false,"args":["ls"],"capabilities":{"bounding":["CAP_FOWNER",)"
        R"("CAP_KILL","CAP_CHOWN"],"effective":["CAP_KILL","CAP_CHOWN"],)"
        R"("permitted":["CAP_KILL","CAP_CHOWN"]}})");
    CHECK(from_flags({"exec", "--cap", "CAP_KILL", "id", "ls"},
                     R"({"terminal":false,"args":[],"capabilities":{"inheritable":[]}})")
              .ends_with(R"("ambient":["CAP_KILL"]}})"));
    CHECK(
        from_flags({"exec", "--cap", "CAP_KILL", "id", "ls"}, R"({"terminal":false,"args":[]})") ==
        R"({"terminal":false,"args":["ls"],"capabilities":{"bounding":["CAP_KILL"],)"
        R"("effective":["CAP_KILL"],"permitted":["CAP_KILL"]}})");
}

TEST_CASE("a proxy that comes with an exec is told to spare the relay, and stays (C-47)")
{
    Plan plan;
    plan.exempt_relay = true;
    CHECK(edited_process(R"({"args":["env"],"env":["A=1","https_proxy=p","no_proxy=x"]})", plan) ==
          R"({"args":["env"],"env":["A=1","https_proxy=p","NO_PROXY=x,localhost,127.0.0.1,::1",)"
          R"("no_proxy=x,localhost,127.0.0.1,::1"]})");
    CHECK(edited_process(R"({"args":["env"],"env":["A=1","no_proxy=x"]})", plan) ==
          R"({"args":["env"],"env":["A=1","no_proxy=x"]})");
    const auto flags = [&](const Words& rest) {
        return edit_flags(rest, read_invocation(rest, Flavour::crun), plan).value_or(Words());
    };
    CHECK(flags({"exec", "-e", "ALL_PROXY=p", "--env=NO_PROXY=*", "id", "env"}) ==
          Words{"exec", "--env=NO_PROXY=*,localhost,127.0.0.1,::1", "--env=no_proxy=*", "-e",
                "ALL_PROXY=p", "id", "env"});
    CHECK(flags({"exec", "-e", "NO_PROXY=*", "id", "env"}) ==
          Words{"exec", "-e", "NO_PROXY=*", "id", "env"});
}

TEST_CASE("crun's flags for removed variables and capabilities are dropped (C-22)")
{
    CHECK(kept({"exec", "--env", "HTTP_PROXY=x", "-e", "B=2", "--env=A=2", "--cap=CAP_NET_RAW",
                "-cCAP_NET_ADMIN", "-c", "CAP_KILL", "id", "env"},
               Flavour::crun) ==
          Words{"exec", "--env=A=1", "-e", "B=2", "-c", "CAP_KILL", "id", "env"});
    CHECK(kept({"exec", "--env", "https_proxy", "id", "env"}, Flavour::crun) ==
          Words{"exec", "id", "env"});
    for (const char* odd : {"12", "0xd", "cap_net_raw", "CAP_NET_RAW "})
        CHECK(kept({"exec", "--cap", odd, "id", "env"}, Flavour::crun)[0].starts_with("--cap: "));
}

} // namespace anchorhold::process_edit_test
