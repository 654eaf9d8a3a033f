// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/lookups.hpp"

#include "relay/dial.hpp"

#include <algorithm>

namespace anchorhold::gate {
namespace {

constexpr unsigned most_pending = 16;
constexpr std::size_t most_waiters = 64; // for one name
constexpr std::size_t many_entries = 1024;
constexpr std::int64_t least_seconds = 5;
constexpr std::int64_t most_seconds = 300;

// Returns how long an answer is kept. A failure is kept just so long that a client's hurried
// repetitions do not all go out.
std::int64_t kept_milliseconds(const Resolved& resolved)
{
    if (resolved.kind == Resolved::Kind::failed)
        return 1000;
    return std::clamp(resolved.seconds, least_seconds, most_seconds) * 1000;
}

} // namespace

void Lookups::ask(const std::string& name, Waiter& waiter)
{
    const std::int64_t now = relay::now_milliseconds();
    const auto known = entries_.find(name);
    if (known != entries_.end() && !known->second.is_pending && now < known->second.good_until)
        return waiter.resolved(known->second.resolved);
    if (known != entries_.end() && known->second.is_pending &&
        known->second.waiters.size() < most_waiters)
        return wait(known->second, waiter);
    const bool is_crowded = known != entries_.end() && known->second.is_pending;
    if (is_crowded || !may_begin(now)) {
        tally_.fail_lookup();
        return waiter.resolved({});
    }
    drop_old(now);
    Entry& entry = entries_[name];
    entry.lookups = this;
    entry.is_pending = true;
    wait(entry, waiter);
    ++pending_;
    resolver_.ask(name, entry);
}

void Lookups::wait(Entry& entry, Waiter& waiter)
{
    entry.waiters.push_back(&waiter);
    waiter.line_ = &entry.waiters;
}

bool Lookups::may_begin(std::int64_t now)
{
    return pending_ < most_pending && pace_.take(now);
}

void Lookups::settle(Entry& entry, const Resolved& resolved)
{
    --pending_;
    entry.is_pending = false;
    entry.resolved = resolved;
    entry.good_until = relay::now_milliseconds() + kept_milliseconds(resolved);
    while (!entry.waiters.empty()) { // one of them may end another
        Waiter& waiter = *entry.waiters.back();
        entry.waiters.pop_back();
        waiter.line_ = nullptr;
        waiter.resolved(entry.resolved);
    }
}

void Lookups::forget(Waiter& waiter)
{
    if (waiter.line_ != nullptr)
        std::erase(*waiter.line_, &waiter);
    waiter.line_ = nullptr;
}

void Lookups::drop_old(std::int64_t now)
{
    if (entries_.size() < many_entries)
        return;
    std::erase_if(entries_, [now](const auto& entry) {
        return !entry.second.is_pending && entry.second.good_until <= now;
    });
}

} // namespace anchorhold::gate
