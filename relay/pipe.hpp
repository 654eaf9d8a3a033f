// SPDX-License-Identifier: Apache-2.0
// What TCP brings in bulk need not be copied: splice(2) moves it from one socket through a pipe to
// the other by passing the kernel's pages on. Of the relay's own CPU time that costs a half to a
// third (integration/bench); for small messages it costs more. From a Unix socket it costs twice
// what copying does with a buffer of 256 KiB.
//
// A pipe is held only while there is something in it. The last one emptied is kept for whoever is
// next, until a connection ends: an idle relay has none. Where none is to be had (out of
// descriptors) bytes are copied as ever. The user's quota of pipe pages, which the agent's own
// processes share (pipe-user-pages-soft), makes pipes small, never impossible.
#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace anchorhold::relay {

struct Pipe {
    int read_end;
    int write_end;
};

// An empty one, or false.
bool take_pipe(Pipe& pipe);
// Takes an empty one back.
void give_pipe(const Pipe& pipe);
void close_pipe(const Pipe& pipe);
void close_spare_pipe();

// The container's seccomp profile, which is ours too, may refuse splice(2): then nobody gets a pipe
// any more. `number` is fill_pipe's errno; true if it says so.
bool give_up_pipes(int number);

// As much as is there and fits, without waiting. As read(2), except that 0 does not mean the end:
// nothing came, for instance because urgent data stands in the way.
ssize_t fill_pipe(const Pipe& pipe, int from);
// As write(2), without waiting. SIGPIPE must be blocked or ignored.
ssize_t drain_pipe(const Pipe& pipe, int to, size_t size);

} // namespace anchorhold::relay
