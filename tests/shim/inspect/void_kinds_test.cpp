// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/void_kinds.hpp"

#include "tests/files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace anchorhold::void_kinds_test {

using namespace inspect;
namespace {

using Lines = std::vector<std::string>;

// Returns the lines of a file between a heading and the next one.
Lines section(const std::string& path, const std::string& heading)
{
    const std::string text = source_file(path);
    const std::size_t begin = text.find("\n" + heading + "\n");
    REQUIRE(begin != std::string::npos);
    const std::string mark = heading.substr(0, heading.find(' ') + 1);
    const std::size_t end = text.find("\n" + mark, begin + heading.size());
    Lines lines;
    for (std::size_t at = begin + 1; at < std::min(end, text.size());) {
        const std::size_t next = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, next - at));
        at = next + 1;
    }
    return lines;
}

} // namespace

TEST_CASE("SECURITY.md has the table of voids, line by line")
{
    Lines expected;
    for (const VoidKind& kind : void_kinds())
        expected.push_back("| `" + std::string(kind.where) + "` | " + std::string(kind.what) +
                           " |");
    Lines found = section("SECURITY.md", "## What voids a posture");
    std::erase_if(found, [](const std::string& line) { return !line.starts_with("| `"); });
    CHECK(found == expected);
}

TEST_CASE("anchorhold-policy.json(5) has the table of voids, line by line")
{
    Lines expected;
    for (const VoidKind& kind : void_kinds()) {
        expected.push_back("*" + std::string(kind.where) + "*");
        expected.push_back(std::string(kind.what));
    }
    Lines found; // a sentence may go on in the next line, behind a tab
    for (const std::string& line : section("contrib/man/anchorhold-policy.json.5.scd", "# VOIDS")) {
        if (line.starts_with("*") && line.ends_with("*")) {
            found.push_back(line);
        } else if (line.starts_with("\t") && !found.empty()) {
            const bool first = found.back().starts_with("*");
            if (first)
                found.emplace_back();
            found.back() += (first ? "" : " ") + line.substr(1);
        }
    }
    CHECK(found == expected);
}

TEST_CASE("a finding's kind is known by its place")
{
    for (const std::string_view where :
         {"mounts[12].source", "mounts[0]", "linux.sysctl[\"net.ipv4.x[]\"]", "root.path",
          "annotations[\"run.oci.x\"]", "linux.namespaces[3].path", "--rootless",
          "--cgroup-manager", "process.user", "linux.seccomp"})
        CHECK_MESSAGE(void_kind_at(where) != nullptr, where);
    CHECK(void_kind_at("mounts[0].source")->where == "mounts[].source");
    for (const std::string_view where : {"", "mounts", "mounts[0].destination", "mounts[", "["})
        CHECK(void_kind_at(where) == nullptr);
}

} // namespace anchorhold::void_kinds_test
