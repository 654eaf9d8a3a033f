// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/edit/edited.hpp"

namespace anchorhold::capabilities_edit_test {

using namespace edit;
namespace {

Plan without_net_caps()
{
    Plan plan = nothing();
    plan.strip_net_caps = true;
    return plan;
}

} // namespace

TEST_CASE("the network's capabilities leave all five sets (B-28)")
{
    const EditedConfig done = edited(
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
    // Each of these was CAP_NET_RAW under crun 1.8.1, and was ignored by runc 1.1.5.
    for (const char* name : {"13", "0xd", "015", "cap_net_raw", "Cap_Net_Raw", "CAP_NET_RAW x"})
        CHECK(refusal(text_of({R"({"process":{"capabilities":{"bounding":["CAP_KILL",")", name,
                               "\"]}}}"}),
                      without_net_caps()) == text_of({"process.capabilities.bounding[1]: \"", name,
                                                      "\" is no capability's one spelling"}));
}

} // namespace anchorhold::capabilities_edit_test
