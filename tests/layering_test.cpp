// SPDX-License-Identifier: Apache-2.0
// The rooms and who may look into whom, as data, held against every file of the tree.
#include <doctest/doctest.h>

#include "tests/files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace anchorhold::layering_test {
namespace {

// A room may include what begins with one of these. Folders end in a slash, all else is one file.
const std::map<std::string, std::vector<std::string>> rooms{
    {"schema", {"schema/"}},
    {"shim", {"shim/", "hooks/", "schema/"}},
    {"hooks", {"hooks/", "schema/", "relay/pump.hpp"}},
    {"relay", {"relay/", "schema/unique_fd.hpp"}},
    {"tests", {"tests/", "schema/", "shim/", "hooks/", "relay/"}},
    // Black box: its programs know what lies beside them.
    {"integration", {"attempt.hpp", "contenders.hpp", "load.hpp", "order.hpp"}},
    {"contrib", {}},
};
const std::set<std::string> product{"schema", "shim", "hooks", "relay"};
// Of libraries that are not the C library or the standard one; they stay out of headers.
const std::vector<std::string> libraries{"libmnl/",  "libnftnl/", "rapidjson/",
                                         "cap-ng.h", "sha256.h",  "toml++/"};
// Made by meson, so not in the tree.
const std::set<std::string> generated{"tests/fuzz/embedded.hpp"};
constexpr std::size_t most_lines = 399;

struct Source {
    std::string room;
    std::string path; // from the root of the tree
    std::string text;

    std::string name() const { return path.substr(path.rfind('/') + 1); }
    bool is_header() const { return path.ends_with(".hpp"); }
    bool is_product() const { return product.contains(room); }
};

std::vector<Source> sources()
{
    namespace fs = std::filesystem;
    std::vector<Source> found;
    for (const auto& [room, may] : rooms) {
        for (const auto& entry :
             fs::recursive_directory_iterator(fs::path(AH_SOURCE_ROOT) / room)) {
            const std::string extension = entry.path().extension();
            if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".hpp"))
                continue;
            const std::string path = fs::relative(entry.path(), AH_SOURCE_ROOT);
            found.push_back({room, path, source_file(path)});
        }
    }
    std::ranges::sort(found, {}, &Source::path);
    return found;
}

std::vector<std::string> lines_of(std::string_view text)
{
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

// What stands between `open` and `close` on the #include lines: "schema/json/json.hpp".
std::vector<std::string> includes(const Source& source, char open, char close)
{
    std::vector<std::string> found;
    for (const std::string& line : lines_of(source.text)) {
        if (!line.starts_with("#include"))
            continue;
        const std::size_t begin = line.find(open);
        const std::size_t end = line.find(close, begin + 1);
        if (begin != std::string::npos && end != std::string::npos)
            found.push_back(line.substr(begin + 1, end - begin - 1));
    }
    return found;
}

bool begins_with_one_of(const std::string& text, const std::vector<std::string>& beginnings)
{
    return std::ranges::any_of(beginnings, [&](const std::string& beginning) {
        return beginning.ends_with('/') ? text.starts_with(beginning) : text == beginning;
    });
}

bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::size_t after_literal(std::string_view code, std::size_t at)
{
    const char quote = code[at];
    for (++at; at < code.size() && code[at] != quote; ++at)
        if (code[at] == '\\')
            ++at;
    return at + 1;
}

// Behind the comment or literal that begins there; the same place when none does.
std::size_t after_text(std::string_view code, std::size_t at)
{
    if (code.substr(at).starts_with("//"))
        return std::min(code.find('\n', at), code.size());
    if (code.substr(at).starts_with("R\"")) {
        const std::size_t open = code.find('(', at);
        const std::string close = ")" + std::string(code.substr(at + 2, open - at - 2)) + "\"";
        return code.find(close, open) + close.size();
    }
    return code[at] == '"' || code[at] == '\'' ? after_literal(code, at) : at;
}

// A quote between digits separates them.
std::size_t after_word(std::string_view code, std::size_t at)
{
    const std::size_t begin = at;
    while (at < code.size() && (is_word(code[at]) || (code[at] == '\'' && code[begin] <= '9')))
        ++at;
    return at;
}

// The identifiers of a text, without comments and literals.
std::set<std::string> identifiers(std::string_view code)
{
    std::set<std::string> found;
    std::size_t at = 0;
    while (at < code.size()) {
        const std::size_t begin = at;
        at = after_text(code, begin);
        if (at != begin)
            continue;
        at = is_word(code[at]) ? after_word(code, at) : at + 1;
        if (is_word(code[begin]))
            found.emplace(code.substr(begin, at - begin));
    }
    return found;
}

// What stands in a text's literals, in small letters; those side by side are one line.
std::string literals(std::string_view code)
{
    std::string found;
    std::size_t at = 0;
    while (at < code.size()) {
        const std::size_t end = after_text(code, at);
        if (end == at) {
            if (code[at] > ' ')
                found += '\n';
            at = is_word(code[at]) ? after_word(code, at) : at + 1;
            continue;
        }
        if (code[at] != '/')
            found += code.substr(at + 1, end - at - 2);
        at = end;
    }
    for (char& c : found)
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return found;
}

// "FILE uses WORD" for each word of the list that a file has no business with.
std::vector<std::string> uses(const Source& source, const std::vector<std::string>& words)
{
    std::vector<std::string> found;
    const std::set<std::string> used = identifiers(source.text);
    for (const std::string& word : words) {
        if (used.contains(word))
            found.push_back(source.path + " uses " + word);
    }
    return found;
}

} // namespace

TEST_CASE("a room includes only rooms it may look into")
{
    std::string findings;
    std::size_t seen = 0;
    for (const Source& source : sources()) {
        for (const std::string& included : includes(source, '"', '"')) {
            ++seen;
            if (!begins_with_one_of(included, rooms.at(source.room)))
                findings += source.path + " includes " + included + "\n";
            if (source.room != "integration" && !generated.contains(included) &&
                !std::filesystem::exists(std::filesystem::path(AH_SOURCE_ROOT) / included))
                findings += source.path + " does not write " + included + " from the root\n";
        }
    }
    CHECK(findings == "");
    CHECK(seen > 100); // the test reads something
}

TEST_CASE("the relay includes nothing of libstdc++")
{
    std::string findings;
    for (const Source& source : sources()) {
        for (const std::string& included : includes(source, '<', '>')) {
            if (source.room == "relay" && !included.ends_with(".h"))
                findings += source.path + " includes " + included + "\n";
        }
    }
    CHECK(findings == "");
}

TEST_CASE("one file includes RapidJSON, one toml++, and no header a library's")
{
    std::string findings;
    std::set<std::string> of_rapidjson;
    std::set<std::string> of_toml;
    for (const Source& source : sources()) {
        for (const std::string& included : includes(source, '<', '>')) {
            if (included.starts_with("rapidjson/"))
                of_rapidjson.insert(source.path);
            if (included.starts_with("toml++/"))
                of_toml.insert(source.path);
            if (source.is_product() && source.is_header() &&
                begins_with_one_of(included, libraries))
                findings += source.path + " includes " + included + "\n";
        }
    }
    CHECK(findings == "");
    CHECK(of_rapidjson == std::set<std::string>{"schema/json/json.cpp"});
    CHECK(of_toml == std::set<std::string>{"schema/json/toml.cpp"});
}

TEST_CASE("only main.cpp prints, and only main.cpp exits")
{
    // _exit() is not among them: a forked child has no other end.
    const std::vector<std::string> words{"printf", "fprintf", "dprintf", "vprintf", "vfprintf",
                                         "puts",   "fputs",   "putchar", "putc",    "perror",
                                         "cout",   "cerr",    "clog",    "exit",    "quick_exit"};
    std::string findings;
    for (const Source& source : sources()) {
        if (source.is_product() && source.name() != "main.cpp") {
            for (const std::string& finding : uses(source, words))
                findings += finding + "\n";
        }
    }
    CHECK(findings == "");
}

TEST_CASE("R8 no sentence of ours has a phrase that engines rewrite, but of a missing command")
{
    // Where the user's own command is missed, in the words of a runtime.
    const std::set<std::string> of_commands{"relay/command.cpp", "shim/verbs/command_lookup.cpp"};
    std::string findings;
    std::set<std::string> found;
    for (const Source& source : sources()) {
        const std::string text = literals(source.text);
        for (const std::string phrase : {"permission denied", "no such file",
                                         "operation not permitted", "executable file not found"}) {
            if (!source.is_product() || text.find(phrase) == std::string::npos)
                continue;
            found.insert(source.path);
            if (!of_commands.contains(source.path))
                findings += source.path + " says \"" + phrase + "\"\n";
        }
    }
    CHECK(findings == "");
    CHECK(found.size() == of_commands.size()); // the test reads something
}

TEST_CASE("nothing is owned by hand and no exception is thrown")
{
    const std::vector<std::string> words{"new",   "malloc", "calloc", "goto",
                                         "throw", "try",    "catch",  "iostream"};
    std::string findings;
    for (const Source& source : sources()) {
        if (!source.is_product())
            continue;
        for (const std::string& finding : uses(source, words)) {
            // Without libstdc++ there is no other heap; stream.cpp says where it is given back.
            if (finding != "relay/stream.cpp uses malloc")
                findings += finding + "\n";
        }
    }
    CHECK(findings == "");
}

TEST_CASE("a file is under 400 lines and opens with its licence")
{
    std::string findings;
    for (const Source& source : sources()) {
        const std::vector<std::string> lines = lines_of(source.text);
        if (lines.size() > most_lines)
            findings += source.path + " has " + std::to_string(lines.size()) + " lines\n";
        if (lines.empty() || lines.front() != "// SPDX-License-Identifier: Apache-2.0")
            findings += source.path + " does not say its licence\n";
        const bool has_pragma = std::ranges::find(lines, "#pragma once") != lines.end();
        if (source.is_header() && !has_pragma)
            findings += source.path + " has no #pragma once\n";
    }
    CHECK(findings == "");
}

TEST_CASE("the reader of code sees identifiers, not comments and literals")
{
    CHECK(identifiers("int a = f(\"exit \\\" b\", 'c'); // exit\n10'000 R\"x(exit\")x\" g") ==
          std::set<std::string>{"int", "a", "f", "10'000", "g"});
}

TEST_CASE("the reader of literals sees what is said, however it is cut up, and no comment")
{
    CHECK(literals("f(\"No \" // such\n  \"such\", 10'000); // file") == "\n\nno such\n\n\n\n");
}

} // namespace anchorhold::layering_test
