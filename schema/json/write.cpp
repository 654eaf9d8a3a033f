// SPDX-License-Identifier: Apache-2.0
// The changing of a text by splices, and the writing of a new one.
#include "schema/json/json.hpp"
#include "schema/json/utf8.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace anchorhold::json {
namespace {

// Returns the two-letter escape of RFC 8259 section 7, or nothing.
std::string_view short_escape(char character)
{
    switch (character) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return {};
    }
}

} // namespace

std::string splice(std::string_view text, const std::vector<Splice>& splices)
{
    std::vector<const Splice*> order;
    for (const Splice& one : splices)
        order.push_back(&one);
    // At one place the inserts come first, in the order given, then the replacement.
    std::ranges::sort(order, {}, [](const Splice* one) {
        return std::tuple(one->span.begin, one->span.begin != one->span.end, one);
    });
    std::string out;
    std::size_t done = 0;
    for (const Splice* one : order) {
        const Span span = one->span;
        if (span.begin < done || span.end < span.begin || span.end > text.size())
            std::abort();
        out += text.substr(done, span.begin - done);
        out += one->text;
        done = span.end;
    }
    out += text.substr(done);
    return out;
}

std::string quote(std::string_view text)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    while (!text.empty()) {
        const Utf8Step step = utf8_step(text);
        const std::size_t length = step.length == 0 ? 1 : step.length;
        if (step.length == 0) {
            out += "\xef\xbf\xbd"; // U+FFFD
        } else if (const auto escape = short_escape(text.front()); !escape.empty()) {
            out += escape;
        } else if (step.point < 0x20) {
            out.append("\\u00").append({digits[step.point >> 4], digits[step.point & 0xf]});
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out + '"';
}

struct Writer::State {
    Layout layout = Layout::compact;
    std::string out;
    std::vector<bool> filled; // per open container: whether it has an element yet
    bool after_key = false;

    void line()
    {
        if (layout == Layout::pretty)
            out.append("\n").append(2 * filled.size(), ' ');
    }
    void before_value()
    {
        if (!after_key && !filled.empty()) {
            if (filled.back())
                out += ',';
            filled.back() = true;
            line();
        }
        after_key = false;
    }
    void scalar(std::string_view text)
    {
        before_value();
        out += text;
    }
    void open(char bracket)
    {
        before_value();
        out += bracket;
        filled.push_back(false);
    }
    void close(char bracket)
    {
        if (filled.empty() || after_key)
            std::abort(); // a bug of the caller's
        const bool content = filled.back();
        filled.pop_back();
        if (content)
            line();
        out += bracket;
    }
};

Writer::Writer(Layout layout) : state_(std::make_unique<State>())
{
    state_->layout = layout;
}
Writer::Writer(Writer&&) noexcept = default;
Writer::~Writer() = default;

Writer& Writer::begin_object()
{
    state_->open('{');
    return *this;
}

Writer& Writer::end_object()
{
    state_->close('}');
    return *this;
}

Writer& Writer::begin_array()
{
    state_->open('[');
    return *this;
}

Writer& Writer::end_array()
{
    state_->close(']');
    return *this;
}

Writer& Writer::key(std::string_view name)
{
    state_->scalar(quote(name));
    state_->out += state_->layout == Layout::pretty ? ": " : ":";
    state_->after_key = true;
    return *this;
}

Writer& Writer::string(std::string_view text)
{
    state_->scalar(quote(text));
    return *this;
}

Writer& Writer::integer(std::int64_t number)
{
    state_->scalar(std::to_string(number));
    return *this;
}

Writer& Writer::boolean(bool truth)
{
    state_->scalar(truth ? "true" : "false");
    return *this;
}

Writer& Writer::null()
{
    state_->scalar("null");
    return *this;
}

Writer& Writer::member(std::string_view name, std::string_view text)
{
    return key(name).string(text);
}

Writer& Writer::strings(std::string_view name, const std::vector<std::string>& texts)
{
    key(name).begin_array();
    for (const std::string& text : texts)
        string(text);
    return end_array();
}

std::string Writer::take()
{
    if (state_->layout == Layout::pretty)
        state_->out += '\n';
    return std::exchange(state_->out, {});
}

} // namespace anchorhold::json
