// SPDX-License-Identifier: Apache-2.0
#include "schema/json/toml.hpp"

#include "schema/json/json.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace anchorhold::json {
namespace {

// Writes a node as JSON. Scalars of other types than these become null: no engine names us by them.
void write(const toml::node& node, json::Writer& writer) // NOLINT(misc-no-recursion): 256 deep
{
    if (const toml::table* const table = node.as_table()) {
        writer.begin_object();
        for (const auto& [key, value] : *table) {
            writer.key(key.str());
            write(value, writer);
        }
        writer.end_object();
    } else if (const toml::array* const array = node.as_array()) {
        writer.begin_array();
        for (const toml::node& value : *array)
            write(value, writer);
        writer.end_array();
    } else if (const auto* const text = node.as_string()) {
        writer.string(text->get());
    } else if (const auto* const number = node.as_integer()) {
        writer.integer(number->get());
    } else if (const auto* const truth = node.as_boolean()) {
        writer.boolean(truth->get());
    } else {
        writer.null();
    }
}

} // namespace

Result<std::string> toml_as_json(std::string_view text)
{
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        const toml::parse_error& error = parsed.error();
        return fail(Code::invalid_request, "line " + std::to_string(error.source().begin.line) +
                                               ": " + printable(error.description()));
    }
    json::Writer writer;
    write(parsed.table(), writer);
    return writer.take();
}

} // namespace anchorhold::json
