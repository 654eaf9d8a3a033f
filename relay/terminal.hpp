// SPDX-License-Identifier: Apache-2.0
// The owner of the terminal. In a container with a terminal the first process leads the session and
// has it as its controlling terminal. The command needs both, and the relay must have none: then
// hang-ups, window sizes and ^C go from the kernel straight to the command.
#pragma once

namespace anchorhold::relay {

// Gives up the terminal at descriptor 0 if this process leads its session. Every signal must be
// blocked. The kernel sends the leader SIGHUP and SIGCONT when it gives up the terminal. They are
// taken back here, because they would otherwise be forwarded to the command that has just started.
void release_terminal();

// Takes the terminal, in the command's process, after setsid(2). A failure is never fatal (ENOTTY
// is the usual case). The command then has no job control, like any process whose terminal belongs
// to another session.
void take_terminal();

} // namespace anchorhold::relay
