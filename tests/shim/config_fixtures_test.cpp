// SPDX-License-Identifier: Apache-2.0
// What ctr and podman really write (tests/fixtures), edited with everything a plan can hold: the
// documented spots change, every other value keeps its bytes, and a second pass changes nothing.
#include "schema/oci_keys.hpp"
#include "tests/shim/edited.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace anchorhold;
using json::Kind;
using json::View;

namespace {

Plan everything()
{
    Plan plan;
    plan.drop_setkey_hook = true;
    plan.strip_net_caps = true;
    plan.strip_proxies = true;
    plan.env = {{"ANTHROPIC_BASE_URL", "http://127.0.0.1:8080"}};
    plan.command_prefix = {"/dev/anchorhold/relay", "--"};
    plan.mounts = {{"/dev/anchorhold/relay", "/usr/libexec/anchorhold/anchorhold-relay", {"bind"}}};
    plan.cover_resolv_conf = true;
    plan.resolv_conf = "/run/anchorhold/runs/0123456789ab/inside/resolv.conf";
    plan.extra_pids = 1;
    plan.free_low_ports = true;
    plan.seccomp = {.wanted = true};
    plan.hooks = true;
    plan.hook_path = "/usr/libexec/anchorhold/anchorhold-hook";
    plan.state_dir = "/run/anchorhold";
    plan.key = "0123456789ab";
    plan.generation = "0011223344556677";
    plan.mark = plan.key + "." + plan.generation;
    return plan;
}

// The spots of DESIGN 5, "Edited, per plan". What is below one may change; nothing else may.
const std::set<std::string> edited_spots{"process.args",
                                         "process.env",
                                         "process.capabilities.bounding",
                                         "process.capabilities.effective",
                                         "process.capabilities.inheritable",
                                         "process.capabilities.permitted",
                                         "process.capabilities.ambient",
                                         "mounts",
                                         "hooks",
                                         "annotations",
                                         "linux.namespaces",
                                         "linux.sysctl",
                                         "linux.seccomp",
                                         "linux.resources.pids.limit"};

bool holds_a_spot(const std::string& place)
{
    return place == "the document" || std::ranges::any_of(edited_spots, [&](const auto& spot) {
               return spot.starts_with(place + ".");
           });
}

void check_outside(View before, View after)
{
    const std::string place = before.where();
    if (edited_spots.contains(place))
        return;
    if (before.kind() != Kind::object || !holds_a_spot(place)) {
        CHECK_MESSAGE(before.raw() == after.raw(), place);
        return;
    }
    // The members in their order, and none added but a spot.
    std::vector<std::string> names;
    for (const View& member : before.items()) {
        names.push_back(member.key());
        const auto same = after.find(member.key());
        REQUIRE_MESSAGE(same.has_value(), member.where());
        check_outside(member, *same);
    }
    std::vector<std::string> kept;
    for (const View& member : after.items())
        if (std::ranges::find(names, member.key()) != names.end())
            kept.push_back(member.key());
        else
            CHECK_MESSAGE(edited_spots.contains(member.where()), member.where());
    CHECK(kept == names);
}

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

// Inside the spots that are lists: what the engine put there stays, in its order.
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
}

std::vector<std::filesystem::path> fixtures()
{
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(AH_SOURCE_ROOT "/tests/fixtures"))
        if (entry.path().extension() == ".json")
            all.push_back(entry.path());
    std::ranges::sort(all);
    return all;
}

std::string read(const std::filesystem::path& path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

} // namespace

TEST_CASE("configs as ctr and podman write them change at the documented spots alone (C-13)")
{
    const Plan plan = everything();
    CHECK(fixtures().size() >= 30);
    for (const auto& path : fixtures()) {
        CAPTURE(path.filename().string());
        const json::Document before = parsed(read(path));
        CHECK(check_oci_keys(before.root()).has_value());
        const Edited once = edited(read(path), plan);
        const json::Document after = parsed(once.text);
        CHECK(check_oci_keys(after.root()).has_value());
        check_outside(before.root(), after.root());
        check_lists(before.root(), after.root());
        CHECK(edited(once.text, plan).text == once.text);
    }
}

TEST_CASE("a plan with nothing to do leaves the engines' configs as they are")
{
    for (const auto& path : fixtures()) {
        CAPTURE(path.filename().string());
        CHECK(edited(read(path), nothing()).text == read(path));
    }
}
