// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/question.hpp"

#include <algorithm>
#include <string>

namespace anchorhold::gate {
namespace {

constexpr unsigned type_a = 1;
constexpr unsigned class_in = 1;

char small(std::uint8_t byte)
{
    const char c = static_cast<char>(byte);
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Reads the name behind the header, whose labels were checked. A dot inside a label would make
// another name of it.
std::optional<rules::NamePattern> name_in(Bytes query)
{
    std::string text;
    std::size_t at = relay::dns_header_size;
    while (query[at] != 0) {
        const Bytes label = query.subspan(at + 1, query[at]);
        if (std::ranges::find(label, std::uint8_t{'.'}) != label.end())
            return std::nullopt;
        if (!text.empty())
            text += '.';
        std::ranges::transform(label, std::back_inserter(text), small);
        at += 1 + label.size();
    }
    const auto name = rules::NamePattern::parse(text, Code::invalid_request);
    if (!name || !name->is_exact())
        return std::nullopt;
    return *name;
}

void put(std::uint8_t* at, std::uint32_t number)
{
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        *at++ = static_cast<std::uint8_t>(number >> shift);
}

std::uint8_t code_of(Outcome outcome)
{
    constexpr std::uint8_t server_failure = 2;
    switch (outcome) {
    case Outcome::refused:
    case Outcome::no_such_name: return relay::dns_name_error;
    case Outcome::failed: return server_failure;
    case Outcome::no_data:
    case Outcome::handle: break;
    }
    return 0;
}

std::size_t add_address(Reply& reply, std::size_t size, std::uint32_t address)
{
    constexpr std::array<std::uint8_t, 6> begin{0xc0, 0x0c, 0, type_a, 0, class_in};
    std::ranges::copy(begin, reply.begin() + static_cast<std::ptrdiff_t>(size));
    put(&reply[size + 6], handle_ttl);
    reply[size + 10] = 0;
    reply[size + 11] = 4;
    put(&reply[size + 12], address);
    reply[7] = 1;
    return size + 16;
}

// Appends "blocked" to the OPT record, which is the last of the reply.
std::size_t add_blocked(Reply& reply, std::size_t size)
{
    constexpr std::array<std::uint8_t, 6> blocked{0, 15, 0, 2, 0, 15};
    reply[size - 1] = blocked.size();
    std::ranges::copy(blocked, reply.begin() + static_cast<std::ptrdiff_t>(size));
    return size + blocked.size();
}

} // namespace

Asked read_asked(Bytes query)
{
    Asked asked;
    asked.kind = relay::read_query(query.data(), query.size(), asked.question);
    if (asked.kind != relay::Query::question)
        return asked;
    asked.name = name_in(query);
    asked.wants_address = asked.question.type == type_a && asked.question.net == class_in;
    return asked;
}

std::size_t write_reply(Bytes query, const relay::Question& question, Outcome outcome,
                        std::uint32_t handle, Reply& reply)
{
    std::size_t size = relay::begin_reply(query.data(), question, code_of(outcome), reply.data());
    if (outcome == Outcome::handle)
        size = add_address(reply, size, handle);
    if (!question.with_opt)
        return size;
    size = relay::add_opt(reply.data(), size);
    return outcome == Outcome::refused ? add_blocked(reply, size) : size;
}

} // namespace anchorhold::gate
