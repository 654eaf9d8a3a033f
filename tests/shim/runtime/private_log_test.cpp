// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/private_log.hpp"

#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

namespace anchorhold::private_log_test {

using namespace runtime;
using namespace words;
namespace {

const std::string debug = R"({"level":"debug","msg":"a","time":"t"})"
                          "\n";
const std::string first = R"({"level":"error","msg":"b","time":"t"})"
                          "\n";
const std::string last = R"({ "msg": "c", "level": "error" })"
                         "\n";

std::string text_of(const std::string& path)
{
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write_to(const std::string& path, const std::string& text)
{
    std::ofstream(path, std::ios::app) << text;
}

Session session_with(const std::vector<std::string>& rest)
{
    Session session;
    session.rest = rest;
    session.invocation = read_invocation(rest, Flavour::runc);
    session.runtime = "/usr/sbin/runc";
    return session;
}

} // namespace

TEST_CASE("of several errors the last stays, and what is none stays as it was")
{
    constexpr auto json = LogFormat::json;
    CHECK(with_one_error(debug + first + debug + last, json, Flavour::runc, "S\n") ==
          debug + debug + last);
    CHECK(with_one_error(first, json, Flavour::crun, "S\n") == first);
    CHECK(with_one_error(debug + "no json", json, Flavour::runc, "S\n") == debug + "no json\nS\n");
    CHECK(with_one_error("", json, Flavour::runc, "S\n") == "S\n");
}

TEST_CASE("runc's text names its levels, crun's has none and is all errors")
{
    constexpr auto text = LogFormat::text;
    CHECK(with_one_error("level=debug x\nlevel=error y\nlevel=error z\n", text, Flavour::runc,
                         "S\n") == "level=debug x\nlevel=error z\n");
    CHECK(with_one_error("x\ny\n", text, Flavour::crun, "S\n") == "y\n");
}

TEST_CASE("the runtime logs in private, and the engine's log gets it afterwards")
{
    const Scratch scratch;
    const std::string engine = scratch / "engine.json";
    write_to(engine, debug);
    const Session session = session_with(
        {"--log", "/other", "--log=" + engine, "--log-format", "json", "create", "id"});
    const auto log = PrivateLog::open(session, scratch.path());
    REQUIRE(log);
    const std::string file = scratch / "log";
    CHECK(log->words() == std::vector<std::string>{"--log", "/other", "--log=" + file,
                                                   "--log-format", "json", "create", "id"});
    write_to(file, debug + first + last);
    CHECK(text_of(engine) == debug);
    std::filesystem::remove(file); // as teardown does
    log->pass_on();
    CHECK(text_of(engine) == debug + debug + first + last);
    log->pass_on_one_error();
    CHECK(text_of(engine) == debug + debug + first + last + debug + last);
}

TEST_CASE("a runtime that failed without a word is said to have")
{
    const Scratch scratch;
    const std::string engine = scratch / "engine.json";
    const auto log =
        PrivateLog::open(session_with({"--log", engine, "create", "id"}), scratch.path());
    REQUIRE(log);
    log->pass_on_one_error();
    CHECK(
        text_of(engine).contains("level=error msg=\"anchorhold: create id: /usr/sbin/runc failed "
                                 "without a word in its log; see its stderr (delegate_failed)\""));
}

TEST_CASE("where there is no log of the engine's nothing is replaced")
{
    const Scratch scratch;
    const Session session = session_with({"create", "id"});
    const auto log = PrivateLog::open(session, "/nowhere");
    REQUIRE(log);
    CHECK(log->words() == session.rest);
    log->pass_on();
}

} // namespace anchorhold::private_log_test
