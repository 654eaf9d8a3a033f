// SPDX-License-Identifier: Apache-2.0
// Which /30 of the pool a run gets. A reservation is the entry STATE/subnets/198.18.0.0, a symbolic
// link to "KEY.GENERATION": symlink(2) makes name and owner in one step, or says EEXIST, so neither
// a crash nor another process leaves one without an owner. Links no libmnl.
//
// A run holds its /30 until nothing of it can answer any more: it is released after the host's end
// of its link is known to be gone, never before. Who calls holds the run's lock.
#pragma once

#include "hooks/state/state_dir.hpp"
#include "schema/rules/network.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::state {

// IPv4 addresses that the host sends somewhere already, as one of its routes says: "10.0.0.0/8".
struct RoutedRange {
    std::uint32_t base = 0; // host byte order; the bits behind `length` are 0
    unsigned length = 32;
    unsigned link = 0;                                  // index; 0: more than one, or none
    static RoutedRange of(const rules::Prefix& prefix); // an IPv4 one
    std::uint32_t last() const;                         // inclusive
    std::string text() const;
    friend bool operator==(const RoutedRange&, const RoutedRange&) = default;
};

// Ranges that were listed, to be looked up; one in another is left out. Pure.
class RoutedList {
public:
    RoutedList() = default;
    explicit RoutedList(std::vector<RoutedRange> ranges);
    std::optional<RoutedRange> touching(const rules::Subnet& subnet) const;
    const std::vector<RoutedRange>& ranges() const noexcept { return ranges_; }

private:
    std::vector<RoutedRange> ranges_; // disjoint, ascending
};

// The order in which one run tries the places of a pool: upwards from a place that its key names,
// and round, so that the first try is as good with a thousand runs as with none. Pure.
class Walk {
public:
    static Result<Walk> through(const rules::Prefix& pool, const RunKey& key);
    std::optional<rules::Subnet> next(); // nothing at the end
    // Nothing more of a range that touches what next() gave last, in one step.
    void jump_over(const RoutedRange& range);
    std::uint32_t steps() const noexcept { return steps_; } // tries so far

    std::uint32_t places() const noexcept { return places_; } // at most 2^30
    rules::Subnet at(std::uint32_t turn) const;               // turn < places()
    std::uint32_t turn_of(const rules::Subnet& subnet) const; // its inverse; `subnet` of the pool

private:
    Walk(std::uint32_t base, std::uint32_t places, std::uint32_t start)
        : base_(base), places_(places), start_(start)
    {
    }

    std::uint32_t base_, places_, start_;
    std::uint32_t turn_ = 0;
    std::uint32_t steps_ = 0;
};

// A range that the host has routed and that touches the subnet, the broadest that is known.
using AskRouted = std::function<Result<std::optional<RoutedRange>>(const rules::Subnet&)>;

// Takes a /30 that nobody holds and that no route touches. It is held first and asked about then:
// what other runs hold costs no question. Routes of our own links count too: a live run's /30 is
// held besides, and where a link outlived its reservation (somebody emptied the state directory)
// only its routes keep the /30 from a second run. So a leftover link of the run's own is removed
// before. A hold of this key that a crash left is taken over.
//
// When none is left the sentence tells apart what the administrator can do about it, by whose they
// are: "every subnet of the pool 198.18.0.0/15 is routed: 198.18.0.0/15", or "the pool
// 198.18.0.0/29 is used up: 2 runs are live", or both.
Result<rules::Subnet> reserve_subnet(const StateDir& state, const RunKey& key,
                                     std::string_view generation, const rules::Prefix& pool,
                                     const AskRouted& routed);
// Nothing there, or another's, is left alone and no error.
Status release_subnet(const StateDir& state, const RunKey& key, std::string_view generation,
                      const rules::Subnet& subnet);

struct SubnetReservation {
    rules::Subnet subnet;
    std::string key;
    std::string generation;
    friend bool operator==(const SubnetReservation&, const SubnetReservation&) = default;
};
// All of them, ascending.
Result<std::vector<SubnetReservation>> reserved_subnets(const StateDir& state);

} // namespace anchorhold::state
