// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/hooks.hpp"

#include <doctest/doctest.h>

namespace anchorhold::inspect_hooks_test {
namespace {

std::vector<std::string> listed(const std::string& text)
{
    const auto config = json::Document::parse(text);
    REQUIRE_MESSAGE(config.has_value(), config.error().what);
    inspect::Inspection found;
    const auto done = inspect::inspect_late_hooks(config->root(), found);
    REQUIRE_MESSAGE(done.has_value(), done.error().what);
    return found.other_channels;
}

} // namespace

TEST_CASE("hooks that run after ours are listed, those before it and after the end are not")
{
    using List = std::vector<std::string>;
    CHECK(listed(R"({"hooks":{"prestart":[{"path":"/a"}],"createRuntime":[{"path":"/b"}],
                    "createContainer":[{"path":"/c"}],"startContainer":[{"path":"/d"}],
                    "poststart":[{"path":"/e"},{"path":"/f"}],"poststop":[{"path":"/g"}]}})") ==
          List{"hooks.createContainer[0]: /c runs after the network was verified",
               "hooks.startContainer[0]: /d runs after the network was verified",
               "hooks.poststart[0]: /e runs after the network was verified",
               "hooks.poststart[1]: /f runs after the network was verified"});
    CHECK(listed("{}") == List{});
    CHECK(listed(R"({"hooks":null})") == List{});
}

} // namespace anchorhold::inspect_hooks_test
