// SPDX-License-Identifier: Apache-2.0
// The text that the administrator wrote, compared with what the engine reads. Wherever a file holds
// a text that names us, an engine was meant to run us. The keys that lead to that text are compared
// with the keys that the engine reads.
#include "schema/engine/written.hpp"

#include "schema/engine/file.hpp"

#include <algorithm>

namespace anchorhold::engine {
namespace {

struct Place {
    Keys keys; // the last is the key of the text itself, "[]" in a list
    std::string program;
};

// NOLINTNEXTLINE(misc-no-recursion): a Document is 64 deep
void find_places(json::View view, const Keys& keys, std::vector<Place>& found)
{
    const bool list = view.kind() == json::Kind::array;
    if (!list && view.kind() != json::Kind::object) {
        const auto text = view.kind() == json::Kind::string ? view.string() : std::string();
        if (text && text->starts_with('/') && names_us(*text))
            found.push_back({keys, *text});
        return;
    }
    for (const json::View& item : view.items()) {
        if (item.key() == "runtimeArgs") // our own options may hold a path that looks like ours
            continue;
        Keys below = keys;
        below.push_back(list ? "[]" : item.key());
        find_places(item, below, found);
    }
}

// Returns whether all keys but the last agree.
bool same_section(const Keys& place, const Keys& pattern)
{
    return place.size() == pattern.size() &&
           std::equal(place.begin(), place.end() - 1, pattern.begin(),
                      [](const std::string& key, const std::string& wanted) {
                          return wanted == "*" ? key != "[]" : key == wanted;
                      });
}

bool is_at(const Keys& place, const Keys& pattern)
{
    return same_section(place, pattern) && place.back() == pattern.back();
}

// Returns the name of the runtime that a place is about, as far as it can be told. At a wrong place
// this is the key above "options", above a list, or above the program's own key.
std::string handler_at(const Keys& place, const std::vector<Keys>& patterns)
{
    for (const Keys& pattern : patterns) {
        const auto name = std::ranges::find(pattern, "*");
        if (same_section(place, pattern) && name != pattern.end())
            return place[static_cast<std::size_t>(name - pattern.begin())];
    }
    std::size_t end = place.size() - 1;
    if (end > 0 && place[end - 1] == "options")
        --end;
    return end > 0 ? place[end - 1] : std::string();
}

// Returns the section where the first pattern has this runtime.
std::string right_section(Engine engine, Keys pattern, const std::string& handler)
{
    std::ranges::replace(pattern, std::string("*"), handler);
    pattern.pop_back();
    if (engine == Engine::podman)
        pattern.pop_back(); // its list of a runtime is a key in [engine.runtimes]
    return section_text(engine, pattern);
}

std::string written_at(Engine engine, Keys keys)
{
    if (keys.back() == "[]")
        keys.pop_back();
    const std::string key = keys.back();
    keys.pop_back();
    return keys.empty() ? "its " + printable(key)
                        : section_text(engine, keys) + " " + printable(key);
}

class Reader {
public:
    Reader(const EngineFile& file, EngineSays says, std::int64_t version, EngineSetup& setup)
        : file_(file),
          says_(says),
          setup_(setup),
          version_(version),
          patterns_(right_places(setup.engine, version))
    {
    }

    void look(const Place& place)
    {
        const std::string handler = handler_at(place.keys, patterns_);
        for (const Keys& pattern : patterns_) {
            if (is_at(place.keys, pattern))
                return look_whether_known(handler, place);
        }
        for (const Keys& pattern : patterns_) {
            if (same_section(place.keys, pattern) && pattern.back() != "[]") {
                mark(handler);
                return say(FaultKind::key_misspelt, handler, place, "which is no key of its",
                           "write " + pattern.back() + " instead of " +
                               printable(place.keys.back()));
            }
        }
        say(FaultKind::wrong_section, handler, place, "where it does not look",
            remedy(handler, place));
    }

private:
    void look_whether_known(const std::string& handler, const Place& place)
    {
        const Handler* const known = setup_.find(handler);
        // The place may be podman's `runtime`, which has no handler above it.
        if (says_ == EngineSays::nothing || handler == "engine" || (known && known->ours))
            return;
        if (says_ == EngineSays::files) {
            const bool other = known != nullptr && known->file != file_.path;
            say(FaultKind::not_effective, handler, place, "and a later file takes that back",
                other ? "take it out there, or name anchorhold in " + printable(known->file)
                      : "put all runtimes into the last file that has a section for CRI");
            return;
        }
        const bool merged = setup_.engine == Engine::containerd;
        say(FaultKind::not_effective, handler, place, "and yet does not know it",
            merged ? "restart it; where a file it imports has a section for CRI as well, put all "
                     "runtimes into that one"
                   : "have it read its configuration again: restart it");
    }

    // Returns the version of a file in which this place would be right; 0: none.
    std::int64_t right_version(const Place& place) const
    {
        for (const std::int64_t version : {1, 2, 3}) {
            const auto right = [&](const Keys& pattern) { return is_at(place.keys, pattern); };
            if (setup_.engine == Engine::containerd &&
                std::ranges::any_of(right_places(setup_.engine, version), right))
                return version;
        }
        return 0;
    }
    std::string remedy(const std::string& handler, const Place& place) const
    {
        const std::string section = right_section(setup_.engine, patterns_.front(), handler);
        const std::int64_t version = right_version(place);
        if (version == 0)
            return "write it below " + section;
        return "this file is of version " + std::to_string(version_) + ": write " + section +
               ", or put version = " + std::to_string(version) + " at its top if all of it is";
    }

    void mark(const std::string& name)
    {
        for (Handler& handler : setup_.handlers)
            handler.ours = handler.ours || handler.name == name;
    }

    void say(FaultKind kind, const std::string& handler, const Place& place, std::string_view what,
             std::string remedy)
    {
        setup_.faults.push_back({.kind = kind,
                                 .handler = handler,
                                 .says = file_.path + " names " + printable(place.program) +
                                         " in " + written_at(setup_.engine, place.keys) + ", " +
                                         std::string(what),
                                 .remedy = std::move(remedy)});
    }

    const EngineFile& file_;
    EngineSays says_;
    EngineSetup& setup_;
    std::int64_t version_;
    std::vector<Keys> patterns_;
};

} // namespace

void look_at_written(const EngineFile& file, EngineSays says, std::int64_t main_version,
                     EngineSetup& setup)
{
    const auto document = parse_engine_file(setup.engine, file);
    if (!document) {
        Fault fault{.kind = FaultKind::config_unreadable,
                    .handler = {},
                    .says = file.path + ": " + document.error().what,
                    .remedy = "correct that line"};
        if (std::ranges::find(setup.faults, fault) == setup.faults.end())
            setup.faults.push_back(std::move(fault));
        return;
    }
    std::vector<Place> places;
    find_places(document->root(), {}, places);
    const std::int64_t version = config_version(setup.engine, document->root(), main_version);
    Reader reader(file, says, version, setup);
    for (const Place& place : places)
        reader.look(place);
}

} // namespace anchorhold::engine
