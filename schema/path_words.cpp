// SPDX-License-Identifier: Apache-2.0
#include "schema/path_words.hpp"

namespace anchorhold {
namespace {

constexpr std::string_view annotation_word = "annotation:";

// A path from a word in braces on: the text before it, the word, the rest.
struct Parts {
    std::string_view before;
    std::string_view word;
    std::string_view rest;
};

// Returns nothing where there is no further word.
std::optional<Parts> next_word(std::string_view path)
{
    const std::size_t open = path.find('{');
    const std::size_t close = path.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos)
        return std::nullopt;
    return Parts{path.substr(0, open), path.substr(open + 1, close - open - 1),
                 path.substr(close + 1)};
}

// A key with a slash would be two components before it is filled in.
bool is_word(std::string_view word)
{
    const bool annotation = word.starts_with(annotation_word) &&
                            word.size() > annotation_word.size() &&
                            word.find_first_of("/{") == std::string_view::npos;
    return word == "id" || word == "hostname" || annotation;
}

Result<std::string> value_in(json::View config, std::string_view word)
{
    const bool annotation = word.starts_with(annotation_word);
    const std::string_view key = annotation ? word.substr(annotation_word.size()) : word;
    const auto holder = annotation ? config.find("annotations") : std::optional(config);
    const auto at = holder ? holder->find(key) : std::nullopt;
    const std::string named = annotation ? "annotation " + in_quotes(key) : "hostname";
    if (!at || at->is_null()) {
        return fail(Code::endpoint_unavailable, "the container has no " + named +
                                                    ", which its broker's socket is found by; "
                                                    "start it with one");
    }
    AH_TRY(std::string value, at->string());
    if (!ContainerId::parse(value)) {
        return fail(Code::invalid_request, "the container's " + named + " " + in_quotes(value) +
                                               " is not one component of a path");
    }
    return value;
}

} // namespace

Status check_path_words(std::string_view path, Pods pods)
{
    while (const auto found = next_word(path)) {
        if (!is_word(found->word)) {
            return fail(Code::invalid_policy,
                        "{" + printable(found->word) +
                            "} is none of {id}, {hostname} and {annotation:KEY}");
        }
        if (pods == Pods::yes && found->word == "hostname") {
            return fail(Code::invalid_policy,
                        "containers of pods have no {hostname}; name an annotation that the "
                        "engine writes");
        }
        path = found->rest;
    }
    return {};
}

bool has_path_words(std::string_view path)
{
    return next_word(path).has_value();
}

Result<std::string> fill_path_words(std::string_view path, const ContainerId& id,
                                    const std::optional<json::View>& config)
{
    std::string filled;
    while (const auto found = next_word(path)) {
        filled += found->before;
        if (found->word == "id") {
            filled += id.text();
        } else if (config) {
            AH_TRY(const std::string value, value_in(*config, found->word));
            filled += value;
        } else {
            filled += "{" + std::string(found->word) + "}";
        }
        path = found->rest;
    }
    filled += path;
    return filled;
}

} // namespace anchorhold
