// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/inspect/seen.hpp"

#include <doctest/doctest.h>

namespace anchorhold::engine_words_test {

TEST_CASE("a finding is told with the engine's words for it, where there are any")
{
    CHECK(text_of(Finding{"linux.namespaces", "the pid namespace is the host's", "--pid=host"}) ==
          "linux.namespaces (--pid=host): the pid namespace is the host's");
    CHECK(text_of(Finding{"linux.netDevices", "moves network devices"}) ==
          "linux.netDevices: moves network devices");
}

TEST_CASE("a mount that voids is told as the engine's option that asks for it")
{
    const auto told = [](const std::string& mount) {
        const auto config = json::Document::parse(R"({"mounts": [)" + mount + "]}");
        REQUIRE(config.has_value());
        const auto found = inspect_bundle(config->root(),
                                          {.id = {}, .bundle = "/", .own_paths = {}, .places = {}});
        REQUIRE(found.has_value());
        Texts options;
        for (const Finding& finding : found->voids) {
            if (finding.where.starts_with("mounts"))
                options.push_back(finding.option);
        }
        return options;
    };
    CHECK(told(R"({"source": "/run", "destination": "/host/", "options": ["bind"]})") ==
          Texts{"-v /run:/host"});
    CHECK(told(R"({"type": "sysfs", "source": "sysfs", "destination": "/sys"})") ==
          Texts{"--privileged, --security-opt"});
    CHECK(told(R"({"type": "debugfs", "source": "x", "destination": "/debug"})") ==
          Texts{"--mount type=debugfs"});
    CHECK(told(R"({"type": "tmpfs", "source": "x", "destination": "/run"})").empty());
}

TEST_CASE("what the engine keeps for this container and mounts by itself is no channel")
{
    const Scratch scratch;
    const std::string id(64, 'a');
    InspectionContext context = context_of(scratch);
    context.id = id;
    scratch.folder("bundle", 0755);
    const auto channels = [&](const std::string& file, const std::string& destination) {
        return seen_in(R"({"mounts": [{"source": ")" + file + R"(", "options": ["bind"],)" +
                           R"("destination": ")" + destination + R"("}]})",
                       context)
            .channels.size();
    };
    for (const std::string& of : {id, id.substr(1), id + "a", "x" + id.substr(1)}) {
        scratch.folder(of, 0755);
        scratch.folder(of + "/userdata", 0755);
        const std::size_t expected = of == id ? 0 : 1;
        for (const std::string place : {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}) {
            const std::string file = of + "/userdata" + place.substr(4);
            scratch.file(file);
            CHECK(channels(scratch / file, place) == expected);
            CHECK(channels(scratch / file, "/etc/other") == 1);
        }
    }
    scratch.file(id + "/other");
    CHECK(channels(scratch / (id + "/other"), "/etc/hosts") == 1);
}

} // namespace anchorhold::engine_words_test
