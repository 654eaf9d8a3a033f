// SPDX-License-Identifier: Apache-2.0
// The DNS server of a run, over UDP and TCP. A name that the rules list is looked up outside, and
// answered with its handle. Nothing else of a question ever leaves: no other type, no other name.
#pragma once

#include "relay/gate/handles.hpp"
#include "relay/gate/lookups.hpp"
#include "relay/gate/question.hpp"
#include "relay/watch.hpp"
#include "schema/rules/gate_rules.hpp"
#include "schema/unique_fd.hpp"

#include <array>
#include <list>
#include <netinet/in.h>
#include <vector>

namespace anchorhold::gate {

// The responder, one per process. It must not move, because events point into it.
class Responder {
public:
    Responder(const rules::GateMatcher& matcher, Handles& handles, Lookups& lookups, Tally& tally)
        : matcher_(matcher), handles_(handles), lookups_(lookups), tally_(tally)
    {
    }
    // Takes over a bound, non-blocking UDP socket.
    Status open(int epoll, UniqueFd datagrams);
    // Takes over the connection of a client, which takes the place of the one that was idle
    // longest.
    void admit(UniqueFd connection);
    // Goes on with clients whose answer has come; to be called between two waits.
    void tick();
    bool has_work() const { return !resume_.empty(); }

private:
    struct Datagrams : relay::Watch {
        Responder* responder = nullptr;
        UniqueFd socket;
    };
    // A question that waits for its name. It is told once and then gone.
    struct Pending final : Waiter {
        Responder* responder = nullptr;
        std::vector<std::uint8_t> query; // up to the end of the question
        relay::Question question;
        std::string name;
        sockaddr_in from = {};
        void resolved(const Resolved& resolved) override;
    };
    static constexpr std::size_t most_clients = 16;
    static constexpr std::size_t client_limit = 2 + 512;
    // A TCP connection. It has one question at a time; what else it sends waits in the kernel.
    struct Client final : relay::Watch, Waiter {
        Responder* responder = nullptr;
        UniqueFd socket;
        std::uint64_t used_at = 0;
        std::size_t size = 0; // bytes of its query that have come
        bool waits = false;
        Asked asked;
        std::array<std::uint8_t, client_limit> query;
        void resolved(const Resolved& resolved) override;
    };

    static void datagram_ready(relay::Watch& self, std::uint32_t events);
    static void client_ready(relay::Watch& self, std::uint32_t events);
    void take_datagram(Bytes query, const sockaddr_in& from);
    std::optional<Outcome> judge(const Asked& asked);
    Outcome outcome_of(const Resolved& resolved, const std::string& name, std::uint32_t& handle);
    void send_to(const sockaddr_in& to, const Reply& reply, std::size_t size) const;
    Client& longest_idle();
    void close(Client& client);
    void serve(Client& client);
    bool take_query(Client& client);
    bool answer(Client& client, Outcome outcome, std::uint32_t handle);

    const rules::GateMatcher& matcher_;
    Handles& handles_;
    Lookups& lookups_;
    Tally& tally_;
    int epoll_ = -1;
    Datagrams datagrams_;
    std::list<Pending> pending_;
    std::uint64_t turn_ = 0;
    std::array<Client, most_clients> clients_;
    std::vector<Client*> resume_;
};

} // namespace anchorhold::gate
