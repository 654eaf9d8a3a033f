// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/file.hpp"

#include "schema/json/toml.hpp"

#include <cstdlib>

namespace anchorhold::engine {

namespace {

constexpr std::string_view cri_1 = "cri"; // of version 1

} // namespace

Result<json::Document> parse_engine_file(Engine engine, const EngineFile& file)
{
    if (engine == Engine::docker)
        return json::Document::parse(file.text, Code::invalid_request);
    AH_TRY(std::string text, json::toml_as_json(file.text));
    return json::Document::parse(std::move(text), Code::invalid_request);
}

std::int64_t config_version(Engine engine, json::View root, std::int64_t unsaid)
{
    if (engine != Engine::containerd)
        return 0;
    const auto said = root.find("version");
    const auto version = said ? said->integer() : Result<std::int64_t>(unsaid);
    return version ? *version : unsaid;
}

std::string_view cri_plugin(std::int64_t version)
{
    return version <= 1 ? cri_1 : version == 2 ? cri_2 : cri_3;
}

std::vector<std::string> imports_of(const EngineFile& file, Layering layering)
{
    std::vector<std::string> paths;
    const auto document = parse_engine_file(Engine::containerd, file);
    const auto imports = document ? document->root().find("imports") : std::nullopt;
    if (!imports || imports->kind() != json::Kind::array)
        return paths;
    const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
    for (const json::View& one : imports->items()) {
        const auto path = one.string();
        if (!path)
            continue;
        const bool at_root = layering == Layering::replaced && path->contains('*');
        paths.push_back(path->starts_with('/') ? *path : (at_root ? "/" : folder) + *path);
    }
    return paths;
}

// "containerd github.com/containerd/containerd/v2 v2.0.0 0123abc"; a text without a version is that
// of the stricter one.
Layering layering_of(std::string_view version)
{
    const bool second = version.contains(" v2.") || version.contains(" 2.");
    return second ? Layering::merged : Layering::replaced;
}

std::vector<Keys> right_places(Engine engine, std::int64_t version)
{
    const std::string plugin(cri_plugin(version));
    switch (engine) {
    case Engine::podman: return {{"engine", "runtimes", "*", "[]"}, {"engine", "runtime"}};
    case Engine::docker:
        return {{"runtimes", "*", "path"}, {"runtimes", "*", "options", "BinaryName"}};
    case Engine::containerd:
        return {{"plugins", plugin, "containerd", "runtimes", "*", "options", "BinaryName"}};
    case Engine::crio: return {{"crio", "runtime", "runtimes", "*", "runtime_path"}};
    }
    std::abort(); // a byte that is no Engine
}

std::string section_text(Engine engine, const Keys& keys)
{
    std::string text;
    for (const std::string& key : keys) {
        text += text.empty() ? "" : ".";
        text += key.contains('.') ? in_quotes(key) : printable(key);
    }
    return engine == Engine::docker ? text : "[" + text + "]";
}

} // namespace anchorhold::engine
