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
        const auto found =
            inspect_bundle(config->root(), {.bundle = "/", .own_paths = {}, .places = {}});
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

} // namespace anchorhold::engine_words_test
