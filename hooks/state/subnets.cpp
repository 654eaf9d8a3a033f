// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/subnets.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <memory>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr unsigned subnet_length = 30;
constexpr std::uint32_t subnet_size = 4;
constexpr std::string_view suffix = "/30";
constexpr std::size_t most_named = 5; // routes that an error names

std::string folder_of(const StateDir& state)
{
    return state.path() + "/subnets";
}

std::string name_of(const rules::Subnet& subnet)
{
    std::string text = subnet.text();
    text.resize(text.size() - suffix.size());
    return text;
}

std::string path_of(const StateDir& state, const rules::Subnet& subnet)
{
    return folder_of(state) + "/" + name_of(subnet);
}

// Returns the reservation's text "KEY.GENERATION", or nullopt when there is no reservation.
Result<std::optional<std::string>> owner_at(const std::string& path)
{
    std::array<char, 256> text{};
    const ssize_t got = ::readlink(path.c_str(), text.data(), text.size());
    if (got < 0 && errno == ENOENT)
        return std::nullopt;
    if (got < 0 && errno == EINVAL)
        return fail(Code::network_setup_failed, path + " is no reservation; remove it");
    if (got < 0)
        return fail_errno("read the reservation " + path, errno);
    return std::string(text.data(), static_cast<std::size_t>(got));
}

std::string owner_text(const RunKey& key, std::string_view generation)
{
    return key.text() + "." + std::string(generation);
}

// Removes a reservation of this key that a crash left. Nobody else touches it, because we hold the
// run's lock.
Status drop_own(const std::string& path, const RunKey& key)
{
    AH_TRY(const auto owner, owner_at(path));
    if (owner && owner->starts_with(key.text() + ".") && ::unlink(path.c_str()) != 0)
        return fail_errno("take the reservation " + path + " over", errno);
    return {};
}

// Makes the reservation. Returns true when it is ours now, false when another run holds it.
Result<bool> try_hold(const std::string& path, const RunKey& key, std::string_view generation)
{
    const std::string owner = owner_text(key, generation);
    int made = ::symlink(owner.c_str(), path.c_str());
    if (made != 0 && errno == EEXIST) {
        AH_CHECK(drop_own(path, key));
        made = ::symlink(owner.c_str(), path.c_str());
    }
    if (made != 0 && errno != EEXIST)
        return fail_errno("make the reservation " + path, errno);
    return made == 0;
}

std::string names_of(const std::vector<RoutedRange>& ranges)
{
    std::string text;
    for (std::size_t i = 0; i < std::min(ranges.size(), most_named); ++i)
        text += (i == 0 ? "" : ", ") + ranges[i].text();
    if (ranges.size() > most_named)
        text += " and " + std::to_string(ranges.size() - most_named) + " more";
    return text;
}

// Returns the routes that take places of the pool. Leaves out the routes of our own links: each of
// those lies within a reserved /30.
std::vector<RoutedRange> others_in(const RoutedRange& pool, std::vector<RoutedRange> routed,
                                   const std::vector<SubnetReservation>& holds)
{
    std::erase_if(routed, [&](const RoutedRange& range) {
        return range.last() < pool.base || pool.last() < range.base ||
               std::ranges::any_of(
                   holds,
                   [&range](const SubnetReservation& hold) {
                       return range.length >= subnet_length && overlap(range, hold.subnet);
                   });
    });
    return RoutedList(std::move(routed)).ranges();
}

std::unexpected<Error> used_up(const StateDir& state, const rules::Prefix& pool,
                               const std::vector<RoutedRange>& routed)
{
    const RoutedRange places = RoutedRange::of(pool);
    AH_TRY(auto holds, reserved_subnets(state), "count what is held of the pool " + pool.text());
    std::erase_if(holds,
                  [&](const SubnetReservation& hold) { return !overlap(places, hold.subnet); });
    const std::vector<RoutedRange> others = others_in(places, routed, holds);
    if (holds.empty()) {
        return fail(Code::network_setup_failed,
                    "every subnet of the pool " + pool.text() + " is routed: " + names_of(others));
    }
    const std::string runs = holds.size() == 1 ? " run is" : " runs are";
    return fail(Code::network_setup_failed,
                "the pool " + pool.text() + " is used up: " + std::to_string(holds.size()) + runs +
                    " live" +
                    (others.empty() ? "" : ", and the rest is routed: " + names_of(others)));
}

} // namespace

Result<Walk> Walk::through(const rules::Prefix& pool, const RunKey& key)
{
    if (!pool.is_v4() || pool.length() > subnet_length)
        return fail(Code::invalid_policy, "the pool " + pool.text() + " has no room for a /30");
    const std::uint32_t places = std::uint32_t{1} << (subnet_length - pool.length());
    std::uint64_t named = 0; // 12 hexadecimal digits
    std::from_chars(key.text().data(), key.text().data() + key.text().size(), named, 16);
    return Walk(RoutedRange::of(pool).base, places, static_cast<std::uint32_t>(named % places));
}

rules::Subnet Walk::at(std::uint32_t turn) const
{
    return {base_ + (start_ + turn) % places_ * subnet_size};
}

std::uint32_t Walk::turn_of(const rules::Subnet& subnet) const
{
    return ((subnet.base - base_) / subnet_size + places_ - start_) % places_;
}

std::optional<rules::Subnet> Walk::next()
{
    if (turn_ >= places_)
        return std::nullopt;
    ++steps_;
    return at(turn_++);
}

void Walk::jump_over(const RoutedRange& range)
{
    // Range and pool are aligned blocks. So a range that ends behind the pool holds the whole pool.
    turn_ += (range.last() - at(turn_ - 1).base) / subnet_size;
}

Result<rules::Subnet> reserve_subnet(const StateDir& state, const RunKey& key,
                                     std::string_view generation, const rules::Prefix& pool,
                                     const AskRouted& routed)
{
    AH_TRY(Walk walk, Walk::through(pool, key), "reserve a subnet");
    std::vector<RoutedRange> met;
    while (const auto subnet = walk.next()) {
        AH_TRY(const bool ours, try_hold(path_of(state, *subnet), key, generation),
               "reserve a subnet");
        if (!ours)
            continue;
        const auto asked = routed(*subnet);
        const auto range = asked ? *asked : std::nullopt;
        if (asked && !range)
            return *subnet;
        AH_CHECK(release_subnet(state, key, generation, *subnet));
        AH_CHECK(asked, "reserve a subnet");
        if (range) {
            walk.jump_over(*range);
            met.push_back(*range);
        }
    }
    return used_up(state, pool, met);
}

Status release_subnet(const StateDir& state, const RunKey& key, std::string_view generation,
                      const rules::Subnet& subnet)
{
    const std::string path = path_of(state, subnet);
    AH_TRY(const auto owner, owner_at(path), "release the subnet " + subnet.text());
    if (owner != owner_text(key, generation))
        return {};
    if (::unlink(path.c_str()) != 0)
        return fail_errno("release the subnet " + subnet.text(), errno);
    return {};
}

Result<std::vector<SubnetReservation>> reserved_subnets(const StateDir& state)
{
    struct Closer {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    const std::string folder = folder_of(state);
    const std::unique_ptr<DIR, Closer> directory(::opendir(folder.c_str()));
    if (!directory)
        return fail_errno("open directory " + folder, errno);
    std::vector<SubnetReservation> holds;
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string name = entry->d_name;
        std::string text = name;
        text += suffix;
        const auto subnet = rules::Subnet::parse(text, Code::network_setup_failed);
        const auto read = owner_at(folder + "/" + name);
        const std::string owner = read ? read->value_or("") : "";
        const std::size_t dot = owner.find('.');
        // Any other entry is no reservation, or was released meanwhile.
        if (subnet && dot != std::string::npos)
            holds.push_back({*subnet, owner.substr(0, dot), owner.substr(dot + 1)});
        errno = 0;
    }
    if (errno != 0)
        return fail_errno("list " + folder, errno);
    std::ranges::sort(holds, {}, [](const SubnetReservation& hold) { return hold.subnet.base; });
    return holds;
}

} // namespace anchorhold::state
