// SPDX-License-Identifier: Apache-2.0
// Questions of DNS read and replies to them written; and a server that answers every question with
// "this name does not exist". Of all refusals only this one is final at once for the resolver of
// every agent. After REFUSED and SERVFAIL they try again for seconds.
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

constexpr size_t dns_header_size = 12;
constexpr size_t dns_reply_limit = dns_header_size + 255 + 4 + 11; // name, type and class, OPT
constexpr uint8_t dns_name_error = 3;

enum class Query : uint8_t {
    unanswered,      // it is no query, or malformed
    not_implemented, // its opcode is another than QUERY
    question,
};

// The one question of a query. Its name begins behind the header, and has no pointer in it.
struct Question {
    size_t end = 0; // offset behind its class
    unsigned type = 0;
    unsigned net = 0; // its class
    bool with_opt = false;
};

Query read_query(const uint8_t* query, size_t size, Question& question);

// Writes the header of a reply with this code, and the question. Returns their size.
size_t begin_reply(const uint8_t* query, const Question& question, uint8_t code, uint8_t* reply);
// Writes the reply to another opcode, which is a header. Returns its size.
size_t refuse_opcode(const uint8_t* query, uint8_t* reply);
// Writes an OPT record of 11 bytes without data, which is the last of a reply that begins at
// `reply`, at `size`. Returns the new size.
size_t add_opt(uint8_t* reply, size_t size);

// Writes the reply, for which `reply` has room for dns_reply_limit bytes. Returns its size; 0:
// there is no reply.
size_t refuse_name(const uint8_t* query, size_t size, uint8_t* reply);

// What was asked. The name is its labels with dots between them, in bytes of listed_byte().
struct AskedName {
    char name[rules::longest_listed];
    uint8_t size; // 0: the root
    rules::QuestionType type;
};
// Returns whether `reply` says that a name does not exist, and then what was asked.
bool refused_question(const uint8_t* reply, size_t size, AskedName& asked);

} // namespace anchorhold::relay
