// SPDX-License-Identifier: Apache-2.0
#include "schema/run_key.hpp"
#include "schema/sha256.hpp"

#include <doctest/doctest.h>

namespace anchorhold::run_key_test {
namespace {

ContainerId id_of(std::string_view text)
{
    const auto id = ContainerId::parse(text);
    REQUIRE(id);
    return *id;
}

} // namespace

TEST_CASE("R12 the key of a run is the pinned vector")
{
    // The result of: printf '/run/runc\0box'
    // sha256sum
    CHECK(RunKey::of("/run/runc", id_of("box")).text() == "a36ce4d6dcb8");
    CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("C-63: one id under two roots at once is two runs")
{
    CHECK(RunKey::of("/run/runc/one", id_of("dup")) != RunKey::of("/run/runc/two", id_of("dup")));
    // A root and an id that are cut elsewhere must not mean the same run.
    CHECK(RunKey::of("/run/r", id_of("unc")) != RunKey::of("/run/ru", id_of("nc")));
}

TEST_CASE("C-63: ids that a runtime may accept are taken as they are")
{
    for (const std::string& text :
         {std::string("-x"), std::string("_x"), std::string("x+y"), std::string("a b"),
          std::string("a:b"), std::string("ü"), std::string("..."), std::string(255, 'x')}) {
        const auto id = ContainerId::parse(text);
        REQUIRE(id);
        CHECK(id->text() == text);
        CHECK(RunKey::of("/run/runc", *id).text().size() == 12);
    }
}

TEST_CASE("C-63: what is not one path component is no id")
{
    for (const std::string& text :
         {std::string(""), std::string("."), std::string(".."), std::string("../x"),
          std::string("a/b"), std::string("/"), std::string("a\0b", 3), std::string(256, 'x')}) {
        const auto id = ContainerId::parse(text);
        REQUIRE(!id);
        CHECK(id.error().code == Code::invalid_request);
        CHECK(id.error().what == in_quotes(text) + " is not a container id");
    }
}

TEST_CASE("a key is twelve lower-case hex digits and nothing else")
{
    const auto key = RunKey::parse("0123456789ab");
    REQUIRE(key);
    CHECK(key->text() == "0123456789ab");
    for (const std::string_view text :
         {"", "0123456789a", "0123456789abc", "0123456789aB", "0123456789ag", "../456789abc"}) {
        const auto wrong = RunKey::parse(text);
        REQUIRE(!wrong);
        CHECK(wrong.error().what == in_quotes(text) + " is not the key of a run");
    }
}

} // namespace anchorhold::run_key_test
