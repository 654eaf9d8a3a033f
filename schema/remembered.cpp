// SPDX-License-Identifier: Apache-2.0
#include "schema/remembered.hpp"

#include <algorithm>
#include <tuple>

namespace anchorhold {
namespace {

// The kernel tells how long ago it was: the same attempt is told a second apart now and then.
constexpr std::int64_t slack = 1;

auto destination_of(const Denied& one)
{
    return std::tie(one.to, one.port, one.udp);
}

} // namespace

void remember(Record& record, const Remembered& seen)
{
    std::vector<Denied> all = std::move(record.denied);
    all.insert(all.end(), seen.denied.begin(), seen.denied.end());
    std::ranges::stable_sort(all, {}, destination_of); // the record's own first
    record.denied.clear();
    for (Denied& one : all) {
        if (record.denied.empty() || destination_of(record.denied.back()) != destination_of(one)) {
            record.denied.push_back(std::move(one));
        } else if (one.last > record.denied.back().last + slack) {
            record.denied.back().last = one.last;
        }
    }
    std::ranges::sort(record.denied, {}, [](const Denied& one) {
        return std::tie(one.last, one.to, one.port, one.udp);
    });
    record.more_denied = record.more_denied || seen.full || record.denied.size() > most_denied;
    if (record.denied.size() > most_denied)
        record.denied.erase(record.denied.begin(), record.denied.end() - most_denied);
    if (record.drops_before + seen.packets < record.drops)
        begin_anew(record); // by somebody who did not tell us
    record.drops = record.drops_before + seen.packets;
}

void begin_anew(Record& record)
{
    record.drops_before = record.drops;
}

} // namespace anchorhold
