// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/hook.hpp"

#include "schema/json/json.hpp"

#include <algorithm>

namespace anchorhold::engine {
namespace {

constexpr std::string_view our_stage = "precreate";

bool has(const std::vector<std::string>& list, std::string_view word)
{
    return std::ranges::find(list, word) != list.end();
}

struct ReadHook {
    Handler handler;
    bool staged = false; // it is for our stage
};

std::vector<std::string> texts_of(const std::optional<json::View>& list)
{
    std::vector<std::string> found;
    if (!list || list->kind() != json::Kind::array)
        return found;
    for (const json::View& item : list->items()) {
        if (auto text = item.string())
            found.push_back(*std::move(text));
    }
    return found;
}

bool is_always(json::View root)
{
    const auto when = root.find("when");
    const auto always =
        when && when->kind() == json::Kind::object ? when->find("always") : std::nullopt;
    const auto yes = always ? always->boolean() : Result<bool>(false);
    return yes && *yes;
}

// Returns the hook as a runtime that is called by argv[0] and the words before "precreate"; nothing
// where it runs another program.
std::optional<ReadHook> read_hook(const std::string& file, json::View root)
{
    const auto hook = root.kind() == json::Kind::object ? root.find("hook") : std::nullopt;
    const auto path =
        hook && hook->kind() == json::Kind::object ? hook->find("path") : std::nullopt;
    const auto program = path ? path->string() : std::string();
    if (!program || !names_us(*program))
        return std::nullopt;
    ReadHook read;
    read.handler = {.name = file, .programs = {*program}, .file = file, .ours = true};
    read.handler.called = "hook " + printable(file);
    read.handler.always = is_always(root);
    std::vector<std::string> words = texts_of(hook->find("args"));
    const auto stage = std::ranges::find(words, our_stage);
    if (!words.empty()) {
        read.handler.argv0 = words.front();
        read.handler.arguments.assign(words.begin() + (stage == words.begin() ? 0 : 1), stage);
    }
    read.staged = stage != words.end() && has(texts_of(root.find("stages")), our_stage);
    return read;
}

void say(EngineSetup& setup, FaultKind kind, const std::string& file, const std::string& what,
         std::string remedy)
{
    setup.faults.push_back({kind, file, printable(file) + what, std::move(remedy)});
}

void add_called(const EngineFile& file, EngineSetup& setup)
{
    const auto document = json::Document::parse(file.text, Code::invalid_request);
    if (!document) {
        if (file.text.contains("anchorhold")) {
            say(setup, FaultKind::config_unreadable, file.path, ": " + document.error().what,
                "correct it; podman starts nothing until then");
        }
        return;
    }
    auto read = read_hook(file.path, document->root());
    if (!read)
        return;
    if (!read->staged) {
        say(setup, FaultKind::key_misspelt, file.path,
            " names anchorhold, and not with \"precreate\" as its stage and its argument",
            "copy contrib/podman/hooks.d/anchorhold.json");
    }
    setup.hooks.push_back(std::move(read->handler));
}

} // namespace

std::vector<std::string> hook_folders(const EngineSetup& setup)
{
    std::vector<std::string> folders =
        setup.hook_dirs.value_or(std::vector<std::string>{std::string(vendors_hooks)});
    std::ranges::reverse(folders);
    for (std::string& folder : folders) {
        while (folder.ends_with('/'))
            folder.pop_back();
    }
    return folders;
}

void add_hooks(const std::vector<EngineFile>& called, const std::vector<EngineFile>& other,
               EngineSetup& setup)
{
    std::vector<std::string> names;
    for (const EngineFile& file : called) {
        const std::string name = file.path.substr(file.path.rfind('/') + 1);
        if (has(names, name))
            continue;
        names.push_back(name);
        add_called(file, setup);
    }
    for (const EngineFile& file : setup.hooks.empty() ? other : std::vector<EngineFile>()) {
        const auto document = json::Document::parse(file.text, Code::invalid_request);
        if (document && read_hook(file.path, document->root())) {
            say(setup, FaultKind::hook_not_read, file.path,
                " is a hook of ours in a folder that podman does not look into, so it is never "
                "called",
                "name that folder in hooks_dir: copy contrib/podman/anchorhold-hook.conf to "
                "/etc/containers/containers.conf.d/");
        }
    }
    if (!setup.hooks.empty() || setup.has_kind(FaultKind::hook_not_read)) {
        std::erase_if(setup.faults,
                      [](const Fault& fault) { return fault.kind == FaultKind::no_handler; });
    }
}

} // namespace anchorhold::engine
