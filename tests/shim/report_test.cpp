// SPDX-License-Identifier: Apache-2.0
#include "shim/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace anchorhold::report_test {

using namespace words;
namespace {

LogTarget target(const std::vector<std::string>& rest, Flavour flavour = Flavour::runc)
{
    return log_target(read_invocation(rest, flavour));
}

} // namespace

TEST_CASE("the last --log is the engine's log")
{
    CHECK(target({"--log", "/a", "--log=/b", "create", "x"}).path == "/b");
    CHECK(target({"create", "x"}).path == std::nullopt);
    CHECK(target({"--log=", "create", "x"}).path == std::nullopt);
    CHECK(target({"--log-format", "json", "create", "x"}).format == LogFormat::json);
    CHECK(target({"--log-format=text", "create", "x"}).format == LogFormat::text);
    CHECK(target({"create", "x"}).format == LogFormat::text);
}

TEST_CASE("crun's log may name a backend that is no file")
{
    CHECK(target({"--log=file:/a", "create", "x"}, Flavour::crun).path == "/a");
    CHECK(target({"--log=/a", "create", "x"}, Flavour::crun).path == "/a");
    CHECK(target({"--log=journald:x", "create", "x"}, Flavour::crun).path == std::nullopt);
    CHECK(target({"--log=syslog:x", "create", "x"}, Flavour::crun).path == std::nullopt);
    CHECK(target({"--log=file:/a", "create", "x"}, Flavour::runc).path == "file:/a");
}

TEST_CASE("R7 a record is written as runc writes it (C-30)")
{
    const std::string line = "anchorhold: create x: no \"<a>&\\\" (invalid_policy)";
    CHECK(log_record(LogFormat::json, line, 1700000000) ==
          "{\"level\":\"error\",\"msg\":\"anchorhold: create x: no "
          "\\\"\\u003ca\\u003e\\u0026\\\\\\\" (invalid_policy)\","
          "\"time\":\"2023-11-14T22:13:20Z\"}\n");
    CHECK(log_record(LogFormat::text, line, 1700000000) ==
          "time=\"2023-11-14T22:13:20Z\" level=error msg=\"anchorhold: create x: no "
          "\\\"<a>&\\\\\\\" (invalid_policy)\"\n");
}

TEST_CASE("an error is one line that names product, verb, run, sentence and code")
{
    const Error error{Code::endpoint_unavailable, 0, "endpoint model: no socket at /run/b.sock"};
    const auto create = read_invocation({"create", "--bundle", "B", "4f2a"}, Flavour::runc);
    CHECK(error_line(create, error) == "anchorhold: create 4f2a: endpoint model: no socket at "
                                       "/run/b.sock (endpoint_unavailable)");
    CHECK(error_line(read_invocation({"create"}, Flavour::runc), error) ==
          "anchorhold: create: endpoint model: no socket at /run/b.sock (endpoint_unavailable)");
    CHECK(error_line(read_invocation({}, Flavour::runc), error) ==
          "anchorhold: endpoint model: no socket at /run/b.sock (endpoint_unavailable)");
}

TEST_CASE("R8 an error stays one line of less than a kilobyte whatever the world says")
{
    const std::string nasty(3000, '\x1b');
    const Error error{Code::invalid_request, 0, "a\nb" + nasty};
    const auto call = read_invocation({"create", "x\n" + nasty}, Flavour::runc);
    const std::string line = error_line(call, error);
    CHECK(line.size() < 1024);
    CHECK(line.starts_with("anchorhold: create x\\x0a\\x1b"));
    CHECK(line.ends_with("... (invalid_request)"));
    CHECK(std::ranges::none_of(line, [](char byte) { return byte >= 0 && byte < ' '; }));
    CHECK(log_record(LogFormat::json, line, 0).size() < 4096);
}

} // namespace anchorhold::report_test
