// SPDX-License-Identifier: Apache-2.0
// What the first process of a container owes the command it stands in front of: that nobody can
// tell the difference.
//
// Order. Descriptors 0-2 that are closed are filled, so that nothing of ours takes their numbers.
// DUMPABLE goes off, every signal is blocked, the terminal is given up - and then the command's
// process is forked, before anything else is opened, raised or changed. So its descriptors, limits,
// dispositions, umask and directory are the original ones by construction, not by restoring them;
// only the signal mask is put back. It then waits on a pipe. Meanwhile the relay closes what it
// inherited, looks around, listens, drops every capability, and only then writes the byte that lets
// the command go; if it cannot, the pipe closes and the command's process ends without having run
// anything. DUMPABLE must be off before the fork: a static command that starts at once won the race
// for ptrace and pidfd_getfd when it was switched off after (measured). The command's own execve
// switches it on again for the command.
//
// Signals. All are blocked and read from a signalfd; all but SIGCHLD are passed to the command
// alone, as the runtime's kill reaches the first process alone when there is no relay. The masks
// are set by the bare system call: libc keeps 32 and 33 for itself and would leave them out.
// SIGCHLD may have been inherited as ignored, which would reap children behind our back; it is set
// to its default here, after the fork, and stays ignored for the command.
//
// End. waitpid(2) alone decides, in a loop, because SIGCHLDs merge: the command's end is ours,
// with its status or 128 + the signal; orphans are reaped on the way. If the relay dies, the kernel
// takes everything with it where it is process 1, and PDEATHSIG the command where it is not; there
// it also becomes the subreaper, so that orphans come to it.
//
// Step-aside mode is for a command that must be process 1 itself (systemd, s6-svscan). Then the
// sides change: the process that was started waits for the byte and becomes the command, and the
// relay is its child, by clone(2) with no exit signal. wait(2) without __WALL or __WCLONE, that is
// any init's, does not see such a child, neither alive nor dead; a double fork would not do, as
// what is reparented to process 1 gets SIGCHLD for its exit signal (kernel/exit.c,
// reparent_leader). It leads a session of its own without a terminal, blocks every signal, so that
// only SIGKILL ends it and SIGSTOP holds it, and dies with the pid namespace.
#pragma once

#include "relay/failure.hpp"
#include "relay/watch.hpp"
#include "schema/unique_fd.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/types.h>

namespace anchorhold::relay {

enum class Role : uint8_t { relay, command };

// The two processes, as each sees it after the fork.
struct Start {
    Role role = Role::relay;
    pid_t first = 0;          // the process that was started
    pid_t command = 0;        // known to the relay that forked it
    uint64_t signal_mask = 0; // as inherited
    UniqueFd go;              // the relay's end to write, the command's to read
};

void fill_standard_descriptors();
Failure fork_command(Start& start);
// Step-aside mode; refused to all but process 1, as nothing would end the relay with the command.
Failure fork_relay(Start& start);

enum class Word : uint8_t { go, refused, none };
// In the relay: go, or that it has given up and said why. A command killed meanwhile is reaped.
void give_word(Start& start, Word word);
// In the command's process: own session and terminal where it was forked; none when the relay has
// ended without a word.
Word await_word(const Start& start);

// In the relay of step-aside mode. systemd's last sweep waits for what TERM did not end, 90 s by
// default, but passes over root's processes whose name begins with '@' (its documentation, "Root
// Storage Daemons"): `name` is argv[0] and gets one.
void step_aside(char* name);

// In the relay. Closes what was inherited from 3 on and raises RLIMIT_NOFILE to its hard limit.
void leave_inheritance(const Start& start);
// No capability, no way to gain one.
Failure drop_privileges();
// 0-2 become /dev/null: an open stdout of ours would keep a log's reader waiting.
void close_standard_descriptors();

// Forwards and reaps. Stays where it is: events point into it.
class Init : Watch {
public:
    Init() = default;
    Init(const Init&) = delete;
    Init& operator=(const Init&) = delete;

    Failure open(int epoll, pid_t command);
    bool has_ended() const { return exit_status_ >= 0; }
    int exit_status() const { return exit_status_; }

private:
    static void signals_ready(Watch& self, uint32_t events);
    void forward(const signalfd_siginfo& signal) const;
    void reap();

    UniqueFd signals_;
    pid_t command_ = 0;
    int exit_status_ = -1;
};

} // namespace anchorhold::relay
