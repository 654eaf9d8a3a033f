// SPDX-License-Identifier: Apache-2.0
// Chooses the /30 of the pool that a run gets. In order:
//
// 1. A walk goes through the pool, from a place that the run's key names, and round.
// 2. Each /30 is reserved first. A reservation is the entry STATE/subnets/198.18.0.0, a symbolic
//    link to "KEY.GENERATION". symlink(2) makes the name and its owner in one step, or says EEXIST.
//    So neither a crash nor another process leaves a reservation without an owner.
// 3. The host is asked then whether one of its routes touches the /30. If one does, the reservation
//    is released, and the walk jumps over the whole route.
// 4. The first /30 that is ours and that no route touches is the run's.
// 5. The run keeps it until nothing of the run can answer any more. It is released only after the
//    host's end of the run's link is known to be gone.
//
// The caller holds the run's lock. This code links no libmnl.
#pragma once

#include "hooks/state/routed_range.hpp"
#include "hooks/state/state_dir.hpp"
#include "schema/rules/network.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::state {

// The walk is the order in which one run tries the places of a pool. It goes upwards from a place
// that the run's key names, and round at the end. So the first try is as good with a thousand runs
// as with none. Pure.
class Walk {
public:
    static Result<Walk> through(const rules::Prefix& pool, const RunKey& key);
    std::optional<rules::Subnet> next(); // nullopt at the end
    // Passes over the rest of a range in one step. `range` touches the subnet that next() gave
    // last.
    void jump_over(const RoutedRange& range);
    std::uint32_t steps() const noexcept { return steps_; } // subnets that next() gave so far

    std::uint32_t places() const noexcept { return places_; } // at most 2^30
    rules::Subnet at(std::uint32_t turn) const;               // turn < places()
    std::uint32_t turn_of(const rules::Subnet& subnet) const; // inverse of at(); a pool's subnet

private:
    Walk(std::uint32_t base, std::uint32_t places, std::uint32_t start)
        : base_(base), places_(places), start_(start)
    {
    }

    std::uint32_t base_, places_, start_;
    std::uint32_t turn_ = 0;
    std::uint32_t steps_ = 0;
};

// Returns a range that the host routes and that touches the subnet: the broadest one that is known.
// Returns nullopt when no route touches it.
using AskRouted = std::function<Result<std::optional<RoutedRange>>(const rules::Subnet&)>;

// Reserves a /30 that nobody holds and that no route touches. It is reserved first and asked about
// then, so a /30 that another run holds costs no question. A reservation that a crash left for this
// key is taken over.
//
// Routes of our own links count too. A live run's /30 is reserved as well. But when somebody
// emptied the state directory, a link may have lost its reservation, and then only its routes keep
// a second run from its /30. So the caller first removes a link that an earlier run of this key
// left.
//
// When no /30 is left, the error names the cause, because the administrator can do different things
// about each: "every subnet of the pool 198.18.0.0/16 is routed: 198.18.0.0/16", or "the pool
// 198.18.0.0/29 is used up: 2 runs are live", or both.
Result<rules::Subnet> reserve_subnet(const StateDir& state, const RunKey& key,
                                     std::string_view generation, const rules::Prefix& pool,
                                     const AskRouted& routed);
// Releases the run's reservation. Succeeds, and changes nothing, when there is none or when it is
// another run's.
Status release_subnet(const StateDir& state, const RunKey& key, std::string_view generation,
                      const rules::Subnet& subnet);

struct SubnetReservation {
    rules::Subnet subnet;
    std::string key;
    std::string generation;
    friend bool operator==(const SubnetReservation&, const SubnetReservation&) = default;
};
// Returns all reservations, sorted by address.
Result<std::vector<SubnetReservation>> reserved_subnets(const StateDir& state);

} // namespace anchorhold::state
