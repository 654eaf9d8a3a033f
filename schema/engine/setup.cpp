// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/setup.hpp"

#include "schema/engine/file.hpp"
#include "schema/engine/written.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace anchorhold::engine {
namespace {

constexpr std::array<std::string_view, 4> engine_words{"podman", "docker", "containerd", "crio"};
constexpr std::array<std::string_view, fault_kinds> fault_words{"engine_unusable",
                                                                "config_unreadable",
                                                                "no_handler",
                                                                "wrong_section",
                                                                "key_misspelt",
                                                                "hook_not_read",
                                                                "not_effective",
                                                                "no_binary",
                                                                "other_program",
                                                                "handler_unknown",
                                                                "handler_misspelt",
                                                                "shim_missing",
                                                                "shim_unsafe",
                                                                "shim_other",
                                                                "options_wrong",
                                                                "policy_missing",
                                                                "policy_unreadable",
                                                                "profile_unknown",
                                                                "profile_not_chosen",
                                                                "pods_not_expected",
                                                                "annotations_dropped",
                                                                "no_record",
                                                                "leaves_no_record",
                                                                "wrong_profile",
                                                                "wrong_state",
                                                                "run_refused",
                                                                "run_failed",
                                                                "not_run",
                                                                "left_over"};

std::optional<json::View> at(json::View view, std::initializer_list<std::string_view> keys)
{
    std::optional<json::View> found = view;
    for (const std::string_view key : keys) {
        found = found->find(key);
        if (!found)
            return std::nullopt;
    }
    return found;
}

// Returns the text at these keys, or nothing. A value of another type counts as not there, because
// the engine itself complains of it.
std::string text_at(json::View view, std::initializer_list<std::string_view> keys)
{
    const auto found = at(view, keys);
    const auto text = found ? found->string() : std::string();
    return text ? *text : std::string();
}

std::vector<std::string> texts(const std::optional<json::View>& list)
{
    std::vector<std::string> found;
    if (list && list->kind() == json::Kind::array) {
        for (const json::View& item : list->items()) {
            if (auto text = item.string())
                found.push_back(*std::move(text));
        }
    }
    return found;
}

std::vector<json::View> members(const std::optional<json::View>& table)
{
    return table && table->kind() == json::Kind::object ? table->items()
                                                        : std::vector<json::View>();
}

std::vector<std::string> one_unless_empty(std::string text)
{
    return text.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(text)};
}

bool is_path(std::string_view text)
{
    return text.starts_with('/');
}

// Reads files in the engine's order, each laid over those before it.
struct Layers {
    EngineSetup setup;
    Layering layering = Layering::merged;
    std::int64_t version = 1; // of containerd's main file
    // NOLINTBEGIN(readability-redundant-member-init): g++ wants them where they are left out
    std::string file = {};                      // that is being read
    std::vector<std::string> json_capable = {}; // podman's
    // NOLINTEND(readability-redundant-member-init)

    void put(Handler handler)
    {
        std::erase_if(setup.handlers, [&](const Handler& one) { return one.name == handler.name; });
        if (handler.file.empty())
            handler.file = file;
        setup.handlers.push_back(std::move(handler));
    }
};

// containers.conf(5): [engine.runtimes] lists paths of which the first that exists is taken.
void read_podman(json::View root, Layers& layers)
{
    for (const json::View& list : members(at(root, {"engine", "runtimes"})))
        layers.put({.name = list.key(), .programs = texts(list)});
    if (const std::string name = text_at(root, {"engine", "runtime"}); !name.empty()) {
        std::string& fallback = layers.setup.fallback;
        // A path may stand where a name does, and is then known by the end of it.
        std::erase_if(layers.setup.handlers, [&](const Handler& one) {
            return one.name == fallback && is_path(fallback);
        });
        fallback = name;
        if (is_path(fallback) && names_us(fallback))
            layers.put({.name = fallback, .programs = {fallback}});
    }
    if (const auto list = at(root, {"engine", "runtime_supports_json"}))
        layers.json_capable = texts(list);
    if (const auto list = at(root, {"engine", "hooks_dir"}))
        layers.setup.hook_dirs = texts(list);
}

void note_podman(EngineSetup& setup, const std::vector<std::string>& json_capable)
{
    for (const Handler& handler : setup.handlers) {
        const std::string known = handler.name.substr(handler.name.rfind('/') + 1);
        if (handler.ours && std::ranges::find(json_capable, known) == json_capable.end()) {
            setup.notes.push_back("podman puts words of its own around the errors of " +
                                  printable(handler.name) +
                                  ", which is not in its runtime_supports_json");
        }
    }
}

void note_fallback(EngineSetup& setup)
{
    const Handler* const fallback = setup.find(setup.fallback);
    if (!setup.fallback.empty() && (fallback == nullptr || !fallback->ours)) {
        setup.notes.push_back("a container that names no runtime runs below " +
                              printable(setup.fallback) + ", not below anchorhold");
    }
}

void read_docker(json::View root, Layers& layers)
{
    // The first spelling is daemon.json's, the second that of `docker info`.
    for (const char* const key : {"runtimes", "Runtimes"}) {
        for (const json::View& runtime : members(root.find(key))) {
            std::string path = text_at(runtime, {"path"});
            if (path.empty())
                path = text_at(runtime, {"options", "BinaryName"});
            layers.put({.name = runtime.key(),
                        .programs = one_unless_empty(std::move(path)),
                        .arguments = texts(runtime.find("runtimeArgs"))});
        }
    }
    for (const char* const key : {"default-runtime", "DefaultRuntime"}) {
        if (const std::string name = text_at(root, {key}); !name.empty())
            layers.setup.fallback = name;
    }
}

// A runtime of which earlier files said something keeps what this one does not say.
Handler merged_over(const Handler* earlier, json::View runtime)
{
    Handler handler = earlier != nullptr ? *earlier : Handler{.name = runtime.key()};
    if (std::string path = text_at(runtime, {"options", "BinaryName"}); !path.empty()) {
        handler.programs = {std::move(path)};
        handler.file.clear();
    }
    if (const auto globs = runtime.find("pod_annotations"))
        handler.pod_globs = texts(globs);
    if (const auto globs = runtime.find("container_annotations"))
        handler.container_globs = texts(globs);
    return handler;
}

void read_containerd(json::View root, Layers& layers)
{
    EngineSetup& setup = layers.setup;
    const auto version = config_version(Engine::containerd, root, layers.version);
    const auto plugin = at(root, {"plugins", cri_plugin(version)});
    if (plugin)
        setup.cri_files.push_back(layers.file);
    if (plugin && layers.layering == Layering::replaced) {
        setup.handlers.clear();
        setup.fallback.clear();
    }
    const auto section = plugin ? plugin->find("containerd") : std::nullopt;
    if (!section)
        return;
    for (const json::View& runtime : members(section->find("runtimes")))
        layers.put(merged_over(setup.find(runtime.key()), runtime));
    if (std::string name = text_at(*section, {"default_runtime_name"}); !name.empty())
        setup.fallback = std::move(name);
}

// crio.conf(5): without a runtime_path the program is looked for by the handler's name.
void read_crio(json::View root, Layers& layers)
{
    for (const json::View& runtime : members(at(root, {"crio", "runtime", "runtimes"}))) {
        std::string path = text_at(runtime, {"runtime_path"});
        layers.put(
            {.name = runtime.key(), .programs = {path.empty() ? runtime.key() : std::move(path)}});
    }
    if (const std::string name = text_at(root, {"crio", "runtime", "default_runtime"});
        !name.empty())
        layers.setup.fallback = name;
}

void read_layer(json::View root, Layers& layers)
{
    switch (layers.setup.engine) {
    case Engine::podman: return read_podman(root, layers);
    case Engine::docker: return read_docker(root, layers);
    case Engine::containerd: return read_containerd(root, layers);
    case Engine::crio: return read_crio(root, layers);
    }
}

bool is_same(const std::vector<EngineFile>& one, const std::vector<EngineFile>& other)
{
    return std::ranges::equal(one, other, {}, &EngineFile::path, &EngineFile::path);
}

// Returns containerd's version of the first file, which the files that it imports have as well.
std::int64_t main_version(Engine engine, const std::vector<EngineFile>& files)
{
    if (engine != Engine::containerd || files.empty())
        return 1;
    const auto document = parse_engine_file(engine, files.front());
    return document ? config_version(engine, document->root()) : 1;
}

// Returns Levenshtein's distance: how many letters have to be changed, added or removed.
std::size_t distance(std::string_view one, std::string_view other)
{
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t change = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

void say_if_none(EngineSetup& setup)
{
    const bool told = std::ranges::any_of(setup.handlers, &Handler::ours) || !setup.faults.empty();
    if (told)
        return;
    // podman has no service to restart. A hook makes up for a runtime, see add_hooks.
    const std::string remedy =
        "anchorhold setup " + std::string(word_for(setup.engine)) +
        (setup.engine == Engine::podman ? " --write, or its hook as contrib/podman/README.md says"
                                        : " --write, then restart it");
    setup.faults.push_back({.kind = FaultKind::no_handler,
                            .handler = {},
                            .says = "its configuration does not name anchorhold",
                            .remedy = remedy});
}

} // namespace

std::string_view word_for(Engine engine)
{
    return engine_words.at(static_cast<std::size_t>(engine));
}

std::optional<Engine> engine_from(std::string_view word)
{
    if (word == "cri-o")
        return Engine::crio;
    for (const Engine engine : {Engine::podman, Engine::docker, Engine::containerd, Engine::crio}) {
        if (word == word_for(engine))
            return engine;
    }
    return std::nullopt;
}

bool makes_pods(Engine engine)
{
    return engine == Engine::containerd || engine == Engine::crio;
}

std::string_view word_for(FaultKind kind)
{
    return fault_words.at(static_cast<std::size_t>(kind));
}

const Handler* EngineSetup::find(std::string_view name) const
{
    const auto found = std::ranges::find(handlers, name, &Handler::name);
    return found == handlers.end() ? nullptr : &*found;
}

bool EngineSetup::has_fault(FaultKind kind, std::string_view handler) const
{
    return std::ranges::any_of(
        faults, [&](const Fault& fault) { return fault.kind == kind && fault.handler == handler; });
}

bool EngineSetup::has_kind(FaultKind kind) const
{
    return std::ranges::find(faults, kind, &Fault::kind) != faults.end();
}

bool names_us(std::string_view program)
{
    const std::string_view name = program.substr(program.rfind('/') + 1);
    return name == "anchorhold" ||
           (name.starts_with("anchorhold-") && !name.contains('.') && !name.contains(' '));
}

std::string nearest(std::string_view wanted, const std::vector<std::string>& words)
{
    constexpr std::size_t far = 3;
    std::string best;
    std::size_t least = far;
    for (const std::string& word : words) {
        const std::size_t changes = distance(wanted, word);
        if (changes < least) {
            least = changes;
            best = word;
        }
    }
    return best;
}

EngineSetup read_setup(Engine engine, const std::vector<EngineFile>& effective,
                       const std::vector<EngineFile>& written, Layering layering)
{
    Layers layers{
        .setup = {.engine = engine, .handlers = {}, .fallback = {}, .faults = {}, .notes = {}},
        .layering = layering,
        .version = main_version(engine, effective)};
    EngineSetup& setup = layers.setup;
    bool readable = false;
    for (const EngineFile& file : effective) {
        const auto document = parse_engine_file(engine, file);
        if (!document) {
            setup.faults.push_back({.kind = FaultKind::config_unreadable,
                                    .handler = {},
                                    .says = file.path + ": " + document.error().what,
                                    .remedy = "correct that line"});
            continue;
        }
        readable = true;
        layers.file = file.path;
        read_layer(document->root(), layers);
    }
    std::ranges::sort(setup.handlers, {}, &Handler::name);
    for (Handler& handler : setup.handlers) {
        handler.ours = names_us(handler.name) || std::ranges::any_of(handler.programs, names_us);
    }
    if (engine == Engine::podman)
        note_podman(setup, layers.json_capable);
    const EngineSays says = !readable                     ? EngineSays::nothing
                            : is_same(effective, written) ? EngineSays::files
                                                          : EngineSays::handlers;
    const std::int64_t version = main_version(engine, written);
    for (const EngineFile& file : written)
        look_at_written(file, says, version, setup);
    note_fallback(setup);
    if (readable || written.empty())
        say_if_none(setup);
    return std::move(layers).setup;
}

} // namespace anchorhold::engine
