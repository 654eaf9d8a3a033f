// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/command_user.hpp"
#include "shim/inspect/endpoint_check.hpp"

#include <doctest/doctest.h>

namespace anchorhold::command_user_test {

using namespace inspect;
namespace {

json::Document parsed(const std::string& text)
{
    return *json::Document::parse(text);
}

} // namespace

TEST_CASE("the command's user is read as the host will see it")
{
    const auto user_of = [](const std::string& text) {
        const json::Document config = parsed(text);
        const auto user = command_user(config.root());
        REQUIRE(user);
        return *user;
    };
    const CommandUser nobody_said = user_of("{}");
    CHECK(nobody_said.host_uid == 0);
    CHECK(!nobody_said.overrides_modes);
    CHECK(nobody_said.takes_any_uid);

    const CommandUser plain = user_of(R"({"process": {"noNewPrivileges": true,
        "user": {"uid": 1000, "gid": 100, "additionalGids": [10, 20]},
        "capabilities": {"bounding": ["CAP_DAC_OVERRIDE"]}}})");
    CHECK(plain.host_uid == 1000);
    CHECK(plain.host_gid == 100);
    CHECK(plain.host_groups == std::vector<gid_t>{10, 20});
    CHECK(!plain.overrides_modes);
    CHECK(!plain.takes_any_uid);
    CHECK(!plain.own_users);

    const CommandUser root = user_of(
        R"({"process": {"user": {"uid": 0}, "capabilities": {"bounding": ["CAP_DAC_OVERRIDE"]}}})");
    CHECK(root.overrides_modes);

    const CommandUser mapped = user_of(R"({"process": {"user": {"uid": 1000, "gid": 70000}},
        "linux": {"namespaces": [{"type": "user"}],
        "uidMappings": [{"containerID": 0, "hostID": 100000, "size": 1000},
                        {"containerID": 1000, "hostID": 5, "size": 1}],
        "gidMappings": [{"containerID": 0, "hostID": 200000, "size": 65536}]}})");
    CHECK(mapped.host_uid == 5);
    CHECK(mapped.host_gid == 65534); // an unmapped id may be anybody's
    CHECK(mapped.own_users);
    CHECK(!mapped.takes_any_uid);

    const CommandUser joined = user_of(R"({"process": {"user": {"uid": 1000}},
        "linux": {"namespaces": [{"type": "user", "path": "/proc/7/ns/user"}]}})");
    CHECK(joined.host_uid == 65534);
    CHECK(!joined.own_users);
}

TEST_CASE("a user that is no number is said where it stands")
{
    const json::Document config = parsed(R"({"process": {"user": {"uid": -1}}})");
    const auto user = command_user(config.root());
    REQUIRE(!user);
    CHECK(user.error().what == "process.user.uid: expected a user or group id");
}

TEST_CASE("a number in config.json has the bounds of what it counts")
{
    const auto mapped = [](const std::string& range) {
        const json::Document config = parsed(
            R"({"linux": {"namespaces": [{"type": "user"}], "uidMappings": [)" + range + "]}}");
        const auto user = command_user(config.root());
        return user ? std::to_string(user->host_uid) : user.error().what;
    };
    const std::string place = "linux.uidMappings[0].";
    CHECK(mapped(R"({"containerID": 0, "hostID": 0, "size": 4294967295})") == "0");
    CHECK(mapped(R"({"containerID": 0, "hostID": 4294967294, "size": 1})") == "4294967294");
    CHECK(mapped(R"({"containerID": 0, "hostID": 0, "size": 4294967296})") ==
          place + "size: expected a number of ids");
    CHECK(mapped(R"({"containerID": 0, "hostID": 0, "size": -1})") ==
          place + "size: expected a number of ids");
    CHECK(mapped(R"({"containerID": 0, "hostID": 4294967295, "size": 1})") ==
          place + "hostID: expected a user or group id");
    CHECK(mapped(R"({"containerID": 4294967296, "hostID": 1, "size": 1})") ==
          place + "containerID: expected a user or group id");
}

TEST_CASE("each way to another uid counts: root, CAP_SETUID, a missing no_new_privs")
{
    const auto takes = [](const std::string& process) {
        const json::Document config = parsed(R"({"process": )" + process + "}");
        return command_user(config.root())->takes_any_uid;
    };
    CHECK(!takes(R"({"user": {"uid": 9}, "noNewPrivileges": true})"));
    CHECK(takes(R"({"user": {"uid": 0}, "noNewPrivileges": true})"));
    CHECK(takes(R"({"user": {"uid": 9}, "noNewPrivileges": false})"));
    CHECK(takes(R"({"user": {"uid": 9}})"));
    CHECK(takes(R"({"user": {"uid": 9}, "noNewPrivileges": true,
                    "capabilities": {"inheritable": ["CAP_SETUID"]}})"));
}

} // namespace anchorhold::command_user_test
