// SPDX-License-Identifier: Apache-2.0
// The pipes for bulk data. Bulk data from TCP need not be copied: splice(2) moves it from one
// socket through a pipe to the other by passing on the kernel's pages. That saves the relay a half
// to a third of its CPU time (integration/bench). For small messages it costs more than copying.
// From a Unix socket it costs twice what copying with a buffer of 256 KiB does.
//
// A stream holds a pipe only while there is something in it. The pipe that was emptied last is kept
// for the next user until a connection ends, so an idle relay has none. Where there is no pipe to
// be had (out of descriptors), bytes are copied. The user's quota of pipe pages
// (pipe-user-pages-soft), which the agent's own processes share, makes pipes small, but never
// impossible.
#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace anchorhold::relay {

struct Pipe {
    int read_end;
    int write_end;
};

// Hands out an empty pipe; false: there is none.
bool take_pipe(Pipe& pipe);
// Takes an empty pipe back.
void give_pipe(const Pipe& pipe);
void close_pipe(const Pipe& pipe);
void close_spare_pipe();

// Stops the use of pipes if `number`, the errno of fill_pipe, says that splice(2) is not allowed,
// and returns whether it does. The container's seccomp profile, which holds for us too, may refuse
// the call.
bool give_up_pipes(int number);

// Moves as much as is there and fits into the pipe, without waiting. Returns as read(2) does,
// except that 0 does not mean the end. It means that nothing came, for instance because urgent data
// stands in the way.
ssize_t fill_pipe(const Pipe& pipe, int from);
// Moves `size` bytes out of the pipe, without waiting, and returns as write(2) does. SIGPIPE must
// be blocked or ignored.
ssize_t drain_pipe(const Pipe& pipe, int to, size_t size);

} // namespace anchorhold::relay
