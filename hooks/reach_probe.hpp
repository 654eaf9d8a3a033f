// SPDX-License-Identifier: Apache-2.0
// What we accept another table may still drop: accept is final within its own chain only, and a
// host with Docker, ufw or firewalld has a later one. So the set-up ends with the container's own
// question.
#pragma once

#include "hooks/net/netns.hpp"

namespace anchorhold {

// Connects from inside to each of the run's broker ports at the host's end. A broker that listens
// sees a connection that ends at once; one that does not, and so refuses, is as good an answer. No
// answer within three seconds is network_setup_failed, with the host's tables by name.
Status probe_brokers(const Record& record, const net::Netns& netns,
                     const state::Deadline& deadline);

// Begins, from inside, connections to a few destinations the allow list names for tcp, and asks the
// host's connection tracking whether one left: it remembers (confirms) what has passed every chain.
// Whether anybody answers does not matter; a reset may be a firewall's, and is let pass. Failures
// as above. Nothing is asked where the list has no such destination that the host has a route to;
// a kernel that cannot be asked is noted in the record.
Status probe_forwarding(Record& record, const net::Netns& netns, const state::Deadline& deadline);

} // namespace anchorhold
