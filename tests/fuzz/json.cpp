// SPDX-License-Identifier: Apache-2.0
#include "schema/json/json.hpp"

#include "schema/json/utf8.hpp"
#include "tests/fuzz/entry.hpp"

using namespace anchorhold;
using namespace anchorhold::json;
using json::Document;
using json::Kind;
using json::View;

namespace {

// Checks that a string's raw text is its value in quotes, and that the value, written again, reads
// the same.
void check_text(const View& value)
{
    const auto bytes = value.bytes();
    must(bytes.has_value() && value.string().has_value() == is_utf8(*bytes));
    must(bytes->find('\0') == std::string::npos);
    if (!value.string())
        return;
    const auto again = Document::parse(json::quote(*bytes));
    must(again && again->root().string() == *bytes);
}

void check(const View& value, json::Span around)
{
    const json::Span span = value.span();
    must(around.begin <= span.begin && span.begin < span.end && span.end <= around.end);
    must(!value.where().empty() && value.size() == value.items().size());
    if (value.kind() == Kind::string)
        check_text(value);
    if (value.kind() != Kind::object && value.kind() != Kind::array)
        must(value.size() == 0);
    std::size_t end = span.begin + 1;
    for (const View& item : value.items()) {
        const json::Span key = item.key_span();
        must((value.kind() == Kind::object) == (key.end != 0));
        if (key.end != 0) {
            must(key.begin >= end && key.end < item.span().begin);
            must(value.find(item.key())->span() == item.span()); // no other member has that key
        }
        check(item, {end, span.end - 1});
        end = item.span().end;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const json::Limits limits{.bytes = 1 << 16, .depth = 16, .values = 1000};
    const auto document =
        Document::parse({reinterpret_cast<const char*>(data), size}, Code::invalid_policy, limits);
    if (!document) {
        must(document.error().code == Code::invalid_policy);
        must(printable(document.error().what, size + 1000) == document.error().what);
        return 0;
    }
    check(document->root(), {0, size});
    // The value reads the same alone: nothing of it depends on where it stands.
    const auto alone = Document::parse(std::string(document->root().raw()));
    must(alone && alone->root().raw() == document->root().raw());
    return 0;
}
