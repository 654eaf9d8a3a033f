// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/denied_set.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace anchorhold::rules {
namespace {

// The kernel says how long ago the attempt was, so the time computed for one and the same attempt
// may differ by a second.
constexpr std::int64_t slack = 1;

using DeniedPlace = std::tuple<std::string, std::uint16_t, bool>;
DeniedPlace place_of(const Denied& one)
{
    return {one.to, one.port, one.udp};
}

} // namespace

void add_denied(Record& record, const DeniedSet& seen)
{
    std::map<DeniedPlace, std::int64_t> last;
    for (const Denied& one : record.denied)
        last.emplace(place_of(one), one.last);
    for (const Denied& one : seen.denied) {
        const auto [at, is_new] = last.emplace(place_of(one), one.last);
        if (!is_new && one.last > at->second + slack)
            at->second = one.last;
    }
    record.denied.clear();
    for (const auto& [place, when] : last) {
        const auto& [to, port, udp] = place;
        record.denied.push_back({to, port, udp, when});
    }
    std::ranges::sort(record.denied, {}, [](const Denied& one) {
        return std::tie(one.last, one.to, one.port, one.udp);
    });
    record.more_denied = record.more_denied || seen.full || record.denied.size() > most_denied;
    if (record.denied.size() > most_denied)
        record.denied.erase(record.denied.begin(), record.denied.end() - most_denied);
    if (record.drops_before + seen.packets < record.drops)
        begin_denied_anew(record); // the table was replaced, and nobody noted it
    record.drops = record.drops_before + seen.packets;
}

void begin_denied_anew(Record& record)
{
    record.drops_before = record.drops;
}

} // namespace anchorhold::rules
