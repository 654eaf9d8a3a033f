// SPDX-License-Identifier: Apache-2.0
// The relay's engine between peers that do anything in any order, also between any two of its
// system calls (tests/fuzz/kernel.hpp). Two bytes are one step: what is done, and with whom or how
// much. Each write checks that no byte is lost, moved or doubled. When all has come to rest, the
// end checks that everything arrived, and that every end reached the other side as what it was.
#include "relay/pump.hpp"

#include "tests/fuzz/entry.hpp"
#include "tests/fuzz/kernel.hpp"

#include <array>
#include <optional>

using namespace anchorhold;
using kernel::Broker;
using kernel::End;
using kernel::File;
using kernel::world;

namespace {

constexpr std::size_t most_clients = 6;
constexpr std::array<std::uint64_t, 8> sizes = {1, 7, 300, 4'096, 20'000, 65'536, 70'000, 300'000};
constexpr int epoll = 3; // no real descriptor: the model never looks at it

std::vector<int> clients;
// A fault was set, so some may have been reset without a reason of their own.
bool is_spoilt = false;
struct Step {
    std::uint8_t what = 0;
    std::uint8_t how = 0;
};
std::optional<Step> armed;
unsigned calls_until_armed = 0;

std::uint64_t size_of(std::uint8_t how)
{
    return sizes[how >> 5];
}

File* client_of(std::uint8_t how)
{
    return clients.empty() ? nullptr : &world().files[clients[how % clients.size()]];
}

File* broker_of(std::uint8_t how)
{
    const File* client = client_of(how);
    return client == nullptr || client->partner < 0 ? nullptr : &world().files[client->partner];
}

void act(File& peer, unsigned what, std::uint8_t how)
{
    switch (what) {
    case 0:
    case 1: return kernel::write(peer, size_of(how));
    case 2: return kernel::read(peer, size_of(how));
    case 3: return kernel::stop_writing(peer);
    case 4: return kernel::close(peer);
    case 5: return kernel::reset(peer);
    case 6: return peer.is_tcp ? kernel::write_urgent(peer) : kernel::pass_descriptor(peer);
    case 7: return peer.is_tcp ? kernel::give_room(peer) : kernel::stop_reading(peer);
    default: return;
    }
}

// Does what happens between two turns of the relay, or between two of its calls.
void act(const Step& step)
{
    File* peer = step.what < 8 ? client_of(step.how) : broker_of(step.how);
    if (peer != nullptr)
        act(*peer, step.what % 8, step.how);
}

void interrupt()
{
    if (!armed || calls_until_armed-- != 0)
        return;
    const Step step = *armed;
    armed.reset();
    act(step);
}

void change(const Step& step)
{
    kernel::World& now = world();
    const std::uint8_t how = step.how;
    switch (step.what) {
    case 16: now.broker = static_cast<Broker>(how % 4); break;
    case 17: now.most_written = how < 128 ? size_of(how) : 1 << 20; break;
    case 18: now.most_spliced = how < 128 ? size_of(how) : 1 << 20; break;
    case 19: now.most_files = how < 16 ? kernel::open_files() + how : 1000; break;
    case 20: now.cannot_watch = how < 32; break;
    case 21: now.signals_late = how % 2 != 0; break;
    case 22: now.says_nothing = how % 2 != 0; break;
    case 23: now.clock += how; break;
    case 24: kernel::answer_pending(); break;
    case 25:
        for (auto& [fd, file] : now.files)
            kernel::give_room(file);
        break;
    default: break;
    }
    if (now.broker == Broker::refuses || now.most_files < 1000 || now.cannot_watch ||
        now.clock > relay::away_limit)
        is_spoilt = true;
}

void take(const Step& step, relay::Pump& pump)
{
    if (step.what < 16)
        return act(step);
    if (step.what < 26)
        return change(step);
    if (step.what == 26 && clients.size() < most_clients)
        clients.push_back(kernel::new_client());
    if (step.what == 27) { // the next step happens in the middle of the relay's work
        calls_until_armed = step.how;
        return;
    }
    if (step.what >= 28) {
        world().batch = 1 + step.how % 8;
        world().shift = step.how / 8;
        relay::dispatch(epoll, pump.tick());
    }
}

void play(const std::uint8_t* data, std::size_t size, relay::Pump& pump)
{
    bool is_next_armed = false;
    for (std::size_t at = 0; at + 1 < size && at < 1024; at += 2) {
        const Step step = {static_cast<std::uint8_t>(data[at] % 36), data[at + 1]};
        if (is_next_armed && step.what < 16)
            armed = step;
        else
            take(step, pump);
        is_next_armed = step.what == 27;
    }
    armed.reset();
}

// Sets all faults back, lets peers take what comes, and gives the relay all the time that it wants.
void settle(relay::Pump& pump)
{
    kernel::World& now = world();
    now.broker = Broker::answers;
    now.most_written = now.most_spliced = 1 << 20;
    now.most_files = 1000;
    now.cannot_watch = now.signals_late = now.says_nothing = false;
    now.batch = 64;
    for (int turn = 0; turn < 1000; ++turn) {
        const std::uint64_t calls = now.calls; // an idle relay makes no calls
        kernel::answer_pending();
        for (auto& [fd, file] : now.files) {
            kernel::read(file, 1 << 30);
            kernel::give_room(file);
        }
        const int pause = pump.tick();
        if (kernel::has_events())
            relay::dispatch(epoll, pause);
        else if (pause >= 0)
            now.clock += pause;
        else if (now.calls == calls)
            return;
    }
    must(false); // the relay spins
}

// Checks a connection of which neither side closed or was reset.
void check_whole(const File& client, const File& broker)
{
    must(client.end != End::reset && broker.end != End::reset);
    must(broker.out == client.in && client.out == broker.in);
    must((broker.end != End::none) == client.has_sent_end);
    must((client.end != End::none) == broker.has_sent_end);
    must(client.is_closed == (client.has_sent_end && broker.has_sent_end));
    must(client.is_closed == broker.is_closed);
}

void check_without_broker(const File& client, const File& broker)
{
    // The broker's close looks like a half-close, or came too late to matter to a client that is
    // done as well.
    if ((broker.is_tcp && broker.has_left) || (broker.is_late && client.has_sent_end)) {
        must(client.end != End::none);
        return;
    }
    must(client.is_closed && broker.is_closed);
    must(client.out == broker.in || (broker.is_tcp && broker.has_reset)); // RST overtakes the bytes
    if (broker.has_reset && !broker.is_late)
        must(client.first_end == End::reset);
    if (broker.has_reset || (client.in > broker.consumed && !broker.has_stopped))
        must(client.end == End::reset);
    else if (!broker.has_stopped)
        must(client.end == End::orderly);
}

void check(const File& client)
{
    if (client.partner < 0) {
        must(client.is_closed && (is_spoilt || client.has_sent_end || client.has_closed));
        must(client.has_closed || client.end == End::reset);
        return;
    }
    const File& broker = world().files[client.partner];
    must(broker.out <= client.in && client.out <= broker.in);
    if (client.has_reset)
        must(client.is_closed && broker.is_closed);
    if (client.has_closed && !broker.has_closed)
        must(broker.end != End::none);
    if (client.has_closed)
        return;
    if (client.end == End::orderly) // an answer that looks complete must be complete
        must(broker.has_sent_end && client.out == broker.in);
    if (is_spoilt)
        return;
    if (client.has_sent_end && client.in == 0 && client.end == End::reset)
        return; // it was taken for one that left while it waited (relay/dial.hpp)
    if (broker.has_closed)
        check_without_broker(client, broker);
    else if (!broker.has_stopped)
        check_whole(client, broker);
}

void check_all()
{
    must(world().backlog.empty());
    for (const int client : clients)
        check(world().files[client]);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    kernel::begin();
    clients.clear();
    is_spoilt = false;
    {
        relay::Pump pump;
        must(!pump.open(epoll));
        relay::Route& route = pump.route(0);
        if (data[0] % 4 != 0)
            route.target.socket = "broker.sock"; // otherwise TCP
        must(!pump.add_listener(UniqueFd(kernel::new_listener()), route));
        world().interrupt = interrupt;
        play(data + 1, size - 1, pump);
        world().interrupt = nullptr;
        settle(pump);
        check_all();
        for (auto& [fd, file] : world().files)
            kernel::close(file);
        settle(pump);
        must(kernel::open_files() == 2); // the listener and the reserve
    }
    kernel::end();
    return 0;
}
