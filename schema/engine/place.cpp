// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/place.hpp"

#include "schema/engine/file.hpp"
#include "schema/engine/tell.hpp"

#include <algorithm>

namespace anchorhold::engine {
namespace {

constexpr std::string_view drop_in_name = "/anchorhold.toml";

// Returns the folder that a file imports as a whole; empty: none.
std::string imported_folder(const EngineFile& file, Layering layering)
{
    for (const std::string& import : imports_of(file, layering)) {
        const std::string folder = import.substr(0, import.rfind('/'));
        const std::string_view names = std::string_view(import).substr(folder.size());
        if ((names == "/*.toml" || names == "/*") && folder.find_first_of("*?[\\") == folder.npos)
            return folder;
    }
    return "";
}

std::int64_t version_of(const EngineFile& file, std::int64_t unsaid)
{
    const auto document = parse_engine_file(Engine::containerd, file);
    return document ? config_version(Engine::containerd, document->root(), unsaid) : unsaid;
}

// Returns what the last file that says it says of runc's cgroups: ours are to have the same.
bool says_systemd_cgroup(const std::vector<EngineFile>& files, const std::string& runtime)
{
    bool systemd = false;
    std::int64_t main_version = 1;
    for (const EngineFile& file : files) {
        const auto document = parse_engine_file(Engine::containerd, file);
        if (!document)
            continue;
        const auto version = config_version(Engine::containerd, document->root(), main_version);
        if (&file == &files.front())
            main_version = version;
        std::optional<json::View> at = document->root();
        const std::string plugin(cri_plugin(version));
        for (const std::string& key : Keys{"plugins", plugin, "containerd", "runtimes", runtime,
                                           "options", "SystemdCgroup"}) {
            at = at ? at->find(key) : at;
        }
        const auto said = at ? at->boolean() : Result<bool>(systemd);
        systemd = said ? *said : systemd;
    }
    return systemd;
}

} // namespace

ContainerdPlace containerd_place(const std::string& main, const std::vector<EngineFile>& files,
                                 Layering layering)
{
    const bool merged = layering == Layering::merged;
    std::vector<EngineFile> others; // without what we wrote ourselves
    std::ranges::copy_if(files, std::back_inserter(others),
                         [&](const EngineFile& file) { return !is_own_text(file.text); });
    ContainerdPlace place{.path = main, .version = merged ? 3 : 2};
    for (EngineFile& file : others) {
        auto bare = without_lines({.engine = Engine::containerd}, file.text);
        if (bare)
            file.text = *std::move(bare);
    }
    const EngineSetup setup = read_setup(Engine::containerd, others, {}, layering);
    place.names_runc = setup.handlers.empty();
    place.systemd_cgroup =
        says_systemd_cgroup(others, setup.fallback.empty() ? "runc" : setup.fallback);
    if (others.empty() || others.front().path != main)
        return place;
    const std::int64_t main_version = version_of(others.front(), 1);
    place.version = main_version;
    for (const EngineFile& file : others) {
        const std::string folder = merged ? imported_folder(file, layering) : "";
        if (!folder.empty()) {
            place.path = folder + std::string(drop_in_name);
            place.version = version_of(file, main_version);
            return place;
        }
    }
    place.is_own_file = false;
    if (!merged && !setup.cri_files.empty()) {
        place.path = setup.cri_files.back();
        const auto last = std::ranges::find(others, place.path, &EngineFile::path);
        place.version = version_of(*last, main_version);
    }
    return place;
}

} // namespace anchorhold::engine
