// SPDX-License-Identifier: Apache-2.0
// Where the host's routes are asked about a subnet. Not by a list of them all: a thousand runs have
// some thousands of routes, all in the tables `local` and `main`. Those two are asked for the
// subnet's four addresses; the other tables that rules name are listed, for a question goes to the
// first that answers. Where the rules or an answer leave anything open, all routes are listed.
#pragma once

#include "hooks/net/netlink.hpp"
#include "hooks/state/subnets.hpp"

namespace anchorhold::net {

// `route` must live as long.
class RoutedHost {
public:
    static Result<RoutedHost> open(Netlink& route);
    Result<std::optional<state::RoutedRange>> touching(const rules::Subnet& subnet);

private:
    explicit RoutedHost(Netlink& route) : route_(&route) {}
    Status list(const std::vector<Step>& requests);
    Status list_all();

    Netlink* route_;
    state::RoutedList listed_;
    bool all_listed_ = false;
};

} // namespace anchorhold::net
