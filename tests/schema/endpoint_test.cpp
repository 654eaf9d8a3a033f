// SPDX-License-Identifier: Apache-2.0
#include "schema/endpoint.hpp"

#include <doctest/doctest.h>

namespace anchorhold::endpoint_test {
namespace {

Port port(std::int64_t number)
{
    return *Port::from(number, Code::invalid_request);
}

// Returns the whole list as "model:8080=unix:/run/a/x.sock; ...", or the refusal.
std::string told(std::string_view text)
{
    const auto endpoints = parse_endpoints(text);
    if (!endpoints) {
        CHECK(endpoints.error().code == Code::invalid_request);
        return "refused: " + endpoints.error().what;
    }
    std::string list;
    for (const Endpoint& endpoint : *endpoints)
        list += (list.empty() ? "" : "; ") + endpoint.name + ":" +
                std::to_string(endpoint.listen.number()) + "=" + target_text(endpoint.to);
    return list;
}

std::string target(std::string_view text)
{
    const auto parsed = parse_target(text, Code::invalid_policy);
    if (parsed)
        return target_text(*parsed);
    CHECK(parsed.error().code == Code::invalid_policy);
    return "refused: " + parsed.error().what;
}

std::string no_path(const std::string& path)
{
    return "refused: " + in_quotes(path) +
           " is not an absolute path DIRECTORY/SOCKET without empty, \".\" and \"..\" components";
}

} // namespace

TEST_CASE("endpoints in short and in JSON form say the same")
{
    const std::string two = "model:8080=unix:/run/brokers/42/broker.sock; db:5432=tcp:host:5432";
    CHECK(told("model:8080=unix:/run/brokers/42/broker.sock , db:5432=tcp:host:5432") == two);
    CHECK(told(R"([{"name":"model","listen":8080,"to":"unix:/run/brokers/42/broker.sock"},
                   {"to":"tcp:host:5432","listen":5432,"name":"db"}])") == two);
    CHECK(told("").empty());
    CHECK(told("[]").empty());
}

TEST_CASE("B-48: an endpoint that is wrong anywhere is refused, with the place")
{
    CHECK(told("model") == "refused: \"model\" is not NAME:PORT=unix:PATH");
    CHECK(told("model=unix:/a/b:1") == "refused: \"model=unix:/a/b:1\" is not NAME:PORT=unix:PATH");
    CHECK(told("Model:1=unix:/a/b") ==
          "refused: \"Model\" is not an endpoint name: 1 to 32 of [a-z0-9-]");
    CHECK(told(":1=unix:/a/b") == "refused: \"\" is not an endpoint name: 1 to 32 of [a-z0-9-]");
    CHECK(told("m:0=unix:/a/b") == "refused: \"0\" is not a port");
    CHECK(told("m:65536=unix:/a/b") == "refused: \"65536\" is not a port");
    CHECK(told("m:080=unix:/a/b") == "refused: \"080\" is not a port");
    CHECK(told("m:=unix:/a/b") == "refused: \"\" is not a port");
    CHECK(told("m:1=unix:/a/b,") == "refused: \"m:1=unix:/a/b,\" has an empty entry");
    CHECK(told("m:1=/a/b") == "refused: \"/a/b\" is neither unix:PATH nor tcp:HOST:PORT");
    CHECK(told(R"([{"name":"m","listen":0,"to":"unix:/a/b"}])") ==
          "refused: [0].listen: 0 is not a port");
    CHECK(told(R"([{"name":"m","listen":65536,"to":"unix:/a/b"}])") ==
          "refused: [0].listen: 65536 is not a port");
    CHECK(told(R"([{"name":"m","listen":80.5,"to":"unix:/a/b"}])") ==
          "refused: [0].listen: expected an integer");
    CHECK(told(R"([{"name":"m","listen":"80","to":"unix:/a/b"}])") ==
          "refused: [0].listen: expected an integer");
    CHECK(told(R"([{"name":"m","listen":80}])") == "refused: [0]: has no \"to\"");
    CHECK(told(R"([{"name":"m","listen":80,"to":"unix:/a/b","mode":"rw"}])") ==
          "refused: [0]: unknown member \"mode\"");
    CHECK(told(R"([{"name":"m","listen":80,"to":"tcp:x.org:1","within":["10.0.0.0/8"]}])") ==
          "refused: [0].within: is for the policy's own endpoints alone");
    CHECK(told(R"(["m:1=unix:/a/b"])") == "refused: [0]: expected an object");
    CHECK(told("[{]") == "refused: line 1, column 3: expected a member name");
    CHECK(told(R"([{"name":"m","name":"n","listen":80,"to":"unix:/a/b"}])").starts_with("refused"));
}

TEST_CASE("one name or one port twice is refused, and so are too many")
{
    CHECK(told("a:1=unix:/a/b, a:2=unix:/a/c") == "refused: two endpoints are named a");
    CHECK(told("a:1=unix:/a/b, b:1=unix:/a/c") == "refused: endpoints a and b both listen on 1");
    std::string many;
    for (int i = 1; i <= 16; ++i)
        many += (i == 1 ? "e" : ",e") + std::to_string(i) + ":" + std::to_string(i) + "=unix:/a/b";
    CHECK(!told(many).starts_with("refused"));
    CHECK(told(many + ",e17:17=unix:/a/b") == "refused: more than 16 endpoints");
}

TEST_CASE("a Unix target is a socket in a directory, spelt plainly")
{
    CHECK(target("unix:/run/brokers/42/broker.sock") == "unix:/run/brokers/42/broker.sock");
    CHECK(target("unix:/run/brokers/{id}/broker.sock") == "unix:/run/brokers/{id}/broker.sock");
    CHECK(target("unix:/a/..b/...") == "unix:/a/..b/...");
    for (const std::string& path :
         {std::string(""), std::string("run/x.sock"), std::string("/x.sock"), std::string("/"),
          std::string("/run/"), std::string("/run//x"), std::string("/run/./x"),
          std::string("/run/../etc/x"), std::string("/run/x/.."), std::string("/run/x/"),
          std::string("/run/x\0/y", 9)})
        CHECK(target("unix:" + path) == no_path(path));
    CHECK(UnixTarget{"/run/brokers/42/broker.sock"}.directory() == "/run/brokers/42");
}

TEST_CASE("a TCP target is a host and a port")
{
    CHECK(target("tcp:host:8080") == "tcp:host:8080");
    CHECK(target("tcp:db.internal:5432") == "tcp:db.internal:5432");
    CHECK(target("tcp:10.1.2.3:1") == "tcp:10.1.2.3:1");
    CHECK(target("tcp:[2001:DB8::1]:65535") == "tcp:[2001:db8::1]:65535");
    CHECK(target("tcp:host") == "refused: \"host\" is not HOST:PORT");
    CHECK(target("tcp:2001:db8::1:80") ==
          "refused: \"2001:db8::1\" is not a host: a name, an IPv4 address or [IPv6]");
    CHECK(target("tcp:[10.1.2.3]:80") ==
          "refused: \"10.1.2.3\" is not a host: a name, an IPv4 address or [IPv6]");
    CHECK(target("tcp:10.0.0.0/8:80") ==
          "refused: \"10.0.0.0/8\" is not a host: a name, an IPv4 address or [IPv6]");
    CHECK(target("tcp:*.x.org:80") ==
          "refused: \"*.x.org\" is not a host: a name, an IPv4 address or [IPv6]");
    CHECK(target("tcp:host:0") == "refused: \"0\" is not a port");
    CHECK(target("udp:host:1") == "refused: \"udp:host:1\" is neither unix:PATH nor tcp:HOST:PORT");
}

TEST_CASE("a port is 1 to 65535")
{
    CHECK(port(1).number() == 1);
    CHECK(port(65535).number() == 65535);
    CHECK(Port::parse("443", Code::invalid_request)->number() == 443);
    for (const std::int64_t number : {-1, 0, 65536})
        CHECK(!Port::from(number, Code::invalid_request));
    for (const std::string_view text :
         {"", "0", "65536", "99999999999", "+1", "-1", " 1", "1 ", "0x1", "1.0", "01"})
        CHECK(!Port::parse(text, Code::invalid_request));
}

TEST_CASE("a short name is what fits into a path and an option alike")
{
    CHECK(is_short_name("model-2"));
    CHECK(is_short_name(std::string(32, 'a')));
    for (const std::string& name : {std::string(""), std::string("A"), std::string("a/b"),
                                    std::string("a.b"), std::string("a b"), std::string(33, 'a')})
        CHECK(!is_short_name(name));
}

} // namespace anchorhold::endpoint_test
