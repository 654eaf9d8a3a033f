// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/network_advice.hpp"

#include "shim/config/view.hpp"
#include "shim/inspect/namespaces.hpp"

#include <algorithm>
#include <array>

namespace anchorhold::inspect {

namespace {

// The annotations in which engines write down published ports. Docker writes none, and podman only
// that all are published.
constexpr std::array<std::string_view, 3> port_annotations{
    "nerdctl/ports", "io.kubernetes.cri-o.PortMappings", "io.podman.annotations.publish-all"};
// Their values for no port.
constexpr std::array<std::string_view, 4> no_ports{"", "[]", "null", "FALSE"};

Result<bool> publishes_ports(json::View config)
{
    const auto annotations = config::member(config, "annotations");
    for (const std::string_view name : port_annotations) {
        AH_TRY(const std::string value, config::text_of(annotations, name));
        if (std::ranges::find(no_ports, value) == no_ports.end())
            return true;
    }
    return false;
}

} // namespace

Result<std::vector<std::string>> network_advice(json::View config, const Decision& decision)
{
    std::vector<std::string> advice;
    AH_TRY(const bool publishes, publishes_ports(config));
    if (publishes && decision.posture < Posture::filtered) {
        advice.emplace_back("nothing inside is reached through the published ports, though the "
                            "engine may accept connections there: leave them out");
    }
    AH_TRY(const GivenNetns given, given_netns(config));
    if (decision.posture == Posture::filtered && decision.technique == Technique::veth &&
        given == GivenNetns::fresh) {
        advice.emplace_back("the engine made no network (--network none looks the same), so the "
                            "allow list is reached by a link of the run's own: ask for egress off "
                            "if there should be none");
    }
    return advice;
}

} // namespace anchorhold::inspect
