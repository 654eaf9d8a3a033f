// SPDX-License-Identifier: Apache-2.0
// Which /30 of the pool a run gets. A reservation is the entry STATE/subnets/198.18.0.0, a symbolic
// link to "KEY.GENERATION": symlink(2) makes name and owner in one step, or says EEXIST, so neither
// a crash nor another process leaves one without an owner. Links no libmnl.
//
// A run holds its /30 until nothing of it can answer any more: it is released after the host's end
// of its link is known to be gone, never before. Who calls holds the run's lock.
#pragma once

#include "hooks/state.hpp"
#include "schema/network.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold {

// IPv4 addresses that the host sends somewhere already, as one of its routes says: "10.0.0.0/8".
struct RoutedRange {
    std::uint32_t base = 0; // host byte order; the bits behind `length` are 0
    unsigned length = 32;
    unsigned link = 0;          // index; 0: more than one, or none
    std::uint32_t last() const; // inclusive
    std::string text() const;
    friend bool operator==(const RoutedRange&, const RoutedRange&) = default;
};

// The order in which one run tries the places of a pool: upwards from a place that its key names,
// and round, so that the first try is as good with a thousand runs as with none. Nothing is kept
// of a range that the host has routed: it is jumped over whole, in one step. Pure.
class Walk {
public:
    static Result<Walk> through(const Prefix& pool, const RunKey& key,
                                const std::vector<RoutedRange>& routed);
    std::optional<Subnet> next();                           // nothing at the end
    std::uint32_t steps() const noexcept { return steps_; } // tries and jumps so far

    std::uint32_t places() const noexcept { return places_; } // at most 2^30
    Subnet at(std::uint32_t turn) const;                      // turn < places()
    std::uint32_t turn_of(const Subnet& subnet) const;        // its inverse; `subnet` of the pool

private:
    Walk(std::uint32_t base, std::uint32_t places, std::uint32_t start,
         std::vector<RoutedRange> routed)
        : base_(base), places_(places), start_(start), routed_(std::move(routed))
    {
    }
    const RoutedRange* routed_at(const Subnet& subnet) const;

    std::uint32_t base_, places_, start_;
    std::vector<RoutedRange> routed_; // disjoint, ascending
    std::uint32_t turn_ = 0;
    std::uint32_t steps_ = 0;
};

// Takes a /30 that nobody holds and `routed` does not touch. `routed` is every range of every
// table, those of our own links too: a live run's /30 is held besides, and where a link outlived
// its reservation (somebody emptied the state directory) only its route keeps the /30 from a second
// run. So a leftover link of the run's own is removed before the routes are listed. A hold of this
// key that a crash left is taken over.
//
// When none is left the sentence tells apart what the administrator can do about it, by whose they
// are: "every subnet of the pool 198.18.0.0/15 is routed: 198.18.0.0/15", or "the pool
// 198.18.0.0/29 is used up: 2 runs are live", or both.
Result<Subnet> reserve_subnet(const StateDir& state, const RunKey& key, std::string_view generation,
                              const Prefix& pool, const std::vector<RoutedRange>& routed);
// Nothing there, or another's, is left alone and no error.
Status release_subnet(const StateDir& state, const RunKey& key, std::string_view generation,
                      const Subnet& subnet);

struct Hold {
    Subnet subnet;
    std::string key;
    std::string generation;
    friend bool operator==(const Hold&, const Hold&) = default;
};
// All of them, ascending.
Result<std::vector<Hold>> held_subnets(const StateDir& state);
// What the run holds, found by its key alone.
Result<std::optional<Subnet>> subnet_of(const StateDir& state, const RunKey& key);

} // namespace anchorhold
