// SPDX-License-Identifier: Apache-2.0
// DNS as a wall: whatever is asked, the name does not exist. Of all answers this one alone is
// final for every agent's resolver at once; REFUSED and SERVFAIL make them try again for seconds.
//
// Pure. RFC 1035 4.1 gives the layout; the question is echoed (clients compare it), RD and CD are
// copied, RA is set. RFC 6891 7: who sent an OPT record gets one back. What is not one well-formed
// question is not answered at all, and neither is an answer (QR), so that two of us never talk to
// each other; an opcode other than QUERY is answered NOTIMP.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::relay {

constexpr size_t dns_reply_limit = 12 + 255 + 4 + 11; // header, name, type and class, OPT

// The reply's size, 0: none. `reply` has room for dns_reply_limit bytes.
size_t refuse_name(const uint8_t* query, size_t size, uint8_t* reply);

} // namespace anchorhold::relay
