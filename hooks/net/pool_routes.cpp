// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/pool_routes.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/net/routes.hpp"

#include <cerrno>

namespace anchorhold::net {
namespace {

constexpr std::uint32_t addresses = 4; // in a /30

// Says whether the host may ignore routes over a link without a carrier. Such a route is then in
// the list, but the kernel never answers with it.
bool hides_linkdown()
{
    for (const char* const which : {"all", "default"}) {
        const std::string path =
            std::string("/proc/sys/net/ipv4/conf/") + which + "/ignore_routes_with_linkdown";
        const auto read = files::read_file(path, 64);
        const std::string text = read ? read->value_or("") : "";
        if (!text.starts_with('0'))
            return true;
    }
    return false;
}

// Returns the tables that must be listed. Returns nullopt when all routes must be listed.
std::optional<std::vector<unsigned>> tables_by_rules(Netlink& route)
{
    const auto messages = route.list(list_routing_rules());
    if (!messages) // the kernel may have no routing rules
        return std::nullopt;
    std::vector<RoutingRule> rules;
    for (const Message& message : *messages) {
        const auto rule = read_routing_rule(message);
        if (!rule)
            return std::nullopt;
        rules.push_back(*rule);
    }
    return tables_to_list(rules);
}

} // namespace

Result<RoutedHost> RoutedHost::open(Netlink& route)
{
    RoutedHost host(route);
    const auto tables = hides_linkdown() ? std::nullopt : tables_by_rules(route);
    if (!tables) {
        AH_CHECK(host.list_all());
        return host;
    }
    std::vector<Step> requests;
    for (const unsigned table : *tables)
        requests.push_back(list_routes_of(table));
    AH_CHECK(host.list(requests));
    return host;
}

Status RoutedHost::list_all()
{
    all_listed_ = true;
    return list({list_routes()});
}

Status RoutedHost::list(const std::vector<Step>& requests)
{
    std::vector<state::RoutedRange> ranges;
    for (const Step& request : requests) {
        const auto messages = route_->list(request);
        if (!messages && messages.error().number == ENOENT)
            continue;
        AH_CHECK(messages);
        for (const Message& message : *messages) {
            AH_TRY(const auto range, read_route(message), "read the routes");
            if (range)
                ranges.push_back(*range);
        }
    }
    listed_ = state::RoutedList(std::move(ranges));
    return {};
}

Result<std::optional<state::RoutedRange>> RoutedHost::touching(const rules::Subnet& subnet)
{
    auto broadest = listed_.touching(subnet);
    if (broadest || all_listed_)
        return broadest;
    for (std::uint32_t i = 0; i < addresses; ++i) {
        const RouteMatch match = read_match(route_->list(match_route(subnet.base + i)));
        if (!match.known) {
            AH_CHECK(list_all());
            return listed_.touching(subnet);
        }
        if (match.range && (!broadest || match.range->length < broadest->length))
            broadest = match.range;
    }
    return broadest;
}

} // namespace anchorhold::net
