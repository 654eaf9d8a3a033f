// SPDX-License-Identifier: Apache-2.0
// The gate: one iterative pass of RapidJSON's SAX reader over the text.
//
// The reader says what it met and where it stands. A value begins behind the blanks, commas and
// colons that follow the token before it. So the spans need no parser of our own, and numbers stay
// the bytes they were. Nesting and the number of values are bounded while reading. The reader keeps
// its states on the heap, and nothing here recurses.
#include "schema/json/json.hpp"

#include "schema/json/utf8.hpp"

// RapidJSON's own assertion is empty under NDEBUG, and undefined behaviour follows. Ours aborts.
#include <cstdlib>
#define RAPIDJSON_ASSERT(condition) ((condition) ? static_cast<void>(0) : std::abort())
#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace anchorhold::json {
namespace {

std::string position(std::string_view text, std::size_t offset)
{
    const std::string_view before = text.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string_view sentence_for(rapidjson::ParseErrorCode code)
{
    switch (code) {
    case rapidjson::kParseErrorDocumentEmpty: return "nothing but blanks";
    case rapidjson::kParseErrorDocumentRootNotSingular: return "text after the document's end";
    case rapidjson::kParseErrorObjectMissName: return "expected a member name";
    case rapidjson::kParseErrorObjectMissColon: return "expected a colon";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket: return "expected , or }";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket: return "expected , or ]";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex:
    case rapidjson::kParseErrorStringEscapeInvalid: return "invalid escape or control character";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid: return "half a surrogate pair";
    case rapidjson::kParseErrorStringMissQuotationMark: return "unfinished string";
    case rapidjson::kParseErrorStringInvalidEncoding: return "invalid encoding";
    case rapidjson::kParseErrorNumberTooBig: return "number too big";
    case rapidjson::kParseErrorNumberMissFraction: return "expected a digit after the point";
    case rapidjson::kParseErrorNumberMissExponent: return "expected a digit of the exponent";
    case rapidjson::kParseErrorValueInvalid:
    case rapidjson::kParseErrorTermination:
    case rapidjson::kParseErrorUnspecificSyntaxError:
    case rapidjson::kParseErrorNone: break;
    }
    return "expected a value";
}

// Returns why the text is refused before it is read by tokens, where RapidJSON would stop early or
// overlook something.
std::optional<std::string> refuse_bytes(std::string_view text, const Limits& limits)
{
    constexpr std::size_t countable = std::numeric_limits<std::uint32_t>::max();
    if (text.size() > std::min(limits.bytes, countable)) {
        return std::to_string(text.size()) + " bytes, more than the " +
               std::to_string(limits.bytes) + " that are read";
    }
    if (text.empty())
        return "the document is empty";
    if (text.starts_with("\xef\xbb\xbf"))
        return "a byte order mark stands before the document";
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        return position(text, nul) + ": NUL byte";
    return std::nullopt;
}

// Returns whether a low surrogate stands alone. RapidJSON 1.1 refuses a lone high one itself, but
// lets a lone low one pass. `literal` is otherwise well-formed.
bool has_lone_low_surrogate(std::string_view literal)
{
    std::size_t at = 0;
    while ((at = literal.find('\\', at)) != std::string_view::npos) {
        if (literal[at + 1] != 'u') {
            at += 2;
            continue;
        }
        const bool surrogate = (literal[at + 2] | 0x20) == 'd';
        const char second = static_cast<char>(literal[at + 3] | 0x20);
        if (surrogate && second >= 'c' && second <= 'f')
            return true;
        const bool high = surrogate && (second == '8' || second == '9' || second >= 'a');
        at += high ? 12 : 6;
    }
    return false;
}

struct LiteralReader : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, LiteralReader> {
    std::string text;
    // NOLINTNEXTLINE(readability-identifier-naming): a RapidJSON handler's name
    bool String(const char* bytes, rapidjson::SizeType length, bool)
    {
        text.assign(bytes, length);
        return true;
    }
};

} // namespace

// The handler of RapidJSON. It builds the nodes and refuses what readers disagree about.
class Gate : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Gate> {
public:
    Gate(Document& document, const Limits& limits, const rapidjson::MemoryStream& stream)
        : document_(document), limits_(limits), stream_(stream)
    {
    }
    const std::string& refusal() const { return refusal_; }

    // NOLINTBEGIN(readability-identifier-naming): RapidJSON calls them so
    bool Null() { return scalar(Kind::null); }
    bool Bool(bool) { return scalar(Kind::boolean); }
    bool Int(int) { return scalar(Kind::number); }
    bool Uint(unsigned) { return scalar(Kind::number); }
    bool Int64(std::int64_t) { return scalar(Kind::number); }
    bool Uint64(std::uint64_t) { return scalar(Kind::number); }
    bool Double(double number)
    {
        if (!std::isfinite(number))
            return refuse(here() + ": number too big");
        return scalar(Kind::number);
    }
    bool String(const char* decoded, rapidjson::SizeType length, bool)
    {
        return check_string({decoded, length}) && scalar(Kind::string);
    }
    bool Key(const char* decoded, rapidjson::SizeType length, bool)
    {
        const std::string_view name(decoded, length);
        if (!check_string(name))
            return false;
        if (!is_utf8(name))
            return refuse(here() + ": member name with invalid UTF-8");
        key_ = {token_begin(), stream_.Tell()};
        last_end_ = key_.end;
        return true;
    }
    bool StartObject() { return open(Kind::object); }
    bool StartArray() { return open(Kind::array); }
    bool EndObject(rapidjson::SizeType) { return check_members(open_.back().node) && close(); }
    bool EndArray(rapidjson::SizeType) { return close(); }
    // NOLINTEND(readability-identifier-naming)

private:
    // An object or array that is not closed yet.
    struct Level {
        std::uint32_t node = 0;
        std::uint32_t last = 0; // its last child so far, 0: none
    };

    bool refuse(std::string sentence)
    {
        refusal_ = std::move(sentence);
        return false;
    }

    std::string here() const { return position(document_.text_, token_begin()); }

    std::size_t token_begin() const
    {
        return document_.text_.find_first_not_of(" \t\r\n,:", last_end_);
    }

    // Refuses NUL and half a surrogate pair in the string literal that ends where the reader
    // stands.
    bool check_string(std::string_view decoded)
    {
        if (decoded.find('\0') != std::string_view::npos)
            return refuse(here() + ": NUL in a string");
        const std::size_t begin = token_begin();
        const std::string_view literal =
            std::string_view(document_.text_).substr(begin, stream_.Tell() - begin);
        if (has_lone_low_surrogate(literal))
            return refuse(here() + ": half a surrogate pair");
        return true;
    }

    bool add(Kind kind, std::size_t begin, std::size_t end)
    {
        auto& nodes = document_.nodes_;
        if (nodes.size() >= limits_.values)
            return refuse("more than " + std::to_string(limits_.values) + " values");
        const auto index = static_cast<std::uint32_t>(nodes.size());
        Document::Node node;
        node.begin = static_cast<std::uint32_t>(begin);
        node.end = static_cast<std::uint32_t>(end);
        node.key_begin = static_cast<std::uint32_t>(key_.begin);
        node.key_end = static_cast<std::uint32_t>(key_.end);
        node.kind = kind;
        if (!open_.empty()) {
            Level& level = open_.back();
            node.parent = level.node;
            (level.last == 0 ? nodes[level.node].child : nodes[level.last].next) = index;
            level.last = index;
        }
        nodes.push_back(node);
        key_ = {};
        last_end_ = end;
        return true;
    }

    bool scalar(Kind kind) { return add(kind, token_begin(), stream_.Tell()); }

    bool open(Kind kind)
    {
        if (open_.size() >= limits_.depth) {
            return refuse(here() + ": nested deeper than " + std::to_string(limits_.depth) +
                          " levels");
        }
        const std::size_t begin = stream_.Tell(); // the bracket itself is not read yet
        if (!add(kind, begin, begin + 1))
            return false;
        open_.push_back({static_cast<std::uint32_t>(document_.nodes_.size() - 1), 0});
        return true;
    }

    bool close()
    {
        last_end_ = stream_.Tell() + 1;
        document_.nodes_[open_.back().node].end = static_cast<std::uint32_t>(last_end_);
        open_.pop_back();
        return true;
    }

    bool check_members(std::uint32_t object)
    {
        names_.clear();
        unescaped_.clear();
        const auto& nodes = document_.nodes_;
        for (std::uint32_t at = nodes[object].child; at != 0; at = nodes[at].next)
            names_.push_back(name_of(nodes[at]));
        std::ranges::sort(names_);
        const auto twice = std::ranges::adjacent_find(names_);
        if (twice == names_.end())
            return true;
        return refuse(View(document_, object).where() + ": member " + in_quotes(*twice, 64) +
                      " appears twice");
    }

    std::string_view name_of(const Document::Node& node)
    {
        const std::string_view text = document_.text_;
        const std::string_view literal = text.substr(node.key_begin, node.key_end - node.key_begin);
        if (literal.find('\\') == std::string_view::npos)
            return literal.substr(1, literal.size() - 2);
        return unescaped_.emplace_back(Document::decode(literal));
    }

    Document& document_;
    const Limits& limits_;
    const rapidjson::MemoryStream& stream_;
    std::vector<Level> open_;
    Span key_;                            // key of the member whose value comes next
    std::size_t last_end_ = 0;            // end of the last token
    std::vector<std::string_view> names_; // of the object that is being closed
    std::deque<std::string> unescaped_;   // owns those names that had escapes
    std::string refusal_;
};

Result<Document> Document::parse(std::string text, Code code, const Limits& limits)
{
    if (auto refusal = refuse_bytes(text, limits))
        return fail(code, *std::move(refusal));
    Document document;
    document.text_ = std::move(text);
    document.code_ = code;
    const std::string_view bytes = document.text_;
    rapidjson::MemoryStream stream(bytes.data(), bytes.size());
    Gate gate(document, limits, stream);
    rapidjson::Reader reader;
    const auto outcome = reader.Parse<rapidjson::kParseIterativeFlag>(stream, gate);
    if (!outcome.IsError())
        return document;
    if (!gate.refusal().empty())
        return fail(code, gate.refusal());
    const bool early =
        outcome.Offset() >= bytes.size() && outcome.Code() != rapidjson::kParseErrorDocumentEmpty;
    return fail(code, position(bytes, outcome.Offset()) + ": " +
                          std::string(early ? "the document ends too early"
                                            : sentence_for(outcome.Code())));
}

std::string Document::decode(std::string_view literal)
{
    if (literal.find('\\') == std::string_view::npos)
        return std::string(literal.substr(1, literal.size() - 2));
    rapidjson::MemoryStream stream(literal.data(), literal.size());
    LiteralReader handler;
    rapidjson::Reader reader;
    if (reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler).IsError())
        std::abort(); // it passed the gate before
    return std::move(handler.text);
}

Status validate(std::string_view text, std::string_view schema, Code code)
{
    // The gate comes first: RapidJSON's validator keeps the first of two equal keys, and recurses.
    if (auto document = Document::parse(std::string(text), code); !document)
        return std::unexpected(std::move(document).error());
    rapidjson::Document rules;
    rules.Parse<rapidjson::kParseIterativeFlag>(schema.data(), schema.size());
    if (rules.HasParseError())
        std::abort(); // schemas are compiled in
    const rapidjson::SchemaDocument compiled(rules);
    rapidjson::SchemaValidator validator(compiled);
    rapidjson::MemoryStream stream(text.data(), text.size());
    rapidjson::Reader reader;
    const auto outcome = reader.Parse<rapidjson::kParseIterativeFlag>(stream, validator);
    if (validator.IsValid() && !outcome.IsError())
        return {};
    rapidjson::StringBuffer pointer;
    validator.GetInvalidDocumentPointer().Stringify(pointer);
    const std::string_view where(pointer.GetString(), pointer.GetSize());
    const char* const keyword = validator.GetInvalidSchemaKeyword();
    return fail(code, (where.empty() ? "the document" : printable(where)) + ": refused by \"" +
                          (keyword != nullptr ? keyword : "?") + "\" of the schema");
}

} // namespace anchorhold::json
