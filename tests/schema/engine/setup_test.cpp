// SPDX-License-Identifier: Apache-2.0
// Whole configurations, as administrators write them rightly and wrongly.
#include "schema/engine/setup.hpp"

#include <doctest/doctest.h>

#include "tests/files.hpp"

#include <algorithm>

namespace anchorhold::engine_setup_test {

using namespace engine;
namespace {

std::vector<std::string> names(const EngineSetup& setup)
{
    std::vector<std::string> names;
    for (const Handler& handler : setup.handlers) {
        if (handler.ours)
            names.push_back(handler.name);
    }
    return names;
}

// Returns the faults as people read them, one a line.
std::string faults(const EngineSetup& setup)
{
    std::string text;
    for (const Fault& fault : setup.faults)
        text += std::string(word_for(fault.kind)) + " " + fault.handler + ": " + fault.says + "; " +
                fault.remedy + "\n";
    return text;
}

EngineSetup of_file(Engine engine, const std::string& text)
{
    return read_setup(engine, {{"the file", text}}, {{"the file", text}});
}

// Returns what containerd 1.6 dumps: the plugin's section, complete.
std::string containerd_dump(const std::string& runtimes)
{
    return "version = 2\n"
           "[plugins]\n"
           "  [plugins.\"io.containerd.grpc.v1.cri\"]\n"
           "    [plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
           "      default_runtime_name = \"runc\"\n"
           "      [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes]\n" +
           runtimes;
}

std::string runtime_2(const std::string& name, const std::string& options)
{
    const std::string section = "plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes." + name;
    return "[" + section + "]\nruntime_type = \"io.containerd.runc.v2\"\n" +
           "pod_annotations = [\"dev.anchorhold.*\"]\ncontainer_annotations = []\n[" + section +
           ".options]\n" + options + "\n";
}

const std::string binary = "BinaryName = \"/usr/local/bin/anchorhold\"";

} // namespace

TEST_CASE("every engine and every fault has a word of its own")
{
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < fault_kinds; ++i)
        words.push_back(word_for(static_cast<FaultKind>(i)));
    CHECK(words.front() == "engine_unusable");
    CHECK(words.back() == "left_over");
    std::ranges::sort(words);
    CHECK(std::ranges::adjacent_find(words) == words.end());
    for (const Engine engine : {Engine::podman, Engine::docker, Engine::containerd, Engine::crio})
        CHECK(engine_from(word_for(engine)) == engine);
    CHECK(engine_from("cri-o") == Engine::crio);
    CHECK(!engine_from("runc"));
}

TEST_CASE("who is meant to be us")
{
    for (const char* const path : {"/usr/local/bin/anchorhold", "/opt/anchorhold/bin/anchorhold-ci",
                                   "anchorhold", "anchorhold-agent"})
        CHECK(names_us(path));
    for (const char* const path :
         {"/usr/bin/runc", "/etc/containerd/conf.d/anchorhold.toml", "/opt/anchorhold/bin",
          "/usr/share/anchorhold-0.1.deb", "", "anchorholder", "anchorhold-ci is wanted"})
        CHECK(!names_us(path));
}

TEST_CASE("the nearest word is at most two letters away")
{
    const std::vector<std::string> words{"anchorhold", "anchorhold-agent", "runc"};
    CHECK(nearest("anchorhold-agnt", words) == "anchorhold-agent");
    CHECK(nearest("anchorhold-gaent", words) == "anchorhold-agent");
    CHECK(nearest("anchorhol", words) == "anchorhold");
    CHECK(nearest("rung", words) == "runc");
    CHECK(nearest("kata", words) == "");
    CHECK(nearest("", words) == "");
    CHECK(nearest("x", {}) == "");
}

TEST_CASE("what contrib/ tells the engines has no fault")
{
    const std::vector<std::string> all{"anchorhold", "anchorhold-agent", "anchorhold-ci"};
    const auto podman = of_file(Engine::podman, source_file("contrib/podman/anchorhold.conf"));
    const auto docker = of_file(Engine::docker, source_file("contrib/docker/daemon.json"));
    const auto two = of_file(Engine::containerd, source_file("contrib/containerd/version-2.toml"));
    const auto three =
        of_file(Engine::containerd, source_file("contrib/containerd/version-3.toml"));
    const auto crio = of_file(Engine::crio, source_file("contrib/crio/anchorhold.conf"));
    for (const EngineSetup* setup : {&podman, &docker, &two, &three, &crio}) {
        CHECK(faults(*setup) == "");
        CHECK(names(*setup) == all);
    }
    CHECK(podman.notes.empty());
    CHECK(docker.find("anchorhold-ci")->arguments == std::vector<std::string>{"--ah-profile=ci"});
    CHECK(two.find("anchorhold-ci")->programs ==
          std::vector<std::string>{"/usr/local/bin/anchorhold-ci"});
    CHECK(three.find("anchorhold-ci")->container_globs ==
          std::vector<std::string>{"dev.anchorhold.*"});
    CHECK(crio.find("anchorhold-ci")->programs ==
          std::vector<std::string>{"/usr/local/bin/anchorhold-ci"});
}

// ---- podman ------------------------------------------------------------------------------------

TEST_CASE("values of another type than the engine wants are passed over")
{
    for (const char* const text : {"engine = 1\n", "[engine]\nruntimes = [1]\nruntime = [2]\n",
                                   "[engine.runtimes]\nx = 1\ny = [[1]]\n"})
        CHECK(names(of_file(Engine::podman, text)).empty());
    for (const char* const text :
         {"1", "[]", R"({"runtimes": 1})", R"({"runtimes": {"x": 1}})",
          R"({"runtimes": {"x": {"path": 1, "options": 1, "runtimeArgs": 1}}})"})
        CHECK(names(of_file(Engine::docker, text)).empty());
    for (const char* const text :
         {"version = \"x\"\n", "plugins = 1\n",
          "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\nruntimes = 1\n",
          "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes]\nx = 1\n"})
        CHECK(names(of_file(Engine::containerd, text)).empty());
}

TEST_CASE("podman: later files add runtimes and replace what they name")
{
    const EngineSetup setup = read_setup(
        Engine::podman,
        {{"1",
          "[engine]\nruntime = \"runc\"\nruntime_supports_json = [\"anchorhold\"]\n"
          "[engine.runtimes]\nanchorhold = [\"/old/anchorhold\"]\nrunc = [\"/usr/bin/runc\"]\n"},
         {"2", "[engine.runtimes]\nanchorhold = [\"/a/anchorhold\", \"/b/anchorhold\"]\n"
               "mine = [\"/usr/local/bin/anchorhold-ci\"]\n"},
         {"3", "[engine]\nruntime = \"crun\"\n"}},
        {});
    CHECK(names(setup) == std::vector<std::string>{"anchorhold", "mine"});
    CHECK(setup.find("anchorhold")->programs ==
          std::vector<std::string>{"/a/anchorhold", "/b/anchorhold"});
    CHECK(setup.fallback == "crun");
    CHECK(faults(setup) == "");
    CHECK(setup.notes ==
          std::vector<std::string>{
              "podman puts words of its own around the errors of mine, which is not in its "
              "runtime_supports_json",
              "a container that names no runtime runs below crun, not below anchorhold"});
}

TEST_CASE("podman: a path may be the default")
{
    const auto setup = of_file(Engine::podman, "[engine]\nruntime = \"/usr/local/bin/anchorhold\"\n"
                                               "runtime_supports_json = [\"anchorhold\"]\n");
    CHECK(names(setup) == std::vector<std::string>{"/usr/local/bin/anchorhold"});
    CHECK(faults(setup) == "");
    CHECK(setup.notes.empty());
}

TEST_CASE("podman: the wrong section, the wrong key")
{
    CHECK(faults(of_file(Engine::podman,
                         "[engine.runtime]\nanchorhold = [\"/usr/local/bin/anchorhold\"]\n")) ==
          "wrong_section anchorhold: the file names /usr/local/bin/anchorhold in [engine.runtime] "
          "anchorhold, where it does not look; write it below [engine.runtimes]\n");
    CHECK(faults(of_file(Engine::podman, "[runtimes]\nx = [\"/usr/local/bin/anchorhold-ci\"]\n")) ==
          "wrong_section x: the file names /usr/local/bin/anchorhold-ci in [runtimes] x, where it "
          "does not look; write it below [engine.runtimes]\n");
    CHECK(faults(of_file(Engine::podman, "[engine]\nruntim = \"/usr/local/bin/anchorhold\"\n")) ==
          "key_misspelt engine: the file names /usr/local/bin/anchorhold in [engine] runtim, which "
          "is no key of its; write runtime instead of runtim\n");
}

TEST_CASE("a configuration that cannot be read, or does not name us")
{
    CHECK(faults(of_file(Engine::podman, "[engine\n"))
              .starts_with("config_unreadable : the file: line 1: "));
    CHECK(faults(of_file(Engine::docker, "{\"runtimes\": "))
              .starts_with("config_unreadable : the file: "));
    const std::string none =
        "; anchorhold setup podman --write, or its hook as contrib/podman/README.md says\n";
    CHECK(faults(of_file(Engine::podman, "")) ==
          "no_handler : its configuration does not name anchorhold" + none);
    CHECK(faults(read_setup(Engine::podman, {}, {})) ==
          "no_handler : its configuration does not name anchorhold" + none);
}

// ---- Docker ------------------------------------------------------------------------------------

TEST_CASE("Docker: what the daemon says counts, and daemon.json is held against it")
{
    const std::string says = R"({"Runtimes": {"runc": {"path": "runc"},
        "anchorhold-agent": {"path": "/usr/local/bin/anchorhold", "runtimeArgs": ["--ah-profile=agent"]},
        "anchorhold": {"runtimeType": "io.containerd.runc.v2",
                       "options": {"BinaryName": "/usr/local/bin/anchorhold"}}},
        "DefaultRuntime": "runc"})";
    const std::string written = R"({"runtimes": {
        "anchorhold-agent": {"path": "/usr/local/bin/anchorhold",
                             "runtimeArgs": ["--ah-state", "/run/anchorhold"]},
        "anchorhold": {"options": {"Binary": "/usr/local/bin/anchorhold"}},
        "anchorhold-ci": {"path": "/usr/local/bin/anchorhold-ci"}},
        "runtime": {"x": {"path": "/usr/local/bin/anchorhold"}}})";
    const EngineSetup setup =
        read_setup(Engine::docker, {{"docker info", says}}, {{"daemon.json", written}});
    CHECK(names(setup) == std::vector<std::string>{"anchorhold", "anchorhold-agent"});
    CHECK(setup.find("anchorhold")->programs ==
          std::vector<std::string>{"/usr/local/bin/anchorhold"});
    CHECK(setup.fallback == "runc");
    CHECK(
        faults(setup) ==
        "key_misspelt anchorhold: daemon.json names /usr/local/bin/anchorhold in "
        "runtimes.anchorhold.options Binary, which is no key of its; write BinaryName instead of "
        "Binary\n"
        "not_effective anchorhold-ci: daemon.json names /usr/local/bin/anchorhold-ci in "
        "runtimes.anchorhold-ci path, and yet does not know it; have it read its configuration "
        "again: restart it\n"
        "wrong_section x: daemon.json names /usr/local/bin/anchorhold in runtime.x path, where it "
        "does not look; write it below runtimes.x\n");
}

// ---- containerd --------------------------------------------------------------------------------

TEST_CASE("containerd: runtimes with their globs")
{
    const std::string dump =
        containerd_dump(runtime_2("anchorhold", binary) + runtime_2("runc", ""));
    const EngineSetup setup =
        read_setup(Engine::containerd, {{"dump", dump}}, {{"config.toml", dump}});
    CHECK(faults(setup) == "");
    CHECK(names(setup) == std::vector<std::string>{"anchorhold"});
    CHECK(setup.find("anchorhold")->pod_globs == std::vector<std::string>{"dev.anchorhold.*"});
    CHECK(setup.find("anchorhold")->container_globs.empty());
    CHECK(setup.find("runc")->programs.empty());
    CHECK(setup.notes ==
          std::vector<std::string>{
              "a container that names no runtime runs below runc, not below anchorhold"});
}

TEST_CASE("C-11 containerd: BinaryName misspelt, or a table too high")
{
    const std::string dump =
        containerd_dump(runtime_2("x", "BinaryNam = \"/usr/local/bin/anchorhold\""));
    const EngineSetup setup =
        read_setup(Engine::containerd, {{"dump", dump}}, {{"config.toml", dump}});
    // x counts as ours, so a container is run below it.
    CHECK(names(setup) == std::vector<std::string>{"x"});
    CHECK(
        faults(setup) ==
        "key_misspelt x: config.toml names /usr/local/bin/anchorhold in "
        "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.x.options] BinaryNam, which is "
        "no key of its; write BinaryName instead of BinaryNam\n");
    const std::string high =
        "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.x]\n" + binary +
        "\n";
    CHECK(faults(read_setup(Engine::containerd, {{"dump", containerd_dump("")}},
                            {{"config.toml", high}})) ==
          "wrong_section x: config.toml names /usr/local/bin/anchorhold in "
          "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.x] BinaryName, where it does "
          "not look; write it below "
          "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.x.options]\n");
}

TEST_CASE("C-11 containerd: a section of another version than the file's")
{
    const std::string right_2 =
        "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.x.options]";
    const std::string options = ".containerd.runtimes.x.options]\n" + binary + "\n";
    struct Case {
        const char* version;
        const char* plugin;
        const char* remedy;
    };
    for (const Case& one :
         {Case{"version = 2\n", "cri",
               "this file is of version 2: write [plugins.\"io.containerd.grpc.v1.cri\".containerd."
               "runtimes.x.options], or put version = 1 at its top if all of it is"},
          Case{"", "\"io.containerd.grpc.v1.cri\"",
               "this file is of version 1: write [plugins.cri.containerd.runtimes.x.options], or "
               "put "
               "version = 2 at its top if all of it is"},
          Case{"version = 2\n", "\"io.containerd.cri.v1.runtime\"",
               "this file is of version 2: write [plugins.\"io.containerd.grpc.v1.cri\".containerd."
               "runtimes.x.options], or put version = 3 at its top if all of it is"},
          Case{"version = 3\n", "\"io.containerd.grpc.v1.cri\"",
               "this file is of version 3: write "
               "[plugins.\"io.containerd.cri.v1.runtime\".containerd."
               "runtimes.x.options], or put version = 2 at its top if all of it is"}}) {
        const std::string text = std::string(one.version) + "[plugins." + one.plugin + options;
        for (const bool says : {false, true}) { // containerd may refuse to dump it, or drop it
            std::vector<EngineFile> effective;
            if (says)
                effective.push_back({"dump", containerd_dump(runtime_2("runc", ""))});
            const auto setup = read_setup(Engine::containerd, effective, {{"config.toml", text}});
            REQUIRE(setup.faults.size() == 1);
            CHECK(setup.faults[0].kind == FaultKind::wrong_section);
            CHECK(setup.faults[0].handler == "x");
            CHECK(setup.faults[0].remedy == one.remedy);
        }
    }
}

TEST_CASE("containerd: a right section that an import took away")
{
    const std::string main = "version = 2\n" + runtime_2("anchorhold", binary);
    CHECK(faults(read_setup(Engine::containerd, {{"dump", containerd_dump(runtime_2("other", ""))}},
                            {{"config.toml", main}})) ==
          "not_effective anchorhold: config.toml names /usr/local/bin/anchorhold in "
          "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.anchorhold.options] "
          "BinaryName, "
          "and yet does not know it; restart it; where a file it imports has a section for CRI as "
          "well, put all runtimes into that one\n");
    // When the engine says nothing, no fault follows.
    CHECK(faults(read_setup(Engine::containerd, {}, {{"config.toml", main}})) == "");
}

TEST_CASE("containerd: versions 1 and 3 have sections of their own")
{
    const std::string three = "version = 3\n[plugins.\"io.containerd.cri.v1.runtime\".containerd]\n"
                              "default_runtime_name = \"anchorhold\"\n"
                              "[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes."
                              "anchorhold.options]\n" +
                              binary + "\n";
    const auto setup = of_file(Engine::containerd, three);
    CHECK(faults(setup) == "");
    CHECK(setup.notes.empty());
    const std::string one =
        "[plugins.cri.containerd.runtimes.anchorhold.options]\n" + binary + "\n";
    CHECK(faults(read_setup(Engine::containerd,
                            {{"dump", containerd_dump(runtime_2("anchorhold", binary))}},
                            {{"config.toml", one}})) == "");
}

// ---- CRI-O -------------------------------------------------------------------------------------

TEST_CASE("CRI-O: drop-ins are laid over, a handler without a path is looked for by its name")
{
    const EngineSetup setup = read_setup(
        Engine::crio,
        {{"1", "[crio.runtime]\ndefault_runtime = \"crun\"\n[crio.runtime.runtimes.anchorhold]\n"},
         {"2", "[crio.runtime.runtimes.anchorhold-ci]\nruntime_path = \"/x/anchorhold-ci\"\n"}},
        {});
    CHECK(names(setup) == std::vector<std::string>{"anchorhold", "anchorhold-ci"});
    CHECK(setup.find("anchorhold")->programs == std::vector<std::string>{"anchorhold"});
    CHECK(setup.fallback == "crun");
    CHECK(faults(setup) == "");
}

TEST_CASE("CRI-O: the wrong section, the wrong key, not read yet")
{
    CHECK(faults(of_file(Engine::crio, "[crio.runtimes.x]\nruntime_path = \"/x/anchorhold\"\n")) ==
          "wrong_section x: the file names /x/anchorhold in [crio.runtimes.x] runtime_path, "
          "where it does not look; write it below [crio.runtime.runtimes.x]\n");
    const auto slip =
        of_file(Engine::crio, "[crio.runtime.runtimes.x]\npath = \"/x/anchorhold\"\n");
    CHECK(names(slip) == std::vector<std::string>{"x"});
    CHECK(faults(slip) ==
          "key_misspelt x: the file names /x/anchorhold in [crio.runtime.runtimes.x] "
          "path, which is no key of its; write runtime_path instead of path\n");
    const std::string right = "[crio.runtime.runtimes.x]\nruntime_path = \"/x/anchorhold\"\n";
    const auto unread =
        read_setup(Engine::crio, {{"crio status config", "[crio.runtime]\n"}}, {{"f", right}});
    REQUIRE(unread.faults.size() == 1);
    CHECK(unread.faults[0].kind == FaultKind::not_effective);
}

} // namespace anchorhold::engine_setup_test
