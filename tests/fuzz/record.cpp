// SPDX-License-Identifier: Apache-2.0
#include "schema/record.hpp"

#include "schema/run_key.hpp"
#include "tests/fuzz/entry.hpp"

using namespace anchorhold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto record = parse_record({reinterpret_cast<const char*>(data), size});
    if (!record)
        return 0;
    must(RunKey::parse(record->key).has_value());
    must(record->generation.find('/') == std::string::npos);
    const auto again = parse_record(to_json(*record));
    must(again && *again == *record);
    return 0;
}
