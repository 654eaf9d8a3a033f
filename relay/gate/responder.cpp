// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/responder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sys/socket.h>
#include <utility>

namespace anchorhold::gate {
namespace {

constexpr int datagrams_per_turn = 16;

// Returns whether a name that no rule lists is worth a line in the report. Nobody asks for a rule
// for the names that programs make of addresses, nor for those that never exist (RFC 6761).
bool is_worth_telling(const std::string& name)
{
    return !name.ends_with(".arpa") && !name.ends_with(".invalid") && name != "invalid";
}

} // namespace

Status Responder::open(int epoll, UniqueFd datagrams)
{
    epoll_ = epoll;
    for (Client& client : clients_) {
        client.ready = client_ready;
        client.responder = this;
    }
    datagrams_.ready = datagram_ready;
    datagrams_.responder = this;
    datagrams_.socket = std::move(datagrams);
    if (const int number = relay::watch(epoll, datagrams_.socket.get(), EPOLLIN, datagrams_);
        number != 0)
        return fail_errno("watch the DNS socket", number);
    return {};
}

// Returns the outcome of a question; nullopt: its name has to be looked up.
std::optional<Outcome> Responder::judge(const Asked& asked)
{
    if (!asked.name || !matcher_.lists(*asked.name)) {
        if (asked.name && is_worth_telling(asked.name->text()))
            tally_.deny(asked.name->text(), std::time(nullptr));
        return Outcome::refused;
    }
    if (!asked.wants_address)
        return Outcome::no_data;
    return std::nullopt;
}

Outcome Responder::outcome_of(const Resolved& resolved, const std::string& name,
                              std::uint32_t& handle)
{
    switch (resolved.kind) {
    case Resolved::Kind::no_such_name: return Outcome::no_such_name;
    case Resolved::Kind::no_data: return Outcome::no_data;
    case Resolved::Kind::failed: return Outcome::failed;
    case Resolved::Kind::found: break;
    }
    const auto taken = handles_.take(name);
    if (!taken) {
        tally_.fail_lookup();
        return Outcome::failed;
    }
    handle = *taken;
    return Outcome::handle;
}

// ---- over UDP ---------------------------------------------------------------------------------

void Responder::datagram_ready(relay::Watch& self, std::uint32_t)
{
    const auto& datagrams = static_cast<Datagrams&>(self);
    for (int turn = 0; turn < datagrams_per_turn; ++turn) {
        std::array<std::uint8_t, 4096> query;
        sockaddr_in from = {};
        socklen_t from_size = sizeof from;
        const ssize_t size = ::recvfrom(datagrams.socket.get(), query.data(), query.size(),
                                        MSG_TRUNC, reinterpret_cast<sockaddr*>(&from), &from_size);
        if (size < 0)
            return;
        if (static_cast<std::size_t>(size) <= query.size())
            datagrams.responder->take_datagram(Bytes(query).first(static_cast<std::size_t>(size)),
                                               from);
    }
}

void Responder::take_datagram(Bytes query, const sockaddr_in& from)
{
    const Asked asked = read_asked(query);
    Reply reply;
    if (asked.kind == relay::Query::unanswered)
        return;
    if (asked.kind == relay::Query::not_implemented)
        return send_to(from, reply, relay::refuse_opcode(query.data(), reply.data()));
    if (const auto outcome = judge(asked))
        return send_to(from, reply, write_reply(query, asked.question, *outcome, 0, reply));
    Pending& pending = pending_.emplace_back();
    pending.responder = this;
    const Bytes kept = query.first(asked.question.end);
    pending.query.assign(kept.begin(), kept.end());
    pending.question = asked.question;
    pending.name = asked.name->text();
    pending.from = from;
    lookups_.ask(pending.name, pending);
}

void Responder::Pending::resolved(const Resolved& found)
{
    Responder& of = *responder;
    std::uint32_t handle = 0;
    const Outcome outcome = of.outcome_of(found, name, handle);
    Reply reply;
    of.send_to(from, reply, write_reply(query, question, outcome, handle, reply));
    const auto here = std::ranges::find(of.pending_, this, [](const Pending& one) { return &one; });
    of.pending_.erase(here);
}

void Responder::send_to(const sockaddr_in& to, const Reply& reply, std::size_t size) const
{
    // When it is lost, the client asks again.
    (void)::sendto(datagrams_.socket.get(), reply.data(), size, MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

// ---- over TCP ---------------------------------------------------------------------------------

Responder::Client& Responder::longest_idle()
{
    return *std::ranges::min_element(clients_, {}, [](const Client& client) {
        return client.socket ? client.used_at : std::uint64_t{0};
    });
}

void Responder::close(Client& client)
{
    Lookups::forget(client);
    client.waits = false;
    client.size = 0;
    client.socket = UniqueFd();
}

// An event may concern a client whose place was taken in the same batch. It then finds the new
// client, whose read says EAGAIN.
void Responder::admit(UniqueFd connection)
{
    Client& client = longest_idle();
    close(client);
    client.used_at = ++turn_;
    client.socket = std::move(connection);
    if (relay::watch(epoll_, client.socket.get(), EPOLLIN | EPOLLET, client) != 0)
        close(client);
}

void Responder::client_ready(relay::Watch& self, std::uint32_t)
{
    auto& client = static_cast<Client&>(self);
    if (client.socket && !client.waits)
        client.responder->serve(client);
}

// Answers and reads until there is nothing to read, or a question has to wait.
void Responder::serve(Client& client)
{
    client.used_at = ++turn_;
    for (;;) {
        while (client.socket && !client.waits && take_query(client)) {
        }
        if (!client.socket || client.waits)
            return;
        const ssize_t got = ::recv(client.socket.get(), client.query.data() + client.size,
                                   client.query.size() - client.size, 0);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0)
            return close(client);
        client.size += static_cast<std::size_t>(got);
    }
}

void Responder::tick()
{
    for (Client* const client : std::exchange(resume_, {})) {
        if (client->socket && !client->waits)
            serve(*client);
    }
}

// Takes the query that is complete. Returns false when there is none.
bool Responder::take_query(Client& client)
{
    if (client.size < 2)
        return false;
    const std::size_t size = static_cast<std::size_t>(client.query[0]) << 8 | client.query[1];
    if (2 + size > client.query.size()) {
        close(client);
        return false;
    }
    if (client.size < 2 + size)
        return false;
    client.asked = read_asked(Bytes(client.query).subspan(2, size));
    if (client.asked.kind != relay::Query::question) {
        close(client);
        return false;
    }
    const auto outcome = judge(client.asked);
    if (outcome)
        return answer(client, *outcome, 0);
    client.waits = true;
    lookups_.ask(client.asked.name->text(), client);
    return true;
}

// Answers the query at the front, and drops it. Returns false when the client was closed: one that
// does not read its answers.
bool Responder::answer(Client& client, Outcome outcome, std::uint32_t handle)
{
    const std::size_t whole =
        2 + (static_cast<std::size_t>(client.query[0]) << 8 | client.query[1]);
    Reply reply;
    const std::size_t size = write_reply(Bytes(client.query).subspan(2, whole - 2),
                                         client.asked.question, outcome, handle, reply);
    std::array<std::uint8_t, 2 + reply_limit> message;
    message[0] = static_cast<std::uint8_t>(size >> 8);
    message[1] = static_cast<std::uint8_t>(size & 255);
    std::copy_n(reply.begin(), size, message.begin() + 2);
    if (::send(client.socket.get(), message.data(), 2 + size, MSG_NOSIGNAL) !=
        static_cast<ssize_t>(2 + size)) {
        close(client);
        return false;
    }
    client.size -= whole;
    std::memmove(client.query.data(), client.query.data() + whole, client.size);
    return true;
}

// Goes on with what else the client has asked in the next tick: a look-up must not begin here.
void Responder::Client::resolved(const Resolved& found)
{
    waits = false;
    std::uint32_t handle = 0;
    const Outcome outcome = responder->outcome_of(found, asked.name->text(), handle);
    if (responder->answer(*this, outcome, handle))
        responder->resume_.push_back(this);
}

} // namespace anchorhold::gate
