// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/kernel.hpp"

#include "tests/fuzz/entry.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/epoll.h>

using anchorhold::must;

namespace kernel {
namespace {

std::optional<World> current;

bool is_peer_able(const File& file)
{
    return !file.has_closed && file.end != End::reset &&
           (file.kind == Kind::client || file.is_connected);
}

} // namespace

std::uint32_t mask_of(const File& file)
{
    std::uint32_t mask = 0;
    if (file.kind == Kind::listener)
        return current->backlog.empty() ? 0U : EPOLLIN;
    if (file.is_pending)
        return 0;
    if (file.in > file.taken || file.read_shut)
        mask |= EPOLLIN;
    if (file.read_shut)
        mask |= EPOLLRDHUP;
    if (file.read_shut && file.write_shut)
        mask |= EPOLLHUP;
    if (file.error != 0)
        mask |= EPOLLERR;
    if (file.urgent > file.taken)
        mask |= EPOLLPRI;
    if (!file.needs_room || file.write_shut)
        mask |= EPOLLOUT;
    return mask;
}

std::uint32_t events_of(const File& file)
{
    if (file.data == nullptr || file.is_closed || ((file.interest & EPOLLET) != 0 && !file.edge))
        return 0;
    return mask_of(file) & (file.interest | EPOLLERR | EPOLLHUP);
}

World& world()
{
    return *current;
}

bool is_running()
{
    return current.has_value();
}

void begin()
{
    current.emplace();
}

void end()
{
    current.reset();
}

int new_listener()
{
    File& file = current->files[current->next];
    file.kind = Kind::listener;
    return current->next++;
}

int new_client()
{
    File& file = current->files[current->next];
    file.kind = Kind::client;
    file.is_tcp = true;
    current->backlog.push_back(current->next);
    return current->next++;
}

void write(File& file, std::uint64_t size)
{
    constexpr std::uint64_t most_unread = 300'000;
    if (!is_peer_able(file) || file.has_sent_end || file.is_closed || size == 0)
        return;
    file.in += std::min(size, most_unread - std::min(most_unread, file.in - file.taken));
    file.edge = true;
}

void read(File& file, std::uint64_t size)
{
    if (!is_peer_able(file) || file.has_stopped)
        return;
    file.consumed += std::min(size, file.out - file.consumed);
    if (file.out - file.consumed < file.room / 2)
        give_room(file);
}

void give_room(File& file)
{
    if (!file.needs_room || file.out - file.consumed >= file.room)
        return;
    file.needs_room = false;
    file.edge = true;
}

void write_urgent(File& file)
{
    if (!is_peer_able(file) || file.has_sent_end || !file.is_tcp || file.is_closed)
        return;
    file.stops.push_back(file.in);
    file.urgent = file.in + 1;
    ++file.in;
    file.edge = true;
}

void pass_descriptor(File& file)
{
    if (!is_peer_able(file) || file.has_sent_end || file.is_tcp || file.is_closed)
        return;
    file.stops.push_back(++file.in);
    file.edge = true;
}

void stop_writing(File& file)
{
    if (!is_peer_able(file) || file.has_sent_end)
        return;
    file.has_sent_end = true;
    file.read_shut = true;
    file.edge = true;
}

void stop_reading(File& file)
{
    if (!is_peer_able(file) || file.is_tcp || file.has_stopped) // TCP tells nobody of it
        return;
    file.has_stopped = true;
    file.write_shut = true;
    file.edge = true;
}

void reset_by_peer(File& file)
{
    file.error = ECONNRESET;
    file.read_shut = file.write_shut = true;
    file.has_reset = file.has_closed = true;
    file.is_late = file.has_sent_end;
    file.edge = true;
}

void close(File& file)
{
    if (!is_peer_able(file) || file.is_closed) // nobody hears of it
        return;
    if (file.out != file.consumed)
        return reset_by_peer(file);
    file.is_late = file.has_sent_end;
    file.has_sent_end = file.has_closed = file.has_left = true;
    file.read_shut = true;
    if (!file.is_tcp)
        file.write_shut = true;
    file.edge = true;
}

void reset(File& file)
{
    if (file.is_closed || !file.is_tcp)
        return close(file); // a Unix socket has no other way to do this
    if (is_peer_able(file))
        reset_by_peer(file);
}

void answer_pending()
{
    for (auto& [fd, file] : current->files) {
        if (!file.is_pending || current->broker == Broker::is_busy)
            continue;
        file.is_pending = false;
        file.is_connected = current->broker == Broker::answers;
        if (!file.is_connected)
            file.error = ECONNREFUSED;
        file.edge = true;
    }
}

bool has_events()
{
    return std::ranges::any_of(current->files,
                               [](const auto& it) { return events_of(it.second) != 0; });
}

std::size_t open_files()
{
    return static_cast<std::size_t>(std::ranges::count_if(current->files, [](const auto& it) {
        const File& file = it.second;
        return !file.is_closed && (file.kind != Kind::client || file.is_accepted);
    }));
}

int fail(int number)
{
    errno = number;
    return -1;
}

File& file_of(int fd)
{
    const auto found = world().files.find(fd);
    must(found != world().files.end() && !found->second.is_closed);
    return found->second;
}

File& enter(int fd)
{
    ++world().calls;
    if (world().interrupt != nullptr)
        world().interrupt();
    return file_of(fd);
}

int open_file(Kind kind)
{
    if (open_files() >= world().most_files)
        return fail(EMFILE);
    world().files[world().next].kind = kind;
    return world().next++;
}

} // namespace kernel
