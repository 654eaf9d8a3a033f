// SPDX-License-Identifier: Apache-2.0
#include "hooks/denied_connections.hpp"

#include "hooks/nft/inside_table.hpp"
#include "schema/rules/denied_set.hpp"

#include <cerrno>
#include <ctime>
#include <fcntl.h>

namespace anchorhold {
namespace {

constexpr std::chrono::seconds patience_for_counts(5); // no container's start waits for this

Result<rules::DeniedSet> ask_table(net::Netlink& nftables)
{
    rules::DeniedSet seen;
    for (const net::Step& request : nft::list_denied()) {
        AH_TRY(const auto listed, nftables.list(request));
        AH_TRY(const auto denied, nft::read_denied(listed, std::time(nullptr)));
        seen.full = seen.full || denied.size() >= nft::most_denied_in_set;
        seen.denied.insert(seen.denied.end(), denied.begin(), denied.end());
    }
    AH_TRY(const auto rules, nftables.list(nft::list_denied_count()));
    AH_TRY(seen.packets, nft::count_packets(rules));
    return seen;
}

} // namespace

std::string kept_netns(const state::StateDir& state, const std::string& key)
{
    return state.path() + "/runs/" + key + "/netns";
}

Status note_denied(Record& record, net::Conversations& inside)
{
    if (record.posture != Posture::filtered)
        return {};
    if (!inside.nftables)
        return std::unexpected(inside.nftables.error());
    AH_TRY(const rules::DeniedSet seen, ask_table(*inside.nftables), "read what was denied");
    rules::add_denied(record, seen);
    return {};
}

Status note_denied(const state::StateDir& state, Record& record)
{
    UniqueFd kept(::open(kept_netns(state, record.key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!kept || record.posture != Posture::filtered)
        return {}; // not filtered, or `up` did not get that far
    const net::Netns netns{.fd = std::move(kept), .identity = {}, .init = {}};
    auto inside = net::talk_inside(netns, state::Deadline(patience_for_counts));
    if (!inside && inside.error().number == EINVAL)
        return {}; // the file has no mount: it is gone, or was made in another mount namespace
    if (!inside)
        return std::unexpected(std::move(inside).error());
    return note_denied(record, *inside);
}

} // namespace anchorhold
