// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/reachability.hpp"

#include <algorithm>
#include <cstdlib>

namespace anchorhold::rules {
namespace {

std::string with_port(const std::string& to, const AllowRule& question)
{
    return to + " tcp " + std::to_string(question.ports[0].first);
}

std::string address_text(const Prefix& address)
{
    std::string text = address.text();
    text.resize(text.rfind('/'));
    return text;
}

std::string because(const Judgement& judgement, const Prefix& address, bool by_name)
{
    switch (judgement.ruling) {
    case Ruling::always_denied: return "always denied: " + judgement.rule;
    case Ruling::denied: return "denied by " + judgement.rule;
    case Ruling::allowed: return "allowed by " + judgement.rule;
    case Ruling::not_listed:
        return by_name && is_private(address) ? "a name does not lead to a private address"
                                              : "no rule allows it";
    }
    std::abort(); // a byte that is no Ruling: refuse to guess
}

void judge_address(const Network& network, const Prefix& address, const AllowRule& question,
                   const std::string& name, Reachability& into)
{
    const Judgement judgement = judge(network, address, question.ports[0].first, false);
    const bool allowed = judgement.ruling == Ruling::allowed;
    const std::string to =
        name.empty() ? address_text(address) : name + " (" + address_text(address) + ")";
    into.reachable = into.reachable || allowed;
    into.lines.push_back((allowed ? "reachable: " : "refused: ") + with_port(to, question) + ", " +
                         because(judgement, address, !name.empty()));
}

Reachability filtered(const Network& network, const AllowRule& question)
{
    Reachability found;
    if (const auto* const address = std::get_if<Prefix>(&question.to)) {
        judge_address(network, *address, question, "", found);
        return found;
    }
    const std::string name = text_of(question.to);
    const auto pinned = std::ranges::find(network.names, name, &PinnedName::name);
    if (pinned == network.names.end()) {
        found.lines = {"refused: " + with_port(name, question) +
                       ", a name that is not listed resolves to nothing"};
        return found;
    }
    for (const std::string& text : pinned->addresses) {
        if (const auto address = Prefix::parse(text, Code::invalid_request))
            judge_address(network, *address, question, name, found);
    }
    if (found.lines.empty())
        found.lines = {"refused: " + with_port(name, question) + ", it has no address now"};
    return found;
}

// Returns the endpoint that the question reaches, or null. The relay listens on the container's own
// loopback.
const Endpoint* endpoint_at(const Request& request, const AllowRule& question)
{
    const std::string to = text_of(question.to);
    if (to != "127.0.0.1/32" && to != "localhost")
        return nullptr;
    const auto found = std::ranges::find_if(request.endpoints, [&](const Endpoint& endpoint) {
        return endpoint.listen.number() == question.ports[0].first;
    });
    return found == request.endpoints.end() ? nullptr : &*found;
}

} // namespace

Result<AllowRule> parse_question(std::string_view text)
{
    AH_TRY(std::vector<AllowRule> rules, parse_allow(text));
    const auto is_one = [](const AllowRule& rule) {
        if (const auto* const address = std::get_if<Prefix>(&rule.to))
            return address->is_single();
        return std::get<NamePattern>(rule.to).is_exact();
    };
    if (rules.size() != 1 || !is_one(rules[0]) || rules[0].ports.size() != 1) {
        return fail(Code::invalid_request,
                    in_quotes(text) + " is not one address or name, with :PORT or without");
    }
    return std::move(rules[0]);
}

Reachability reachability(const Request& request, const Decision& decision, const Network& network,
                          const AllowRule& question)
{
    const auto* const address = std::get_if<Prefix>(&question.to);
    const std::string to =
        with_port(address != nullptr ? address_text(*address) : text_of(question.to), question);
    if (const Endpoint* const endpoint = endpoint_at(request, question))
        return {true, {"reachable: " + to + ", endpoint " + endpoint->name}};
    switch (decision.posture) {
    case Posture::severed:
    case Posture::relayed:
    case Posture::sealed: return {false, {"refused: " + to + ", there is no egress"}};
    case Posture::filtered: return filtered(network, question);
    case Posture::open: return {true, {"reachable: " + to + ", egress is open"}};
    }
    std::abort(); // a byte that is no Posture: refuse to guess
}

} // namespace anchorhold::rules
