// SPDX-License-Identifier: Apache-2.0
#include "relay/dns.hpp"

#include "tests/fuzz/entry.hpp"

#include <algorithm>

using namespace anchorhold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::uint8_t reply[relay::dns_reply_limit];
    const std::size_t reply_size = relay::refuse_name(data, size, reply);
    must(reply_size <= sizeof reply);
    if (reply_size == 0)
        return 0;
    must(reply_size >= 12 && reply[0] == data[0] && reply[1] == data[1]);
    must((reply[2] & 0x80) != 0 && (reply[3] & 0x0f) != 0);
    if (reply_size > 12) // the question comes back as it was asked
        must(std::equal(data + 12, data + 17, reply + 12));
    relay::AskedName question = {};
    must(relay::refused_question(reply, reply_size, question) == (reply_size > 12));
    must(question.size <= sizeof question.name);
    std::uint8_t again[relay::dns_reply_limit];
    must(relay::refuse_name(reply, reply_size, again) == 0);
    return 0;
}
