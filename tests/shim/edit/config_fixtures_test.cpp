// SPDX-License-Identifier: Apache-2.0
// Real configurations of engines (tests/fixtures), edited with everything that a plan can hold. The
// documented spots change, every other value keeps its bytes, and a second pass changes nothing.
#include "shim/config/oci_keys.hpp"
#include "tests/files.hpp"
#include "tests/shim/edit/edited.hpp"
#include "tests/shim/everything.hpp"

#include <algorithm>
#include <filesystem>

namespace anchorhold::config_fixtures_test {

using namespace config;
using namespace edit;
using json::View;

namespace {

std::vector<std::string> raws(View parent, std::string_view key)
{
    std::vector<std::string> all;
    if (const auto array = parent.find(key))
        for (const View& item : array->items())
            all.emplace_back(item.raw());
    return all;
}

bool starts_with(const std::vector<std::string>& list, const std::vector<std::string>& head)
{
    return list.size() >= head.size() && std::equal(head.begin(), head.end(), list.begin());
}

bool ends_with(const std::vector<std::string>& list, const std::vector<std::string>& tail)
{
    return list.size() >= tail.size() && std::equal(tail.rbegin(), tail.rend(), list.rbegin());
}

// Checks the spots that are lists: what the engine put there stays, in its order.
void check_lists(View before, View after)
{
    CHECK(starts_with(raws(after, "mounts"), raws(before, "mounts")));
    const View process = *after.find("process");
    CHECK(ends_with(raws(process, "args"), raws(*before.find("process"), "args")));
    for (const View& entry : process.find("env")->items())
        CHECK(entry.raw().find("proxy.example") == std::string_view::npos);
    if (const auto capabilities = process.find("capabilities"))
        CHECK(capabilities->raw().find("CAP_NET_RAW") == std::string_view::npos);
    std::size_t networks = 0;
    for (const View& entry : after.find("linux")->find("namespaces")->items())
        if (entry.find("type")->string() == "network") {
            ++networks;
            CHECK_FALSE(entry.find("path").has_value());
        }
    CHECK(networks == 1);
    CHECK(after.raw().find("libnetwork-setkey") == std::string_view::npos);
}

std::vector<std::string> fixtures()
{
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(AH_SOURCE_ROOT "/tests/fixtures"))
        if (entry.path().extension() == ".json")
            all.push_back("tests/fixtures/" + entry.path().filename().string());
    std::ranges::sort(all);
    return all;
}

} // namespace

TEST_CASE("R9 configs as engines write them change at the documented spots alone (C-13)")
{
    const Plan plan = everything();
    CHECK(fixtures().size() >= 40);
    for (const auto& path : fixtures()) {
        CAPTURE(path);
        const json::Document before = parsed(source_file(path));
        CHECK(check_oci_keys(before.root(), OciKeys::all).has_value());
        const EditedConfig once = edited(source_file(path), plan);
        const json::Document after = parsed(once.text);
        CHECK(check_oci_keys(after.root(), OciKeys::all).has_value());
        CHECK(changed_outside(before.root(), after.root()) == "");
        check_lists(before.root(), after.root());
        CHECK(edited(once.text, plan).text == once.text);
    }
}

// This rule once made every new thread fail, because a wrapper did not know its errno and left it
// out: https://github.com/NVIDIA/nvidia-container-runtime/issues/157
TEST_CASE("R9 Docker's rule about clone3 stays as it is")
{
    constexpr std::string_view rule =
        R"({"names":["clone3"],"action":"SCMP_ACT_ERRNO","errnoRet":38})";
    const std::string text = source_file("tests/fixtures/docker-plain.json");
    REQUIRE(text.find(rule) != std::string::npos);
    CHECK(edited(text, everything()).text.find(rule) != std::string::npos);
}

TEST_CASE("a plan with nothing to do leaves the engines' configs as they are")
{
    for (const auto& path : fixtures()) {
        CAPTURE(path);
        CHECK(edited(source_file(path), nothing()).text == source_file(path));
    }
}

} // namespace anchorhold::config_fixtures_test
