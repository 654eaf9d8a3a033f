// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/network_advice.hpp"

#include <doctest/doctest.h>

namespace anchorhold::network_advice_test {
namespace {

using namespace inspect;

std::size_t advised(const std::string& config, Posture posture, Technique technique)
{
    const auto document = json::Document::parse(config);
    REQUIRE(document.has_value());
    Decision decision;
    decision.posture = posture;
    decision.technique = technique;
    const auto advice = network_advice(document->root(), decision);
    REQUIRE(advice.has_value());
    return advice->size();
}

std::string annotated(const std::string& name, const std::string& value)
{
    return R"({"annotations": {")" + name + R"(": ")" + value + R"("}})";
}

} // namespace

TEST_CASE("published ports that lead nowhere are advised about, where the engine writes them down")
{
    for (const std::string name : {"nerdctl/ports", "io.kubernetes.cri-o.PortMappings",
                                   "io.podman.annotations.publish-all"}) {
        const std::string published = annotated(name, "[{}]");
        CHECK(advised(published, Posture::severed, Technique::none) == 1);
        CHECK(advised(published, Posture::relayed, Technique::relay) == 1);
        CHECK(advised(published, Posture::sealed, Technique::veth) == 1);
        CHECK(advised(published, Posture::filtered, Technique::in_place) == 0);
        for (const std::string none : {"", "[]", "null", "FALSE"})
            CHECK(advised(annotated(name, none), Posture::severed, Technique::none) == 0);
    }
    CHECK(advised(annotated("ports", "[{}]"), Posture::severed, Technique::none) == 0);
}

TEST_CASE("an allow list in a container that was given no network is advised about")
{
    const std::string fresh = R"({"linux": {"namespaces": [{"type": "network"}]}})";
    CHECK(advised(fresh, Posture::filtered, Technique::veth) == 1);
    CHECK(advised(fresh, Posture::filtered, Technique::in_place) == 0);
    CHECK(advised(fresh, Posture::sealed, Technique::veth) == 0);
    CHECK(advised("{}", Posture::filtered, Technique::veth) == 0); // the host's
}

} // namespace anchorhold::network_advice_test
