// SPDX-License-Identifier: Apache-2.0
// A model of the kernel, small enough to be steered: the sockets, pipes and events of a relay, and
// what its peers do to them between any two of its system calls. The linker leads the relay's calls
// here (--wrap), so the code that runs is the relay's own.
//
// The model has what the relay builds on (relay/stream.hpp), as the sources of Linux 6 have it:
// edges with the mask of the moment when they are collected; reads that stop early at urgent data
// and at passed descriptors; errors told once, by whatever call comes first; a close with bytes
// unread; HUP once both directions are shut, by whomever. A byte is its place in the stream, so
// nothing is stored: what the relay writes is compared with what must come next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace kernel {

enum class Kind : std::uint8_t { other, listener, client, broker, pipe };
enum class End : std::uint8_t { none, orderly, reset };

// A part of a stream.
struct Span {
    int origin; // descriptor of the socket that the bytes came from
    std::uint64_t at;
    std::uint64_t size;
};

// One descriptor: the relay's side, and what its peer knows.
struct File {
    Kind kind = Kind::other;
    bool is_tcp = false;

    std::uint32_t interest = 0;
    void* data = nullptr; // null: not watched
    bool edge = false;

    std::uint64_t in = 0;             // bytes that the peer has written
    std::uint64_t taken = 0;          // bytes of `in` that the relay has read
    std::vector<std::uint64_t> stops; // places which a read does not cross
    std::uint64_t urgent = 0;         // place of the urgent byte + 1; 0: none

    std::uint64_t out = 0;        // bytes that the relay has written
    std::uint64_t consumed = 0;   // bytes of `out` that the peer has read
    std::uint64_t room = 100'000; // for bytes that are not consumed
    int origin = -1;              // descriptor of the socket that the bytes came from
    bool needs_room = false;      // a write did not fit: SOCK_NOSPACE

    bool read_shut = false;
    bool write_shut = false;
    int error = 0;
    bool lingers_not = false;
    bool is_closed = false; // the relay has closed it

    bool is_accepted = false;  // of a client
    bool is_connected = false; // of a broker
    bool is_asked = false;     // TCP: a SYN was sent
    bool is_pending = false;   // TCP: the SYN is not answered yet
    int partner = -1;          // descriptor that it was joined to

    bool has_sent_end = false;     // the peer's SHUT_WR or close
    bool has_stopped = false;      // the peer's SHUT_RD
    bool has_closed = false;       // the peer's close, of whatever kind
    bool has_left = false;         // the peer's close with nothing unread
    bool is_late = false;          // the peer closed, in whatever way, after its end was sent
    bool has_reset = false;        // the peer's RST, or its close with bytes unread
    End end = End::none;           // as the peer sees it
    End first_end = End::none;     // behind FIN no peer sees an RST any more
    std::uint64_t half_closed = 0; // number of the relay's call that half-closed it

    std::vector<Span> spans; // content of a pipe, kept at its end for writing
    int other_end = -1;
};

// The answer of a broker's listening socket.
enum class Broker : std::uint8_t { answers, is_busy, is_away, refuses };

struct World {
    std::map<int, File> files;
    std::vector<int> backlog; // clients not accepted yet
    int next = 1000;
    Broker broker = Broker::answers;
    std::int64_t clock = 1; // milliseconds

    // Faults, which last until they are set back.
    std::size_t most_files = 1000;
    std::size_t most_written = 1 << 20; // by one call
    std::uint64_t most_spliced = 1 << 20;
    bool says_nothing = false; // splice(2) at urgent data returns 0 in place of EAGAIN
    bool cannot_watch = false;
    bool signals_late = false; // SIGPIPE is raised though the call succeeds

    bool has_sigpipe = false;
    unsigned batch = 64; // events handed out at once
    unsigned shift = 0;  // which event comes first

    std::uint64_t calls = 0; // number of the relay's calls that moved something or tried to

    // Called on entry to each of the relay's system calls that go through enter().
    void (*interrupt)() = nullptr;
};

World& world();
bool is_running();
void begin(); // begins with a fresh world; until end() the relay's calls come here
void end();

int new_listener();
int new_client(); // connects; returns the descriptor that it will have once it is accepted

// The actions of peers. Each does nothing where it cannot be done any more. Sizes are cut to what
// fits.
void write(File& file, std::uint64_t size);
void read(File& file, std::uint64_t size);
void write_urgent(File& file);
void pass_descriptor(File& file); // together with a byte
void stop_reading(File& file);
void stop_writing(File& file);
void close(File& file);
void reset(File& file);
void reset_by_peer(File& file); // the peer's RST, or its close of a Unix socket with bytes unread
void give_room(File& file);     // a write that did not fit may be tried again
void answer_pending();          // answers the SYNs, as the broker's state is

std::uint32_t mask_of(const File& file);   // as poll(2) sees them
std::uint32_t events_of(const File& file); // as epoll_wait(2) does
bool has_events();

// The parts that the calls share.
int fail(int number);     // returns -1, with errno set
File& file_of(int fd);    // the descriptor must be open
File& enter(int fd);      // the same, but something else may happen first
int open_file(Kind kind); // returns a descriptor, or fails with EMFILE
std::size_t open_files();

} // namespace kernel
