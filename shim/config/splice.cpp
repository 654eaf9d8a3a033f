// SPDX-License-Identifier: Apache-2.0
#include "shim/config/splice.hpp"

#include <algorithm>

namespace anchorhold::config {

Result<std::optional<json::View>> container(json::View object, std::string_view key,
                                            json::Kind kind)
{
    const auto member = object.find(key);
    if (!member || member->is_null())
        return std::nullopt;
    if (member->kind() != kind) {
        return std::unexpected(
            member->expected(kind == json::Kind::array ? "an array" : "an object"));
    }
    return member;
}

std::string quoted_list(const std::vector<std::string>& texts)
{
    std::string list;
    for (const std::string& text : texts)
        list += (list.empty() ? "" : ",") + json::quote(text);
    return "[" + list + "]";
}

Edits::Content& Edits::content_of(json::View array_or_object)
{
    const std::size_t begin = array_or_object.span().begin;
    const auto known = std::ranges::find(contents_, begin, &Content::begin);
    if (known != contents_.end())
        return *known;
    contents_.push_back({begin, array_or_object.size() > 0});
    return contents_.back();
}

void Edits::replace(json::View value, std::string text)
{
    splices_.push_back({value.span(), std::move(text)});
}

void Edits::remove(json::View array, const std::vector<json::View>& elements)
{
    // An element goes with the comma before it. While no element before it stays, it goes with the
    // comma behind it.
    const std::vector<json::View> items = array.items();
    bool kept = false;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const json::Span span = items[i].span();
        if (std::ranges::find(elements, span, &json::View::span) == elements.end()) {
            kept = true;
        } else if (kept) {
            splices_.push_back({{items[i - 1].span().end, span.end}, ""});
        } else if (i + 1 < items.size()) {
            splices_.push_back({{span.begin, items[i + 1].span().begin}, ""});
        } else {
            splices_.push_back({span, ""});
        }
    }
    content_of(array).any = kept;
}

void Edits::add(json::View into, Side side, const std::string& text)
{
    Content& content = content_of(into);
    const std::vector<json::View> items = into.items();
    std::size_t at = into.span().begin + 1;
    if (!items.empty())
        at = side == Side::front ? items.front().span().begin : items.back().span().end;
    const std::string comma = content.any ? "," : "";
    splices_.push_back({{at, at}, side == Side::front ? text + comma : comma + text});
    content.any = true;
}

void Edits::add_to_member(json::View object, std::string_view key, json::Kind kind, Side side,
                          const std::string& text)
{
    const std::string whole = kind == json::Kind::array ? "[" + text + "]" : "{" + text + "}";
    const auto member = object.find(key);
    if (!member) {
        add(object, Side::back, json::quote(key) + ":" + whole);
    } else if (member->is_null()) {
        replace(*member, whole);
    } else {
        add(*member, side, text);
    }
}

void Edits::take(std::vector<json::Splice> splices)
{
    std::ranges::move(splices, std::back_inserter(splices_));
}

} // namespace anchorhold::config
