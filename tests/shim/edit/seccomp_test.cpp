// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/seccomp.hpp"

#include "tests/shim/edit/seccomp_texts.hpp"

#include <doctest/doctest.h>

namespace anchorhold::seccomp_edit_test {

using namespace edit;
namespace {

std::string obstacle(const std::string& text)
{
    const json::Document config = parsed(around(text));
    const auto edit = edit_seccomp(config.root(), closed);
    REQUIRE(edit.has_value());
    CHECK(edit->splices == std::vector<json::Splice>{});
    return edit->obstacle;
}

std::string error(const std::string& config)
{
    const json::Document document = parsed(config);
    const auto edit = edit_seccomp(document.root(), closed);
    REQUIRE(!edit.has_value());
    CHECK(edit.error().code == Code::config_ambiguous);
    return edit.error().what;
}

const std::string no_socketcall =
    R"({"names":["socketcall"],"action":"SCMP_ACT_ERRNO","errnoRet":38})";

std::vector<std::pair<std::uint32_t, std::uint32_t>>
with_large(std::vector<std::pair<std::uint32_t, std::uint32_t>> masked, unsigned from_bit)
{
    for (unsigned bit = from_bit; bit < 32; ++bit)
        masked.emplace_back(~((1U << bit) - 1), 1U << bit);
    return masked;
}

std::string masked_equal(int argument, std::uint32_t mask, std::uint32_t value)
{
    return R"({"index":)" + std::to_string(argument) + R"(,"value":)" + std::to_string(mask) +
           R"(,"valueTwo":)" + std::to_string(value) + R"(,"op":"SCMP_CMP_MASKED_EQ"})";
}

// Returns the denying rules of a profile that permits by default. `masked` holds the mask and value
// of each rule about families.
std::string denials(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& masked)
{
    std::string rules =
        R"({"names":["socketcall","request_key","pidfd_getfd"],"action":"SCMP_ACT_ERRNO",)"
        R"("errnoRet":1},{"names":["io_uring_setup","io_uring_enter","io_uring_register"],)"
        R"("action":"SCMP_ACT_ERRNO","errnoRet":38})";
    for (const auto& [mask, value] : masked)
        rules += R"(,{"names":["socket","socketpair"],"action":"SCMP_ACT_ERRNO","errnoRet":97,)"
                 R"("args":[)" +
                 masked_equal(0, mask, value) + "]}";
    for (const auto& [mask, value] : with_large({{~0U, 1},
                                                 {~0U, 3},
                                                 {~0U, 5},
                                                 {~0U, 7},
                                                 {~3U, 8},
                                                 {~0U, 13},
                                                 {~0U, 14},
                                                 {~0U, 17},
                                                 {~1U, 18},
                                                 {~3U, 20},
                                                 {~7U, 24}},
                                                5))
        rules += R"(,{"names":["socket"],"action":"SCMP_ACT_ERRNO","errnoRet":93,"args":[)" +
                 masked_equal(0, ~0U, 16) + "," + masked_equal(2, mask, value) + "]}";
    return rules;
}

std::string closed_denials()
{
    return denials(with_large({{~0U, 0},
                               {~0U, 3},
                               {~3U, 4},
                               {~1U, 8},
                               {~0U, 11},
                               {~3U, 12},
                               {~1U, 18},
                               {~3U, 20},
                               {~7U, 24}},
                              5));
}

std::string whole(const std::string& rules)
{
    return R"({"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_X86_64",)"
           R"("SCMP_ARCH_X86","SCMP_ARCH_X32"],"syscalls":[)" +
           rules + "]}";
}

} // namespace

TEST_CASE("a config without a seccomp profile gets a whole one")
{
    const std::string wanted = whole(closed_denials());
    CHECK(whole_profile(closed, "x86_64") == wanted);
    CHECK(whole_profile(closed) == whole_profile(closed, native_machine));
    if (native_machine != "x86_64")
        return;
    CHECK(edited_config(R"({"linux":{ "namespaces":[]}, "x":1e2})") ==
          R"({"linux":{"seccomp":)" + wanted + R"(, "namespaces":[]}, "x":1e2})");
    for (const char* const none : {"null", "{}", R"({"defaultAction":""})", R"({"syscalls":[]})",
                                   R"({"architectures":["SCMP_ARCH_X86"],"syscalls":null})"})
        CHECK(edited(none) == wanted);
}

TEST_CASE("the whole profile follows the machine's calling conventions")
{
    CHECK(whole_profile(closed, "aarch64") ==
          R"({"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_AARCH64",)"
          R"("SCMP_ARCH_ARM"],"syscalls":[)" +
              closed_denials() + "]}");
    CHECK(architectures_of("riscv64") == std::vector<std::string>{}); // only the native one
}

TEST_CASE("a policy that allows vsock leaves its family out of the denials")
{
    CHECK(whole_profile(vsock_open, "x86_64") == whole(denials(with_large({{~0U, 0},
                                                                           {~0U, 3},
                                                                           {~3U, 4},
                                                                           {~1U, 8},
                                                                           {~0U, 11},
                                                                           {~3U, 12},
                                                                           {~1U, 18},
                                                                           {~3U, 20},
                                                                           {~7U, 24},
                                                                           {~7U, 32},
                                                                           {~0U, 41},
                                                                           {~1U, 42},
                                                                           {~3U, 44},
                                                                           {~15U, 48}},
                                                                          6))));
    CHECK(edited(profile("SCMP_ACT_ERRNO", R"({"names":["socket"],"action":"SCMP_ACT_ALLOW"})"),
                 vsock_open) ==
          profile("SCMP_ACT_ERRNO", no_socketcall + "," + granted({1, 2, 10, 16, 17, 40})));
}

TEST_CASE("a profile that denies by default loses the calls and gets sockets back by family")
{
    const std::string clone3 =
        R"({"names":["clone3"], "action":"SCMP_ACT_ERRNO", "errnoRet":38, "comment":"docker"})";
    const std::string clone = R"({"names":["clone"],"action":"SCMP_ACT_ALLOW","args":[)"
                              R"({"index":0,"value":2114060288,"op":"SCMP_CMP_MASKED_EQ"}]})";
    const std::string before =
        R"({"names":["accept", "io_uring_setup","socket","socketcall","pidfd_getfd","write"],)"
        R"("action":"SCMP_ACT_ALLOW"},)" +
        clone3 + "," + clone;
    const std::string after = no_socketcall +
                              R"(,{"names":["accept","write"],"action":"SCMP_ACT_ALLOW"},)" +
                              clone3 + "," + clone + "," + granted({1, 2, 10, 16, 17});
    CHECK(edited(profile("SCMP_ACT_ERRNO", before)) == profile("SCMP_ACT_ERRNO", after));
}

TEST_CASE("netlink comes back by the protocols that the profile's own condition leaves")
{
    const std::string no_audit =
        R"({"names":["socket"],"action":"SCMP_ACT_ERRNO","errnoRet":22,"args":[)"
        R"({"index":0,"value":16,"op":"SCMP_CMP_EQ"},{"index":2,"value":9,"op":"SCMP_CMP_EQ"}]})";
    const std::string not_audit = R"({"index":2,"value":9,"op":"SCMP_CMP_NE"})";
    const std::string before =
        no_audit + "," + family_rule("ALLOW", not_audit) + "," +
        family_rule("ALLOW", R"({"index":0,"value":16,"op":"SCMP_CMP_NE"})") + "," +
        family_rule("ALLOW", not_audit);
    CHECK(edited(profile("SCMP_ACT_ERRNO", before)) ==
          profile("SCMP_ACT_ERRNO", no_socketcall + "," + no_audit + "," + granted({16}) + "," +
                                        granted({1, 2, 10, 17})));
}

TEST_CASE("a rule that would permit by another argument is narrowed although the default permits")
{
    const std::string by_protocol = R"({"index":2,"value":0,"op":"SCMP_CMP_EQ"})";
    const auto logged = [&](unsigned number) { // by protocol 0 alone, of netlink too
        return family_rule("LOG", family(number) + "," + by_protocol);
    };
    CHECK(edited(profile("SCMP_ACT_ALLOW", family_rule("LOG", by_protocol))) ==
          profile("SCMP_ACT_ALLOW", closed_denials() + "," + logged(1) + "," + logged(2) + "," +
                                        logged(10) + "," + logged(16) + "," + logged(17)));
}

TEST_CASE("each of the actions that may permit loses the calls, the others keep them")
{
    for (const char* const action : {"ALLOW", "LOG", "TRACE", "NOTIFY"}) {
        const std::string tail = R"(],"action":"SCMP_ACT_)" + std::string(action) + R"("})";
        CHECK(edited(profile("SCMP_ACT_ERRNO", R"({"names":["request_key"])" + tail.substr(1) +
                                                   R"(,{"names":["io_uring_enter","uname")" +
                                                   tail)) ==
              profile("SCMP_ACT_ERRNO", no_socketcall + R"(,{"names":["uname")" + tail));
    }
    for (const char* const action : {"ERRNO", "KILL", "KILL_THREAD", "KILL_PROCESS", "TRAP"}) {
        const std::string rule = R"({"names":["request_key","socket"],"action":"SCMP_ACT_)" +
                                 std::string(action) + R"("})";
        CHECK(edited(profile("SCMP_ACT_ERRNO", rule)) ==
              profile("SCMP_ACT_ERRNO", no_socketcall + "," + rule));
    }
    const std::string trace =
        R"({"names":["socket"],"action":"SCMP_ACT_TRACE","errnoRet":7,"args":[)" + family(2);
    CHECK(edited(profile("SCMP_ACT_ERRNO", trace + "]}")) ==
          profile("SCMP_ACT_ERRNO", no_socketcall + "," + trace + "]}"));
}

TEST_CASE("socketcall is denied with another errno than the default's, or it would not count")
{
    const auto rule = [](const char* number) {
        return R"([{"names":["socketcall"],"action":"SCMP_ACT_ERRNO","errnoRet":)" +
               std::string(number) + "}]}";
    };
    const std::string errno_only = R"({"defaultAction":"SCMP_ACT_ERRNO",)";
    CHECK(edited(errno_only + R"("syscalls":[]})") == errno_only + R"("syscalls":)" + rule("38"));
    CHECK(edited(errno_only + R"("defaultErrnoRet":1,"syscalls":null})") ==
          errno_only + R"("defaultErrnoRet":1,"syscalls":)" + rule("38"));
    CHECK(edited(errno_only + R"("defaultErrnoRet":38,"syscalls":[]})") ==
          errno_only + R"("defaultErrnoRet":38,"syscalls":)" + rule("1"));
    CHECK(edited(R"({"defaultAction":"SCMP_ACT_KILL_PROCESS"})") ==
          R"({"syscalls":)" + rule("38").substr(0, rule("38").size() - 1) +
              R"(,"defaultAction":"SCMP_ACT_KILL_PROCESS"})");
}

TEST_CASE("a permitting default keeps its architectures and gets the denials in front")
{
    const std::string head = R"({"defaultAction":"SCMP_ACT_LOG","architectures":["SCMP_ARCH_X86"],)"
                             R"("flags":["SECCOMP_FILTER_FLAG_LOG"],"syscalls":[)";
    const std::string kill = R"({"names":["socket","kexec_load"],"action":"SCMP_ACT_KILL"})";
    CHECK(
        edited(head + R"({"names":["socket","uname"],"action":"SCMP_ACT_ALLOW"},)" + kill + "]}") ==
        head + closed_denials() + R"(,{"names":["uname"],"action":"SCMP_ACT_ALLOW"},)" + kill +
            "," + granted({1, 2, 10, 16, 17}) + "]}");
}

TEST_CASE("two conditions on one argument are alternatives, of which the widest counts")
{
    const auto not_equal = [](const char* family) {
        return R"({"index":0,"value":)" + std::string(family) + R"(,"op":"SCMP_CMP_NE"})";
    };
    const std::string two = not_equal("40") + "," + not_equal("38");
    CHECK(edited(profile("SCMP_ACT_ERRNO", family_rule("ALLOW", two))) ==
          profile("SCMP_ACT_ERRNO", no_socketcall + "," + granted({1, 2, 10, 16, 17})));
}

TEST_CASE("socketpair comes back by the same families as socket")
{
    const auto pair = [](unsigned number) {
        return R"({"names":["socketpair"],"action":"SCMP_ACT_ALLOW","args":[)" + family(number) +
               "]}";
    };
    CHECK(edited(profile("SCMP_ACT_ERRNO",
                         R"({"names":["socketpair","socket"],"action":"SCMP_ACT_ALLOW"})")) ==
          profile("SCMP_ACT_ERRNO", no_socketcall + "," + pair(1) + "," + pair(2) + "," + pair(10) +
                                        "," + pair(16) + "," + pair(17) + "," +
                                        granted({1, 2, 10, 16, 17})));
}

TEST_CASE("of two actions for the same family the first stays")
{
    const std::string before = family_rule("LOG", family(2)) + "," + granted({2, 1});
    CHECK(edited(profile("SCMP_ACT_ERRNO", before)) ==
          profile("SCMP_ACT_ERRNO",
                  no_socketcall + "," + family_rule("LOG", family(2)) + "," + granted({1})));
}

TEST_CASE("a plan that wants none, and a config without a linux part, are left alone")
{
    const std::string config = around(profile("SCMP_ACT_ALLOW", ""));
    CHECK(edited_config(config, SeccompPlan{}) == config);
    for (const char* const bare : {"{}", R"({"linux":{}})", R"({"linux":null})"})
        CHECK(edited_config(bare) == bare);
}

TEST_CASE("a profile that is not understood is an obstacle, and nothing is edited")
{
    CHECK(obstacle(profile("SCMP_ACT_USER", "")) ==
          R"(linux.seccomp: unknown default action "SCMP_ACT_USER")");
    CHECK(obstacle(R"({"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]})") ==
          R"(linux.seccomp: unknown default action "")");
    CHECK(
        obstacle(profile("SCMP_ACT_ERRNO", R"({"names":["socket"],"action":"SCMP_ACT_MAYBE"})")) ==
        R"(linux.seccomp.syscalls[0]: unknown action "SCMP_ACT_MAYBE")");
    CHECK(obstacle(profile("SCMP_ACT_ERRNO",
                           family_rule("ALLOW", R"({"index":0,"value":1,"op":"SCMP_CMP_IN"})"))) ==
          R"(linux.seccomp.syscalls[0].args[0]: unknown operator "SCMP_CMP_IN")");
    // A rule about other calls is left as it is.
    const std::string other = R"({"names":["read"],"action":"SCMP_ACT_MAYBE"})";
    CHECK(edited(profile("SCMP_ACT_ERRNO", other)) ==
          profile("SCMP_ACT_ERRNO", no_socketcall + "," + other));
}

TEST_CASE("a member of the wrong type is refused by name")
{
    CHECK(error(R"({"linux":{"seccomp":[]}})") ==
          "edit seccomp: linux.seccomp: expected an object");
    CHECK(error(around(R"({"defaultAction":1})")) ==
          "edit seccomp: linux.seccomp.defaultAction: expected a string");
    CHECK(error(around(R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":{}})")) ==
          "edit seccomp: linux.seccomp.syscalls: expected an array");
    CHECK(error(around(profile("SCMP_ACT_ERRNO", R"({"names":"socket"})"))) ==
          "edit seccomp: read rule: linux.seccomp.syscalls[0].names: expected "
          "an array");
    for (const char* const value : {"-1", "1.0", "1e1", "18446744073709551616", "\"1\""})
        CHECK(error(around(
                  profile("SCMP_ACT_ERRNO",
                          family_rule("ALLOW", R"({"index":0,"value":)" + std::string(value) +
                                                   R"(,"op":"SCMP_CMP_EQ"})")))) ==
              "edit seccomp: narrow socket: read rule: read argument: "
              "linux.seccomp.syscalls[0].args[0].value: expected an unsigned 64-bit integer");
}

} // namespace anchorhold::seccomp_edit_test
