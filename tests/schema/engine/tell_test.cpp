// SPDX-License-Identifier: Apache-2.0
// What `setup` would write, for the files that are there; that it comes out again byte for byte;
// and that contrib/ has the same.
#include "schema/engine/choose.hpp"
#include "schema/engine/place.hpp"
#include "schema/engine/tell.hpp"
#include "tests/files.hpp"

#include <doctest/doctest.h>

namespace anchorhold::engine_tell_test {

using namespace engine;
namespace {

Telling demo(Engine engine)
{
    return {.engine = engine, .program = "/usr/local/bin/anchorhold", .profiles = {"agent", "ci"}};
}

std::string added(const Telling& telling, const std::string& text)
{
    auto with = with_lines(telling, text);
    REQUIRE_MESSAGE(with.has_value(), with.error().what);
    return *std::move(with);
}

std::string bare(const Telling& telling, const std::string& text)
{
    auto without = without_lines(telling, text);
    REQUIRE_MESSAGE(without.has_value(), without.error().what);
    return *std::move(without);
}

std::string refusal(const Telling& telling, const std::string& text)
{
    const auto with = with_lines(telling, text);
    return with ? "" : with.error().what;
}

// Returns our runtimes as the engine then has them: "NAME=PROGRAM ARGUMENT;".
std::string told(Engine engine, const std::string& text)
{
    const EngineSetup setup = read_setup(engine, {{"f", text}}, {{"f", text}});
    std::string list;
    for (const Fault& fault : setup.faults)
        list += fault.says + "!";
    for (const Handler& handler : setup.handlers) {
        if (!handler.ours)
            continue;
        list += handler.name + "=" + handler.programs.front();
        for (const std::string& argument : handler.arguments)
            list += " " + argument;
        list += ";";
    }
    return list;
}

ContainerdPlace place(const std::vector<EngineFile>& files, Layering layering)
{
    return containerd_place("/c/config.toml", files, layering);
}

const std::string runc_2 = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc";

} // namespace

TEST_CASE("contrib/ has what setup writes where nothing is there")
{
    CHECK(own_text(demo(Engine::podman)) == source_file("contrib/podman/anchorhold.conf"));
    CHECK(own_text(demo(Engine::crio)) == source_file("contrib/crio/anchorhold.conf"));
    CHECK(own_text(demo(Engine::docker)) == source_file("contrib/docker/daemon.json"));
    Telling containerd = demo(Engine::containerd);
    containerd.names_runc = true;
    CHECK(own_text(containerd) == source_file("contrib/containerd/version-2.toml"));
    containerd.version = 3;
    CHECK(own_text(containerd) == source_file("contrib/containerd/version-3.toml"));
    for (const char* const path : {"podman/anchorhold.conf", "crio/anchorhold.conf",
                                   "containerd/version-2.toml", "containerd/version-3.toml"})
        CHECK(is_own_text(source_file(std::string("contrib/") + path)));
    CHECK_FALSE(is_own_text(source_file("contrib/podman/anchorhold-hook.conf")));
}

TEST_CASE("lines of ours come out of Docker's file as they went in, and no other byte moves")
{
    const Telling telling = demo(Engine::docker);
    for (const std::string text :
         {"{}", "{\n}\n", " { \"a\" : 1.0e3 ,\n\t\"runtimes\":{\"x\":{\"path\":\"/x\"} } }",
          "{\"a\":1}", "{\"runtimes\": {}, \"b\": \"\\u00e9\"}\n\n",
          "{\"b\": [1,2], \"runtimes\": { \n \"x\": { \"path\": \"/x\" }\n}}"}) {
        CAPTURE(text);
        const std::string with = added(telling, text);
        CHECK(told(Engine::docker, with) ==
              "anchorhold=/usr/local/bin/anchorhold;"
              "anchorhold-agent=/usr/local/bin/anchorhold --ah-profile=agent;"
              "anchorhold-ci=/usr/local/bin/anchorhold --ah-profile=ci;");
        CHECK(bare(telling, with) == text);
        CHECK(added(telling, with) == with);
        Telling other = telling;
        other.profiles = {"b"};
        CHECK(bare(other, added(other, with)) == text);
        CHECK(told(Engine::docker, added(other, with)) ==
              "anchorhold=/usr/local/bin/anchorhold;"
              "anchorhold-b=/usr/local/bin/anchorhold --ah-profile=b;");
    }
}

TEST_CASE("what was put among our lines in Docker's file stays")
{
    const Telling telling = demo(Engine::docker);
    const std::string ours = added(telling, "{}");
    const std::string last = "[\"--ah-profile=ci\"] }";
    std::string more = ours;
    more.replace(more.find(last), last.size(), last + ", \"x\": { \"path\": \"/x\" }");
    CHECK(bare(telling, more) == "{\n  \"runtimes\": { \"x\": { \"path\": \"/x\" }\n  }}");
    std::string first = ours;
    first.replace(first.find("\n    \"anchorhold\""), 0, "\"x\": { \"path\": \"/x\" },");
    CHECK(bare(telling, first) == "{\n  \"runtimes\": {\"x\": { \"path\": \"/x\" }\n  }}");
}

TEST_CASE("our lines in Docker's file are known however they are laid out, and others are not")
{
    Telling telling = demo(Engine::docker);
    telling.profiles = {"ci"};
    CHECK(bare(telling, R"({"a":1,"runtimes":{"anchorhold-ci":{"runtimeArgs":["--ah-profile=ci"],
                            "path":"/usr/local/bin/anchorhold"},"x":{}}})") ==
          R"({"a":1,"runtimes":{"x":{}}})");
    for (const std::string other :
         {R"({"path":"/usr/local/bin/anchorhold"})",
          R"({"path":"/usr/local/bin/anchorhold","runtimeArgs":["--ah-profile=b"]})",
          R"({"path":"/usr/local/bin/anchorhold","runtimeArgs":["--ah-profile=ci","x"]})",
          R"({"path":"/usr/local/bin/anchorhold","runtimeArgs":["--ah-profile=ci"],"x":1})",
          R"({"path":"/x","runtimeArgs":["--ah-profile=ci"]})", R"("x")"}) {
        const std::string text = R"({"runtimes":{"anchorhold-ci":)" + other + "}}";
        CHECK(bare(telling, text) == text);
    }
}

TEST_CASE("a file of Docker's that is not understood, or names us otherwise, is refused")
{
    const Telling telling = demo(Engine::docker);
    CHECK(refusal(telling, "") != "");
    CHECK(refusal(telling, "{\"a\":1,\"a\":2}") != "");
    CHECK(refusal(telling, "[]") == "the document: expected an object");
    CHECK(refusal(telling, "{\"runtimes\":[]}") == "runtimes: expected an object");
    CHECK(refusal(telling, "{\"runtimes\":{\"anchorhold-ci\":{\"path\":\"/x\"}}}") ==
          "runtimes.anchorhold-ci: is there and not as setup writes it; take it out first");
}

TEST_CASE("containerd's file gets our sections at its end, and gives them back")
{
    const Telling telling = demo(Engine::containerd);
    const std::string wanted = "anchorhold=/usr/local/bin/anchorhold;"
                               "anchorhold-agent=/usr/local/bin/anchorhold-agent;"
                               "anchorhold-ci=/usr/local/bin/anchorhold-ci;";
    for (const std::string& text : std::initializer_list<std::string>{
             "version = 2\n",
             "version = 2 # c\n\n[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n    x = 1\n",
             "version = 2\n" + runc_2 + "]\nruntime_type = \"io.containerd.runc.v2\"\n"}) {
        const std::string with = added(telling, text);
        CHECK(with.starts_with(text));
        CHECK(told(Engine::containerd, with) == wanted);
        CHECK(bare(telling, with) == text);
        CHECK(added(telling, with) == with);
        CHECK(bare(telling, with + "# more\n") == text + "# more\n");
    }
    CHECK(bare(telling, added(telling, "version = 2")) == "version = 2");
    Telling one = telling;
    one.version = 1;
    CHECK(told(Engine::containerd, added(one, "")) == wanted);
    one.systemd_cgroup = true;
    CHECK(added(one, "").contains("agent\"\n    SystemdCgroup = true\n"));
}

TEST_CASE("containerd's file is refused where its sections and ours do not go together")
{
    const Telling telling = demo(Engine::containerd);
    CHECK(refusal(telling, "version = \n").starts_with("line 1: "));
    CHECK(refusal(telling, "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n"
                           "containerd = {runtimes = {}}\n")
              .contains("add them by hand where its sections are"));
    CHECK(refusal(telling, "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd."
                           "runtimes.anchorhold]\n")
              .contains("our lines cannot be added at its end"));
}

TEST_CASE("containerd is told where it reads: a folder that 2.x imports, else the file of its CRI")
{
    const EngineFile imports{"/c/config.toml", "version = 3\nimports = [\"conf.d/*.toml\"]\n"};
    const EngineFile with_cri{"/c/config.toml", "version = 2\nimports = [\"/c/x.toml\"]\n" +
                                                    runc_2 + ".options]\nSystemdCgroup = true\n"};
    const EngineFile last{"/c/x.toml", "version = 2\n" + runc_2 + "]\nruntime_type = \"t\"\n"};

    const ContainerdPlace none = place({}, Layering::replaced);
    CHECK(none.path == "/c/config.toml");
    CHECK(none.is_own_file);
    CHECK(none.version == 2);
    CHECK(none.names_runc);
    CHECK(place({}, Layering::merged).version == 3);

    const ContainerdPlace folder = place({imports}, Layering::merged);
    CHECK(folder.path == "/c/conf.d/anchorhold.toml");
    CHECK(folder.is_own_file);
    CHECK(folder.version == 3);
    // 1.x would let a section in there take the place of another.
    CHECK_FALSE(place({imports}, Layering::replaced).is_own_file);

    const ContainerdPlace main = place({with_cri}, Layering::replaced);
    CHECK(main.path == "/c/config.toml");
    CHECK_FALSE(main.is_own_file);
    CHECK_FALSE(main.names_runc);
    CHECK(main.systemd_cgroup);
    CHECK(place({with_cri, last}, Layering::replaced).path == "/c/x.toml");
    CHECK(place({with_cri, last}, Layering::merged).path == "/c/config.toml");
    CHECK(place({{"/c/config.toml", "disabled_plugins = []\n"}}, Layering::replaced).version == 1);
}

TEST_CASE("an engine is told of the profiles asked for, or of all that are of use to it")
{
    const auto policy = parse_policy(R"({"version": 1, "default": "agent", "profiles":
        {"agent": {"cri": true}, "ci": {}, "open": {"egress": "open"}}})");
    REQUIRE(policy.has_value());
    // Returns the names that get a runtime, and "+" where the default does too.
    const auto chosen = [&](Engine engine, const std::vector<std::string>& asked,
                            const Policy& of) {
        Telling telling{.engine = engine};
        const auto done = choose_runtimes(of, asked, telling);
        std::string names = telling.plain ? "+" : "";
        for (const std::string& name : telling.profiles)
            names += " " + name;
        return (done ? names : done.error().what) + notes_on(of, telling);
    };
    CHECK(chosen(Engine::podman, {}, *policy) == "+ agent ci");
    CHECK(chosen(Engine::containerd, {}, *policy) == "+ agent");
    CHECK(chosen(Engine::docker, {"open", "ci", "ci"}, *policy) == "+ open ci");
    CHECK(chosen(Engine::crio, {"ci"}, *policy) ==
          "+ cinote: profile ci does not say \"cri\": true, so its pods are refused\n");
    CHECK(chosen(Engine::docker, {"x"}, *policy).starts_with("no profile \"x\"; the policy has "));
    Policy no_pods = *policy;
    no_pods.fallback = "ci";
    CHECK(chosen(Engine::containerd, {}, no_pods) == " agent");
    no_pods.profiles.erase("agent");
    CHECK(chosen(Engine::containerd, {}, no_pods)
              .starts_with("no profile of the policy says \"cri\""));
}

TEST_CASE("k3s and RKE2 are told by the template of the file that they made")
{
    const std::string main = "/k/agent/etc/containerd/config.toml";
    const auto at = [&](const std::string& text) {
        return containerd_place(main, {{main, text}}, Layering::merged);
    };
    CHECK(at("version = 2\n").path == "/k/agent/etc/containerd/config.toml.tmpl");
    CHECK(at("version = 3\nimports = [\"/c/*.toml\"]\n").path ==
          "/k/agent/etc/containerd/config-v3.toml.tmpl");
    CHECK(at("version = 3\n").is_template);
    CHECK(check_place(at("version = 3\n"), {}).has_value());
    for (const ContainerdPlace& unknown :
         {at("version = 4\n"), at(""), containerd_place(main, {}, Layering::merged)})
        CHECK_FALSE(check_place(unknown, {}).has_value());

    Telling telling = demo(Engine::containerd);
    telling.is_template = true;
    const std::string base(*empty_text(telling));
    const std::string with = added(telling, base);
    CHECK(with.starts_with("{{ template \"base\" . }}\n# BEGIN anchorhold"));
    CHECK(bare(telling, with) == base);
    CHECK(added(telling, with) == with);
    CHECK(bare(telling, added(telling, "{{ x }}")) == "{{ x }}");
}

TEST_CASE("a place without pods, or one whose lines would be lost, is refused")
{
    const auto refused = [](const std::string& text) {
        const std::vector<EngineFile> files{{"/c/config.toml", text}};
        const auto fit = check_place(place(files, Layering::replaced), files);
        return fit ? "" : fit.error().what;
    };
    CHECK(refused("disabled_plugins = [\"x\", \"cri\"]\n").contains("switches CRI off"));
    CHECK(refused("disabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n")
              .contains("switches CRI off"));
    CHECK(refused("disabled_plugins = [\"aufs\"] # not cri\n").empty());
    CHECK(refused("a = 1\n# Made by a tool, DO NOT EDIT.\n").contains("says \"do not edit\""));
    CHECK(refused("a = \"do not edit\"\n").empty());
    // What lies in a folder of drop-ins is not written anew with the main file.
    const std::vector<EngineFile> folder{
        {"/c/config.toml", "# do not edit\nversion = 3\nimports = [\"/c/d/*.toml\"]\n"}};
    CHECK(check_place(place(folder, Layering::merged), folder).has_value());
}

TEST_CASE("the place stays the same when we are told of there")
{
    Telling telling = demo(Engine::containerd);
    telling.names_runc = true;
    const ContainerdPlace own = place({{"/c/config.toml", own_text(telling)}}, Layering::replaced);
    CHECK(own.path == "/c/config.toml");
    CHECK(own.is_own_file);
    CHECK(own.names_runc);
    const ContainerdPlace lines =
        place({{"/c/config.toml", added(telling, "version = 2\n")}}, Layering::replaced);
    CHECK_FALSE(lines.is_own_file);
    CHECK(lines.names_runc);
}

} // namespace anchorhold::engine_tell_test
