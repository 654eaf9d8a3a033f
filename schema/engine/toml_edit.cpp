// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/toml_edit.hpp"

#include "schema/json/json.hpp"
#include "schema/json/toml.hpp"

#include <algorithm>
#include <optional>

namespace anchorhold::engine {
namespace {

constexpr std::string_view begins =
    "# BEGIN anchorhold: written by `anchorhold setup`; --remove takes it out. Leave it as it "
    "is.\n";
// The same, where the text's last line had no end, so that the first one is ours to take.
constexpr std::string_view begins_line =
    "# BEGIN anchorhold, with the end of the line above: written by `anchorhold setup`; --remove "
    "takes it out.\n";
constexpr std::string_view ends = "# END anchorhold\n";

// Our lines in a text: [begin, end) with the marks, and what stands between the marks.
struct Part {
    std::size_t begin = 0, end = 0;
    std::string_view lines;
};

// Returns the place of a line; nothing when the text has it not exactly once.
std::optional<std::size_t> only_line(std::string_view text, std::string_view line)
{
    std::optional<std::size_t> found;
    for (std::size_t at = text.find(line); at != std::string_view::npos;
         at = text.find(line, at + 1)) {
        if (at != 0 && text[at - 1] != '\n')
            continue;
        if (found)
            return std::nullopt;
        found = at;
    }
    return found;
}

bool has_line(std::string_view text, std::string_view beginning)
{
    return text.starts_with(beginning) || text.contains("\n" + std::string(beginning));
}

// Returns our part; nothing where the text has no mark.
Result<std::optional<Part>> part_of(std::string_view text)
{
    if (!has_line(text, "# BEGIN anchorhold") && !has_line(text, "# END anchorhold"))
        return std::nullopt;
    const auto plain = only_line(text, begins);
    const auto joined = only_line(text, begins_line);
    const auto end = only_line(text, ends);
    const bool one = plain.has_value() != joined.has_value();
    const std::size_t mark = plain ? *plain : joined.value_or(0);
    if (!one || !end || *end < mark || (joined && mark == 0)) {
        return fail(Code::invalid_request,
                    "its lines \"# BEGIN anchorhold…\" and \"# END anchorhold\" "
                    "were changed; take out by hand what is between them");
    }
    const std::size_t from = mark + (plain ? begins : begins_line).size();
    return Part{.begin = mark - (joined ? 1 : 0),
                .end = *end + ends.size(),
                .lines = text.substr(from, *end - from)};
}

Result<json::Document> parse(std::string_view text)
{
    AH_TRY(std::string as_json, json::toml_as_json(text));
    return json::Document::parse(std::move(as_json), Code::invalid_request);
}

// Returns whether `sum` says what `one` and `other` say, and nothing else. toml_as_json writes
// equal values alike. NOLINTNEXTLINE(misc-no-recursion): a Document is 64 deep
bool is_sum(json::View sum, json::View one, json::View other)
{
    for (const json::View& value : sum.items()) {
        const auto first = one.find(value.key());
        const auto second = other.find(value.key());
        const bool tables = first && second && value.kind() == json::Kind::object &&
                            first->kind() == json::Kind::object &&
                            second->kind() == json::Kind::object;
        if (tables ? !is_sum(value, *first, *second)
                   : first.has_value() == second.has_value() ||
                         value.raw() != (first ? *first : *second).raw())
            return false;
    }
    const auto is_there = [&](const json::View& value) {
        return sum.find(value.key()).has_value();
    };
    return std::ranges::all_of(one.items(), is_there) &&
           std::ranges::all_of(other.items(), is_there);
}

Status check_sum(std::string_view sum, std::string_view one, std::string_view other)
{
    AH_TRY(const json::Document whole, parse(sum));
    AH_TRY(const json::Document text, parse(one));
    AH_TRY(const json::Document lines, parse(other));
    if (!is_sum(whole.root(), text.root(), lines.root()))
        return fail(Code::invalid_request, "its sections and ours do not stand apart");
    return {};
}

} // namespace

Result<std::string> with_marked(std::string_view text, std::string_view lines, TextIs is)
{
    AH_TRY(const std::string rest, without_marked(text, is));
    if (const auto before = parse(is == TextIs::toml ? rest : std::string_view()); !before)
        return std::unexpected(before.error());
    const bool whole_line = rest.empty() || rest.ends_with('\n');
    std::string sum = rest;
    sum += whole_line ? "" : "\n";
    sum += whole_line ? begins : begins_line;
    sum += lines;
    sum += lines.empty() || lines.ends_with('\n') ? "" : "\n";
    sum += ends;
    if (is == TextIs::toml)
        AH_CHECK(check_sum(sum, rest, lines),
                 "our lines cannot be added at its end (add them by hand where its sections are)");
    AH_TRY(const auto part, part_of(sum), "our own lines");
    if (!part || !parse(part->lines))
        return fail(Code::invalid_request, "the lines to add are no TOML");
    return sum;
}

Result<std::string> without_marked(std::string_view text, TextIs is)
{
    AH_TRY(const auto part, part_of(text));
    if (!part)
        return std::string(text);
    std::string rest(text.substr(0, part->begin));
    rest += text.substr(part->end);
    if (is == TextIs::toml)
        AH_CHECK(check_sum(text, rest, part->lines), "our lines cannot be taken out");
    return rest;
}

} // namespace anchorhold::engine
