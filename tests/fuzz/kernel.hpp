// SPDX-License-Identifier: Apache-2.0
// A kernel small enough to be steered: the sockets, pipes and events of a relay, and what its peers
// do to them between any two of its system calls. The relay's calls are led here by the linker
// (--wrap), so what runs is the relay's own object code.
//
// Modelled is what the relay builds on (relay/stream.hpp), with the sources of Linux 6 as the
// authority: edges with the mask of the moment they are collected; reads that stop early at urgent
// data and at passed descriptors; errors told once, by whatever call comes first; a close with
// bytes unread; HUP as both directions shut, by whomever. A byte is its place in the stream, so
// nothing is stored: what the relay writes is compared with what must come next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace kernel {

enum class Kind : std::uint8_t { other, listener, client, broker, pipe };
enum class End : std::uint8_t { none, orderly, reset };

// What the relay writes to a socket continues some stream.
struct Span {
    int origin; // descriptor of the socket they came from
    std::uint64_t at;
    std::uint64_t size;
};

// The relay's side of something, and what its peer knows of it.
struct File {
    Kind kind = Kind::other;
    bool is_tcp = false;

    std::uint32_t interest = 0;
    void* data = nullptr; // null: not watched
    bool edge = false;

    std::uint64_t in = 0;             // the peer has written
    std::uint64_t taken = 0;          // of which the relay has read
    std::vector<std::uint64_t> stops; // a read does not go past these
    std::uint64_t urgent = 0;         // 1 + the place of the urgent byte

    std::uint64_t out = 0;        // the relay has written
    std::uint64_t consumed = 0;   // of which the peer has read
    std::uint64_t room = 100'000; // for what is not consumed
    int origin = -1;              // whose bytes these are
    bool needs_room = false;      // a write did not fit: SOCK_NOSPACE

    bool read_shut = false;
    bool write_shut = false;
    int error = 0;
    bool lingers_not = false;
    bool is_closed = false; // by the relay

    bool is_accepted = false;  // clients
    bool is_connected = false; // brokers
    bool is_asked = false;     // TCP: a SYN was sent
    bool is_pending = false;   // TCP: and is not answered
    int partner = -1;          // who it was joined to

    bool has_sent_end = false;     // the peer's SHUT_WR or close
    bool has_stopped = false;      // the peer's SHUT_RD
    bool has_closed = false;       // the peer's close, of whatever kind
    bool has_left = false;         // its close with nothing unread
    bool is_late = false;          // it closed, in whatever way, after its end was sent
    bool has_reset = false;        // the peer's RST, or its close with bytes unread
    End end = End::none;           // as the peer sees it
    End first_end = End::none;     // behind FIN nobody sees an RST any more
    std::uint64_t half_closed = 0; // the relay's how many'th call that was

    std::vector<Span> spans; // of a pipe, kept with its end for writing
    int other_end = -1;
};

// What a broker's listening socket says.
enum class Broker : std::uint8_t { answers, is_busy, is_away, refuses };

struct World {
    std::map<int, File> files;
    std::vector<int> backlog; // clients not accepted yet
    int next = 1000;
    Broker broker = Broker::answers;
    std::int64_t clock = 1; // milliseconds

    // What goes wrong, until it is set back.
    std::size_t most_files = 1000;
    std::size_t most_written = 1 << 20; // by one call
    std::uint64_t most_spliced = 1 << 20;
    bool says_nothing = false; // splice(2) at urgent data: 0 in place of EAGAIN
    bool cannot_watch = false;
    bool signals_late = false; // SIGPIPE behind a success

    bool has_sigpipe = false;
    unsigned batch = 64; // events in one go
    unsigned shift = 0;  // which comes first

    std::uint64_t calls = 0; // of the relay, that moved something or tried to

    // Called on entry to every system call of these.
    void (*interrupt)() = nullptr;
};

World& world();
bool is_running();
void begin(); // a fresh one; from here to end() the relay's calls come here
void end();

int new_listener();
int new_client(); // connects: its descriptor once it will have been accepted

// What peers do; each does nothing where it cannot be done any more. Sizes are cut to what fits.
void write(File& file, std::uint64_t size);
void read(File& file, std::uint64_t size);
void write_urgent(File& file);
void pass_descriptor(File& file); // with a byte
void stop_reading(File& file);
void stop_writing(File& file);
void close(File& file);
void reset(File& file);
void reset_by_peer(File& file); // its RST, or its Unix close with bytes unread
void give_room(File& file);     // a write that did not fit may be tried again
void answer_pending();          // the SYNs, as the broker's state is

std::uint32_t mask_of(const File& file);   // as poll(2) sees it
std::uint32_t events_of(const File& file); // as epoll_wait(2) does
bool has_events();

// What the calls have in common.
int fail(int number);     // -1, with errno set
File& file_of(int fd);    // which must be open
File& enter(int fd);      // the same, and something else may happen first
int open_file(Kind kind); // a descriptor, or EMFILE
std::size_t open_files();

} // namespace kernel
