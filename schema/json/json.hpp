// SPDX-License-Identifier: Apache-2.0
// JSON behind one strict gate, read where it stands.
//
// A Document keeps the text and, per value, the bytes it occupies, so that an edit is a splice of
// the original and every byte outside it survives. Numbers are never re-encoded. What is refused
// is what readers disagree about: duplicate keys, keys that Go's decoder folds together, NUL,
// trailing text (DESIGN 5). json.cpp is the only file that includes RapidJSON.
#pragma once

#include "schema/error.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anchorhold::json {

enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

struct Span { // [begin, end) in the text, bytes
    std::size_t begin = 0;
    std::size_t end = 0;
    friend bool operator==(const Span&, const Span&) = default;
};

struct Limits {
    std::size_t bytes = std::size_t{16} * 1024 * 1024;
    std::size_t depth = 64;
    std::size_t values = 1'000'000;
};

class View;

// One parsed text. Owns it; Views point into it and must not outlive it or its move.
class Document {
public:
    // Code config_ambiguous; the sentence names the path or the line, never quotes the document at
    // length. `code` replaces it for texts that are not config.json.
    static Result<Document> parse(std::string text, Code code = Code::config_ambiguous,
                                  const Limits& limits = {});
    View root() const;
    std::string_view text() const { return text_; }
    Code code() const { return code_; }

private:
    friend class View;
    friend class Gate; // json.cpp: the one that fills it
    // 32 bytes, for there may be a million. Offsets into the text, indices into nodes_.
    struct Node {
        std::uint32_t begin = 0; // the value, quotes and braces included
        std::uint32_t end = 0;
        std::uint32_t key_begin = 0; // its key in the parent object, quotes included
        std::uint32_t key_end = 0;   // 0: not a member
        std::uint32_t parent = 0;    // the root is its own parent
        std::uint32_t next = 0;      // next sibling, 0: none
        std::uint32_t child = 0;     // first child, 0: none
        Kind kind = Kind::null;
    };
    // A string literal of the text without quotes and escapes.
    static std::string decode(std::string_view literal);

    std::string text_;
    std::vector<Node> nodes_;
    Code code_ = Code::config_ambiguous;
};

// One value where it stands. Cheap to copy.
class View {
public:
    View(const Document& document, std::uint32_t index) : document_(&document), index_(index) {}

    Kind kind() const;
    bool is_null() const { return kind() == Kind::null; }
    Span span() const;
    Span key_span() const;
    std::string_view raw() const; // the value's own bytes
    std::string key() const;      // decoded; empty when not a member
    // "linux.namespaces[3].path"; "the document" for the root.
    std::string where() const;

    std::optional<View> find(std::string_view key) const; // member of that exact key, else nothing
    std::vector<View> items() const; // elements, or member values in order; empty for scalars
    std::size_t size() const;

    // Typed reads. The error, of the document's code, is "WHERE: expected a string".
    Result<std::string> string() const; // decoded; "WHERE: invalid UTF-8" when it is not
    Result<std::string> bytes() const;  // decoded, in whatever encoding it came
    Result<bool> boolean() const;
    Result<std::int64_t> integer() const; // an integer literal that fits
    Result<std::vector<View>> array() const;
    Result<std::vector<View>> object() const;
    Error expected(std::string_view what) const;  // "WHERE: expected WHAT"
    Error wrong(std::string_view sentence) const; // "WHERE: SENTENCE"
    // Refuses a member not listed: "WHERE: unknown member "x"".
    Status only(std::initializer_list<std::string_view> keys) const;

private:
    const Document::Node& node() const { return document_->nodes_[index_]; }
    std::string_view slice(std::size_t begin, std::size_t end) const;
    bool has_key(std::string_view name) const;

    const Document* document_;
    std::uint32_t index_;
};

// Replaces bytes [span.begin, span.end) of a text; an empty span inserts.
struct Splice {
    Span span;
    std::string text;
    friend bool operator==(const Splice&, const Splice&) = default;
};
// Splices may come in any order and must not overlap (aborts: a bug); inserts at one place keep
// their order.
std::string splice(std::string_view text, const std::vector<Splice>& splices);

std::string quote(std::string_view text); // a JSON string literal; invalid UTF-8 becomes U+FFFD

// Writes JSON. `compact` on one line, `pretty` with two blanks per level.
enum class Layout : std::uint8_t { compact, pretty };
class Writer {
public:
    explicit Writer(Layout layout = Layout::compact);
    Writer(Writer&&) noexcept;
    ~Writer();
    Writer& begin_object();
    Writer& end_object();
    Writer& begin_array();
    Writer& end_array();
    Writer& key(std::string_view name);
    Writer& string(std::string_view text);
    Writer& integer(std::int64_t number);
    Writer& boolean(bool truth);
    Writer& null();
    Writer& member(std::string_view name, std::string_view text); // key + string
    Writer& strings(std::string_view name, const std::vector<std::string>& texts);
    std::string take(); // what was written; a newline ends it when pretty

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Does `text` follow the draft-04 `schema`? The error names the place and the keyword.
Status validate(std::string_view text, std::string_view schema, Code code);

} // namespace anchorhold::json
