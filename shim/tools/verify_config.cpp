// SPDX-License-Identifier: Apache-2.0
// Reads each engine's configuration from where that engine has it. An engine that says what it has
// read is believed before its files are; podman reads them anew in every call, so there they are
// the same.
#include "shim/tools/verify_config.hpp"
#include "schema/engine/file.hpp"
#include "shim/tools/engine_files.hpp"

#include <chrono>
#include <optional>

namespace anchorhold::tools {
namespace {

constexpr std::chrono::seconds deadline(60);

struct Gathered {
    std::vector<engine::EngineFile> effective;
    std::vector<engine::Fault> faults;

    void say(engine::FaultKind kind, std::string says, std::string remedy)
    {
        faults.push_back({kind, {}, std::move(says), std::move(remedy)});
    }
};

// Returns what a program says on stdout; nothing, and a fault, where it does not.
std::optional<std::string> said_by(const std::string& name, const std::vector<std::string>& words,
                                   const runtime::DeferredSignals& held, Gathered& found)
{
    const auto program = runtime::find_on_path(name);
    if (!program) {
        found.say(engine::FaultKind::engine_unusable, program.error().what,
                  "install it, or call this with the PATH that has it");
        return std::nullopt;
    }
    const auto answer =
        runtime::ask(held, runtime::OnSignal::end_it, *program, words, -1, deadline);
    if (answer && answer->good())
        return answer->out;
    const std::string why = !answer        ? answer.error().what
                            : answer->late ? "gives no answer"
                                           : one_line(answer->err);
    found.say(engine::FaultKind::config_unreadable, name + ": " + why,
              "correct what it names, or start the engine");
    return std::nullopt;
}

void ask_docker(const runtime::DeferredSignals& held, Gathered& found)
{
    constexpr const char* wanted =
        R"({"Runtimes":{{json .Runtimes}},"DefaultRuntime":{{json .DefaultRuntime}}})";
    if (auto said = said_by("docker", {"info", "--format", wanted}, held, found))
        found.effective.push_back({"docker info", *std::move(said)});
}

// Returns how this containerd lays files over each other. Where it does not say, the dump does not
// come either, and that is told.
engine::Layering ask_version(const runtime::DeferredSignals& held)
{
    const auto program = runtime::find_on_path("containerd");
    if (!program)
        return engine::Layering::replaced;
    const auto answer =
        runtime::ask(held, runtime::OnSignal::end_it, *program, {"--version"}, -1, deadline);
    return engine::layering_of(answer ? answer->out : "");
}

void ask_containerd(const std::string& main, const runtime::DeferredSignals& held, Gathered& found)
{
    if (auto dump = said_by("containerd", {"--config", main, "config", "dump"}, held, found))
        found.effective.push_back({"containerd config dump", *std::move(dump)});
}

void ask_crio(const EngineFiles& read, const runtime::DeferredSignals& held, Gathered& found)
{
    if (auto said = said_by("crio", {"status", "config"}, held, found)) {
        found.effective.push_back({"crio status config", *std::move(said)});
    } else {
        found.effective = read.files;
    }
}

} // namespace

engine::EngineSetup gather_setup(engine::Engine engine, const std::string& file,
                                 const runtime::DeferredSignals& held)
{
    const std::string main = file.empty() ? usual_file(engine) : file;
    const engine::Layering layering =
        engine == engine::Engine::containerd ? ask_version(held) : engine::Layering::merged;
    EngineFiles read = read_engine_files(engine, main, layering);
    Gathered found;
    switch (engine) {
    case engine::Engine::podman: found.effective = read.files; break;
    case engine::Engine::docker: ask_docker(held, found); break;
    case engine::Engine::containerd: ask_containerd(main, held, found); break;
    case engine::Engine::crio: ask_crio(read, held, found); break;
    }
    engine::EngineSetup setup = engine::read_setup(engine, found.effective, read.files, layering);
    add_hook_files(setup, read.errors);
    for (engine::Fault& fault : faults_of(read))
        found.faults.push_back(std::move(fault));
    setup.faults.insert(setup.faults.begin(), found.faults.begin(), found.faults.end());
    return setup;
}

} // namespace anchorhold::tools
