// SPDX-License-Identifier: Apache-2.0
#include "relay/options.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace anchorhold::relay::options_test {
namespace {

struct Parsed {
    std::vector<std::string> words;
    std::vector<char*> argv;
    std::unique_ptr<Options> options = std::make_unique<Options>(Options{});
    std::string error;

    explicit Parsed(std::vector<std::string> given) : words(std::move(given))
    {
        words.insert(words.begin(), "anchorhold-relay");
        for (std::string& word : words)
            argv.push_back(word.data());
        argv.push_back(nullptr);
        const Failure failed = parse_options(static_cast<int>(words.size()), argv.data(), *options);
        Line line;
        if (failed)
            describe(failed, line);
        error = line.text();
    }
};

std::string error_of(std::vector<std::string> words)
{
    return Parsed(std::move(words)).error;
}

std::string endpoint_error(const std::string& value)
{
    return error_of({"--endpoint", value, "--", "true"});
}

} // namespace

TEST_CASE("the relay reads the whole command line the shim writes")
{
    const Parsed parsed({"--inside",
                         "/dev/ah/inside",
                         "--mark",
                         "k.1",
                         "--host-netns",
                         "4:403",
                         "--host-cookie",
                         "1",
                         "--dns",
                         "--names",
                         "5",
                         "--step-aside",
                         "--endpoint",
                         "8080=/dev/ah/m/b.sock@26:7",
                         "--endpoint",
                         "80=/s",
                         "--",
                         "sh",
                         "-c",
                         "--dns"});
    REQUIRE(parsed.error.empty());
    const Options& options = *parsed.options;
    CHECK(std::string(options.inside) == "/dev/ah/inside");
    CHECK(std::string(options.mark) == "k.1");
    CHECK(options.host_netns.known);
    CHECK(options.host_netns.device == 4);
    CHECK(options.host_netns.inode == 403);
    CHECK(options.host_cookie_known);
    CHECK(options.host_cookie == 1);
    CHECK(options.dns);
    CHECK(options.names == 5);
    CHECK(options.step_aside);
    CHECK_FALSE(options.version);
    REQUIRE(options.endpoint_count == 2);
    CHECK(options.endpoints[0].port == 8080);
    CHECK(std::string(options.endpoints[0].directory) == "/dev/ah/m");
    CHECK(std::string(options.endpoints[0].socket) == "b.sock");
    CHECK(options.endpoints[0].identity.known);
    CHECK(options.endpoints[0].identity.device == 26);
    CHECK(options.endpoints[0].identity.inode == 7);
    CHECK(options.endpoints[1].port == 80);
    CHECK(std::string(options.endpoints[1].directory) == "/");
    CHECK(std::string(options.endpoints[1].socket) == "s");
    CHECK_FALSE(options.endpoints[1].identity.known);
    CHECK(std::string(options.command[0]) == "sh");
    CHECK(std::string(options.command[2]) == "--dns");
    CHECK(options.command[3] == nullptr);
}

TEST_CASE("names are counted in a descriptor that is no standard one, and where they are refused")
{
    const auto names = [](const char* value) {
        return error_of({"--inside", "/i", "--mark", "m", "--dns", "--names", value, "--", "true"});
    };
    CHECK(names("3").empty());
    for (const char* value : {"2", "-1", "x", "2147483648"}) {
        CHECK(names(value) ==
              "read argument \"" + std::string(value) + "\": not a descriptor from 3 on");
    }
    CHECK(error_of({"--endpoint", "1=/a/b", "--names", "3", "--", "true"}) ==
          "read argument \"--names\": it belongs with --dns");
}

TEST_CASE("an @ that no identity follows belongs to the socket's name")
{
    const Parsed parsed({"--endpoint", "1=/a@1:2/b@c", "--", "true"});
    REQUIRE(parsed.error.empty());
    CHECK(std::string(parsed.options->endpoints[0].directory) == "/a@1:2");
    CHECK(std::string(parsed.options->endpoints[0].socket) == "b@c");
}

TEST_CASE("a port is a decimal number from 1 to 65535, C-28")
{
    CHECK(endpoint_error("1=/a/b").empty());
    CHECK(endpoint_error("65535=/a/b").empty());
    for (const char* port :
         {"0", "65536", "abc", "", " 1", "+1", "-1", "01", "1x", "0x50", "99999999999999999999"}) {
        const std::string value = std::string(port) + "=/a/b";
        CHECK(endpoint_error(value) ==
              "read argument \"" + value + "\": not PORT=TARGET with a port from 1 to 65535");
    }
    CHECK(endpoint_error("8080") ==
          "read argument \"8080\": not PORT=TARGET with a port from 1 to 65535");
}

TEST_CASE("a socket's path is absolute and its name fits sun_path")
{
    CHECK(endpoint_error("1=a/b") == "read argument \"1=a/b\": the socket's path is not absolute");
    CHECK(endpoint_error("1=") == "read argument \"1=\": the socket's path is not absolute");
    CHECK(endpoint_error("1=/a/") == "read argument \"1=/a/\": the socket has no name");
    CHECK(endpoint_error("1=/a/@1:2") == "read argument \"1=/a/@1:2\": the socket has no name");
    const std::string longest = "1=/" + std::string(300, 'd') + "/" + std::string(107, 's');
    CHECK(endpoint_error(longest).empty());
    CHECK(endpoint_error(longest + "s").find("a socket's name has at most 107 bytes") !=
          std::string::npos);
    CHECK(endpoint_error("1=/" + std::string(4096, 'd') + "/s") != "");
}

TEST_CASE("host:PORT is the host's end of the link, and needs what `up` left")
{
    const Parsed parsed(
        {"--inside", "/x", "--mark", "k.1", "--endpoint", "8080=host:443", "--", "true"});
    REQUIRE(parsed.error.empty());
    const Endpoint& endpoint = parsed.options->endpoints[0];
    CHECK(endpoint.port == 8080);
    CHECK(endpoint.host_port == 443);
    CHECK(std::string(endpoint.directory).empty());
    CHECK(std::string(endpoint.socket).empty());
    CHECK(endpoint_error("1=host:65535") ==
          "read argument \"1=host:65535\": host:PORT belongs with --inside");
    for (const char* port : {"", "0", "65536", "01", "+1", " 1", "1 ", "80@1:2", "80/x"}) {
        const std::string value = std::string("1=host:") + port;
        CHECK(endpoint_error(value) ==
              "read argument \"" + value + "\": not host:PORT with a port from 1 to 65535");
    }
    // No name is looked up, and no address is taken from the command line.
    for (const char* value : {"1=host", "1=localhost:80", "1=127.0.0.1:80", "1=HOST:80"})
        CHECK(endpoint_error(value) ==
              "read argument \"" + std::string(value) + "\": the socket's path is not absolute");
}

TEST_CASE("sixteen endpoints on sixteen ports, not more and none twice")
{
    std::vector<std::string> words;
    for (int port = 1; port <= 16; ++port)
        words.insert(words.end(), {"--endpoint", std::to_string(port) + "=/a/b"});
    auto with = [&](const std::string& endpoint) {
        auto more = words;
        more.insert(more.end(), {"--endpoint", endpoint, "--", "true"});
        return error_of(more);
    };
    CHECK(with("17=/a/b") == "read argument \"17=/a/b\": more than 16 endpoints");
    words.resize(2);
    CHECK(with("1=/c/d") == "read argument \"1=/c/d\": the port is given twice");
    CHECK(with("2=/c/d").empty());
}

TEST_CASE("anything else on the command line is refused in one sentence")
{
    const std::vector<std::string> good = {"--endpoint", "1=/a/b", "--", "true"};
    auto before = [&](std::vector<std::string> words) {
        words.insert(words.end(), good.begin(), good.end());
        return error_of(words);
    };
    CHECK(before({}).empty());
    CHECK(before({"--nope"}) == "read argument \"--nope\": no such option");
    CHECK(before({"--stop-when-lost", "60"}) == "read argument \"60\": not SECONDS:GRACE");
    CHECK(before({"--stop-when-lost", ":1"}) == "read argument \":1\": not SECONDS:GRACE");
    CHECK(before({"--stop-when-lost", "1:"}) == "read argument \"1:\": not SECONDS:GRACE");
    CHECK(before({"--stop-when-lost", "1:1", "--step-aside"}) ==
          "read argument \"--stop-when-lost\": process 1 cannot be stopped from beside it");
    CHECK(before({"--dns=1"}) == "read argument \"--dns=1\": no such option");
    CHECK(before({"--version"}) == "read argument \"--version\": no such option");
    CHECK(before({"--mark", "x"}) == "read argument \"--mark\": it belongs with --inside");
    CHECK(before({"--inside", "/x"}) == "read argument \"--mark\": it belongs with --inside");
    CHECK(before({"--host-netns", "4"}) == "read argument \"4\": not DEVICE:INODE");
    CHECK(before({"--host-netns", "4:"}) == "read argument \"4:\": not DEVICE:INODE");
    CHECK(before({"--host-netns", "4:5x"}) == "read argument \"4:5x\": not DEVICE:INODE");
    CHECK(before({"--host-cookie", "18446744073709551616"}) ==
          "read argument \"18446744073709551616\": not a number");
    CHECK(error_of({}) == "read argument \"--endpoint\": it is missing");
    CHECK(error_of({"--", "true"}) == "read argument \"--endpoint\": it is missing");
    CHECK(error_of({"--endpoint"}) == "read argument \"--endpoint\": a value is missing");
    CHECK(error_of({"--endpoint", "1=/a/b"}) == "read argument \"--\": no command follows");
    CHECK(error_of({"--endpoint", "1=/a/b", "--"}) == "read argument \"--\": no command follows");
}

TEST_CASE("--version stands alone")
{
    const Parsed parsed({"--version"});
    CHECK(parsed.error.empty());
    CHECK(parsed.options->version);
}

} // namespace anchorhold::relay::options_test
