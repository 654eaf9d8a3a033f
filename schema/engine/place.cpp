// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/place.hpp"

#include "schema/engine/file.hpp"
#include "schema/engine/tell.hpp"

#include <algorithm>
#include <cctype>

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

bool switches_pods_off(const EngineFile& file)
{
    const auto document = parse_engine_file(Engine::containerd, file);
    const auto list = document ? document->root().find("disabled_plugins") : std::nullopt;
    if (!list || list->kind() != json::Kind::array)
        return false;
    return std::ranges::any_of(list->items(), [](const json::View& item) {
        const auto name = item.string();
        return name && (*name == "cri" || *name == cri_2 || *name == cri_3);
    });
}

// Says whether a comment at a line's beginning asks not to edit the file.
bool asks_not_to_edit(std::string_view text)
{
    std::string comment;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        comment = text[at] == '#' ? text.substr(at, end - at) : std::string_view();
        std::ranges::transform(comment, comment.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        if (comment.contains("do not edit"))
            return true;
        at = end + 1;
    }
    return false;
}

} // namespace

std::vector<std::string> templates_of(const std::string& main)
{
    constexpr std::string_view made = "/agent/etc/containerd/config.toml";
    if (!main.ends_with(made))
        return {};
    const std::string folder = main.substr(0, main.rfind('/'));
    return {folder + "/config.toml.tmpl", folder + "/config-v3.toml.tmpl"};
}

Status check_place(const ContainerdPlace& place, const std::vector<EngineFile>& files)
{
    for (const EngineFile& file : files) {
        if (switches_pods_off(file)) {
            return fail(Code::invalid_request,
                        file.path + " switches CRI off by disabled_plugins, so no pod runs below "
                                    "it; take \"cri\" out there, or name the kubelet's file by "
                                    "--config");
        }
        if (!place.is_template && !place.is_own_file && file.path == place.path &&
            asks_not_to_edit(file.text)) {
            return fail(Code::invalid_request,
                        file.path + " says \"do not edit\": what writes it anew would lose our "
                                    "lines; have that write them");
        }
    }
    if (place.is_template && place.path.empty()) {
        return fail(Code::invalid_request,
                    "no template of k3s' or RKE2's is known for that file; start k3s or RKE2 "
                    "first, so that there is one of version 2 or 3");
    }
    return {};
}

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
    const bool is_there = !others.empty() && others.front().path == main;
    const std::int64_t main_version = is_there ? version_of(others.front(), 1) : place.version;
    place.version = main_version;
    if (const auto templates = templates_of(main); !templates.empty()) {
        place.is_template = true;
        place.is_own_file = false;
        place.names_runc = false; // the template "base" does
        const bool known = is_there && (main_version == 2 || main_version == 3);
        place.path = known ? templates.at(static_cast<std::size_t>(main_version - 2)) : "";
        return place;
    }
    if (!is_there)
        return place;
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
