// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/edit/edited.hpp"

#include <cstdlib>

namespace anchorhold::env_edit_test {

using namespace edit;
using namespace rules;
namespace {

Plan with_env(std::vector<std::pair<std::string, std::string>> env)
{
    Plan plan = nothing();
    plan.strip_proxies = true;
    plan.env = std::move(env);
    return plan;
}

} // namespace

TEST_CASE("proxies leave the environment whatever their spelling; the rest keeps its bytes (C-14)")
{
    const EditedConfig done = edited(
        R"({"process":{"env":["HTTP_PROXY=http://u:p@x:1","A=1", "http_proxy=x","A=2","no_proxy=*",)"
        R"("HTTP_PROXY","=x","B=line1\nline2","C=\u0001","PATH=","HTTP_PROXY=again"]}})",
        with_env({}));
    CHECK(done.text ==
          R"({"process":{"env":["A=1","A=2","=x","B=line1\nline2","C=\u0001","PATH="]}})");
    CHECK(done.removed_env == std::vector<std::string>{"HTTP_PROXY", "http_proxy", "no_proxy"});
}

TEST_CASE("an environment of nothing but proxies ends empty")
{
    CHECK(edited(R"({"process":{"env":[ "no_proxy=*" , "all_proxy" ]}})", with_env({})).text ==
          R"({"process":{"env":[  ]}})");
    CHECK(edited(R"({"process":{"env":[ "no_proxy=*" , "all_proxy" ]}})", with_env({{"A", "1"}}))
              .text == R"({"process":{"env":[ "A=1" ]}})");
}

TEST_CASE("entries that nobody must change keep bytes, order and duplicates (C-59)")
{
    const std::string text = "{\"process\":{\"env\":[\"A=1\",\"A=2\",\"NOEQ\",\"=x\",\"\",\"L="
                             "\xe9\xff\", \"P\\u0041TH=\"]}}";
    CHECK(edited(text, with_env({})).text == text);
}

TEST_CASE("the profile's variables replace equal names, all of them")
{
    CHECK(edited(R"({"process":{"env":["URL=old","X=1","URL","URL=older"]}})",
                 with_env({{"URL", "http://127.0.0.1:8080"}, {"Q", "a\"b"}}))
              .text == R"({"process":{"env":["X=1","URL=http://127.0.0.1:8080","Q=a\"b"]}})");
    // A proxy that the administrator sets is set, and the engine's proxy is removed.
    const EditedConfig done =
        edited(R"({"process":{"env":["http_proxy=e"]}})", with_env({{"http_proxy", "mine"}}));
    CHECK(done.text == R"({"process":{"env":["http_proxy=mine"]}})");
    CHECK(done.removed_env == std::vector<std::string>{"http_proxy"});
}

TEST_CASE("an absent, null or empty environment is made when there is something to set")
{
    const Plan plan = with_env({{"A", "1"}});
    CHECK(edited(R"({"process":{ }})", plan).text == R"({"process":{"env":["A=1"] }})");
    CHECK(edited(R"({"process":{"cwd":"/" }})", plan).text ==
          R"({"process":{"cwd":"/","env":["A=1"] }})");
    CHECK(edited(R"({"process":{"env":null}})", plan).text == R"({"process":{"env":["A=1"]}})");
    CHECK(edited(R"({"process":{"env":[]}})", plan).text == R"({"process":{"env":["A=1"]}})");
    CHECK(edited(R"({"process":{"env":null}})", with_env({})).text ==
          R"({"process":{"env":null}})");
    CHECK(refusal(R"({"process":{"env":{}}})", plan) == "process.env: expected an array");
    CHECK(refusal(R"({"process":{"env":["A",null]}})", plan) ==
          "process.env[1]: expected a string");
}

namespace {

Plan exempting()
{
    Plan plan = nothing();
    plan.exempt_relay = true;
    return plan;
}

} // namespace

TEST_CASE("proxies gone on sealed, relayed, severed; on filtered they stay and spare the relay")
{
    const std::string given =
        R"({"process":{"args":["a"],"env":["https_proxy=p","A=1","NO_PROXY=x","no_proxy=*"]}})";
    const auto env_in = [&](Posture posture) {
        Decision decision;
        decision.posture = posture;
        decision.technique = posture == Posture::severed ? Technique::none : Technique::relay;
        Request request;
        request.switches.notice = Notice::none;
        const Port port = *Port::from(8080, Code::invalid_request);
        if (posture != Posture::severed)
            request.endpoints = {{"model", port, TcpTarget{"host", port}}};
        const std::string text = edited(given, make_plan(request, decision, {}, {})).text;
        const json::Document document = parsed(text);
        return std::string(document.root().find("process")->find("env")->raw());
    };
    for (const Posture posture : {Posture::severed, Posture::relayed, Posture::sealed})
        CHECK(env_in(posture) == R"(["A=1"])");
    CHECK(env_in(Posture::filtered) ==
          R"(["https_proxy=p","A=1","NO_PROXY=x,*,localhost,127.0.0.1,::1","no_proxy=*"])");
}

TEST_CASE("child without proxy untouched (C-47)")
{
    for (const char* env :
         {"[]", "null", R"([ "A=1" , "PATH=\u002f" ])", R"(["NO_PROXY=a","no_proxy=*"])",
          R"(["HTTP_PROXY=","https_proxy","NODE_USE_ENV_PROXY=1"])"}) {
        const std::string text = text_of({R"({"process":{"env":)", env, "}}"});
        CHECK(edited(text, exempting()).text == text);
    }
    CHECK(edited(R"({"process":{}})", exempting()).text == R"({"process":{}})");
}

TEST_CASE("worker's ALL_PROXY alone writes nothing: our own environment is not the child's")
{
    REQUIRE(::setenv("ALL_PROXY", "http://worker:1", 1) == 0);
    const std::string text = R"({"process":{"env":["A=1"]}})";
    const EditedConfig done = edited(text, exempting());
    CHECK(::unsetenv("ALL_PROXY") == 0);
    CHECK(done.text == text);
}

TEST_CASE("an exemption counts what the profile sets, and replaces every entry of its name")
{
    Plan plan = exempting();
    plan.env = {{"https_proxy", "p"}, {"no_proxy", "corp"}, {"A", "1"}};
    CHECK(
        edited(R"({"process":{"env":["NO_PROXY=x","no_proxy=y","NO_PROXY=z","No_Proxy=w"]}})", plan)
            .text == R"({"process":{"env":["No_Proxy=w","https_proxy=p","A=1",)"
                     R"("NO_PROXY=x,z,w,corp,localhost,127.0.0.1,::1",)"
                     R"("no_proxy=x,z,w,corp,localhost,127.0.0.1,::1"]}})");
    // A proxy that the profile sets to nothing is none.
    plan.env = {{"https_proxy", ""}};
    CHECK(edited(R"({"process":{"env":["https_proxy=p"]}})", plan).text ==
          R"({"process":{"env":["https_proxy="]}})");
}

} // namespace anchorhold::env_edit_test
