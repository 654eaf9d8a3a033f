// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_request.hpp"

namespace anchorhold::rules {
namespace {

Result<GateEndpoint> gate_endpoint(const Endpoint& endpoint, const TcpTarget& target)
{
    const bool is_host = target.host == "host";
    AH_TRY(Destination to,
           parse_destination(is_host ? "127.0.0.1" : target.host, Code::invalid_request),
           "endpoint " + endpoint.name);
    const std::uint16_t port = target.port.number();
    return GateEndpoint{
        endpoint.name,
        is_host,
        {std::move(to), {{port, port, false}}, {}, Tls::same_name, endpoint.within}};
}

} // namespace

Result<GateRules> gate_rules(const Request& request, const Decision& decision, const Policy& policy)
{
    GateRules rules;
    rules.handles = policy.handles;
    rules.pool = policy.pool;
    rules.deny = policy.deny;
    if (decision.posture == Posture::filtered)
        rules.allow = request.allow;
    for (const Endpoint& endpoint : request.endpoints) {
        if (const auto* const target = std::get_if<TcpTarget>(&endpoint.to)) {
            AH_TRY(GateEndpoint one, gate_endpoint(endpoint, *target));
            rules.endpoints.push_back(std::move(one));
        }
    }
    return read_gate_rules(to_json(rules)); // what the record holds is what the gate can read
}

} // namespace anchorhold::rules
