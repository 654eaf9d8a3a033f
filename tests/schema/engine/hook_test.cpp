// SPDX-License-Identifier: Apache-2.0
// podman's hooks that name us: which of them it calls, and what is said of the others.
#include "schema/engine/hook.hpp"
#include "schema/engine/summary.hpp"

#include <doctest/doctest.h>

namespace anchorhold::engine_hook_test {

using namespace engine;
namespace {

EngineSetup podman(const std::string& conf)
{
    const std::vector<EngineFile> files{{"/etc/containers/containers.conf", conf}};
    return read_setup(Engine::podman, files, files);
}

EngineFile hook(const std::string& file, const std::string& args = R"("anchorhold", "precreate")",
                const std::string& rest = R"("stages": ["precreate"])")
{
    return {file,
            R"({"version": "1.0.0", "hook": {"path": "/usr/local/bin/anchorhold", "args": [)" +
                args + "]}, " + rest + "}"};
}

std::string faults(const EngineSetup& setup)
{
    std::string text;
    for (const Fault& fault : setup.faults)
        text += std::string(word_for(fault.kind)) + " " + fault.handler + "\n";
    return text;
}

const std::string in_etc = "/etc/containers/oci/hooks.d/anchorhold.json";

} // namespace

TEST_CASE("podman looks for hooks where hooks_dir says, and else in its vendor's folder alone")
{
    CHECK(hook_folders(podman("")) ==
          std::vector<std::string>{"/usr/share/containers/oci/hooks.d"});
    CHECK(hook_folders(podman("[engine]\nhooks_dir = [\"/a\", \"/b/\"]\n")) ==
          std::vector<std::string>{"/b", "/a"}); // the last one comes first
    CHECK(hook_folders(podman("[engine]\nhooks_dir = []\n")).empty());
}

TEST_CASE("a hook of ours tells podman of us, with what it calls us by")
{
    EngineSetup setup = podman("");
    CHECK(setup.has_kind(FaultKind::no_handler));
    add_hooks({hook(in_etc, R"("anchorhold-x", "--ah-profile=ci", "precreate")",
                    R"("stages": ["precreate"], "when": {"always": true})")},
              {}, setup);
    CHECK(faults(setup) == "");
    REQUIRE(setup.hooks.size() == 1);
    CHECK(setup.hooks[0] == Handler{.name = in_etc,
                                    .programs = {"/usr/local/bin/anchorhold"},
                                    .arguments = {"--ah-profile=ci"},
                                    .file = in_etc,
                                    .called = "hook " + in_etc,
                                    .argv0 = "anchorhold-x",
                                    .ours = true,
                                    .always = true});
    CHECK(standing_of(setup) == Standing::told);
    CHECK(runtimes_of_ours(setup) == "hook " + in_etc);
}

TEST_CASE("C-11 a hook in a folder that podman does not read is a fault")
{
    EngineSetup setup = podman("");
    add_hooks({}, {hook(in_etc)}, setup);
    CHECK(faults(setup) == "hook_not_read " + in_etc + "\n");
    CHECK(setup.hooks.empty());
    CHECK(standing_of(setup) == Standing::told_wrongly);
    EngineSetup both = podman("");
    add_hooks({hook("/usr/share/containers/oci/hooks.d/a.json")}, {hook(in_etc)}, both);
    CHECK(faults(both) == ""); // it is called, from the other folder
}

TEST_CASE("a hook that cannot lead to us, and hooks of others")
{
    EngineSetup late = podman("");
    add_hooks({hook(in_etc, R"("anchorhold", "precreate")", R"("stages": ["prestart"])")}, {},
              late);
    CHECK(faults(late) == "key_misspelt " + in_etc + "\n");
    EngineSetup wordless = podman("");
    add_hooks({hook(in_etc, R"("anchorhold")")}, {}, wordless);
    CHECK(faults(wordless) == "key_misspelt " + in_etc + "\n");
    EngineSetup broken = podman("");
    add_hooks({{in_etc, "{\"anchorhold"}}, {}, broken);
    CHECK(broken.has_kind(FaultKind::config_unreadable));
    EngineSetup others = podman("");
    add_hooks({{"/x.json", R"({"hook": {"path": "/usr/bin/nvidia"}, "stages": ["prestart"]})"},
               {"/y.json", "[]"},
               {"/z.json", "{"}},
              {}, others);
    CHECK(faults(others) == "no_handler \n");
    EngineSetup hidden = podman(""); // podman takes the first of a name
    add_hooks({{"/b/x.json", "{}"}, hook("/a/x.json")}, {}, hidden);
    CHECK(hidden.hooks.empty());
}

} // namespace anchorhold::engine_hook_test
