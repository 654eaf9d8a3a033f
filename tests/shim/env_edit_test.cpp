// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/edited.hpp"

using namespace anchorhold;

namespace {

Plan with_env(std::vector<std::pair<std::string, std::string>> env)
{
    Plan plan = nothing();
    plan.strip_proxies = true;
    plan.env = std::move(env);
    return plan;
}

Plan without_net_caps()
{
    Plan plan = nothing();
    plan.strip_net_caps = true;
    return plan;
}

} // namespace

TEST_CASE("proxies leave the environment whatever their spelling; the rest keeps its bytes (C-14)")
{
    const Edited done = edited(
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
    // A proxy that the administrator sets is set, and the engine's is gone.
    const Edited done =
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

TEST_CASE("the network's capabilities leave all five sets (B-28)")
{
    const Edited done = edited(
        R"({"process":{"capabilities":{"bounding":["CAP_NET_RAW","CAP_KILL","CAP_NET_ADMIN"],)"
        R"("effective":["CAP_NET_ADMIN"],"inheritable":["CAP_CHOWN", "CAP_NET_RAW"],)"
        R"("permitted":["CAP_NET_BIND_SERVICE"],"ambient":["CAP_NET_RAW"],"other":["CAP_NET_RAW"]}}})",
        without_net_caps());
    CHECK(done.text ==
          R"({"process":{"capabilities":{"bounding":["CAP_KILL"],"effective":[],)"
          R"("inheritable":["CAP_CHOWN"],"permitted":["CAP_NET_BIND_SERVICE"],"ambient":[],)"
          R"("other":["CAP_NET_RAW"]}}})");
    CHECK(done.removed_caps == std::vector<std::string>{"CAP_NET_RAW", "CAP_NET_ADMIN"});
}

TEST_CASE("no capabilities, null or empty: nothing to take away")
{
    for (const char* process :
         {"{}", R"({"capabilities":null})", R"({"capabilities":{"bounding":null,"ambient":[]}})"}) {
        const std::string text = text_of({"{\"process\":", process, "}"});
        CHECK(edited(text, without_net_caps()).text == text);
    }
    CHECK(refusal(R"({"process":{"capabilities":["CAP_KILL"]}})", without_net_caps()) ==
          "process.capabilities: expected an object");
    CHECK(refusal(R"({"process":{"capabilities":{"ambient":"CAP_KILL"}}})", without_net_caps()) ==
          "process.capabilities.ambient: expected an array");
}

TEST_CASE("a capability in a spelling that only crun understands is refused")
{
    // Each was CAP_NET_RAW under crun 1.8.1 and ignored by runc 1.1.5.
    for (const char* name : {"13", "0xd", "015", "cap_net_raw", "Cap_Net_Raw", "CAP_NET_RAW x"})
        CHECK(refusal(text_of({R"({"process":{"capabilities":{"bounding":["CAP_KILL",")", name,
                               "\"]}}}"}),
                      without_net_caps()) == text_of({"process.capabilities.bounding[1]: \"", name,
                                                      "\" is no capability's one spelling"}));
}
