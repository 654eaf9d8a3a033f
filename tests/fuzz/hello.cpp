// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/hello.hpp"

#include "tests/fuzz/entry.hpp"

using namespace anchorhold;

// Bytes that come later must never turn a verdict round, or the way in which a client cuts its
// bytes would decide.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using Kind = gate::Hello::Kind;
    const gate::Hello whole = gate::read_hello({data, size});
    must(whole.kind == Kind::hello || (whole.server_name.empty() && !whole.has_ech));
    bool finished = false;
    for (std::size_t part = 0; part <= size; ++part) {
        const gate::Hello first = gate::read_hello({data, part});
        must(!finished || first.kind == whole.kind);
        finished = finished || first.kind != Kind::unfinished;
        if (finished)
            must(first.kind == whole.kind && first.server_name == whole.server_name &&
                 first.has_ech == whole.has_ech);
    }
    return 0;
}
