// SPDX-License-Identifier: Apache-2.0
#include "relay/dns.hpp"

#include <string.h>

namespace anchorhold::relay {
namespace {

constexpr size_t header_size = dns_header_size;
constexpr size_t name_limit = 255;
constexpr size_t record_size = 10; // type, class, TTL, length
constexpr unsigned type_opt = 41;

unsigned number_at(const uint8_t* bytes)
{
    return static_cast<unsigned>(bytes[0]) << 8 | bytes[1];
}

// Returns the offset behind the name at `at`; 0: the name is malformed. A pointer ends a name. It
// is malformed in the question, which has nothing before it to point to.
size_t skip_name(const uint8_t* query, size_t size, size_t at)
{
    const size_t start = at;
    while (at < size && at - start < name_limit) {
        const size_t length = query[at];
        if (length == 0)
            return at + 1;
        if (length >= 0xc0)
            return start > header_size && at + 2 <= size ? at + 2 : 0;
        if (length > 63)
            return 0;
        at += 1 + length;
    }
    return 0;
}

enum class Records : uint8_t { malformed, plain, with_opt };

Records read_additional(const uint8_t* query, size_t size, size_t at, unsigned count)
{
    auto found = Records::plain;
    for (; count > 0; --count) {
        const size_t name = at;
        at = skip_name(query, size, at);
        if (at == 0 || size - at < record_size)
            return Records::malformed;
        if (query[name] == 0 && number_at(query + at) == type_opt)
            found = Records::with_opt;
        const size_t data = number_at(query + at + 8);
        if (size - at - record_size < data)
            return Records::malformed;
        at += record_size + data;
    }
    return found;
}

void write_header(const uint8_t* query, uint8_t code, uint8_t* reply)
{
    constexpr uint8_t answer = 0x80, opcode = 0x78, recursion_desired = 0x01;
    constexpr uint8_t recursion_available = 0x80, checking_disabled = 0x10;
    memset(reply, 0, header_size);
    memcpy(reply, query, 2);
    reply[2] = static_cast<uint8_t>(answer | (query[2] & (opcode | recursion_desired)));
    reply[3] = static_cast<uint8_t>(recursion_available | (query[3] & checking_disabled) | code);
}

} // namespace

Query read_query(const uint8_t* query, size_t size, Question& question)
{
    if (size < header_size || (query[2] & 0x80) != 0)
        return Query::unanswered;
    if ((query[2] & 0x78) != 0)
        return Query::not_implemented;
    const bool one_question =
        number_at(query + 4) == 1 && number_at(query + 6) == 0 && number_at(query + 8) == 0;
    const size_t name_end = skip_name(query, size, header_size);
    if (!one_question || name_end == 0 || size - name_end < 4)
        return Query::unanswered;
    question.end = name_end + 4;
    question.type = number_at(query + name_end);
    question.net = number_at(query + name_end + 2);
    const Records more = read_additional(query, size, question.end, number_at(query + 10));
    question.with_opt = more == Records::with_opt;
    return more == Records::malformed ? Query::unanswered : Query::question;
}

size_t begin_reply(const uint8_t* query, const Question& question, uint8_t code, uint8_t* reply)
{
    write_header(query, code, reply);
    reply[5] = 1;
    memcpy(reply + header_size, query + header_size, question.end - header_size);
    return question.end;
}

size_t refuse_opcode(const uint8_t* query, uint8_t* reply)
{
    constexpr uint8_t not_implemented = 4;
    write_header(query, not_implemented, reply);
    return header_size;
}

size_t add_opt(uint8_t* reply, size_t size)
{
    constexpr uint8_t opt[11] = {0, 0, type_opt, 1232 >> 8, 1232 & 255}; // version 0, no data
    reply[11] = 1;
    memcpy(reply + size, opt, sizeof opt);
    return size + sizeof opt;
}

size_t refuse_name(const uint8_t* query, size_t size, uint8_t* reply)
{
    Question question;
    switch (read_query(query, size, question)) {
    case Query::unanswered: return 0;
    case Query::not_implemented: return refuse_opcode(query, reply);
    case Query::question: break;
    }
    const size_t end = begin_reply(query, question, dns_name_error, reply);
    return question.with_opt ? add_opt(reply, end) : end;
}

// The reply is one of refuse_name(), so the question in it is well-formed.
bool refused_question(const uint8_t* reply, size_t size, AskedName& asked)
{
    constexpr unsigned type_a = 1, type_aaaa = 28;
    if (size <= header_size)
        return false; // NOTIMP, without a question, or no reply
    size_t at = header_size;
    asked.size = 0;
    for (size_t label = reply[at]; label != 0; label = reply[at]) {
        if (asked.size != 0)
            asked.name[asked.size++] = '.';
        for (size_t end = ++at + label; at < end; ++at)
            asked.name[asked.size++] = rules::listed_byte(reply[at]);
    }
    const unsigned type = number_at(reply + at + 1);
    asked.type = type == type_a      ? rules::QuestionType::a
                 : type == type_aaaa ? rules::QuestionType::aaaa
                                     : rules::QuestionType::other;
    return true;
}

} // namespace anchorhold::relay
