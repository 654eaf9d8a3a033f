// SPDX-License-Identifier: Apache-2.0
// The handles: addresses that mean nothing but a name, and only in this run. A client gets one as
// the answer to a name, and the gate finds the name by it when the client connects.
//
// The names without a wildcard have the first handles, in the order of the rules. So they have the
// same ones after the gate was started again. Names under a wildcard get theirs as they come, and
// each start gives out others than the starts before it: a handle that a client has kept never
// leads to another name.
#pragma once

#include "schema/rules/destination.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace anchorhold::gate {

constexpr std::uint32_t most_handles = 4096;
// The range's first 256 addresses are no handles: among them are those of lo and of the listener.
constexpr std::uint32_t first_handle = 256;

class Handles {
public:
    // `names` has at most most_handles entries, or the rest have no handle.
    Handles(const rules::Prefix& range, std::uint32_t epoch, const std::vector<std::string>& names);

    // Returns the handle of a name, IPv4 in host byte order, and gives it one if it has none.
    // nullopt: there is none left.
    std::optional<std::uint32_t> take(std::string_view name);
    bool has(std::string_view name) const { return numbers_.contains(std::string(name)); }
    // Returns the name of a handle, or null. It lives as long as the object.
    const std::string* name_of(std::uint32_t address) const;
    // Returns whether the address lies in the range, be it a handle or not.
    bool holds(std::uint32_t address) const { return (address & mask_) == base_; }
    // Returns an address of the range by its number: 1 is lo's own, 2 the listener's.
    std::uint32_t address(std::uint32_t number) const { return base_ + number; }

private:
    std::uint32_t base_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t next_ = 0; // number of the next handle for a name under a wildcard
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::unordered_map<std::uint32_t, std::string> names_;
};

} // namespace anchorhold::gate
