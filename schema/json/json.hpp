// SPDX-License-Identifier: Apache-2.0
// JSON, read where it stands, behind one strict gate.
//
// A Document keeps the text, and for each value the bytes that it takes. So an edit is a splice of
// the original, and every byte outside it survives. Numbers are never encoded again. The gate
// refuses what readers disagree about: duplicate keys, member names with invalid UTF-8, NUL, half a
// surrogate pair, text behind the end. json.cpp is the only file that includes RapidJSON.
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

// The bytes [begin, end) of a text.
struct Span {
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

// A parsed text. The Document owns it. Views point into the Document and must not outlive it, nor
// be used after it was moved.
class Document {
public:
    // Parses a text. The error has `code`, which is config_ambiguous for config.json. Its sentence
    // names the path or the line, and never quotes much of the document.
    static Result<Document> parse(std::string text, Code code = Code::config_ambiguous,
                                  const Limits& limits = {});
    View root() const;
    std::string_view text() const { return text_; }
    Code code() const { return code_; }

private:
    friend class View;
    friend class Gate; // json.cpp: it fills a Document
    // A value in 32 bytes, because there may be a million of them. Holds offsets into the text and
    // indices into nodes_.
    struct Node {
        std::uint32_t begin = 0; // of the value, with its quotes or braces
        std::uint32_t end = 0;
        std::uint32_t key_begin = 0; // of its key in the parent object, with the quotes
        std::uint32_t key_end = 0;   // 0: it is no member
        std::uint32_t parent = 0;    // the root is its own parent
        std::uint32_t next = 0;      // next sibling, 0: none
        std::uint32_t child = 0;     // first child, 0: none
        Kind kind = Kind::null;
    };
    // Returns a string literal of the text without its quotes and escapes.
    static std::string decode(std::string_view literal);

    std::string text_;
    std::vector<Node> nodes_;
    Code code_ = Code::config_ambiguous;
};

// A value where it stands. Cheap to copy.
class View {
public:
    View(const Document& document, std::uint32_t index) : document_(&document), index_(index) {}

    Kind kind() const;
    bool is_null() const { return kind() == Kind::null; }
    Span span() const;
    Span key_span() const;
    std::string_view raw() const; // the value's own bytes
    std::string key() const;      // decoded; empty when not a member
    // Returns the place: "linux.namespaces[3].path"; "the document" for the root.
    std::string where() const;

    std::optional<View> find(std::string_view key) const; // the member of exactly that key
    std::vector<View> items() const; // elements, or member values in order; none for scalars
    std::size_t size() const;

    // The typed reads. Their error has the document's code and says "WHERE: expected a string".
    // string() is decoded, and refuses invalid UTF-8 with "WHERE: invalid UTF-8".
    Result<std::string> string() const;
    Result<std::string> bytes() const; // decoded, in whatever encoding it is
    Result<bool> boolean() const;
    Result<std::int64_t> integer() const; // an integer literal that fits
    Result<std::vector<View>> array() const;
    Result<std::vector<View>> object() const;
    Error expected(std::string_view what) const;  // "WHERE: expected WHAT"
    Error wrong(std::string_view sentence) const; // "WHERE: SENTENCE"
    // Refuses a member that is not listed: "WHERE: unknown member "x"".
    Status only(std::initializer_list<std::string_view> keys) const;

private:
    const Document::Node& node() const { return document_->nodes_[index_]; }
    std::string_view slice(std::size_t begin, std::size_t end) const;
    bool has_key(std::string_view name) const;

    const Document* document_;
    std::uint32_t index_;
};

// A replacement of the bytes [span.begin, span.end) of a text. With an empty span it inserts.
struct Splice {
    Span span;
    std::string text;
    friend bool operator==(const Splice&, const Splice&) = default;
};
// Returns the text with all splices applied. They may come in any order. Inserts at one place keep
// their order. Splices that overlap are a bug, and abort.
std::string splice(std::string_view text, const std::vector<Splice>& splices);

// Returns a JSON string literal; invalid UTF-8 becomes U+FFFD.
std::string quote(std::string_view text);

// A writer of JSON: `compact` on one line, `pretty` with two blanks per level.
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
    Writer& member(std::string_view name, std::string_view text); // key and string
    Writer& strings(std::string_view name, const std::vector<std::string>& texts);
    std::string take(); // returns what was written; `pretty` ends it with a newline

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Refuses a text that does not follow the draft-04 `schema`. The error has `code` and names the
// place and the keyword.
Status validate(std::string_view text, std::string_view schema, Code code);

} // namespace anchorhold::json
