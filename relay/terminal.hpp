// SPDX-License-Identifier: Apache-2.0
// Who owns the terminal. The first process of a container with a terminal leads the session and
// has it as its controlling terminal; so must the command, and the relay must have none: then
// hang-ups, window sizes and ^C go from the kernel straight to the command.
#pragma once

namespace anchorhold::relay {

// Gives up the terminal at descriptor 0 if this process leads its session. Every signal must be
// blocked: the kernel sends the leader SIGHUP and SIGCONT for it, which are taken back here and
// would else be forwarded to the command that has just started.
void release_terminal();

// In the command's process, after setsid(2). A failure leaves it without job control, as any
// process whose terminal belongs to another session; never fatal (ENOTTY is the usual case).
void take_terminal();

} // namespace anchorhold::relay
