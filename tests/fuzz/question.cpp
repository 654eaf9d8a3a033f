// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/question.hpp"

#include "tests/fuzz/entry.hpp"

#include <algorithm>

using namespace anchorhold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const gate::Bytes query(data, size);
    const gate::Asked asked = gate::read_asked(query);
    if (asked.kind != relay::Query::question)
        return 0;
    // What is asked outside is a host name, and nothing else of the query.
    if (asked.name) {
        const std::string name = asked.name->text();
        must(asked.name->is_exact() && !name.empty() && name.size() <= 253);
        must(std::ranges::all_of(name, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                   c == '.';
        }));
    }
    for (const auto outcome :
         {gate::Outcome::refused, gate::Outcome::no_such_name, gate::Outcome::no_data,
          gate::Outcome::failed, gate::Outcome::handle}) {
        gate::Reply reply;
        const std::size_t length =
            gate::write_reply(query, asked.question, outcome, 0xc6130100, reply);
        must(length >= asked.question.end && length <= reply.size());
        must(std::equal(data + 12, data + asked.question.end, reply.data() + 12));
        must(gate::read_asked({reply.data(), length}).kind == relay::Query::unanswered);
    }
    return 0;
}
