// SPDX-License-Identifier: Apache-2.0
// Where each engine's configuration comes from. An engine that says what it has read is believed
// before its files are; podman reads them anew in every call, so there they are the same.
#include "shim/tools/verify_config.hpp"
#include "hooks/state/files.hpp"
#include "schema/json/json.hpp"
#include "schema/json/toml.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

constexpr std::size_t most_engine_config = std::size_t{1024} * 1024;
constexpr std::chrono::seconds deadline(60);

struct Gathered {
    std::vector<engine::EngineFile> effective, written;
    std::vector<engine::Fault> faults;

    void say(engine::FaultKind kind, std::string says, std::string remedy)
    {
        faults.push_back({kind, {}, std::move(says), std::move(remedy)});
    }
    // What is not there is no fault: engines have defaults.
    void add(std::vector<engine::EngineFile>& files, const std::string& path)
    {
        auto read = state::read_file(path, most_engine_config);
        if (!read) {
            say(engine::FaultKind::config_unreadable, read.error().what, "look at that file");
        } else if (auto text = *std::move(read)) {
            files.push_back({path, *std::move(text)});
        }
    }
};

std::vector<std::string> sorted_files(const std::string& directory, std::string_view ending)
{
    std::vector<std::string> files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string path = entry->path();
        if (path.ends_with(ending))
            files.push_back(path);
    }
    std::ranges::sort(files);
    return files;
}

std::string variable(const char* name)
{
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): one thread
    return value != nullptr ? value : "";
}

void add_with_drop_ins(std::vector<std::string>& paths, const std::string& file)
{
    paths.push_back(file);
    for (std::string& path : sorted_files(file + ".d", ".conf"))
        paths.push_back(std::move(path));
}

// containers.conf(5). A variable's file stands for all others, an override comes behind them.
void gather_podman(Gathered& found)
{
    std::vector<std::string> paths;
    if (const std::string named = variable("CONTAINERS_CONF"); !named.empty()) {
        paths.push_back(named);
    } else {
        paths.push_back("/usr/share/containers/containers.conf");
        add_with_drop_ins(paths, "/etc/containers/containers.conf");
        const std::string own = variable("XDG_CONFIG_HOME");
        if (::geteuid() != 0) {
            add_with_drop_ins(paths, (own.empty() ? variable("HOME") + "/.config" : own) +
                                         "/containers/containers.conf");
        }
    }
    if (const std::string last = variable("CONTAINERS_CONF_OVERRIDE"); !last.empty())
        paths.push_back(last);
    for (const std::string& path : paths)
        found.add(found.effective, path);
    found.written = found.effective;
}

// What a program says on stdout; nothing, and a fault, where it does not.
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
                                           : printable(answer->err, 600);
    found.say(engine::FaultKind::config_unreadable, name + ": " + why,
              "correct what it names, or start the engine");
    return std::nullopt;
}

void gather_docker(const std::string& file, const runtime::DeferredSignals& held, Gathered& found)
{
    constexpr const char* wanted =
        R"({"Runtimes":{{json .Runtimes}},"DefaultRuntime":{{json .DefaultRuntime}}})";
    if (auto said = said_by("docker", {"info", "--format", wanted}, held, found))
        found.effective.push_back({"docker info", *std::move(said)});
    found.add(found.written, file.empty() ? "/etc/docker/daemon.json" : file);
}

// The dump names all files that went into it.
std::vector<std::string> imports_of(const std::string& dump)
{
    std::vector<std::string> paths;
    const auto text = json::toml_as_json(dump);
    const auto document = text ? json::Document::parse(*text) : fail(Code::invalid_request, "");
    const auto imports = document ? document->root().find("imports") : std::nullopt;
    if (!imports || imports->kind() != json::Kind::array)
        return paths;
    for (const json::View& one : imports->items()) {
        if (const auto path = one.string(); path && path->starts_with('/'))
            paths.push_back(*path);
    }
    return paths;
}

void gather_containerd(const std::string& file, const runtime::DeferredSignals& held,
                       Gathered& found)
{
    const std::string main = file.empty() ? "/etc/containerd/config.toml" : file;
    std::vector<std::string> paths{main};
    if (auto dump = said_by("containerd", {"--config", main, "config", "dump"}, held, found)) {
        for (std::string& path : imports_of(*dump)) {
            if (std::ranges::find(paths, path) == paths.end())
                paths.push_back(std::move(path));
        }
        found.effective.push_back({"containerd config dump", *std::move(dump)});
    }
    for (const std::string& path : paths)
        found.add(found.written, path);
}

void gather_crio(const std::string& file, const runtime::DeferredSignals& held, Gathered& found)
{
    found.add(found.written, file.empty() ? "/etc/crio/crio.conf" : file);
    for (const std::string& path : sorted_files("/etc/crio/crio.conf.d", ""))
        found.add(found.written, path);
    if (auto said = said_by("crio", {"status", "config"}, held, found)) {
        found.effective.push_back({"crio status config", *std::move(said)});
    } else {
        found.effective = found.written;
    }
}

} // namespace

engine::EngineSetup gather_setup(engine::Engine engine, const std::string& file,
                                 const runtime::DeferredSignals& held)
{
    Gathered found;
    switch (engine) {
    case engine::Engine::podman: gather_podman(found); break;
    case engine::Engine::docker: gather_docker(file, held, found); break;
    case engine::Engine::containerd: gather_containerd(file, held, found); break;
    case engine::Engine::crio: gather_crio(file, held, found); break;
    }
    engine::EngineSetup setup = engine::read_setup(engine, found.effective, found.written);
    setup.faults.insert(setup.faults.begin(), found.faults.begin(), found.faults.end());
    return setup;
}

} // namespace anchorhold::tools
