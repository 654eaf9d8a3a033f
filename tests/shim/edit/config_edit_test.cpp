// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/seccomp.hpp"
#include "tests/shim/edit/edited.hpp"

namespace anchorhold::config_edit_test {

using namespace edit;
using namespace rules;
namespace {

Plan own_network()
{
    return {};
}

Plan with_hooks()
{
    Plan plan = nothing();
    plan.hooks = true;
    plan.drop_setkey_hook = true;
    plan.hook_path = "/x/hook";
    plan.state_dir = "/s";
    plan.key = "0123456789ab";
    plan.generation = "0011223344556677";
    return plan;
}

constexpr std::string_view up =
    R"({"path":"/x/hook","args":["/x/hook","--state","/s","up","0123456789ab","0011223344556677"],)"
    R"("env":[],"timeout":10})";
constexpr std::string_view down =
    R"({"path":"/x/hook","args":["/x/hook","--state","/s","down","0123456789ab",)"
    R"("0011223344556677"],"env":[],"timeout":10})";

} // namespace

TEST_CASE("a plan with nothing to do leaves every byte")
{
    const std::string text = " {\"a\" : [1.50 , null],\n\"process\":{},\"linux\":null} \n";
    CHECK(edited(text, nothing()).text == text);
}

TEST_CASE("the relay's words stand before the command")
{
    Plan plan = nothing();
    plan.command_prefix = {"/dev/anchorhold/relay", "--endpoint", "8080=/a\"b", "--"};
    const EditedConfig done = edited(R"({"process":{"args":[ "sh" , "-c"],"x":1}})", plan);
    CHECK(done.text ==
          R"({"process":{"args":[ "/dev/anchorhold/relay","--endpoint","8080=/a\"b","--","sh" , )"
          R"("-c"],"x":1}})");
}

TEST_CASE("without a command there is nothing to put the relay before (C-54)")
{
    Plan plan = nothing();
    plan.command_prefix = {"relay", "--"};
    CHECK(refusal("{}", plan) == "the document: expected \"process\" with a command in it");
    CHECK(refusal(R"({"process":null})", plan) ==
          "the document: expected \"process\" with a command in it");
    CHECK(refusal(R"({"process":[]})", plan) == "process: expected an object");
    for (const char* process : {"{}", R"({"args":null})", R"({"args":[]})"})
        CHECK(refusal(text_of({"{\"process\":", process, "}"}), plan) ==
              "process: expected \"args\" with a command in it");
    CHECK(refusal(R"({"process":{"args":"sh"}})", plan) == "process.args: expected an array");
    CHECK(refusal(R"({"process":{"args":["a",1]}})", plan) == "process.args[1]: expected a string");
    CHECK(edited(R"({"process":{"args":[""]}})", plan).text ==
          R"({"process":{"args":["relay","--",""]}})");
    // This is left to the runtime where no relay is needed.
    CHECK(edited("{}", nothing()).text == "{}");
}

TEST_CASE("R22 R23 the network namespace ends as a fresh one, whatever stood there (C-10)")
{
    const auto after = [](std::string_view namespaces) {
        const std::string text =
            edited(text_of({R"({"linux":{"namespaces":)", namespaces, "}}"}), own_network()).text;
        return text.substr(23, text.size() - 25);
    };
    CHECK(after(R"([{"type":"mount"}, {"type":"network"}])") ==
          R"([{"type":"mount"}, {"type":"network"}])");
    CHECK(after(R"([{"type":"network","path":"/run/netns/x"},{"type":"mount"}])") ==
          R"([{"type":"network"},{"type":"mount"}])");
    CHECK(after(R"([{"path":"","type":"network"},{"type":"mount"}])") ==
          R"([{"type":"network"},{"type":"mount"}])");
    CHECK(after(R"([{"type":"mount"},{"type":"network","path":null}])") ==
          R"([{"type":"mount"},{"type":"network"}])");
    CHECK(after(R"([{"type":"mount"},{"type":"pid","path":"/proc/1/ns/pid"}])") ==
          R"([{"type":"mount"},{"type":"pid","path":"/proc/1/ns/pid"},{"type":"network"}])");
}

TEST_CASE("a container is never left in the host's mount namespace (C-54)")
{
    CHECK(edited(R"({"linux":{"namespaces":[{"type":"pid"}]}})", own_network()).text ==
          R"({"linux":{"namespaces":[{"type":"pid"},{"type":"mount"},{"type":"network"}]}})");
    constexpr std::string_view all =
        R"([{"type":"mount"},{"type":"pid"},{"type":"ipc"},{"type":"uts"},{"type":"network"}])";
    CHECK(edited("{}", own_network()).text == text_of({R"({"linux":{"namespaces":)", all, "}}"}));
    CHECK(edited(R"({"linux":null})", own_network()).text ==
          text_of({R"({"linux":{"namespaces":)", all, "}}"}));
    CHECK(edited(R"({"linux":{}})", own_network()).text ==
          text_of({R"({"linux":{"namespaces":)", all, "}}"}));
    CHECK(edited(R"({"linux":{"x":1}})", own_network()).text ==
          text_of({R"({"linux":{"x":1,"namespaces":)", all, "}}"}));
    for (const char* none : {"null", "[]"})
        CHECK(edited(text_of({R"({"linux":{"namespaces":)", none, "}}"}), own_network()).text ==
              text_of({R"({"linux":{"namespaces":)", all, "}}"}));
}

TEST_CASE("namespaces that make no sense are refused with their place (C-54)")
{
    CHECK(refusal(R"({"linux":[]})", own_network()) == "linux: expected an object");
    CHECK(refusal(R"({"linux":{"namespaces":{}}})", own_network()) ==
          "linux.namespaces: expected an array");
    CHECK(refusal(R"({"linux":{"namespaces":["network"]}})", own_network()) ==
          "linux.namespaces[0]: expected an object");
    CHECK(refusal(R"({"linux":{"namespaces":[{}]}})", own_network()) ==
          "linux.namespaces[0]: expected a member \"type\"");
    CHECK(refusal(R"({"linux":{"namespaces":[{"type":1}]}})", own_network()) ==
          "linux.namespaces[0].type: expected a string");
    CHECK(refusal(R"({"linux":{"namespaces":[{"type":"network"},{"type":"network"}]}})",
                  own_network()) == "linux.namespaces[1]: a second network namespace");
}

TEST_CASE("the relay gets one process more (C-61)")
{
    Plan plan = nothing();
    plan.extra_pids = 1;
    const auto limit_after = [&](std::string_view limit) {
        const std::string text =
            edited(text_of({R"({"linux":{"resources":{"pids":{"limit":)", limit, "}}}}"}), plan)
                .text;
        return text.substr(39, text.size() - 43);
    };
    CHECK(limit_after("1") == "2");
    CHECK(limit_after("2048") == "2049");
    CHECK(limit_after("0") == "0");
    CHECK(limit_after("-1") == "-1");
    CHECK(limit_after("null") == "null");
    CHECK(limit_after("9223372036854775807") == "9223372036854775807");
    for (const char* linux : {R"({"x":1})", R"({"resources":null})", R"({"resources":{}})",
                              R"({"resources":{"pids":null}})", R"({"resources":{"pids":{}}})"}) {
        const std::string text = text_of({"{\"linux\":", linux, "}"});
        CHECK(edited(text, plan).text == text);
    }
    CHECK(refusal(R"({"linux":{"resources":{"pids":{"limit":"1"}}}})", plan) ==
          "linux.resources.pids.limit: expected an integer");
    CHECK(refusal(R"({"linux":{"resources":[1]}})", plan) == "linux.resources: expected an object");
}

TEST_CASE("a sandbox that relays gets its share of the processor")
{
    Plan plan = nothing();
    plan.least_cpu_shares = 1024;
    const auto after = [&](const std::string& linux_section) {
        return edited("{\"linux\":" + linux_section + "}", plan).text;
    };
    CHECK(after(R"({"resources":{"cpu":{"shares":2,"quota":5}}})") ==
          R"({"linux":{"resources":{"cpu":{"shares":1024,"quota":5}}}})");
    for (const std::string same :
         {R"({"resources":{"cpu":{"shares":1025}}})", R"({"resources":{"cpu":{"shares":null}}})",
          R"({"resources":{"cpu":{}}})", R"({"resources":{}})", R"({"x":1})"})
        CHECK(after(same) == "{\"linux\":" + same + "}");
    CHECK(refusal(R"({"linux":{"resources":{"cpu":{"shares":"2"}}}})", plan) ==
          "linux.resources.cpu.shares: expected an integer");
}

TEST_CASE("devices are closed before the rules that stand there")
{
    Plan plan = nothing();
    plan.close_devices = true;
    const auto after = [&](const std::string& linux_section) {
        return edited("{\"linux\":" + linux_section + "}", plan).text;
    };
    const std::string rule = R"({"allow":false,"access":"rwm"})";
    const std::string alone = R"("resources":{"devices":[)" + rule + "]}";
    CHECK(after(R"({"x":1})") == R"({"linux":{"x":1,)" + alone + "}}");
    CHECK(after(R"({"resources":null})") == R"({"linux":{)" + alone + "}}");
    CHECK(after(R"({"resources":{}})") == R"({"linux":{)" + alone + "}}");
    CHECK(after(R"({"resources":{"devices":null}})") == R"({"linux":{)" + alone + "}}");
    CHECK(after(R"({"resources":{"devices":[{"allow":true}]}})") ==
          R"({"linux":{"resources":{"devices":[)" + rule + R"(,{"allow":true}]}}})");
    CHECK(refusal(R"({"linux":{"resources":{"devices":{}}}})", plan) ==
          "linux.resources.devices: expected an array");
}

TEST_CASE("low ports are freed in a namespace of its own, unless somebody said otherwise")
{
    Plan plan = own_network();
    plan.free_low_ports = true;
    const auto sysctl_after = [&](std::string_view sysctl) {
        const std::string text =
            edited(text_of({R"({"linux":{"namespaces":[{"type":"mount"},{"type":"network"}])",
                            sysctl, "}}"}),
                   plan)
                .text;
        return text.substr(60, text.size() - 62);
    };
    constexpr std::string_view ours = R"("net.ipv4.ip_unprivileged_port_start":"53")";
    CHECK(sysctl_after("") == text_of({",\"sysctl\":{", ours, "}"}));
    CHECK(sysctl_after(",\"sysctl\":null") == text_of({",\"sysctl\":{", ours, "}"}));
    CHECK(sysctl_after(R"(,"sysctl":{"kernel.domainname":"x"})") ==
          text_of({R"(,"sysctl":{"kernel.domainname":"x",)", ours, "}"}));
    for (const char* set : {R"(,"sysctl":{"net.ipv4.ip_unprivileged_port_start":"0"})",
                            R"(,"sysctl":{"net/ipv4/ip_unprivileged_port_start":"0"})"})
        CHECK(sysctl_after(set) == std::string_view(set));
    plan.network = NetworkNamespace::keep;
    CHECK(sysctl_after("") == "");
}

TEST_CASE("a config without a section linux gets one with all that is needed")
{
    Plan plan = own_network();
    plan.free_low_ports = true;
    plan.seccomp.wanted = true;
    const std::string members = text_of(
        {R"({"namespaces":[{"type":"mount"},{"type":"pid"},{"type":"ipc"},{"type":"uts"},)",
         R"({"type":"network"}],"sysctl":{"net.ipv4.ip_unprivileged_port_start":"53"},"seccomp":)",
         whole_profile(plan.seccomp), "}"});
    CHECK(edited("{}", plan).text == text_of({"{\"linux\":", members, "}"}));
    CHECK(edited(R"({"linux":null})", plan).text == text_of({"{\"linux\":", members, "}"}));
    CHECK(edited(R"({"linux":{}})", plan).text == text_of({"{\"linux\":", members, "}"}));
    // The profile is put beside what the section holds.
    const std::string text = edited(R"({"linux":{"x":1}})", plan).text;
    const json::Document document = parsed(text);
    CHECK(document.root().find("linux")->find("seccomp")->raw() == whole_profile(plan.seccomp));
}

TEST_CASE("our mounts come last, and resolv.conf is covered where the engine mounts one (C-09)")
{
    Plan plan = nothing();
    plan.mounts = {{"/dev/anchorhold/relay", "/usr/x\"y", {"bind", "ro"}},
                   {"/dev/anchorhold/run", "/run/i", {"rbind"}}};
    plan.cover_resolv_conf = true;
    plan.resolv_conf = "/run/i/resolv.conf";
    constexpr std::string_view ours =
        R"({"destination":"/dev/anchorhold/relay","type":"none","source":"/usr/x\"y",)"
        R"("options":["bind","ro"]},{"destination":"/dev/anchorhold/run","type":"none",)"
        R"("source":"/run/i","options":["rbind"]})";
    constexpr std::string_view resolv =
        R"(,{"destination":"/etc/resolv.conf","type":"none","source":"/run/i/resolv.conf",)"
        R"("options":["bind","ro","nosuid","nodev","noexec"]})";
    CHECK(edited("{}", plan).text == text_of({"{\"mounts\":[", ours, "]}"}));
    CHECK(edited(R"({"mounts":null})", plan).text == text_of({"{\"mounts\":[", ours, "]}"}));
    CHECK(edited(R"({"mounts":[ ]})", plan).text == text_of({"{\"mounts\":[", ours, " ]}"}));
    CHECK(edited(R"({"mounts":[{"destination":"/etc/hosts"} ]})", plan).text ==
          text_of({R"({"mounts":[{"destination":"/etc/hosts"},)", ours, " ]}"}));
    for (const char* path : {"/etc/resolv.conf", "/etc//resolv.conf/", "/etc/../etc/resolv.conf",
                             "etc/./resolv.conf", "/../etc/resolv.conf"})
        CHECK(edited(text_of({R"({"mounts":[{"destination":")", path, "\"}]}"}), plan).text ==
              text_of({R"({"mounts":[{"destination":")", path, "\"},", ours, resolv, "]}"}));
    // The hosts file holds all names that resolve, so it is mounted whatever the engine mounts.
    plan.cover_hosts = true;
    plan.hosts = "/run/i/hosts";
    constexpr std::string_view hosts =
        R"(,{"destination":"/etc/hosts","type":"none","source":"/run/i/hosts",)"
        R"("options":["bind","ro","nosuid","nodev","noexec"]})";
    CHECK(edited("{}", plan).text == text_of({"{\"mounts\":[", ours, hosts, "]}"}));
    CHECK(edited(R"({"mounts":[{"destination":"/etc/hosts"}]})", plan).text ==
          text_of({R"({"mounts":[{"destination":"/etc/hosts"},)", ours, hosts, "]}"}));
    CHECK(
        edited(R"({"mounts":[{"destination":"/etc/resolv.conf"}]})", plan).text ==
        text_of({R"({"mounts":[{"destination":"/etc/resolv.conf"},)", ours, resolv, hosts, "]}"}));
    CHECK(refusal(R"({"mounts":{}})", plan) == "mounts: expected an array");
    CHECK(refusal(R"({"mounts":[{"destination":"/"},1]})", plan) ==
          "mounts[1]: expected an object");
    CHECK(refusal(R"({"mounts":[{}]})", plan) == "mounts[0]: expected a member \"destination\"");
    CHECK(refusal(R"({"mounts":[{"destination":1}]})", plan) ==
          "mounts[0].destination: expected a string");
}

TEST_CASE("R13 our hooks: up behind the engine's, down before them (C-36, C-37)")
{
    const Plan plan = with_hooks();
    const std::string both = text_of({"{\"createRuntime\":[", up, "],\"poststop\":[", down, "]}"});
    CHECK(edited("{}", plan).text == text_of({"{\"hooks\":", both, "}"}));
    CHECK(edited(R"({"hooks":null})", plan).text == text_of({"{\"hooks\":", both, "}"}));
    CHECK(edited(R"({"hooks":{}})", plan).text == text_of({"{\"hooks\":", both, "}"}));
    CHECK(edited(R"({"hooks":{"createRuntime":[{"path":"/a"}],"poststop":[ {"path":"/b"}],)"
                 R"("someFutureStage":[{"x":1}]}})",
                 plan)
              .text ==
          text_of({R"({"hooks":{"createRuntime":[{"path":"/a"},)", up, R"(],"poststop":[ )", down,
                   R"(,{"path":"/b"}],"someFutureStage":[{"x":1}]}})"}));
    CHECK(edited(R"({"hooks":{"createRuntime":null,"poststop":[]}})", plan).text ==
          text_of({R"({"hooks":{"createRuntime":[)", up, R"(],"poststop":[)", down, "]}}"}));
    CHECK(refusal(R"({"hooks":[]})", plan) == "hooks: expected an object");
    CHECK(refusal(R"({"hooks":{"createRuntime":{}}})", plan) ==
          "hooks.createRuntime: expected an array");
    CHECK(refusal(R"({"hooks":{"poststop":1}})", plan) == "hooks.poststop: expected an array");
}

TEST_CASE("R18 Docker's hook that plugs the network in is taken out, others stay (C-36)")
{
    Plan plan = with_hooks();
    plan.hooks = false;
    const EditedConfig done = edited(
        R"({"hooks":{"prestart":[{"path":"/a","args":["a","b","libnetwork-setkey"]},)"
        R"({"path":"/proc/7/exe","args":["libnetwork-setkey","-exec-root=/run","id"]},{"path":"/c"},)"
        R"({"path":"/usr/bin/dockerd","args":["dockerd","libnetwork-setkey"]}]}})",
        plan);
    CHECK(done.text ==
          R"({"hooks":{"prestart":[{"path":"/a","args":["a","b","libnetwork-setkey"]},)"
          R"({"path":"/c"}]}})");
    CHECK(done.removed_hooks == std::vector<std::string>{"/proc/7/exe", "/usr/bin/dockerd"});
    plan.drop_setkey_hook = false;
    const std::string kept =
        R"({"hooks":{"prestart":[{"path":"/d","args":["libnetwork-setkey"]}]}})";
    CHECK(edited(kept, plan).text == kept);
    plan.drop_setkey_hook = true;
    CHECK(refusal(R"({"hooks":{"prestart":{}}})", plan) == "hooks.prestart: expected an array");
    CHECK(refusal(R"({"hooks":{"prestart":[1]}})", plan) ==
          "hooks.prestart[0]: expected an object");
}

TEST_CASE("R9 the mark is one annotation, and with it a second pass changes nothing")
{
    Plan plan = own_network();
    plan.mark = "0123456789ab.0011223344556677";
    constexpr std::string_view mark = R"("dev.anchorhold.run":"0123456789ab.0011223344556677")";
    for (const char* annotations : {"null", "{}", R"({"a":"b"})", R"({"a":"b" })"}) {
        const std::string once =
            edited(text_of({R"({"annotations":)", annotations, "}"}), plan).text;
        CHECK(once.find(mark) != std::string::npos);
        CHECK(edited(once, plan).text == once);
    }
    CHECK(edited(R"({"annotations":{"a":"b" },"linux":{"namespaces":[{"type":"mount"},)"
                 R"({"type":"network"}]}})",
                 plan)
              .text ==
          text_of({R"({"annotations":{"a":"b",)", mark,
                   R"( },"linux":{"namespaces":[{"type":"mount"},{"type":"network"}]}})"}));
    CHECK(refusal(R"({"annotations":[]})", plan) == "annotations: expected an object");
    CHECK(refusal(R"({"annotations":{"dev.anchorhold.run":"0123456789ab.f"}})", plan) ==
          "annotations[\"dev.anchorhold.run\"]: the edit mark of another run");
}

TEST_CASE("R9 members we do not know, and numbers of any form, keep their bytes (C-13, C-34)")
{
    Plan plan = with_hooks();
    plan.network = NetworkNamespace::own;
    plan.strip_net_caps = true;
    plan.strip_proxies = true;
    plan.extra_pids = 1;
    plan.mark = "m.g";
    const std::string foreign(1'000'000, 'x');
    const std::string head =
        R"({"newTop":{"x":[1.50,null,18446744073709551616,1E+2,-0]},"process":{"future":{"a":1e5})";
    const std::string tail = text_of({R"(},"vm":{"q": [ ]},"blob":")", foreign, "\""});
    CHECK(edited(text_of({head, R"(,"env":["A=1","NO_PROXY=x"])", tail, "}"}), plan).text ==
          text_of({head, R"(,"env":["A=1"])", tail, ",\"linux\":{\"namespaces\":[",
                   R"({"type":"mount"},{"type":"pid"},{"type":"ipc"},{"type":"uts"},)",
                   R"({"type":"network"}]},"hooks":{"createRuntime":[)", up, "],\"poststop\":[",
                   down, R"(]},"annotations":{"dev.anchorhold.run":"m.g"}})"}));
}

} // namespace anchorhold::config_edit_test
