// SPDX-License-Identifier: Apache-2.0
// `setup`: an engine is told of us, or no longer. The files are found by the reader that doctor and
// verify use; what is written is schema/engine/tell.hpp's to say.
#include "shim/tools/tool_list.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/engine/choose.hpp"
#include "schema/engine/place.hpp"
#include "schema/engine/tell.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/tools/doctor_engines.hpp"
#include "shim/tools/engine_files.hpp"
#include "shim/tools/setup_steps.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

namespace fs = std::filesystem;
using engine::Engine;

constexpr std::string_view kept_suffix = ".before-anchorhold";
constexpr std::size_t most_template = std::size_t{1024} * 1024;

// Where an engine is told, and what it reads now.
struct Site {
    engine::Telling telling;
    std::string path; // without links: what is there is replaced, not the link
    bool is_own_file = true;
    std::vector<engine::EngineFile> files;
};

std::string without_links(const std::string& path)
{
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    return error ? path : real.string();
}

const std::string* text_at_path(const Site& site, const std::string& path)
{
    const auto found = std::ranges::find_if(site.files, [&](const engine::EngineFile& file) {
        return without_links(file.path) == path;
    });
    return found == site.files.end() ? nullptr : &found->text;
}

// Finds the place among containerd's files. A template of k3s' is read in the place of what it
// becomes.
Status find_containerds(const std::string& main, engine::Layering layering, bool remove, Site& site)
{
    const engine::ContainerdPlace place = engine::containerd_place(main, site.files, layering);
    if (!remove)
        AH_CHECK(check_place(place, site.files));
    site.path = place.path;
    site.is_own_file = place.is_own_file;
    site.telling.version = place.version;
    site.telling.names_runc = place.names_runc;
    site.telling.systemd_cgroup = place.systemd_cgroup;
    site.telling.is_template = place.is_template;
    if (!place.is_template)
        return {};
    site.files.clear();
    for (const std::string& path : engine::templates_of(main)) {
        AH_TRY(auto text, files::read_file(without_links(path), most_template));
        if (text)
            site.files.push_back({path, *std::move(text)});
    }
    if (!remove && site.files.size() == 1 && site.files.front().path != place.path) {
        return fail(Code::invalid_request, printable(site.files.front().path) + " is there and " +
                                               printable(main) +
                                               " was not made from it; restart k3s or RKE2 first");
    }
    return {};
}

Result<Site> find_site(Engine engine, const ToolCall& call, const std::string& program)
{
    Site site{.telling = {.engine = engine, .program = program}, .path = {}, .files = {}};
    const std::string main = call.config.empty() ? usual_file(engine) : call.config;
    // Lines are taken out of a file that is named, whoever reads it.
    if (engine != Engine::podman && (!call.remove || call.config.empty()))
        AH_CHECK(check_is_read(engine, main));
    const engine::Layering layering = layering_here(engine);
    EngineFiles read = read_engine_files(engine, main, layering);
    if (!read.errors.empty())
        return std::unexpected(std::move(read.errors.front()));
    site.files = std::move(read.files);
    switch (engine) {
    case Engine::podman:
    case Engine::crio: {
        AH_TRY(site.path, drop_in_file(engine));
        break;
    }
    case Engine::docker:
        site.path = main;
        site.is_own_file = false;
        break;
    case Engine::containerd: AH_CHECK(find_containerds(main, layering, call.remove, site));
    }
    site.path = without_links(site.path);
    return site;
}

// ---- writing ------------------------------------------------------------------------------------

std::string base_name(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

// Returns the text of our links, by which they are known: whoever links by hand leaves "./" out.
std::string link_text(const std::string& program)
{
    return "./" + base_name(program);
}

Status add_links(const engine::Telling& telling, std::vector<Step>& steps)
{
    struct stat self = {};
    if (::stat(telling.program.c_str(), &self) != 0)
        return fail_errno("look at " + telling.program, errno);
    for (const std::string& profile : telling.profiles) {
        const std::string path =
            telling.program.substr(0, telling.program.rfind('/') + 1) + engine::runtime_of(profile);
        struct stat there = {};
        if (::lstat(path.c_str(), &there) != 0 && errno == ENOENT) {
            steps.push_back({Change::make_link, path, link_text(telling.program)});
        } else if (::stat(path.c_str(), &there) != 0 || there.st_dev != self.st_dev ||
                   there.st_ino != self.st_ino) {
            return fail(Code::invalid_request, printable(path) +
                                                   " is there and is not this anchorhold; move it "
                                                   "away");
        }
    }
    return {};
}

// Keeps Docker's file beside what takes its place: JSON has no marks.
Status add_keeping(const Site& site, std::vector<Step>& steps)
{
    const std::string kept = site.path + std::string(kept_suffix);
    struct stat there = {};
    if (::lstat(kept.c_str(), &there) != 0) {
        steps.push_back({Change::keep, site.path, kept});
    } else if (!is_same_file(kept, site.path)) { // else we were stopped between two steps
        return fail(Code::invalid_request,
                    printable(kept) + " is there already; move it away, it holds an older file");
    }
    return {};
}

Status add_lines(const Site& site, const std::string& now, std::vector<Step>& steps)
{
    AH_TRY(const std::string wanted, engine::with_lines(site.telling, now), printable(site.path));
    if (wanted == now)
        return {};
    AH_TRY(const std::string bare, engine::without_lines(site.telling, now));
    if (bare == now && site.telling.engine == Engine::docker)
        AH_CHECK(add_keeping(site, steps));
    steps.push_back({Change::write, site.path, wanted, mode_of(site.path),
                     engine::lines_of_ours(site.telling)});
    return {};
}

Status add_own_file(const Site& site, const std::string* now, std::vector<Step>& steps)
{
    const std::string wanted = engine::own_text(site.telling);
    if (now != nullptr && *now == wanted)
        return {};
    if (now != nullptr && !engine::is_own_text(*now)) {
        return fail(Code::invalid_request, printable(site.path) +
                                               " is not setup's; move it away, or tell the engine "
                                               "by hand what setup prints");
    }
    const std::string folder = site.path.substr(0, site.path.rfind('/'));
    if (::access(folder.c_str(), F_OK) != 0)
        steps.push_back({Change::make_folder, folder, {}});
    steps.push_back({Change::write, site.path, wanted, 0644, wanted});
    return {};
}

Result<std::vector<Step>> steps_to_write(const Site& site)
{
    std::vector<Step> steps;
    if (engine::needs_links(site.telling.engine))
        AH_CHECK(add_links(site.telling, steps));
    const std::string* const now = text_at_path(site, site.path);
    if (now == nullptr && site.telling.is_template) {
        AH_CHECK(add_lines(site, std::string(*engine::empty_text(site.telling)), steps));
    } else if (now == nullptr || site.is_own_file) {
        AH_CHECK(add_own_file(site, now, steps));
    } else {
        AH_CHECK(add_lines(site, *now, steps));
    }
    return steps;
}

// ---- removing -----------------------------------------------------------------------------------

// Takes our lines out. Where nobody changed Docker's file since, the one that was kept comes back.
Status take_lines(const Site& site, const std::string& path, const std::string& now,
                  std::vector<Step>& steps)
{
    const std::string kept = path + std::string(kept_suffix);
    AH_TRY(std::string bare, engine::without_lines(site.telling, now), printable(path));
    std::optional<std::string> before;
    if (site.telling.engine == Engine::docker) {
        AH_TRY(before, files::read_file(kept, std::size_t{16} * 1024 * 1024));
    }
    if (bare == now) {
        if (before && is_same_file(kept, path)) // we were stopped between two steps
            steps.push_back({Change::take_away, kept, {}});
        return {};
    }
    if (before) {
        AH_TRY(const std::string with, engine::with_lines(site.telling, *before), printable(kept));
        AH_TRY(const std::string again, engine::without_lines(site.telling, with));
        if (again == bare) {
            steps.push_back({Change::put_back, path, kept});
            return {};
        }
    } else if (bare == engine::empty_text(site.telling)) {
        steps.push_back({Change::take_away, path, {}});
        return {};
    }
    steps.push_back({Change::write, path, std::move(bare), mode_of(path)});
    return {};
}

// Returns the programs that engines go on calling when the files in `gone` do not name us any more.
std::set<std::string> programs_in_use(const Site& site, const std::set<std::string>& gone)
{
    std::set<std::string> used;
    for (const Engine engine : {Engine::podman, Engine::docker, Engine::containerd, Engine::crio}) {
        const engine::Layering layering = layering_here(engine);
        EngineFiles read = read_engine_files(engine, usual_file(engine), layering);
        if (engine == site.telling.engine)
            read.files = site.files;
        std::erase_if(read.files, [&](const engine::EngineFile& file) {
            return gone.contains(without_links(file.path));
        });
        for (const auto& handler : engine::read_setup(engine, read.files, {}, layering).handlers)
            used.insert(handler.programs.begin(), handler.programs.end());
    }
    return used;
}

void take_links(const Site& site, const std::set<std::string>& gone, std::vector<Step>& steps)
{
    const std::set<std::string> used = programs_in_use(site, gone);
    const std::string& program = site.telling.program;
    std::vector<std::string> links;
    std::error_code error;
    for (fs::directory_iterator entry(program.substr(0, program.rfind('/')), error), end;
         !error && entry != end; entry.increment(error)) {
        std::error_code no_link;
        const std::string path = entry->path();
        if (base_name(path).starts_with("anchorhold-") &&
            fs::read_symlink(path, no_link) == link_text(program) && !used.contains(path))
            links.push_back(path);
    }
    std::ranges::sort(links);
    for (const std::string& path : links)
        steps.push_back({Change::take_away, path, {}});
}

Result<std::vector<Step>> steps_to_remove(const Site& site)
{
    std::vector<Step> steps;
    std::set<std::string> gone;
    for (const std::string& path : left_by_a_crash(site.path)) // first: a step may write it again
        steps.push_back({Change::take_away, path, {}});
    for (const engine::EngineFile& file : site.files) {
        const std::string path = without_links(file.path);
        const std::size_t before = steps.size();
        if (engine::is_own_text(file.text)) {
            steps.push_back({Change::take_away, path, {}});
        } else if (!engine::needs_links(site.telling.engine) ||
                   site.telling.engine == Engine::containerd) {
            AH_CHECK(take_lines(site, path, file.text, steps));
        }
        if (steps.size() > before)
            gone.insert(path);
    }
    take_links(site, gone, steps);
    return steps;
}

// ---- what is said -------------------------------------------------------------------------------

std::string next_for(const ToolCall& call, const engine::Telling& telling)
{
    const std::string word(word_for(telling.engine));
    const std::string config =
        call.config.empty() ? "" : "--config " + printable(call.config) + " ";
    const std::string then =
        call.remove ? "\n" : ", then: anchorhold verify " + config + word + "\n";
    if (telling.is_template)
        return "now: restart k3s or RKE2" + then;
    switch (telling.engine) {
    case Engine::podman: return "podman reads it at its next call" + then;
    case Engine::docker: return "now: systemctl reload docker" + then;
    case Engine::containerd:
    case Engine::crio: return "now: systemctl restart " + word + then;
    }
    std::abort(); // a byte that is no Engine
}

Status check_call(const Session& session, const ToolCall& call, Engine engine)
{
    if (call.write && call.remove)
        return fail(Code::invalid_request, "--write and --remove are not for one call");
    if ((call.write || call.remove) && session.own != words::OwnOptions()) {
        return fail(Code::invalid_request,
                    "the engine gives no --ah- options; leave them away, and name profiles by "
                    "--profile");
    }
    if (engine == Engine::podman && !call.config.empty())
        return fail(Code::invalid_request, "podman takes a drop-in; leave --config away");
    return {};
}

} // namespace

Result<int> tool_setup(const Session& session, const ToolCall& call, ToolOutput& output)
{
    const auto engine = engine::engine_from(call.operands[0]);
    if (!engine) {
        return fail(Code::invalid_request,
                    in_quotes(call.operands[0]) + " is not podman, docker, containerd or crio");
    }
    AH_CHECK(check_call(session, call, *engine));
    AH_TRY(const runtime::Helpers helpers, runtime::find_helpers());
    AH_TRY(Site site, find_site(*engine, call, helpers.self));
    if (!call.remove) {
        AH_TRY(const Policy policy, session.policy);
        AH_CHECK(engine::choose_runtimes(policy, call.profiles, site.telling));
        output.remarks = engine::notes_on(policy, site.telling);
    }
    AH_TRY(const std::vector<Step> steps,
           call.remove ? steps_to_remove(site) : steps_to_write(site));
    for (const Step& step : steps) {
        if (call.write || call.remove)
            AH_CHECK(take_step(step));
        output.text += step_text(step);
    }
    if (steps.empty()) {
        output.text = call.remove ? "nothing of setup's is there\n" : "nothing to change\n";
    } else {
        output.text += call.write || call.remove ? next_for(call, site.telling)
                                                 : "nothing was written; --write does it\n";
    }
    return 0;
}

} // namespace anchorhold::tools
