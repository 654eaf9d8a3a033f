// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/inspection.hpp"
#include "shim/inspect/namespaces.hpp"
#include "shim/inspect/void_kinds.hpp"
#include "tests/files.hpp"
#include "tests/shim/scratch.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <ostream>

namespace anchorhold {

using namespace inspect;

// NOLINTNEXTLINE(misc-use-internal-linkage): doctest finds it by name
std::ostream& operator<<(std::ostream& out, const Finding& finding)
{
    return out << text_of(finding);
}

} // namespace anchorhold

namespace anchorhold::inspection_test {
namespace {

using Findings = std::vector<Finding>;

const std::string five = R"({"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"})";

Inspection inspected_whole(const std::string& text)
{
    const auto config = json::Document::parse(text);
    REQUIRE_MESSAGE(config.has_value(), config.error().what);
    const auto seen = inspect_bundle(
        config->root(), {.id = {}, .bundle = "/nowhere", .own_paths = {"/nowhere"}, .places = {}});
    REQUIRE_MESSAGE(seen.has_value(), seen.error().what);
    for (const Finding& finding : seen->voids)
        CHECK_MESSAGE(void_kind_at(finding.where) != nullptr, finding.where);
    return *seen;
}

Findings every_void(const std::string& text)
{
    return inspected_whole(text).voids;
}

// Inspects a configuration, but leaves out the device rules, which have a test of their own: a
// short configuration has none.
Inspection inspected(const std::string& text)
{
    Inspection seen = inspected_whole(text);
    std::erase_if(seen.voids, [](const Finding& finding) {
        return finding.where == "linux.resources.devices";
    });
    return seen;
}

// Inspects a `linux` section with namespaces of its own and these members.
Inspection inspected_linux(const std::string& members)
{
    return inspected(R"({"linux": {"namespaces": [)" + five + R"(, {"type": "network"}], )" +
                     members + "}}");
}

Inspection inspected_namespaces(const std::string& list)
{
    return inspected(R"({"linux": {"namespaces": [)" + list + "]}}");
}

std::string refusal(const std::string& text)
{
    const auto config = json::Document::parse(text);
    REQUIRE(config);
    const auto seen = inspect_bundle(
        config->root(), {.id = {}, .bundle = "/nowhere", .own_paths = {}, .places = {}});
    return seen ? "" : seen.error().what;
}

} // namespace

TEST_CASE("a plain container is found to be one, and its stdio is always a channel")
{
    const Inspection seen = inspected_namespaces(five + R"(, {"type": "network"})");
    CHECK(seen.refused == Findings());
    CHECK(seen.voids == Findings());
    CHECK(seen.other_channels == std::vector<std::string>{"stdio"});
    CHECK(seen.advice.empty());
    CHECK(seen.replaced_netns.empty());
}

TEST_CASE("C-54: without namespaces the edit gives them all, so nothing is void")
{
    for (const std::string text :
         {"{}", R"({"linux": null})", R"({"linux": {}})", R"({"linux": {"namespaces": null}})",
          R"({"linux": {"namespaces": []}})", R"({"process": null, "mounts": null, "hooks": null})",
          R"({"process": {"capabilities": null}, "annotations": null, "root": null})"}) {
        const Inspection seen = inspected(text);
        CHECK(seen.voids == Findings());
        CHECK(seen.refused == Findings());
        CHECK(seen.replaced_netns == "the host's");
    }
}

TEST_CASE("C-54: a section of the wrong type is said where it stands")
{
    CHECK(refusal(R"({"linux": {"namespaces": {}}})") == "linux.namespaces: expected an array");
    CHECK(refusal(R"({"linux": {"namespaces": ["pid"]}})") ==
          "linux.namespaces[0]: expected an object");
    CHECK(refusal(R"({"process": {"capabilities": []}})") ==
          "process.capabilities: expected an object");
    CHECK(refusal(R"({"process": {"capabilities": {"bounding": "CAP_SYS_ADMIN"}}})") ==
          "process.capabilities.bounding: expected an array");
    CHECK(refusal(R"({"annotations": []})") == "annotations: expected an object");
    CHECK(refusal(R"({"mounts": {}})") == "mounts: expected an array");
    CHECK(refusal(R"({"mounts": [{"options": "ro"}]})") == "mounts[0].options: expected an array");
    CHECK(refusal(R"({"linux": {"sysctl": []}})") == "linux.sysctl: expected an object");
    CHECK(refusal(R"({"linux": {"devices": [{"type": 1}]}})") ==
          "linux.devices[0].type: expected a string");
    CHECK(refusal("[]") == "the document: expected an object");
}

TEST_CASE("R17 each dangerous capability in each set is a void, unless a user namespace bounds it")
{
    for (const std::string name :
         {"CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_BPF",
          "CAP_PERFMON", "CAP_DAC_READ_SEARCH", "CAP_SYS_BOOT", "CAP_MAC_ADMIN"}) {
        for (const std::string set :
             {"bounding", "effective", "inheritable", "permitted", "ambient"}) {
            const auto with = [&](const std::string& users) {
                return inspected(R"({"process": {"capabilities": {")" + set +
                                 R"(": ["CAP_CHOWN", ")" + name +
                                 R"("]}}, "linux": {"namespaces": [)" + five + users + "]}}")
                    .voids;
            };
            const Findings held{{"process.capabilities",
                                 "holds " + name +
                                     " over the host; drop them, or give the container a user "
                                     "namespace",
                                 "--cap-add, --privileged"}};
            CHECK(with("") == held);
            const auto mapped = [](const std::string& ranges) {
                return R"(, {"type": "user"}], "uidMappings": [)" + ranges;
            };
            const std::string far = R"({"containerID": 0, "hostID": 100000, "size": 65536})";
            CHECK(with(mapped(far)) == Findings());
            CHECK(with(mapped("")) == held);
            CHECK(with(mapped(R"({"containerID": 0, "hostID": 0, "size": 1})")) == held);
            CHECK(with(mapped(far + R"(, {"containerID": 65536, "size": 1})")) == held);
            CHECK(with(R"(, {"type": "user", "path": "/proc/4242/ns/user"}], "uidMappings": [)" +
                       far) == held);
        }
    }
}

TEST_CASE("what every engine gives by default is no void")
{
    CHECK(inspected(R"({"process": {"capabilities": {"bounding": ["CAP_CHOWN", "CAP_DAC_OVERRIDE",
        "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID",
        "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
        "CAP_AUDIT_WRITE"]}}})")
              .voids == Findings());
}

TEST_CASE("a sysctl of the network is a void unless it is a plain one")
{
    const auto voids = [](const std::string& name) {
        return inspected_linux(R"("sysctl": {"kernel.shmmax": "1", ")" + name + R"(": "1"})").voids;
    };
    for (const std::string name :
         {"net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range",
          "net/ipv4/ip_unprivileged_port_start", "net.core.somaxconn", "fs.mqueue.msg_max"})
        CHECK(voids(name) == Findings());
    for (const std::string name :
         {"net.ipv4.conf.all.route_localnet", "net/ipv4/conf/all/route_localnet",
          "net/ipv4/conf/eth0.1/route_localnet", "net.ipv4.ip_forward"})
        CHECK(voids(name) ==
              Findings{{"linux.sysctl[\"" + name + "\"]",
                        "changes what a network namespace keeps apart; leave it out", "--sysctl"}});
}

TEST_CASE("B-57: annotations that steer the runtime are voids")
{
    const auto voids = [](const std::string& name) {
        return inspected(R"({"annotations": {"org.example": "1", ")" + name + R"(": "1"}})").voids;
    };
    for (const std::string name :
         {"run.oci.keep_original_groups", "org.opencontainers.image.title",
          "io.podman.annotations.init", "run.ocix", "org.systemd.property.TimeoutStopUSec",
          "org.systemd.property.CollectMode"})
        CHECK(voids(name) == Findings());
    for (const std::string name :
         {"run.oci.seccomp_bpf_data", "run.oci.hooks.stderr", "run.oci.handler", "run.oci.new",
          "org.criu.config", "module.wasm.image/variant", "org.systemd.property.SuccessAction",
          "org.systemd.property.DeviceAllow"})
        CHECK(voids(name) ==
              Findings{{"annotations[\"" + name + "\"]",
                        "steers the runtime behind this one; leave it out", "--annotation"}});
}

TEST_CASE("only the runtimes' own devices may be handed in")
{
    const std::string nodes = "--device, --privileged";
    const auto voids = [](const std::string& device) {
        return inspected_linux(R"("devices": [)" + device + "]").voids;
    };
    for (const std::string device :
         {R"({"path": "/dev/null", "type": "c", "major": 1, "minor": 3})",
          R"({"path": "/dev/tty", "type": "c", "major": 5, "minor": 0})",
          R"({"path": "/dev/pts/3", "type": "u", "major": 136, "minor": 3})",
          R"({"path": "/run/pipe", "type": "p"})"})
        CHECK(voids(device) == Findings());
    CHECK(voids(R"({"path": "/dev/net/tun", "type": "c", "major": 10, "minor": 200})") ==
          Findings{{"linux.devices[0]", "hands in the device /dev/net/tun (c 10:200); leave it out",
                    nodes}});
    CHECK(voids(R"({"path": "/dev/null", "type": "b", "major": 1, "minor": 3})") ==
          Findings{
              {"linux.devices[0]", "hands in the device /dev/null (b 1:3); leave it out", nodes}});
    CHECK(voids(R"({"path": "/dev/vda", "type": "b", "major": 254, "minor": 0},
                   {"path": "/dev/null", "type": "c", "major": 1, "minor": 3},
                   {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229})") ==
          Findings{{"linux.devices[0]",
                    "hands in the device /dev/vda (b 254:0) and 1 more; leave it out", nodes}});
    CHECK(voids(R"({"path": "/dev/vda", "type": "b", "major": 254, "minor": 0},
                   {"path": "/dev/null", "type": "c", "major": 1, "minor": 3},
                   {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229})") ==
          Findings{{"linux.devices[0]",
                    "hands in the device /dev/vda (b 254:0) and 1 more; leave it out", nodes}});
}

TEST_CASE("device rules are voids when they open more than the runtimes' own devices")
{
    const auto voids = [](const std::string& rules) {
        return inspected_linux(R"("resources": {"devices": [)" + rules + "]}").voids;
    };
    const auto opens = [](const std::string& at, const std::string& what) {
        return Findings{{"linux.resources.devices[" + at + "]",
                         "lets the container open the devices " + what + "; leave it out",
                         "--device, --device-cgroup-rule, --privileged"}};
    };
    const std::string none = R"({"allow": false, "access": "rwm"})";
    CHECK(voids(none + R"(, {"allow": true, "type": "c", "major": 1, "minor": 5, "access": "rwm"},
        {"allow": true, "type": "c", "major": 136, "access": "rw"},
        {"allow": true, "type": "c", "access": "m"}, {"allow": true, "type": "b", "access": "m"},
        {"allow": false, "type": "c", "major": 10, "minor": 229, "access": "rwm"})") == Findings());
    CHECK(voids(R"({"allow": true, "access": "rwm"})") == opens("0", "a *:*"));
    CHECK(voids(R"({"allow": true})") == opens("0", "a *:*"));
    CHECK(voids(none + R"(, {"allow": true, "type": "b", "major": 8, "access": "r"})") ==
          opens("1", "b 8:*"));
    CHECK(
        voids(none + R"(, {"allow": true, "type": "c", "major": -1, "minor": 3, "access": "w"})") ==
        opens("1", "c *:3"));
    CHECK(voids(R"({"allow": true}, )" + none) == Findings());
    CHECK(voids(R"({"allow": true}, {"allow": false, "access": "m"})") == opens("0", "a *:*"));
    CHECK(voids(R"({"allow": true}, {"allow": false, "type": "c", "access": "rwm"})") ==
          opens("0", "a *:*"));
}

TEST_CASE("devices are a void when no rule closes them all first")
{
    const auto voids = [](const std::string& section) {
        return every_void(R"({"linux": {"namespaces": [)" + five + "]" + section + "}}");
    };
    const Findings open{{"linux.resources.devices",
                         "leaves the host's devices open; begin with "
                         "{\"allow\":false,\"access\":\"rwm\"}",
                         "--privileged"}};
    const auto rules = [&](const std::string& list) {
        return voids(R"(, "resources": {"devices": [)" + list + "]}");
    };
    CHECK(every_void("{}") == open);
    CHECK(voids("") == open);
    CHECK(voids(R"(, "resources": {})") == open);
    CHECK(rules("") == open);
    for (const std::string deny :
         {R"({"allow": false, "access": "rw"})",
          R"({"allow": false, "type": "c", "access": "rwm"})",
          R"({"allow": false, "major": 10, "access": "rwm"})",
          R"({"allow": true, "type": "c", "major": 1, "minor": 3, "access": "rwm"})"})
        CHECK(rules(deny) == open);
    CHECK(rules(R"({"allow": false, "access": "rwm"})") == Findings());
    CHECK(rules(R"({"allow": false, "type": "a", "access": "rwm"})") == Findings());
    CHECK(voids(R"(, "resources": {}, "uidMappings": [{"hostID": 100000, "size": 9}])") == open);
    const std::string own_users =
        R"({"linux": {"namespaces": [{"type": "user"}, )" + five +
        R"(], "uidMappings": [{"containerID": 0, "hostID": 100000, "size": 9}]}})";
    CHECK(every_void(own_users) == Findings());
}

TEST_CASE("devices are closed by the edit in a user namespace where no rule does")
{
    const auto closes = [](const std::string& rules) {
        return inspected_whole(
                   R"({"linux": {"namespaces": [{"type": "user"}, )" + five +
                   R"(], "uidMappings": [{"containerID": 0, "hostID": 100000, "size": 9}]
                   , "resources": {"devices": [)" +
                   rules + "]}}}")
            .close_devices;
    };
    CHECK(closes(""));
    CHECK(closes(R"({"allow": true, "type": "c", "major": 10, "minor": 229, "access": "rw"})"));
    CHECK(closes(R"({"allow": false, "type": "c", "access": "rwm"})"));
    CHECK(!closes(R"({"allow": false, "access": "rwm"})"));
    CHECK(!inspected_whole(R"({"linux": {"namespaces": [)" + five + "]}}").close_devices);
}

TEST_CASE("moved network devices are a void, who answers for seccomp is a channel")
{
    CHECK(inspected_linux(R"("netDevices": {"eth1": {}})").voids ==
          Findings{{"linux.netDevices", "moves network devices of the host inside; leave it out"}});
    CHECK(inspected_linux(R"("netDevices": {})").voids == Findings());
    CHECK(inspected_linux(R"("seccomp": {"listenerPath": "/run/agent.sock"})").other_channels ==
          std::vector<std::string>{
              "stdio", "linux.seccomp.listenerPath: /run/agent.sock decides about system calls"});
}

TEST_CASE("what engines write for ordinary containers is no void")
{
    const std::map<std::string, std::vector<std::string>> expected{
        {"ctr-privileged",
         {"process.capabilities", "mounts", "linux.devices", "linux.resources.devices"}},
        {"podman-privileged",
         {"process.capabilities", "mounts", "linux.devices", "linux.resources.devices"}},
        {"podman-pid-host", {"linux.namespaces"}},
        {"podman-device", {"linux.devices", "linux.resources.devices"}},
        {"podman-sysctl", {"linux.sysctl"}},
        {"cri-container", {"linux.namespaces"}}}; // its pod's; in this test no profile makes pods
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(AH_SOURCE_ROOT "/tests/fixtures")) {
        if (entry.path().extension() != ".json")
            continue;
        const std::string name = entry.path().stem();
        std::string text = source_file("tests/fixtures/" + name + ".json");
        // The storage of an engine on this machine may be unreadable for us, so the path is
        // changed.
        for (const std::string store : {"/containers/storage/", "/docker/", "/containerd/"})
            for (std::size_t at = 0; (at = text.find(store, at)) != text.npos;)
                text.replace(at, store.find('/', 1), "/nowhere");
        const Inspection seen = inspected_whole(text);
        std::vector<std::string> sections; // of the findings, each once
        for (const Finding& finding : seen.voids) {
            const std::string section = finding.where.substr(0, finding.where.find('['));
            if (std::ranges::find(sections, section) == sections.end())
                sections.push_back(section);
        }
        const auto at = expected.find(name);
        INFO(name);
        CHECK(sections == (at == expected.end() ? std::vector<std::string>() : at->second));
        CHECK(seen.refused == Findings());
        ++count;
    }
    CHECK(count > 30);
}

TEST_CASE("whose network a container gets is told by its namespace entry, and by Docker's hook")
{
    const auto given = [](const std::string& entry, const std::string& hooks) {
        const auto config = json::Document::parse(R"({"linux": {"namespaces": [)" + entry +
                                                  R"(]}, "hooks": )" + hooks + "}");
        REQUIRE(config.has_value());
        const auto netns = given_netns(config->root());
        REQUIRE_MESSAGE(netns.has_value(), netns.error().what);
        return *netns;
    };
    const std::string fresh = R"({"type": "network"})";
    const auto at = [](const std::string& path) {
        return R"({"type": "network", "path": ")" + path + "\"}";
    };
    const std::string setkey =
        R"({"prestart": [{"path": "/a"}, {"path": "/b", "args": ["b", "libnetwork-setkey"]}]})";
    CHECK(given("", "{}") == GivenNetns::host);
    CHECK(given("", setkey) == GivenNetns::host);
    CHECK(given(fresh, "null") == GivenNetns::fresh);
    CHECK(given(fresh, R"({"prestart": [{"path": "/a"}]})") == GivenNetns::fresh);
    CHECK(given(fresh, R"({"poststop": [{"args": ["b", "libnetwork-setkey"]}]})") ==
          GivenNetns::fresh);
    CHECK(given(fresh, setkey) == GivenNetns::engines);
    CHECK(given(at("/run/netns/x"), "{}") == GivenNetns::engines);
    CHECK(given(at("/run/docker/netns/default"), setkey) == GivenNetns::other);
}

} // namespace anchorhold::inspection_test
