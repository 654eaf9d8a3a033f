// SPDX-License-Identifier: Apache-2.0
// Whatever an administrator wrote comes back to the byte; what cannot be added to is refused.
#include "schema/engine/toml_edit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace anchorhold::toml_edit_test {

using namespace engine;
namespace {

const std::string lines = "[plugins.\"cri\".containerd.runtimes.ours]\n"
                          "runtime_type = \"io.containerd.runc.v2\"\n";
// As kubeadm's: with the tables above ours, comments, odd blanks, a date, no table of ours.
const std::string lived_in = "# ours since 2019\r\n"
                             "version = 2   # two\n"
                             "since = 2019-05-01\n\n"
                             "[ plugins . \"cri\" ]\n"
                             "  sandbox_image = 'example.test/pause:1' # pinned\n"
                             "[[unheard.of]]\nkey = [1,\n 2]\n"
                             "[plugins.'cri'.containerd.runtimes.runc]\n"
                             "\truntime_type = \"io.containerd.runc.v2\"\n";

std::string with(const std::string& text, TextIs is = TextIs::toml)
{
    const auto edited = with_marked(text, lines, is);
    return edited ? *edited : "refused: " + edited.error().what;
}

std::string without(const std::string& text, TextIs is = TextIs::toml)
{
    const auto edited = without_marked(text, is);
    return edited ? *edited : "refused: " + edited.error().what;
}

} // namespace

TEST_CASE("an edit of TOML adds our lines at the end, and takes them out to the byte")
{
    for (const std::string& text :
         {lived_in, std::string(), std::string("version = 2"), std::string("# no end"),
          std::string("a = \"\"\"\n# BEGIN x\n\"\"\""), std::string("\n\n"),
          lived_in.substr(0, lived_in.size() - 1)}) {
        CAPTURE(text);
        const std::string edited = with(text);
        CHECK(edited.starts_with(text));
        CHECK(edited.contains(lines));
        CHECK(without(edited) == text);
        CHECK(with(edited) == edited);
        CHECK(without(text) == text);
    }
}

TEST_CASE("an edit of TOML replaces an earlier one")
{
    const auto first = with_marked("version = 2", "[other]\na = 1", TextIs::toml);
    REQUIRE(first);
    CHECK(with(*first) == with("version = 2"));
}

TEST_CASE("what others wrote since stays, and nothing of it may be in our sections")
{
    const std::string edited = with(lived_in);
    CHECK(without("# new\n" + edited + "[metrics]\naddress = \"\"\n") ==
          "# new\n" + lived_in + "[metrics]\naddress = \"\"\n");
    CHECK(without(edited + "root = \"/x\"\n")
              .starts_with("refused: our lines cannot be taken out: "));
    CHECK(with(edited + "root = \"/x\"\n").starts_with("refused: our lines cannot be taken out: "));
}

TEST_CASE("an edit of TOML is refused where it would say something else")
{
    for (const std::string& text :
         {std::string("plugins = 1\n"),                                              // no table
          std::string("[plugins.\"cri\"]\ncontainerd = {runtimes = {runc = {}}}\n"), // a closed one
          std::string("[plugins.\"cri\".containerd.runtimes.ours]\nx = 1\n")}) {     // ours
        CAPTURE(text);
        CHECK(with(text).starts_with("refused: our lines cannot be added at its end "));
    }
    CHECK(with("version = 2\nimports = [").starts_with("refused: line 2: "));
    CHECK(without("imports = [") == "imports = [");
    CHECK_FALSE(with_marked("", "a = ", TextIs::toml));
    CHECK_FALSE(with_marked("{{ x }}", "a = ", TextIs::go_template));
    CHECK_FALSE(
        with_marked("", "# END anchorhold\n", TextIs::toml)); // would end our part too early
}

TEST_CASE("marks that were changed are not guessed at")
{
    const std::string edited = with(lived_in);
    const std::size_t begin = edited.find("# BEGIN");
    const std::size_t end = edited.find("# END");
    for (const std::string& text :
         {edited.substr(0, end), edited.substr(0, begin) + edited.substr(end),
          edited + edited.substr(end),
          edited.substr(0, begin) + edited.substr(end) + edited.substr(begin, end - begin),
          edited.substr(0, begin + 18) + "." + edited.substr(begin + 18)}) {
        CAPTURE(text);
        CHECK(without(text).contains("were changed; take out by hand"));
        CHECK(with(text).contains("were changed; take out by hand"));
    }
}

TEST_CASE("a template is edited without being parsed")
{
    const std::string text =
        "{{ template \"base\" . }}\n{{- if .IsRunningInUserNS }}\n[x]\n{{end}}";
    const std::string edited = with(text, TextIs::go_template);
    CHECK(edited.starts_with(text + "\n# BEGIN anchorhold"));
    CHECK(without(edited, TextIs::go_template) == text);
    CHECK(with(text).starts_with("refused: line 1: ")); // as TOML it is none
}

} // namespace anchorhold::toml_edit_test
