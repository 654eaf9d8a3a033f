// SPDX-License-Identifier: Apache-2.0
#include "shim/tools/doctor_engines.hpp"

#include "hooks/files/owned_path.hpp"
#include "schema/engine/file.hpp"
#include "schema/engine/summary.hpp"
#include "shim/runtime/bounded_child.hpp"
#include "shim/runtime/child.hpp"
#include "shim/tools/engine_files.hpp"
#include "shim/tools/handler_program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

struct EngineProgram {
    engine::Engine engine;
    const char* name;
};
constexpr std::array engine_programs{EngineProgram{engine::Engine::containerd, "containerd"},
                                     EngineProgram{engine::Engine::podman, "podman"},
                                     EngineProgram{engine::Engine::docker, "dockerd"},
                                     EngineProgram{engine::Engine::crio, "crio"}};
// A user's PATH often lacks the folders of daemons.
constexpr std::array program_folders{"/usr/bin/",        "/usr/sbin/", "/usr/local/bin/",
                                     "/usr/local/sbin/", "/bin/",      "/sbin/"};

std::string installed(const std::string& name)
{
    for (const char* const folder : program_folders) {
        std::string program = folder + name;
        if (::access(program.c_str(), X_OK) == 0)
            return program;
    }
    return runtime::find_on_path(name).value_or("");
}

// A containerd that does not answer is taken for the older one, which is the stricter.
engine::Layering layering_by(engine::Engine engine, const std::string& program)
{
    if (engine != engine::Engine::containerd)
        return engine::Layering::merged;
    if (program.empty() || !files::check_owned_path(program, "program", Code::delegate_failed))
        return engine::Layering::replaced;
    const auto said = runtime::run_quietly(program, {"--version"});
    return engine::layering_of(said ? said->text : "");
}

// An engine may well be told of another installation of ours than this one.
void judge_programs(engine::EngineSetup& setup)
{
    std::vector<engine::Handler> all = setup.handlers;
    all.insert(all.end(), setup.hooks.begin(), setup.hooks.end());
    for (const engine::Handler& handler : all) {
        if (!handler.ours)
            continue;
        const engine::HandlerFacts facts = facts_of_program(handler);
        if (facts.standing != engine::ProgramIs::other || !engine::names_us(facts.program))
            engine::judge_standing(handler, facts, setup);
    }
}

// Takes from the errors those of a user who may not read what only root may, and returns the first.
// Root is told of them as of faults.
std::string kept_from_us(std::vector<Error>& errors)
{
    const auto error = std::ranges::find(errors, EACCES, &Error::number);
    if (::geteuid() == 0 || error == errors.end())
        return "";
    std::string what = error->what;
    std::erase_if(errors, [](const Error& one) { return one.number == EACCES; });
    return what;
}

EngineState look_at_engine(engine::Engine engine, const std::string& main, std::string program)
{
    const engine::Layering layering = layering_by(engine, program);
    EngineFiles read = read_engine_files(engine, main, layering);
    EngineState state{.program = std::move(program), .files = {}, .setup = {}, .unread = {}};
    for (const engine::EngineFile& file : read.files)
        state.files.push_back(file.path);
    state.setup = engine::read_setup(engine, read.files, read.files, layering);
    add_hook_files(state.setup, read.errors);
    state.unread = kept_from_us(read.errors);
    std::vector<engine::Fault> unreadable = faults_of(read);
    if (!unreadable.empty()) {
        std::erase_if(state.setup.faults, [](const engine::Fault& fault) {
            return fault.kind == engine::FaultKind::no_handler; // which nobody knows by now
        });
        std::ranges::move(unreadable, std::back_inserter(state.setup.faults));
    }
    judge_programs(state.setup);
    return state;
}

bool is_told_wrongly(const EngineState& state)
{
    return engine::standing_of(state.setup) == engine::Standing::told_wrongly;
}

bool is_told(const EngineState& state)
{
    return engine::standing_of(state.setup) == engine::Standing::told;
}

std::string says(const EngineState& state)
{
    if (state.unread.empty())
        return engine::summary_of(state.setup);
    // A file that was not read may say otherwise.
    const bool told = engine::standing_of(state.setup) != engine::Standing::not_told;
    return (told ? engine::summary_of(state.setup) + "; " : "") + state.unread + "; ask as root";
}

} // namespace

std::vector<EngineState> look_at_engines(const std::string& containerds_file)
{
    std::vector<EngineState> found;
    for (const EngineProgram& one : engine_programs) {
        std::string program = installed(one.name);
        const bool named = one.engine == engine::Engine::containerd && !containerds_file.empty();
        const std::string main = named ? containerds_file : usual_file(one.engine);
        // podman's file is there for other programs as well.
        const bool configured =
            one.engine != engine::Engine::podman && ::access(main.c_str(), F_OK) == 0;
        if (!program.empty() || configured)
            found.push_back(look_at_engine(one.engine, main, std::move(program)));
    }
    return found;
}

engine::Layering layering_here(engine::Engine engine)
{
    const auto* const one = std::ranges::find(engine_programs, engine, &EngineProgram::engine);
    return layering_by(engine, installed(one->name));
}

bool some_told_wrongly(const std::vector<EngineState>& engines)
{
    return std::ranges::any_of(engines, is_told_wrongly);
}

void write_engines(json::Writer& writer, const std::vector<EngineState>& engines)
{
    writer.begin_array();
    for (const EngineState& state : engines) {
        writer.begin_object().member("name", word_for(state.setup.engine));
        writer.member("program", state.program).key("set_up").boolean(is_told(state));
        writer.member("says", says(state)).strings("files", state.files);
        writer.strings("cri_files", state.setup.cri_files);
        writer.key("runtimes").begin_array();
        for (const engine::Handler& handler : state.setup.handlers) {
            writer.begin_object().member("name", handler.name).key("ours").boolean(handler.ours);
            writer.member("file", handler.file).strings("programs", handler.programs).end_object();
        }
        writer.end_array().key("findings");
        engine::write_faults(writer, state.setup.faults);
        writer.end_object();
    }
    writer.end_array();
}

void add_engine_rows(std::vector<std::vector<std::string>>& rows,
                     const std::vector<EngineState>& engines)
{
    for (const EngineState& state : engines) {
        const bool wrongly = is_told_wrongly(state);
        const std::string name(word_for(state.setup.engine));
        rows.push_back({name, wrongly ? "NO" : is_told(state) ? "yes" : "no", says(state)});
        if (!wrongly)
            continue;
        for (const engine::Fault& fault : state.setup.faults) {
            rows.push_back(
                {"", "", std::string(word_for(fault.kind)) + ": " + printable(fault.says, 1000)});
            rows.push_back({"", "", "remedy: " + printable(fault.remedy, 500)});
        }
    }
}

} // namespace anchorhold::tools
