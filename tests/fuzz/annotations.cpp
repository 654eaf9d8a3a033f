// SPDX-License-Identifier: Apache-2.0
// The input is lines of KEY=VALUE, read as annotations under a policy that permits nothing but
// endpoints below /run/b.
#include "schema/request.hpp"

#include "tests/fuzz/entry.hpp"

using namespace anchorhold;

namespace {

Annotations split(std::string_view text)
{
    Annotations annotations;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos)
            annotations.emplace_back(line.substr(0, equals), line.substr(equals + 1));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return annotations;
}

void check(const Request& request)
{
    must(request.egress == Egress::off);
    must(request.allow.empty());
    must(request.why != Why::policy_ceiling || request.require == Require::best);
    must(request.bounded.size() == request.endpoints.size());
    must(check_distinct(request.endpoints, Code::invalid_request).has_value());
    for (const Endpoint& endpoint : request.endpoints) {
        const auto* socket = std::get_if<UnixTarget>(&endpoint.to);
        must(socket != nullptr && is_plain_path(socket->path));
        must(socket->directory().starts_with("/run/b/"));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto asked = read_annotations(split({reinterpret_cast<const char*>(data), size}));
    if (!asked) {
        must(asked.error().code == Code::invalid_request);
        return 0;
    }
    Policy policy;
    policy.sockets = {"/run/b"};
    const auto choice = choose_profile(policy, *asked, std::nullopt, std::nullopt);
    if (!choice)
        return 0;
    const auto id = ContainerId::parse("4f2a");
    const auto request = resolve(policy, *asked, *choice, {*id, {}});
    if (request)
        check(*request);
    return 0;
}
