// SPDX-License-Identifier: Apache-2.0
// Compares the verdict and the lines of `doctor` with an engine's files, each laid over those
// before it.
#include "schema/engine/file.hpp"
#include "schema/engine/summary.hpp"

#include <doctest/doctest.h>

#include <map>

namespace anchorhold::engine_summary_test {

using namespace engine;
namespace {

EngineSetup of_files(Engine engine, const std::vector<EngineFile>& files,
                     Layering layering = Layering::merged)
{
    return read_setup(engine, files, files, layering);
}

std::string faults(const EngineSetup& setup)
{
    std::string text;
    for (const Fault& fault : setup.faults)
        text += std::string(word_for(fault.kind)) + " " + fault.handler + ": " + fault.says + "; " +
                fault.remedy + "\n";
    return text;
}

const std::string cri = "plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.";

std::string section(const std::string& name, const std::string& program)
{
    return "[" + cri + name + ".options]\nBinaryName = \"" + program + "\"\n";
}

} // namespace

TEST_CASE("an engine that is not told of us is told where to copy from")
{
    const std::map<Engine, std::string> remedies{
        {Engine::podman,
         "anchorhold setup podman --write, or its hook as contrib/podman/README.md says"},
        {Engine::docker, "anchorhold setup docker --write, then restart it"},
        {Engine::containerd, "anchorhold setup containerd --write, then restart it"},
        {Engine::crio, "anchorhold setup crio --write, then restart it"}};
    for (const auto& [engine, remedy] : remedies) {
        for (const auto& files :
             {std::vector<EngineFile>(), {{"f", engine == Engine::docker ? "{}" : ""}}}) {
            const EngineSetup setup = of_files(engine, files);
            CHECK(standing_of(setup) == Standing::not_told);
            CHECK(runtimes_of_ours(setup) == "");
            CHECK(summary_of(setup) == "not told of anchorhold; " + remedy);
        }
    }
}

TEST_CASE("each runtime of ours is told with the file that names its program last")
{
    const EngineSetup setup = of_files(
        Engine::podman,
        {{"/a", "[engine.runtimes]\nanchorhold = [\"/x/anchorhold\"]\nrunc = [\"/x/runc\"]\n"
                "anchorhold-ci = [\"/x/anchorhold-ci\"]\nx = [\"/x/runc\"]\n"},
         {"/b", "[engine.runtimes]\nx = [\"/x/anchorhold\"]\n"},
         {"/c", "[engine.runtimes]\nanchorhold-ci = [\"/y/anchorhold-ci\"]\n"}});
    CHECK(faults(setup) == "");
    CHECK(standing_of(setup) == Standing::told);
    CHECK(summary_of(setup) == "anchorhold in /a; anchorhold-ci in /c; x in /b; whether it is "
                               "called: anchorhold verify podman");
}

TEST_CASE("what is misspelt, or cannot be read, is told wrongly")
{
    const EngineSetup slip = of_files(
        Engine::crio, {{"/f", "[crio.runtime.runtimes.x]\nruntimepath = \"/x/anchorhold\"\n"}});
    CHECK(standing_of(slip) == Standing::told_wrongly);
    CHECK(summary_of(slip) == "told wrongly: x in /f");
    CHECK(faults(slip) == "key_misspelt x: /f names /x/anchorhold in [crio.runtime.runtimes.x] "
                          "runtimepath, which is no key of its; write runtime_path instead of "
                          "runtimepath\n");
    const EngineSetup broken = of_files(Engine::docker, {{"/f", "{"}});
    CHECK(standing_of(broken) == Standing::told_wrongly);
    CHECK(summary_of(broken) == "told wrongly");
}

TEST_CASE("a later file that takes our runtime back is named")
{
    const EngineSetup setup = of_files(
        Engine::crio, {{"/10", "[crio.runtime.runtimes.x]\nruntime_path = \"/x/anchorhold\"\n"},
                       {"/50", "[crio.runtime.runtimes.x]\nruntime_path = \"/x/runc\"\n"}});
    CHECK(standing_of(setup) == Standing::told_wrongly);
    CHECK(faults(setup) ==
          "not_effective x: /10 names /x/anchorhold in [crio.runtime.runtimes.x] runtime_path, and "
          "a later file takes that back; take it out there, or name anchorhold in /50\n");
}

TEST_CASE("containerd 2.x merges sections, 1.x replaces them")
{
    const std::vector<EngineFile> files{
        {"/main", "version = 2\n" + section("anchorhold", "/x/anchorhold")},
        {"/drop-in", "version = 2\n" + section("anchorhold-ci", "/x/anchorhold-ci")}};
    const EngineSetup merged = of_files(Engine::containerd, files);
    CHECK(faults(merged) == "");
    CHECK(runtimes_of_ours(merged) == "anchorhold in /main; anchorhold-ci in /drop-in");
    const EngineSetup replaced = of_files(Engine::containerd, files, Layering::replaced);
    CHECK(runtimes_of_ours(replaced) == "anchorhold-ci in /drop-in");
    CHECK(replaced.cri_files == std::vector<std::string>{"/main", "/drop-in"});
    CHECK(faults(replaced) ==
          "not_effective anchorhold: /main names /x/anchorhold in [" + cri +
              "anchorhold.options] BinaryName, and a later file takes that back; put all runtimes "
              "into the last file that has a section for CRI\n");
    // A section of another plugin takes nothing.
    CHECK(faults(of_files(Engine::containerd,
                          {files[0], {"/other", "version = 2\n[plugins.\"x.y\"]\nz = 1\n"}},
                          Layering::replaced)) == "");
}

TEST_CASE("containerd: a file keeps what the one laid over it does not say")
{
    const EngineSetup setup = of_files(
        Engine::containerd,
        {{"/main", "version = 2\n" + section("anchorhold", "/x/anchorhold") + "[" + cri +
                       "anchorhold]\npod_annotations = [\"a\"]\n"},
         {"/globs", "version = 2\n[" + cri + "anchorhold]\ncontainer_annotations = [\"b\"]\n"}});
    CHECK(setup.handlers == std::vector<Handler>{{.name = "anchorhold",
                                                  .programs = {"/x/anchorhold"},
                                                  .pod_globs = {"a"},
                                                  .container_globs = {"b"},
                                                  .file = "/main",
                                                  .ours = true}});
    CHECK(faults(setup) == "");
}

TEST_CASE("containerd: an imported file without a version has that of the main one")
{
    const std::string drop_in = section("anchorhold", "/x/anchorhold");
    CHECK(faults(of_files(Engine::containerd, {{"/main", "version = 2\n"}, {"/f", drop_in}})) ==
          "");
    const EngineSetup wrong = of_files(Engine::containerd, {{"/main", ""}, {"/f", drop_in}});
    REQUIRE(wrong.faults.size() == 1);
    CHECK(wrong.faults[0].kind == FaultKind::wrong_section);
}

TEST_CASE("containerd: what a file imports")
{
    const auto imports = [](const std::string& text) {
        return imports_of({"/etc/containerd/config.toml", text}, Layering::merged);
    };
    CHECK(imports("imports = [\"/a.toml\", \"conf.d/*.toml\", \"../b.toml\", 1]\n") ==
          std::vector<std::string>{"/a.toml", "/etc/containerd/conf.d/*.toml",
                                   "/etc/containerd/../b.toml"});
    CHECK(imports_of({"/etc/containerd/config.toml", "imports = [\"x/*\", \"y\", \"/z/*\"]\n"},
                     Layering::replaced) ==
          std::vector<std::string>{"/x/*", "/etc/containerd/y", "/z/*"});
    CHECK(imports("# imports = [\"/a.toml\"]\n[x]\nimports = [\"/b.toml\"]\n").empty());
    CHECK(imports("imports = \"/a.toml\"\n").empty());
    CHECK(imports("imports = [").empty());
}

TEST_CASE("containerd: which version lays files over each other how")
{
    CHECK(layering_of("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1") ==
          Layering::replaced);
    CHECK(layering_of("containerd github.com/containerd/containerd v1.7.2 0cae528") ==
          Layering::replaced);
    CHECK(layering_of("containerd github.com/containerd/containerd/v2 v2.0.0 207ad71") ==
          Layering::merged);
    CHECK(layering_of("containerd github.com/containerd/containerd/v2 2.2.0-1 ") ==
          Layering::merged);
    CHECK(layering_of("") == Layering::replaced);
}

} // namespace anchorhold::engine_summary_test
