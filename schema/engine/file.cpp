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

std::int64_t config_version(Engine engine, json::View root)
{
    if (engine != Engine::containerd)
        return 0;
    const auto said = root.find("version");
    const auto version = said ? said->integer() : Result<std::int64_t>(1);
    return version ? *version : 1;
}

std::vector<Keys> right_places(Engine engine, std::int64_t version)
{
    const std::string plugin(version <= 1 ? cri_1 : version == 2 ? cri_2 : cri_3);
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
