// SPDX-License-Identifier: Apache-2.0
// The names that are looked up outside: what is known of each for how long, who waits for it, and
// the bounds on asking. Only names that the rules list come here.
#pragma once

#include "relay/gate/pace.hpp"
#include "relay/gate/resolver.hpp"
#include "relay/gate/tally.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace anchorhold::gate {

// Who waits for a look-up. One waits for one at a time.
class Waiter {
public:
    Waiter() = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    virtual void resolved(const Resolved& resolved) = 0;

protected:
    ~Waiter() = default;

private:
    friend class Lookups;
    std::vector<Waiter*>* line_ = nullptr; // in which it waits
};

class Lookups {
public:
    explicit Lookups(Tally& tally) : tally_(tally) {}

    Status open(int epoll) { return resolver_.open(epoll); }
    // Tells the waiter what is known, at once or later. Not to be called while one is told.
    void ask(const std::string& name, Waiter& waiter);
    // Forgets a waiter that is not interested any more.
    static void forget(Waiter& waiter);
    // Returns the milliseconds until it is to be called again; -1: an event tells.
    int tick() { return resolver_.tick(); }

private:
    struct Entry final : ResolverUser {
        Lookups* lookups = nullptr;
        Resolved resolved;
        std::int64_t good_until = 0; // milliseconds
        bool is_pending = false;
        std::vector<Waiter*> waiters;
        void learn(const Resolved& what) override { lookups->settle(*this, what); }
    };
    bool may_begin(std::int64_t now);
    void settle(Entry& entry, const Resolved& resolved);
    void drop_old(std::int64_t now);
    static void wait(Entry& entry, Waiter& waiter);

    Tally& tally_;
    Resolver resolver_;
    Pace pace_{20, 20};
    unsigned pending_ = 0;
    std::unordered_map<std::string, Entry> entries_;
};

} // namespace anchorhold::gate
