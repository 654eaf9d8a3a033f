// SPDX-License-Identifier: Apache-2.0
// Asks the host's routes about a subnet. It does not list all routes if it can avoid that: a
// thousand runs have some thousands of routes, all in the tables `local` and `main`. Instead:
//
// 1. Every other table that the routing rules name is listed once. A question to the kernel would
//    not do for them: it shows only the first table that answers.
// 2. The kernel is asked which route takes each of the subnet's four addresses. That covers `local`
//    and `main`.
// 3. When the rules or an answer leave anything open, all routes are listed.
#pragma once

#include "hooks/net/netlink.hpp"
#include "hooks/state/routed_range.hpp"

namespace anchorhold::net {

// The object uses `route`, which must live at least as long.
class RoutedHost {
public:
    static Result<RoutedHost> open(Netlink& route);
    // Returns the broadest known range that the host routes and that touches the subnet.
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
