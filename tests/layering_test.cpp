// SPDX-License-Identifier: Apache-2.0
// The folders, and which of them may include which, as data. Every file of the tree is compared
// with it.
#include <doctest/doctest.h>

#include "tests/code.hpp"
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

// The folders of the product, each with the folders that it may include. A folder may include
// itself.
const std::map<std::string, std::set<std::string>> folders{
    {"schema/json", {"schema"}},
    {"schema/rules", {"schema", "schema/json"}},
    {"schema", {"schema/json", "schema/rules"}},
    {"schema/import", {"schema", "schema/json", "schema/rules"}},
    {"schema/engine", {"schema", "schema/json"}},
    {"hooks/files", {"schema"}},
    {"hooks/state", {"hooks/files", "schema", "schema/json", "schema/rules"}},
    {"hooks/net", {"hooks/files", "hooks/state", "schema", "schema/rules"}},
    {"hooks/nft", {"hooks/net", "hooks/files", "hooks/state", "schema", "schema/rules"}},
    {"hooks",
     {"hooks/net", "hooks/nft", "hooks/files", "hooks/state", "schema", "schema/json",
      "schema/rules"}},
    {"shim/words", {"schema"}},
    {"shim/config", {"hooks/files", "hooks/state", "schema", "schema/json"}},
    {"shim/inspect",
     {"hooks/files", "hooks/state", "schema", "schema/json", "shim/config", "shim/words"}},
    {"shim/edit", {"schema", "schema/json", "shim/config", "shim/inspect", "shim/words"}},
    {"shim/runtime",
     {"hooks/files", "hooks/state", "schema", "schema/engine", "schema/json", "shim",
      "shim/words"}},
    {"shim/prepare",
     {"hooks/files", "hooks/state", "schema", "schema/json", "schema/rules", "shim", "shim/config",
      "shim/edit", "shim/inspect", "shim/runtime"}},
    {"shim/verbs",
     {"hooks/files", "hooks/state", "schema", "schema/json", "schema/rules", "shim", "shim/config",
      "shim/edit", "shim/inspect", "shim/prepare", "shim/runtime", "shim/words"}},
    {"shim/tools",
     {"hooks/files", "hooks/state", "schema", "schema/engine", "schema/import", "schema/json",
      "schema/rules", "shim", "shim/config", "shim/inspect", "shim/prepare", "shim/runtime",
      "shim/verbs"}},
    {"shim",
     {"hooks/files", "hooks/state", "schema", "schema/json", "shim/runtime", "shim/tools",
      "shim/verbs", "shim/words"}},
    {"relay", {}},
    {"relay/gate", {"relay", "schema", "schema/json", "schema/rules"}},
};
// Single headers that a folder may include in addition.
const std::map<std::string, std::set<std::string>> besides{
    {"hooks", {"relay/pump.hpp"}},
    {"relay", {"schema/rules/names_table.hpp", "schema/unique_fd.hpp"}},
};
// The other rooms. Each include must begin with one of these.
const std::map<std::string, std::vector<std::string>> rooms{
    {"tests", {"tests/", "schema/", "shim/", "hooks/", "relay/"}},
    // A black box: its programs know only the files beside them.
    {"integration", {"attempt.hpp", "contenders.hpp", "load.hpp", "order.hpp"}},
    {"contrib", {}},
};
const std::set<std::string> product{"schema", "shim", "hooks", "relay"};
// The folders that do not link libmnl: Debian has no static one, and the shim is static.
const std::set<std::string> without_libmnl{"schema", "shim", "hooks/files", "hooks/state"};
// The sources that are declared in a header of another name.
const std::map<std::string, std::string> declared_in{
    {"hooks/down.cpp", "hooks/verbs.hpp"},
    {"hooks/guard.cpp", "hooks/verbs.hpp"},
    {"hooks/up.cpp", "hooks/verbs.hpp"},
    {"hooks/nft/gate_table.cpp", "hooks/nft/inside_table.hpp"},
    {"relay/gate/serve.cpp", "relay/gate/gate.hpp"},
    {"schema/engine/verify_text.cpp", "schema/engine/verify.hpp"},
    {"schema/json/view.cpp", "schema/json/json.hpp"},
    {"schema/json/write.cpp", "schema/json/json.hpp"},
    {"shim/tools/check.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/denials.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/doctor.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/explain.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/policy.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/precreate.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/setup.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/runs.cpp", "shim/tools/tool_list.hpp"},
    {"shim/tools/verify.cpp", "shim/tools/tool_list.hpp"},
};
constexpr std::size_t most_units = 20; // pairs of source and header in a folder
// Libraries other than the C library and the standard one. They stay out of headers.
const std::vector<std::string> libraries{"libmnl/",  "libnftnl/", "rapidjson/", "cap-ng.h",
                                         "sha256.h", "toml++/",   "ares.h",     "seccomp.h"};
// Files that meson makes, so they are not in the tree.
const std::set<std::string> generated{"tests/fuzz/embedded.hpp"};
constexpr std::size_t most_lines = 399;

struct Source {
    std::string room;
    std::string path; // from the root of the tree
    std::string text;

    std::string name() const { return path.substr(path.rfind('/') + 1); }
    std::string folder() const { return path.substr(0, path.rfind('/')); }
    std::string unit() const { return path.substr(0, path.rfind('.')); }
    bool is_header() const { return path.ends_with(".hpp"); }
    bool is_product() const { return product.contains(room); }
};

std::vector<Source> sources()
{
    namespace fs = std::filesystem;
    std::vector<Source> found;
    std::set<std::string> all = product;
    for (const auto& [room, may] : rooms)
        all.insert(room);
    for (const std::string& room : all) {
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

// Returns the text between `open` and `close` on the #include lines: "schema/json/json.hpp".
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

bool may_include(const Source& source, const std::string& included)
{
    if (!source.is_product())
        return begins_with_one_of(included, rooms.at(source.room));
    const std::string folder = source.folder();
    const std::string other = included.substr(0, included.rfind('/'));
    const auto table = folders.find(folder);
    const auto single = besides.find(folder);
    return other == folder || (table != folders.end() && table->second.contains(other)) ||
           (single != besides.end() && single->second.contains(included));
}

// Returns "FILE uses WORD" for each word of the list that a file uses.
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
            if (!may_include(source, included))
                findings += source.path + " includes " + included + "\n";
            if (source.room != "integration" && !generated.contains(included) &&
                !std::filesystem::exists(std::filesystem::path(AH_SOURCE_ROOT) / included))
                findings += source.path + " does not write " + included + " from the root\n";
        }
    }
    CHECK(findings == "");
    CHECK(seen > 100); // the test has read something
}

TEST_CASE("every folder of the product is in the table, and holds at most twenty units")
{
    std::map<std::string, std::set<std::string>> units;
    for (const Source& source : sources()) {
        if (source.is_product())
            units[source.folder()].insert(source.unit());
    }
    std::string findings;
    for (const auto& [folder, those] : units) {
        if (!folders.contains(folder))
            findings += folder + " is not in the table\n";
        if (those.size() > most_units)
            findings += folder + " has " + std::to_string(those.size()) + " units\n";
    }
    for (const auto& [folder, may] : folders) {
        if (!units.contains(folder))
            findings += folder + " is in the table and not in the tree\n";
    }
    CHECK(findings == "");
}

TEST_CASE("a source has a header of its name, unless the list says where it is declared")
{
    std::set<std::string> headers;
    for (const Source& source : sources()) {
        if (source.is_header())
            headers.insert(source.path);
    }
    std::string findings;
    std::size_t listed = 0;
    for (const Source& source : sources()) {
        if (!source.is_product() || source.is_header() || source.name() == "main.cpp")
            continue;
        const auto found = declared_in.find(source.path);
        listed += found == declared_in.end() ? 0 : 1;
        const std::string header =
            found == declared_in.end() ? source.unit() + ".hpp" : found->second;
        if (!headers.contains(header))
            findings += source.path + " has no " + header + "\n";
    }
    CHECK(findings == "");
    CHECK(listed == declared_in.size());
}

TEST_CASE("the static shim and what it shares with the hook know no libmnl")
{
    std::string findings;
    for (const Source& source : sources()) {
        if (!without_libmnl.contains(source.room) && !without_libmnl.contains(source.folder()))
            continue;
        for (const std::string& included : includes(source, '<', '>')) {
            if (included.starts_with("libmnl/") || included.starts_with("libnftnl/"))
                findings += source.path + " includes " + included + "\n";
        }
    }
    CHECK(findings == "");
}

TEST_CASE("the relay includes nothing of libstdc++")
{
    std::string findings;
    for (const Source& source : sources()) {
        for (const std::string& included : includes(source, '<', '>')) {
            if (source.folder() == "relay" && !included.ends_with(".h"))
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
    // _exit() is not listed, because a forked child has no other way to end.
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
    // These report, in the words of a runtime, that the user's own command is missing.
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
    CHECK(found.size() == of_commands.size()); // the test has read something
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
            // The exceptions: without libstdc++ there is no other heap, and stream.cpp says where
            // it is freed; malloc_trim(3) has a header of that name.
            if (finding != "relay/stream.cpp uses malloc" &&
                finding != "relay/gate/main.cpp uses malloc")
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

} // namespace anchorhold::layering_test
