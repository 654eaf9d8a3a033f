// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/inspection.hpp"
#include "shim/inspect/namespaces.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

namespace anchorhold::namespaces_test {

using namespace inspect;
namespace {

using Findings = std::vector<Finding>;

const std::string five = R"({"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"})";

Inspection inspected(const std::string& text, const InspectionContext& context = {})
{
    const auto config = json::Document::parse(text);
    REQUIRE_MESSAGE(config.has_value(), config.error().what);
    Inspection found;
    const auto done = inspect_namespaces(config->root(), context, found);
    REQUIRE_MESSAGE(done.has_value(), done.error().what);
    return found;
}

Inspection inspected_namespaces(const std::string& list)
{
    return inspected(R"({"linux": {"namespaces": [)" + list + "]}}");
}

Findings host_namespaces(const std::vector<std::string>& types)
{
    Findings findings;
    for (const std::string& type : types)
        findings.push_back({"linux.namespaces",
                            "the " + type +
                                " namespace is the host's; add "
                                "{\"type\":\"" +
                                type + "\"}",
                            "--" + type + "=host"});
    return findings;
}

} // namespace

TEST_CASE("C-10: what stood in the network namespace's place is told")
{
    const auto replaced = [](const std::string& entry) {
        const Inspection seen = inspected_namespaces(five + entry);
        CHECK(seen.voids == Findings());
        return seen.refused.empty() ? seen.replaced_netns : seen.refused[0].what;
    };
    CHECK(replaced(R"(, {"type": "network"})") == "");
    CHECK(replaced(R"(, {"type": "network", "path": ""})") == "");
    CHECK(replaced(R"(, {"type": "network", "path": null})") == "");
    CHECK(replaced("") == "the host's");
    CHECK(replaced(R"(, {"type": "network", "path": "/proc/self/ns/net"})") == "/proc/self/ns/net");
    CHECK(replaced(R"(, {"type": "network", "path": "/run/netns/gone"})") == "/run/netns/gone");
    CHECK(replaced(R"(, {"type": "network", "path": "/etc/passwd"})") ==
          "/etc/passwd is not a namespace");
}

TEST_CASE("B-57: a namespace type named twice is refused, whichever it is")
{
    for (const std::string type : {"network", "pid", "ipc", "uts", "mount", "user"}) {
        const Inspection seen = inspected_namespaces(R"({"type": ")" + type + R"("}, {"type": ")" +
                                                     type + R"(", "path": "/proc/1/ns/x"})");
        CHECK(seen.refused == Findings{{"linux.namespaces[1]",
                                        "a second " + type + " namespace; name each type once"}});
    }
}

TEST_CASE("a namespace type that nobody knows is refused")
{
    CHECK(inspected_namespaces(five + R"(, {"type": "net"})").refused ==
          Findings{{"linux.namespaces[4].type", "\"net\" is not a type of namespace"}});
}

TEST_CASE("a pid or ipc namespace of the host's or of others is a void")
{
    CHECK(inspected_namespaces(R"({"type": "mount"}, {"type": "network"})").voids ==
          host_namespaces({"pid", "ipc"}));
    CHECK(inspected_namespaces(R"({"type": "pid"}, {"type": "network"})").voids ==
          host_namespaces({"ipc"}));
    for (const std::string type : {"pid", "ipc", "mount"}) {
        std::string list;
        for (const std::string other : {"pid", "ipc", "mount"})
            list += std::string(list.empty() ? "" : ", ") + R"({"type": ")" + other + "\"" +
                    (other == type ? R"(, "path": "/proc/4242/ns/x")" : "") + "}";
        const Inspection seen = inspected_namespaces(list);
        REQUIRE(seen.voids.size() == 1);
        CHECK(seen.voids[0].what ==
              "joins the " + type + " namespace /proc/4242/ns/x; " +
                  (type == "mount" ? "leave the path out, for one of its own"
                                   : "leave the path out, or, if this is a pod, give its handler's "
                                     "profile \"cri\": true"));
    }
}

TEST_CASE("a pod's own pid and ipc namespaces are its containers', unless the network is another")
{
    for (const std::string type : {"pid", "ipc"}) {
        const std::string self = "/proc/self/ns/" + type;
        const std::string text = R"({"linux": {"namespaces": [{"type": "mount"}, {"type": ")" +
                                 std::string(type == "pid" ? "ipc" : "pid") + R"("}, {"type": ")" +
                                 type + R"(", "path": ")" + self + R"("}]}})";
        const auto seen = [&](const std::vector<std::int64_t>& inits, bool joins) {
            InspectionContext context;
            context.pod_inits = inits;
            context.joins_pod = joins;
            return inspected(text, context);
        };
        const Inspection joins = seen({::getpid()}, true);
        CHECK(joins.voids == Findings());
        CHECK(joins.other_channels == std::vector<std::string>());
        const Inspection apart = seen({1, ::getpid()}, false);
        if (type == "pid") {
            CHECK(apart.voids ==
                  Findings{{"linux.namespaces[2].path",
                            "joins the pid namespace " + self +
                                " of a pod whose network is not its own; do not share processes in "
                                "this pod, or ask for what the pod has",
                            "--pid=container:"}});
        } else {
            CHECK(apart.voids == Findings());
            CHECK(apart.other_channels ==
                  std::vector<std::string>{"linux.namespaces[2].path: the pod's ipc namespace"});
        }
        CHECK(seen({}, true).voids.size() == 1); // there is no pod of ours
    }
}

} // namespace anchorhold::namespaces_test
