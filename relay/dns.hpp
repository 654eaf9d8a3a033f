// SPDX-License-Identifier: Apache-2.0
// A DNS server that answers every question with "this name does not exist". Of all refusals only
// this one is final at once for the resolver of every agent. After REFUSED and SERVFAIL they try
// again for seconds.
//
// Pure. RFC 1035 4.1 gives the layout. The question is echoed, because clients compare it; RD and
// CD are copied; RA is set. A sender of an OPT record gets one back (RFC 6891 7). An opcode other
// than QUERY is answered NOTIMP. A message that is not exactly one well-formed question gets no
// answer. Neither does an answer (QR), so that two of these servers never talk to each other.
#pragma once

#include "schema/rules/names_table.hpp"

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::relay {

constexpr size_t dns_reply_limit = 12 + 255 + 4 + 11; // header, name, type and class, OPT

// Writes the reply, for which `reply` has room for dns_reply_limit bytes. Returns its size; 0:
// there is no reply.
size_t refuse_name(const uint8_t* query, size_t size, uint8_t* reply);

// What was asked. The name is its labels with dots between them, in bytes of listed_byte().
struct Question {
    char name[rules::longest_listed];
    uint8_t size; // 0: the root
    rules::QuestionType type;
};
// Returns whether `reply` says that a name does not exist, and then what was asked.
bool refused_question(const uint8_t* reply, size_t size, Question& question);

} // namespace anchorhold::relay
