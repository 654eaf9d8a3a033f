// SPDX-License-Identifier: Apache-2.0
// The duties of a container's first process towards the command that it stands in front of: the
// command must see no difference.
//
// Order. First, descriptors 0-2 are filled where they are closed, so that nothing of ours takes
// their numbers. Then DUMPABLE is switched off, every signal is blocked and the terminal is given
// up. Then the command's process is forked, before anything else is opened, raised or changed. So
// its descriptors, limits, signal dispositions, umask and directory need not be restored: they are
// still the original ones. Only the signal mask is put back. The command's process then waits on a
// pipe. Meanwhile the relay closes what it inherited, checks, listens and drops every capability.
// Only then does it write the byte that lets the command go. If it cannot, the pipe closes, and the
// command's process ends without having run anything. DUMPABLE must be off before the fork. When it
// was switched off after it, a static command that starts at once was faster, and could use ptrace
// and pidfd_getfd on the relay (measured). The command's own execve switches it on again for the
// command.
//
// Signals. All are blocked and read from a signalfd. All but SIGCHLD are passed to the command
// alone, because the runtime's kill reaches only the first process when there is no relay. The
// masks are set by the bare system call: libc keeps signals 32 and 33 for itself and would leave
// them out. SIGCHLD may have been inherited as ignored; the kernel would then reap children before
// we see them. So it is set to its default here, after the fork, and stays ignored for the command.
//
// End. Only waitpid(2) decides, in a loop, because SIGCHLDs merge. When the command ends, the relay
// ends with its status, or with 128 + the signal. Orphans are reaped on the way. If the relay dies,
// the kernel ends everything in the container where the relay is process 1. Where it is not,
// PDEATHSIG ends the command, and the relay becomes the subreaper, so that orphans come to it.
//
// Step-aside mode is for a command that must be process 1 itself (systemd, s6-svscan). Then the
// roles change: the process that was started waits for the byte and becomes the command, and the
// relay is its child, made by clone(2) without an exit signal. wait(2) without __WALL or __WCLONE,
// as every init calls it, does not see such a child, neither alive nor dead. A double fork would
// not do: a process that is reparented to process 1 gets SIGCHLD as its exit signal (kernel/exit.c,
// reparent_leader). The relay leads a session of its own without a terminal and dies with the pid
// namespace. It blocks every signal, so only SIGKILL ends it and SIGSTOP stops it.
#pragma once

#include "relay/failure.hpp"
#include "relay/watch.hpp"
#include "schema/unique_fd.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/types.h>

namespace anchorhold::relay {

enum class Role : uint8_t { relay, command };

// The two processes, as each of them sees it after the fork.
struct Start {
    Role role = Role::relay;
    pid_t first = 0;          // the process that was started
    pid_t command = 0;        // known only to a relay that forked it
    uint64_t signal_mask = 0; // as inherited
    UniqueFd go; // the writing end in the relay, the reading end in the command's process
};

void fill_standard_descriptors();
Failure fork_command(Start& start);
// Forks for step-aside mode. Refuses when this is not process 1, because nothing would end the
// relay with the command.
Failure fork_relay(Start& start);

// The relay's word to the command's process.
enum class Word : uint8_t {
    go,      // run the command
    refused, // the relay has given up and said why
    none,    // the relay ended without a word
};
// Tells the command's process to go, or that the relay has given up and said why. The relay calls
// it. A process that was killed meanwhile is reaped by the relay.
void give_word(Start& start, Word word);
// Waits for the relay's word. The command's process calls it. Where the process was forked, it gets
// a session of its own and the terminal. Returns `none` when the relay ended without a word.
Word await_word(const Start& start);

// Starts a session without a terminal, for the relay in step-aside mode. Changes the first letter
// of `name`, which is argv[0], to '@'. systemd's last sweep waits for processes that TERM did not
// end, 90 s by default. It passes over processes of root whose name begins with '@' (its
// documentation, "Root Storage Daemons").
void step_aside(char* name);

// Closes the descriptors from 3 on that the relay inherited, and raises RLIMIT_NOFILE to its hard
// limit.
void leave_inheritance(const Start& start);
// Drops every capability, and every way to gain one.
Failure drop_privileges();
// Makes 0-2 /dev/null: while we hold stdout open, a reader of the log would wait.
void close_standard_descriptors();

// The init: forwards signals and reaps. It must not move, because events point into it.
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
