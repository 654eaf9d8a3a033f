// SPDX-License-Identifier: Apache-2.0
#include "shim/tools/tools.hpp"

#include <doctest/doctest.h>

namespace anchorhold::tools_test {

using namespace tools;
namespace {

std::optional<std::string> text_of(std::vector<const char*> words)
{
    return text_asked_for(words);
}

} // namespace

TEST_CASE("a subcommand's help is its usage line, a sentence and its options")
{
    const auto check = text_of({"check", "--help"});
    CHECK(check == "usage: anchorhold check [--bundle DIR] DEST\n\n"
                   "Says whether DEST would be reachable, and by which rule.\n"
                   "DEST is HOST or HOST:PORT.\n\n"
                   "  --bundle DIR  ask for this bundle (default: for a container without "
                   "annotations)\n"
                   "  --help        print this text\n");
    CHECK(text_of({"--ah-policy=/nowhere", "check", "--bundle", "--help"}) == check);
}

TEST_CASE("every subcommand has a help, and --ah-help lists them all")
{
    const auto all = text_of({"--ah-help"});
    REQUIRE(all);
    for (const char* tool : {"doctor", "explain", "check", "runs", "show", "denials", "verify",
                             "precreate", "gc", "import"}) {
        CAPTURE(tool);
        CHECK(is_tool(tool));
        CHECK(all->contains("\n  " + std::string(tool) + " "));
        const auto one = text_of({tool, "--help"});
        REQUIRE(one);
        CHECK(one->starts_with("usage: anchorhold " + std::string(tool)));
    }
    for (const char* option :
         {"policy FILE", "state DIR", "profile NAME", "runtime PATH", "help ", "version "})
        CHECK(all->contains("\n  --ah-" + std::string(option)));
}

TEST_CASE("our version is asked for by a word of our own")
{
    CHECK(text_of({"--ah-version"}) == "anchorhold " ANCHORHOLD_VERSION "\n");
    CHECK(text_of({"--debug", "--ah-version", "create", "id"}) == "anchorhold " ANCHORHOLD_VERSION
                                                                  "\n");
}

TEST_CASE("--help and --version alone, and behind the runtime's words, stay the runtime's")
{
    const std::vector<std::vector<const char*>> lines{
        {},
        {"--help"},
        {"--version"},
        {"create", "--help"},
        {"create", "--ah-help", "id"},
        {"exec", "id", "doctor", "--help"},
        {"--log", "--ah-help", "state", "id"},
        {"--debug", "doctor", "--help"},
        {"doctor"},
        {"--ah-help=yes", "create", "id"},
    };
    for (const auto& line : lines)
        CHECK(text_of(line) == std::nullopt);
}

} // namespace anchorhold::tools_test
