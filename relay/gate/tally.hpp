// SPDX-License-Identifier: Apache-2.0
// What the gate refused, as counts and as the latest names, and its text for the run's report.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace anchorhold::gate {

// Why a connection was reset.
enum class Refusal : std::uint8_t {
    no_handle,   // to an address of the handles that means no name
    port,        // no rule lists the name at this port
    address,     // no rule lists the address at this port
    resolver,    // the name could not be resolved
    destination, // the name leads only to addresses that it must not lead to
    unreachable, // none of the addresses answered
    tls,         // another server name, or what looks like TLS and is not
    full,        // there are too many connections, or no descriptors left
    count,       // no refusal: how many there are
};

class Tally {
public:
    void reset(Refusal why);
    // A look-up was answered SERVFAIL because of a bound of ours.
    void fail_lookup();
    // `now` is in seconds since the epoch.
    void deny(const std::string& name, std::int64_t now);

    // Returns whether something has changed since the last text.
    bool is_dirty() const { return dirty_; }
    // Returns
    // {"denied":[{"name":"x.org","count":2,"last":1700000000}],"others":0,"resets":{"port":1,
    // ...},"servfail":0}. "others" counts denied names that are not listed any more.
    std::string text();

private:
    struct Denied {
        std::uint64_t count = 0;
        std::int64_t last = 0;
    };
    void drop_oldest();

    std::map<std::string, Denied> denied_;
    std::uint64_t others_ = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(Refusal::count)> resets_{};
    std::uint64_t failed_ = 0;
    bool dirty_ = true; // so that a reader finds a text from the beginning
};

} // namespace anchorhold::gate
