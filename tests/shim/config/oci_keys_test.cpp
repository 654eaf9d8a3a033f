// SPDX-License-Identifier: Apache-2.0
#include "shim/config/oci_keys.hpp"

#include <doctest/doctest.h>

namespace anchorhold::oci_keys_test {

using namespace config;
namespace {

std::string refusal(std::string text)
{
    const auto document = json::Document::parse(std::move(text));
    REQUIRE_MESSAGE(document.has_value(), document.error().what);
    const auto status = check_oci_keys(document->root(), OciKeys::all);
    if (status)
        return "";
    CHECK(status.error().code == Code::config_ambiguous);
    return status.error().what;
}

} // namespace

TEST_CASE("a name that only Go takes for a known one is refused, with its place (C-50)")
{
    CHECK(refusal(R"({"Linux":{}})") ==
          "the document: member \"Linux\" reads as \"linux\" to some runtimes");
    CHECK(refusal(R"({"hoo\u212as":{}})") ==
          "the document: member \"hoo\u212as\" reads as \"hooks\" to some runtimes");
    CHECK(refusal(R"({"hook\u017f":{}})") ==
          "the document: member \"hook\u017f\" reads as \"hooks\" to some runtimes");
    CHECK(refusal(R"({"linux":{},"LINUX":1})") ==
          "the document: member \"LINUX\" reads as \"linux\" to some runtimes");
}

TEST_CASE("every object of fixed shape is looked into")
{
    const std::pair<const char*, const char*> cases[] = {
        {R"({"process":{"ARGS":[]}})", "process: "},
        {R"({"process":{"user":{"UID":0}}})", "process.user: "},
        {R"({"process":{"capabilities":{"Bounding":[]}}})", "process.capabilities: "},
        {R"({"root":{"Path":"/"}})", "root: "},
        {R"({"mounts":[{},{"Source":"/"}]})", "mounts[1]: "},
        {R"({"hooks":{"createruntime":[]}})", "hooks: "},
        {R"({"hooks":{"poststop":[{"Path":"/x"}]}})", "hooks.poststop[0]: "},
        {R"({"hooks":{"startContainer":[1,{"ENV":[]}]}})", "hooks.startContainer[1]: "},
        {R"({"linux":{"Namespaces":[]}})", "linux: "},
        {R"({"linux":{"namespaces":[{"Type":"network"}]}})", "linux.namespaces[0]: "},
        {R"({"linux":{"uidMappings":[{"containerid":1}]}})", "linux.uidMappings[0]: "},
        {R"({"linux":{"devices":[{"PATH":""}]}})", "linux.devices[0]: "},
        {R"({"linux":{"resources":{"Pids":{}}}})", "linux.resources: "},
        {R"({"linux":{"resources":{"pids":{"Limit":1}}}})", "linux.resources.pids: "},
        {R"({"linux":{"seccomp":{"sysCalls":[]}}})", "linux.seccomp: "},
        {R"({"linux":{"seccomp":{"syscalls":[{"Names":[]}]}}})", "linux.seccomp.syscalls[0]: "},
        {R"({"linux":{"seccomp":{"syscalls":[{"args":[{"OP":1}]}]}}})",
         "linux.seccomp.syscalls[0].args[0]: "},
    };
    for (const auto& [text, place] : cases)
        CHECK_MESSAGE(refusal(text).starts_with(place), text);
}

TEST_CASE("unknown members pass, unless two of them fold together")
{
    CHECK(refusal(R"({"newTop":{"a":1,"A":2},"process":{"future":1},"hooks":{"someFutureStage":[
        {"Path":1}]},"linux":{"x":1}})") == "");
    CHECK(refusal(R"({"process":{"new\u017f":1,"NewS":2}})") ==
          "process: two members read as \"news\" to some runtimes");
}

TEST_CASE("free maps are exempt: their keys are data")
{
    CHECK(refusal(R"({"annotations":{"a":"1","A":"2","linux":"","Linux":""},
        "linux":{"sysctl":{"net.x":"","NET.x":""},"resources":{"unified":{"a":"","A":""}}}})") ==
          "");
}

TEST_CASE("a config that is no object is refused (C-64)")
{
    for (const char* text : {"null", "[]", "\"x\"", "1"})
        CHECK(refusal(text) == "the document: expected an object");
}

TEST_CASE("members of an unexpected type are left to who reads them")
{
    CHECK(refusal(R"({"process":[{"ARGS":1}],"linux":null,"mounts":{"Source":1},"hooks":1})") ==
          "");
}

TEST_CASE("for an open container only the names that lead to annotations and namespaces count")
{
    const auto passes = [](std::string text) {
        const auto document = json::Document::parse(std::move(text));
        REQUIRE_MESSAGE(document.has_value(), document.error().what);
        return check_oci_keys(document->root(), OciKeys::openness).has_value();
    };
    for (const char* const text :
         {R"({"linux":{"resources":{"CPU":{}}}})", R"({"Process":{},"process":{}})",
          R"({"root":{"Path":"/"},"linux":{"Seccomp":{}}})"})
        CHECK(passes(text));
    for (const char* const text :
         {R"({"Linux":{}})", R"({"Annotations":{}})", R"({"linux":{"Namespaces":[]}})",
          R"({"linux":{"namespaces":[{"type":"network","PATH":"/proc/1/ns/net"}]}})", "[]"})
        CHECK(!passes(text));
}

} // namespace anchorhold::oci_keys_test
