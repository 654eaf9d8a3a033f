// SPDX-License-Identifier: Apache-2.0
// The reading of a parsed document: values where they stand, and names for those places.
#include "schema/json/json.hpp"
#include "schema/json/utf8.hpp"

#include <algorithm>
#include <charconv>

namespace anchorhold::json {
namespace {

bool is_plain_name(std::string_view key)
{
    return !key.empty() && std::ranges::all_of(key, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

} // namespace

View Document::root() const
{
    return {*this, 0};
}

Kind View::kind() const
{
    return node().kind;
}

Span View::span() const
{
    return {node().begin, node().end};
}

Span View::key_span() const
{
    return {node().key_begin, node().key_end};
}

std::string_view View::slice(std::size_t begin, std::size_t end) const
{
    return document_->text().substr(begin, end - begin);
}

std::string_view View::raw() const
{
    return slice(node().begin, node().end);
}

std::string View::key() const
{
    return node().key_end == 0 ? "" : Document::decode(slice(node().key_begin, node().key_end));
}

bool View::has_key(std::string_view name) const
{
    const std::string_view literal = slice(node().key_begin, node().key_end);
    if (literal.find('\\') != std::string_view::npos)
        return Document::decode(literal) == name;
    return literal.substr(1, literal.size() - 2) == name;
}

std::string View::where() const
{
    std::string place;
    for (View at = *this; at.index_ != 0; at.index_ = at.node().parent) {
        std::string step;
        if (at.node().key_end == 0) {
            std::size_t position = 0;
            const auto& nodes = document_->nodes_;
            for (auto i = nodes[at.node().parent].child; i != at.index_; i = nodes[i].next)
                ++position;
            step = "[" + std::to_string(position) + "]";
        } else if (const std::string name = at.key(); is_plain_name(name)) {
            step = "." + printable(name, 64);
        } else {
            step = "[" + in_quotes(name, 64) + "]";
        }
        place.insert(0, step);
    }
    if (place.empty())
        return "the document";
    return place.front() == '.' ? place.substr(1) : place;
}

std::optional<View> View::find(std::string_view key) const
{
    if (kind() != Kind::object)
        return std::nullopt;
    for (View at(*document_, node().child); at.index_ != 0; at.index_ = at.node().next) {
        if (at.has_key(key))
            return at;
    }
    return std::nullopt;
}

std::vector<View> View::items() const
{
    std::vector<View> all;
    for (View at(*document_, node().child); at.index_ != 0; at.index_ = at.node().next)
        all.push_back(at);
    return all;
}

std::size_t View::size() const
{
    std::size_t count = 0;
    for (View at(*document_, node().child); at.index_ != 0; at.index_ = at.node().next)
        ++count;
    return count;
}

Result<std::string> View::string() const
{
    auto text = bytes();
    if (text && !is_utf8(*text))
        return std::unexpected(wrong("invalid UTF-8"));
    return text;
}

Result<std::string> View::bytes() const
{
    if (kind() != Kind::string)
        return std::unexpected(expected("a string"));
    return Document::decode(raw());
}

Result<bool> View::boolean() const
{
    if (kind() != Kind::boolean)
        return std::unexpected(expected("true or false"));
    return raw() == "true";
}

Result<std::int64_t> View::integer() const
{
    const std::string_view literal = raw();
    std::int64_t number = 0;
    const char* const last = literal.data() + literal.size();
    const auto [end, error] = std::from_chars(literal.data(), last, number);
    if (kind() != Kind::number || error != std::errc() || end != last)
        return std::unexpected(expected("an integer"));
    return number;
}

Result<std::vector<View>> View::array() const
{
    if (kind() != Kind::array)
        return std::unexpected(expected("an array"));
    return items();
}

Result<std::vector<View>> View::object() const
{
    if (kind() != Kind::object)
        return std::unexpected(expected("an object"));
    return items();
}

Error View::expected(std::string_view what) const
{
    return wrong("expected " + std::string(what));
}

Error View::wrong(std::string_view sentence) const
{
    return {document_->code(), 0, where() + ": " + std::string(sentence)};
}

Status View::only(std::initializer_list<std::string_view> keys) const
{
    for (const View& member : items()) {
        if (const std::string key = member.key(); std::ranges::find(keys, key) == keys.end())
            return std::unexpected(wrong("unknown member " + in_quotes(key, 64)));
    }
    return {};
}

} // namespace anchorhold::json
