// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/gate.hpp"

#include "relay/dial.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace anchorhold::gate {
namespace {

constexpr int accepts_per_turn = 64;
constexpr std::int64_t open_within = 10'000; // milliseconds
constexpr std::int64_t starved_pause = 100;
constexpr std::size_t most_candidates = 8; // addresses that are dialled for one connection

UniqueFd spare_descriptor()
{
    return UniqueFd(::eventfd(0, EFD_CLOEXEC));
}

UniqueFd accept_client(int listener)
{
    return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

} // namespace

Gate::Gate(const rules::GateRules& rules)
    : rules_(rules), matcher_(rules), handles_(rules.handles, rules.epoch, matcher_.names())
{
}

Status Gate::open(Inherited inherited)
{
    inherited_ = std::move(inherited);
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    reserve_ = spare_descriptor();
    if (!epoll_ || !reserve_)
        return fail_errno("wait for events", errno);
    init_.ready = init_ready;
    init_.gate = this;
    if (const int number = relay::watch(epoll_.get(), inherited_.init.get(), EPOLLIN, init_);
        number != 0)
        return fail_errno("watch the container's first process", number);
    AH_CHECK(routes_.open());
    AH_CHECK(lookups_.open(epoll_.get()));
    AH_CHECK(responder_.open(epoll_.get(), std::move(inherited_.dns)));
    for (UniqueFd& capture : inherited_.captures)
        AH_CHECK(listen(std::move(capture), nullptr));
    for (auto& [number, socket] : inherited_.endpoints) {
        if (number >= rules_.endpoints.size())
            return fail(Code::invalid_policy, "there is no endpoint " + std::to_string(number));
        AH_CHECK(listen(std::move(socket), &rules_.endpoints[number]));
    }
    write_report(relay::now_milliseconds());
    return {};
}

// Accepted sockets inherit the options.
Status Gate::listen(UniqueFd socket, const rules::GateEndpoint* endpoint)
{
    constexpr int window = 512 << 10;
    const auto listener = listeners_.emplace(listeners_.end(), std::make_unique<Listener>());
    (*listener)->ready = listener_ready;
    (*listener)->gate = this;
    (*listener)->endpoint = endpoint;
    (*listener)->socket = std::move(socket);
    const int fd = (*listener)->socket.get();
    if (const int number = relay::prepare_tcp(fd); number != 0)
        return fail_errno("prepare a listening socket", number);
    if (::setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window) != 0)
        return fail_errno("prepare a listening socket", errno);
    relay::reset_on_close(fd);
    if (const int number = relay::watch(epoll_.get(), fd, EPOLLIN, **listener); number != 0)
        return fail_errno("watch a listening socket", number);
    return {};
}

void Gate::run()
{
    while (!init_has_ended_)
        relay::dispatch(epoll_.get(), tick());
    if (tally_.is_dirty())
        write_report(relay::now_milliseconds()); // whoever tears the run down reads it
}

void Gate::init_ready(relay::Watch& self, std::uint32_t)
{
    static_cast<Init&>(self).gate->init_has_ended_ = true;
}

// ---- accepting --------------------------------------------------------------------------------

void Gate::listener_ready(relay::Watch& self, std::uint32_t)
{
    auto& listener = static_cast<Listener&>(self);
    listener.gate->accept_batch(listener);
}

void Gate::accept_batch(Listener& listener)
{
    for (int turn = 0; turn < accepts_per_turn; ++turn) {
        UniqueFd client = accept_client(listener.socket.get());
        int number = client ? 0 : errno;
        if (client) {
            take(std::move(client), listener);
        } else if (number == EMFILE || number == ENFILE) {
            number = shed(listener);
        }
        if (number == EAGAIN)
            return;
        if (number != 0 && number != ECONNABORTED)
            return pause(listener);
    }
}

// Resets one client with the help of the reserve, when no descriptor is left. Returns 0, or the
// errno of accept.
int Gate::shed(const Listener& listener)
{
    reserve_ = UniqueFd();
    int number = 0;
    if (!accept_client(listener.socket.get()))
        number = errno;
    reserve_ = spare_descriptor();
    if (number == 0)
        tally_.reset(Refusal::full);
    return number;
}

void Gate::pause(Listener& listener)
{
    if (relay::rewatch(epoll_.get(), listener.socket.get(), 0, listener) == 0)
        listener.resume_at = relay::now_milliseconds() + starved_pause;
}

void Gate::resume(Listener& listener)
{
    if (!reserve_)
        reserve_ = spare_descriptor();
    if (relay::rewatch(epoll_.get(), listener.socket.get(), EPOLLIN, listener) == 0)
        listener.resume_at = 0;
}

// What is not passed on here is closed, which resets it.
void Gate::take(UniqueFd client, const Listener& listener)
{
    if (connections_.size() >= most_connections)
        return tally_.reset(Refusal::full);
    if (listener.endpoint != nullptr) {
        const rules::AllowRule& rule = listener.endpoint->rule;
        Target target;
        target.kind = Target::Kind::rule;
        target.rule = &rule;
        target.port = rule.ports.front().first;
        if (const auto* const address = std::get_if<rules::Prefix>(&rule.to))
            target.address = *address;
        return admit(std::move(client), std::move(target), listener.endpoint->is_host);
    }
    sockaddr_storage local = {};
    socklen_t size = sizeof local;
    if (::getsockname(client.get(), reinterpret_cast<sockaddr*>(&local), &size) != 0)
        return tally_.reset(Refusal::address);
    Target target = find_target(local, matcher_, handles_);
    switch (target.kind) {
    case Target::Kind::refused: return tally_.reset(target.why);
    case Target::Kind::dns:
        relay::end_on_close(client.get());
        return responder_.admit(std::move(client));
    case Target::Kind::rule: return admit(std::move(client), std::move(target), false);
    }
}

void Gate::admit(UniqueFd client, Target target, bool is_host)
{
    auto made = std::make_unique<Connection>(*this, epoll_.get(), ended_attempts_);
    Connection& connection = *made;
    connection.place = connections_.size();
    connections_.push_back(std::move(made));
    connection.client.ready = client_ready;
    connection.client.stream = &connection;
    connection.client.fd = client.release();
    connection.client.writable = true;
    connection.client.spliceable = true;
    connection.broker.fd = -1;
    connection.phase = relay::Phase::dialing;
    connection.rule = target.rule;
    connection.name = target.name;
    connection.address = target.address;
    connection.port = target.port;
    connection.is_host = is_host;
    connection.looks = !target.name.empty() && target.rule->tls != rules::Tls::any;
    connection.deadline = relay::now_milliseconds() + open_within;
    set_timer(connection, connection.deadline);
    line_.push_back(&connection);
    if (relay::watch(epoll_.get(), connection.client.fd, relay::stream_events, connection.client) !=
        0)
        refuse(connection, Refusal::full);
}

// ---- dialling ---------------------------------------------------------------------------------

void Gate::advance_line(std::int64_t now)
{
    while (!line_.empty() && dials_ < most_dials && pace_.take(now)) {
        Connection& connection = *line_.front();
        line_.pop_front();
        connection.dials = true;
        ++dials_;
        begin_dial(connection);
    }
}

void Gate::begin_dial(Connection& connection)
{
    const auto* const address = std::get_if<rules::Prefix>(&connection.rule->to);
    if (address == nullptr) {
        const std::string name =
            connection.name.empty() ? rules::text_of(connection.rule->to) : connection.name;
        return lookups_.ask(name, connection);
    }
    Resolved itself;
    itself.kind = Resolved::Kind::found;
    itself.addresses = {connection.address ? *connection.address : *address};
    dial(connection, itself);
}

// Returns whether one of the addresses that were found may be dialled. It is asked of this very
// address, and it is this one that is dialled.
bool Gate::may_dial(const Connection& connection, const rules::Prefix& address)
{
    if (connection.is_host)
        return true;
    return matcher_.judge(*connection.rule, address, connection.port).ruling ==
               rules::Ruling::allowed &&
           routes_.leads_outside(address);
}

void Gate::dial(Connection& connection, const Resolved& resolved)
{
    if (resolved.kind != Resolved::Kind::found)
        return refuse(connection, Refusal::resolver);
    std::vector<rules::Prefix> candidates;
    for (const rules::Prefix& address : resolved.addresses) {
        if (candidates.size() < most_candidates && may_dial(connection, address))
            candidates.push_back(address);
    }
    if (candidates.empty())
        return refuse(connection, Refusal::destination);
    connection.phase = relay::Phase::connecting;
    set_timer(connection,
              std::min(connection.deadline, relay::now_milliseconds() + next_address_after));
    connection.dialer.start(std::move(candidates), connection.port);
}

void Gate::stop_dialling(Connection& connection)
{
    dials_ -= connection.dials ? 1 : 0;
    connection.dials = false;
    connection.dialer.stop();
}

void Gate::join(Connection& connection, UniqueFd socket)
{
    stop_dialling(connection);
    set_timer(connection, 0);
    relay::reset_on_close(socket.get());
    relay::Side& server = connection.broker;
    server.ready = server_ready;
    server.stream = &connection;
    server.fd = socket.release();
    server.writable = true;
    server.spliceable = true;
    connection.phase = relay::Phase::open;
    if (relay::rewatch(epoll_.get(), server.fd, relay::stream_events, server) != 0)
        return end(connection, relay::Verdict::reset);
    run(connection);
}

void Gate::refuse(Connection& connection, Refusal why)
{
    tally_.reset(why);
    end(connection, relay::Verdict::reset);
}

} // namespace anchorhold::gate
