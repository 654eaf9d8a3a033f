// SPDX-License-Identifier: Apache-2.0
// Probes whether a run's packets get through. Another table may still drop what ours accept: an
// accept is final only in its own chain, and a host with Docker, ufw or firewalld has a later
// chain. So the set-up ends with connections from inside the container's namespace.
#pragma once

#include "hooks/net/netns.hpp"

namespace anchorhold {

// Connects from inside to each of the run's broker ports at the host's end. A broker that listens
// sees a connection that ends at once. A refusal, because no broker listens, is as good an answer.
// Without an answer within three seconds the error is network_setup_failed, and it names the host's
// tables.
Status probe_brokers(const Record& record, const net::Netns& netns,
                     const state::Deadline& deadline);

// Begins connections from inside to a few tcp destinations of the allow list. Then asks the host's
// connection tracking whether one left: it remembers (confirms) a connection whose packet has
// passed every chain. Whether anybody answers does not matter. A reset counts as success, although
// it may come from a firewall. The error is as above.
//
// Asks nothing if the list names no tcp destination to which the host has a route. A kernel without
// connection tracking that can be asked is noted in the record.
Status probe_forwarding(Record& record, const net::Netns& netns, const state::Deadline& deadline);

} // namespace anchorhold
