// SPDX-License-Identifier: Apache-2.0
// Confines a namespace. Everything that is changed is read back.
//
// 1. The table is loaded first. So a link that appears while we look gets nothing. If a table of
//    ours stands in a namespace that should be new, the namespace is another run's, and nothing in
//    it is touched.
// 2. Loopback is brought up.
// 3. Unplanned links are removed. One that cannot be removed is set down.
// 4. Nobody may listen in the namespace.
//
// Without nf_tables, or without CAP_NET_ADMIN over the namespace, there is no table, and the record
// does not claim one: an empty namespace is severed by itself. But then every unplanned link must
// be gone. To be down is not enough.
#include "hooks/confine.hpp"

#include "hooks/net/listeners.hpp"
#include "hooks/nft/inside_table.hpp"
#include "schema/rules/gate_rules.hpp"

#include <algorithm>
#include <cerrno>

namespace anchorhold {
namespace {

// Says whether the error only means that this kernel has no such thing, or that we may not use it.
bool is_unavailable(const Error& error)
{
    switch (error.number) {
    case EPERM:
    case ENOENT: // a module is missing: for the reject expression, for a socket's family
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT: return true;
    default: return false;
    }
}

// Compares what the two say of our table, and nothing else.
bool says_the_same(const nft::Ruleset& one, const nft::Ruleset& other)
{
    return one.ours == other.ours && one.elements == other.elements;
}

Status load_and_compare(net::Netlink& nftables, const nft::InsidePlan& plan,
                        nft::ExistingTable standing, const nft::Ruleset& planned,
                        Confinement& confined)
{
    AH_CHECK(nftables.send(nft::load_inside_table(plan, standing)), "load the table inside");
    confined.loaded = true;
    AH_TRY(const nft::Ruleset after, nft::ask_all(nftables, nft::inside_table()));
    if (!says_the_same(after, planned)) {
        return fail(Code::network_setup_failed,
                    "table inet anchorhold reads back differently than it was loaded");
    }
    return {};
}

// Says whether the run is filtered in place. The engine then made the network before us, and may
// have loaded tables of its own.
bool is_in_place(const nft::InsidePlan& plan)
{
    return plan.posture == Posture::filtered && !plan.network.subnet && !plan.handles;
}

// Says whether the run's gate listens there. Whoever calls knows that it lives: then nobody else
// can.
bool is_of_gate(const net::Listener& listener, const nft::InsidePlan& plan)
{
    if (!plan.handles)
        return false;
    const std::string port = ":" + std::to_string(rules::gate_port);
    std::vector<std::string> own{
        "udp " + rules::dotted(rules::lo_address(*plan.handles)) + port,
        "tcp " + rules::dotted(rules::capture_address(*plan.handles)) + port,
        "tcp [::1]" + port,
    };
    for (const std::uint16_t number : plan.listens) {
        for (const char* const loopback : {"tcp 127.0.0.1:", "tcp [::1]:"})
            own.push_back(loopback + std::to_string(number));
    }
    return std::ranges::find(own, listener.text) != own.end();
}

Status judge_other_tables(const nft::Ruleset& ruleset, bool refused, Confinement& confined)
{
    for (const std::string& table : ruleset.others) {
        if (refused) {
            return fail(Code::network_setup_failed,
                        "the container's network namespace already has nftables table " + table);
        }
        confined.notes.push_back("nftables table " + table + " of others stands beside ours");
    }
    return {};
}

Status ensure_table_in(net::Netlink& nftables, const nft::InsidePlan& plan, Moment moment,
                       Confinement& confined)
{
    AH_TRY(const nft::Ruleset planned, nft::expected_inside(plan));
    AH_TRY(const nft::Ruleset before, nft::ask_all(nftables, nft::inside_table()));
    if (moment == Moment::created && !before.ours.empty()) {
        return fail(Code::network_setup_failed,
                    "the container's network namespace is another run's");
    }
    const bool refused = moment == Moment::created && !is_in_place(plan);
    AH_CHECK(judge_other_tables(before, refused, confined));
    if (!says_the_same(before, planned)) {
        const nft::ExistingTable standing =
            before.ours.empty() ? nft::ExistingTable::none : nft::ExistingTable::ours;
        AH_CHECK(load_and_compare(nftables, plan, standing, planned, confined));
    }
    confined.verified.emplace_back(verified::drop_table);
    return {};
}

Status bring_up_loopback(net::Netlink& route, const std::vector<net::Link>& links)
{
    const auto lo = std::ranges::find_if(links, &net::Link::is_loopback);
    if (lo == links.end() || lo->up)
        return {}; // judge_links() refuses a namespace without loopback
    const net::Step up = net::set_link(*lo, net::Flag::up);
    return route.send({&up, 1});
}

Status take_away(net::Netlink& route, const net::Link& stray, bool removable, Confinement& confined)
{
    const net::Step remove = net::remove_link(stray);
    const net::Step set_down = net::set_link(stray, net::Flag::down);
    if (removable) {
        const auto removed = route.send({&remove, 1});
        if (removed || removed.error().number == ENODEV) { // ENODEV: it went with its peer
            confined.notes.push_back("removed link " + text_of(stray));
            return {};
        }
    }
    AH_CHECK(route.send({&set_down, 1}));
    confined.notes.push_back("set down link " + text_of(stray));
    return {};
}

Status judge_links(const std::vector<net::Link>& links, const std::vector<net::Link>& born,
                   bool table_holds)
{
    const auto lo = std::ranges::find_if(links, &net::Link::is_loopback);
    if (lo == links.end() || !lo->up)
        return fail(Code::network_setup_failed, "loopback in the container is not up");
    for (const net::Link& link : net::strays_among(links, born)) {
        if (link.up)
            return fail(Code::network_setup_failed, "link " + text_of(link) + " is still up");
        if (!table_holds) {
            return fail(Code::network_setup_failed,
                        "link " + text_of(link) + " cannot be removed, and no drop table holds");
        }
    }
    return {};
}

Result<std::vector<net::Link>> unplanned_links(net::Netlink& route, const nft::InsidePlan& plan)
{
    AH_TRY(auto links, net::links_in(route));
    const std::vector<std::uint32_t>& planned = plan.network.links;
    std::erase_if(links, [&planned](const net::Link& link) {
        return std::ranges::find(planned, link.index) != planned.end();
    });
    return links;
}

Status note_links(net::Netlink& route, const nft::InsidePlan& plan, Confinement& confined)
{
    AH_TRY(const auto links, unplanned_links(route, plan));
    AH_CHECK(bring_up_loopback(route, links));
    for (const net::Link& link : net::strays_among(links, {}))
        confined.notes.push_back("link " + text_of(link) + " of others stands beside ours");
    return {};
}

Status clear_links(net::Netlink& route, const nft::InsidePlan& plan,
                   const state::Deadline& deadline, Confinement& confined)
{
    AH_TRY(const auto links, unplanned_links(route, plan));
    std::vector<net::Link> born;
    if (links.size() > 1) {
        AH_TRY(born, net::links_of_fresh_netns(deadline));
    }
    AH_CHECK(bring_up_loopback(route, links));
    for (const net::Link& stray : net::strays_among(links, born))
        AH_CHECK(take_away(route, stray, !net::is_inborn(stray, born), confined));
    AH_TRY(const auto after, unplanned_links(route, plan));
    AH_CHECK(judge_links(after, born, confined.has(verified::drop_table)));
    confined.verified.emplace_back(verified::links);
    return {};
}

Status judge_listener(const net::Listener& listener, const nft::InsidePlan& plan, Moment moment,
                      Confinement& confined)
{
    if (is_in_place(plan)) {
        confined.notes.push_back("listener " + listener.text + " of others");
        return {};
    }
    if (moment != Moment::created && is_of_gate(listener, plan))
        return {};
    if (moment == Moment::starting && listener.docker_resolver &&
        confined.has(verified::drop_table)) {
        confined.notes.push_back("listener " + listener.text + " of others is refused");
        return {};
    }
    return fail(Code::network_setup_failed,
                "somebody listens in the container's network namespace at " + listener.text);
}

Status check_listeners(Result<net::Netlink>& sockets, const nft::InsidePlan& plan, Moment moment,
                       Confinement& confined)
{
    if (!sockets)
        return {}; // the record does not claim that nobody listens
    for (const net::ListenerQuestion& question : net::ask_for_listeners()) {
        const auto messages = sockets->list(question.request);
        if (!messages && is_unavailable(messages.error()))
            return {};
        if (!messages)
            return std::unexpected(messages.error());
        for (const net::Message& message : *messages) {
            AH_TRY(const auto listener, net::read_listener(question.protocol, message));
            AH_CHECK(judge_listener(listener, plan, moment, confined));
        }
    }
    confined.verified.emplace_back(verified::listeners);
    return {};
}

} // namespace

bool Confinement::has(std::string_view word) const
{
    return std::ranges::find(verified, word) != verified.end();
}

Status ensure_table(net::Conversations& inside, const nft::InsidePlan& plan, Moment moment,
                    bool must, Confinement& confined)
{
    auto done = inside.nftables ? ensure_table_in(*inside.nftables, plan, moment, confined)
                                : Status(std::unexpected(inside.nftables.error()));
    if (!done && (must || !is_unavailable(done.error())))
        return done;
    return {};
}

Status empty_out(net::Conversations& inside, const nft::InsidePlan& plan, Moment moment,
                 const state::Deadline& deadline, Confinement& confined)
{
    if (is_in_place(plan)) {
        AH_CHECK(note_links(inside.route, plan, confined));
    } else {
        AH_CHECK(clear_links(inside.route, plan, deadline, confined));
    }
    return moment == Moment::joining ? Status()
                                     : check_listeners(inside.sockets, plan, moment, confined);
}

} // namespace anchorhold
