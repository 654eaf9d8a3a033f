// SPDX-License-Identifier: Apache-2.0
// The ways out that an agent might try from inside, one function each. A test compares the answers
// of a confined container with those of the same attempts without us.
#pragma once

#include <string>

namespace attempt {

struct Outcome {
    int error = 0;      // 0: it got through
    std::string detail; // what came back, for the reader of a failed test
};

// Returns the number in an argument; 0 when it is none.
long number_in(const std::string& text);

// Over IP. `to` is ADDRESS:PORT or [ADDRESS]:PORT.
Outcome tcp(const std::string& to);
Outcome udp(const std::string& to);
// Sends one datagram, which may be broadcast: TEXT@ADDRESS:PORT[@device=LINK][@source=ADDRESS:0].
// It is bound to the link, or to the source, whosever that is. It got through when it was sent.
Outcome say(const std::string& text_and_to);
Outcome dns_udp(const std::string& server);
Outcome dns_tcp(const std::string& server);
Outcome ping(const std::string& address);         // ICMP socket of its own kind
Outcome raw_ping(const std::string& address);     // raw socket
Outcome tcp_in_userns(const std::string& to);     // after unshare(CLONE_NEWUSER)
Outcome listen_for_caller(const std::string& at); // prints "listening", then waits for one

// Runs a command in a shell; it got through when the command succeeds.
Outcome shell(const std::string& command);

// Asks the model: POSTs a question to 127.0.0.1:PORT and prints the answer.
Outcome ask(const std::string& port);
// Does the same; every piece of the answer is acknowledged by GET /heard/N on a connection of its
// own before the next one is read, so an answer held back by anybody between deadlocks.
Outcome ask_stepwise(const std::string& port);

// Round a network namespace, or at it.
Outcome abstract_socket(const std::string& name);
Outcome socket_of(const std::string& family_and_type); // "40:1"
Outcome wide_socket(const std::string& family);        // the family in a 64-bit register
Outcome i386_socketcall(const std::string& family);
Outcome i386_socket(const std::string& family);
Outcome x32_socket(const std::string& family);
Outcome io_uring(const std::string&);
Outcome request_key(const std::string&);
Outcome tun(const std::string& directory);          // its own device node, made there
Outcome nft_table(const std::string& name);         // add a table
Outcome net_capabilities(const std::string&);       // holds or may gain CAP_NET_ADMIN or _RAW
Outcome peer_descriptor(const std::string& socket); // pidfd_getfd(2) on whoever serves it
Outcome park_namespace(const std::string& socket);  // send our netns away by SCM_RIGHTS
Outcome trace(const std::string& pid);              // ptrace(2) attach
Outcome bind_port(const std::string& port);         // 127.0.0.1:PORT, as the relay's

} // namespace attempt
