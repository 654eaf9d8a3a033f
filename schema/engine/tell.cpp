// SPDX-License-Identifier: Apache-2.0
// JSON has no comments, so Docker's members of ours are known by their text: a runtime of our name
// with exactly the value that we would write. TOML's lines are put in and taken
// out by toml_edit.hpp.
#include "schema/engine/tell.hpp"

#include "schema/engine/file.hpp"
#include "schema/engine/toml_edit.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

namespace anchorhold::engine {
namespace {

constexpr std::string_view own_mark = "# Written by `anchorhold setup ";
constexpr std::string_view k3s_base = "{{ template \"base\" . }}\n"; // what k3s renders without us
constexpr std::string_view glob = "[\"dev.anchorhold.*\"]";

std::vector<std::string> runtimes_of(const Telling& telling)
{
    std::vector<std::string> names;
    if (telling.plain)
        names.emplace_back("anchorhold");
    for (const std::string& profile : telling.profiles)
        names.push_back(runtime_of(profile));
    return names;
}

// Returns the program that an engine without arguments calls for a runtime: a link beside ours.
std::string link_of(const Telling& telling, const std::string& runtime)
{
    if (runtime == "anchorhold")
        return telling.program;
    return telling.program.substr(0, telling.program.rfind('/') + 1) + runtime;
}

// ---- TOML ---------------------------------------------------------------------------------------

std::string podman_text(const Telling& telling)
{
    std::string json;
    std::string runtimes;
    for (const std::string& name : runtimes_of(telling)) {
        json += ", " + json::quote(name);
        runtimes += name + " = [" + json::quote(link_of(telling, name)) + "]\n";
    }
    return "#   podman run --runtime anchorhold --annotation dev.anchorhold.egress=off IMAGE\n"
           "#\n"
           "# A profile is the end of a path, a link beside the program. podman before 4.5.1 takes "
           "an "
           "image's\n"
           "# annotations for the operator's: keep \"ceiling\" at what any image may ask for.\n"
           "[engine]\n"
           "# So that podman shows our one line instead of conmon's. The list replaces podman's "
           "own.\n"
           "runtime_supports_json = [\"crun\", \"runc\", \"kata\", \"runsc\", \"youki\"" +
           json + "]\n\n[engine.runtimes]\n" + runtimes;
}

std::string crio_text(const Telling& telling)
{
    std::string text;
    for (const std::string& name : runtimes_of(telling)) {
        text += text.empty() ? "" : "\n";
        text += "[crio.runtime.runtimes." + name +
                "]\nruntime_path = " + json::quote(link_of(telling, name)) +
                "\nruntime_type = \"oci\"\n";
    }
    return "# A profile is the end of runtime_path, a link beside the program. CRI-O copies "
           "every annotation of a\n"
           "# pod; allowed_annotations may hold CRI-O's own words alone.\n" +
           text;
}

std::string containerd_sections(const Telling& telling)
{
    const std::string plugin(cri_plugin(telling.version));
    const std::string above = "[plugins." + (plugin.contains('.') ? json::quote(plugin) : plugin) +
                              ".containerd.runtimes.";
    std::string text;
    if (telling.names_runc)
        text += above + "runc]\n  runtime_type = \"io.containerd.runc.v2\"\n";
    for (const std::string& name : runtimes_of(telling)) {
        text += text.empty() ? "" : "\n";
        text += above + name + "]\n  runtime_type = \"io.containerd.runc.v2\"\n";
        text += "  pod_annotations = " + std::string(glob) + "\n";
        text += "  container_annotations = " + std::string(glob) + "\n";
        text += "  " + above + name +
                ".options]\n    BinaryName = " + json::quote(link_of(telling, name)) + "\n";
        if (telling.systemd_cgroup)
            text += "    SystemdCgroup = true\n";
    }
    return text;
}

std::string containerd_text(const Telling& telling)
{
    return "# A profile is the end of BinaryName, a link beside the program. Annotations reach the "
           "runtime only\n"
           "# through the globs. Once any runtime is named, containerd has only those that are "
           "named.\n"
           "version = " +
           std::to_string(std::min<std::int64_t>(telling.version, 3)) + "\n\n" +
           containerd_sections(telling);
}

TextIs kind_of(const Telling& telling)
{
    return telling.is_template ? TextIs::go_template : TextIs::toml;
}

// ---- Docker's JSON ------------------------------------------------------------------------------

std::string docker_value(const Telling& telling, std::string_view runtime)
{
    std::string value = "{ \"path\": " + json::quote(telling.program);
    if (runtime != "anchorhold") {
        const std::string profile(runtime.substr(runtime.find('-') + 1));
        value += ", \"runtimeArgs\": [" + json::quote("--ah-profile=" + profile) + "]";
    }
    return value + " }";
}

std::string docker_members(const Telling& telling)
{
    std::string text;
    for (const std::string& name : runtimes_of(telling)) {
        text += text.empty() ? "\n    " : ",\n    ";
        text += json::quote(name) + ": " + docker_value(telling, name);
    }
    return text;
}

// Says whether a runtime has our name and just the value that we write, however it is laid out.
bool is_own_member(const Telling& telling, json::View member)
{
    const std::string name = member.key();
    const bool named = name == "anchorhold" || name.starts_with("anchorhold-");
    const auto written = json::Document::parse(docker_value(telling, name), Code::invalid_request);
    if (!named || !written || member.kind() != json::Kind::object ||
        member.size() != written->root().size())
        return false;
    const auto path = member.find("path");
    const auto arguments = member.find("runtimeArgs");
    const auto wanted = written->root().find("runtimeArgs");
    if (!path || path->raw() != written->root().find("path")->raw() ||
        arguments.has_value() != wanted.has_value())
        return false;
    return !wanted || (arguments->kind() == json::Kind::array && arguments->size() == 1 &&
                       arguments->items()[0].raw() == wanted->items()[0].raw());
}

// Returns the bytes that a run of an object's members [first, last) takes, with one comma: the one
// behind it, or for the last ones the one before.
json::Span span_of(json::View object, std::size_t first, std::size_t last)
{
    const std::vector<json::View> members = object.items();
    if (last < members.size()) {
        const std::size_t begin =
            first == 0 ? object.span().begin + 1 : members[first - 1].span().end;
        if (first > 0) // the comma before the run goes, the one behind it stays
            return {begin, members[last - 1].span().end};
        std::size_t end = members[last - 1].span().end;
        const std::string_view behind = object.raw().substr(end - object.span().begin);
        return {begin, end + behind.find(',') + 1};
    }
    return {first == 0 ? object.span().begin + 1 : members[first - 1].span().end,
            members[last - 1].span().end};
}

// Cuts the members of ours out of "runtimes", and the whole member where nothing else is in it and
// it looks as we write it.
std::vector<json::Splice> docker_cuts(const Telling& telling, json::View root)
{
    std::vector<json::Splice> cuts;
    const auto runtimes = root.find("runtimes");
    if (!runtimes || runtimes->kind() != json::Kind::object)
        return cuts;
    const std::vector<json::View> members = runtimes->items();
    for (std::size_t first = 0; first < members.size(); ++first) {
        std::size_t last = first;
        while (last < members.size() && is_own_member(telling, members[last]))
            ++last;
        if (last == first)
            continue;
        const bool alone = first == 0 && last == members.size();
        if (alone && runtimes->raw().ends_with("}\n  }")) {
            const std::vector<json::View> all = root.items();
            const auto at = std::ranges::find(all, "runtimes", &json::View::key);
            const auto index = static_cast<std::size_t>(at - all.begin());
            return {{span_of(root, index, index + 1), ""}};
        }
        cuts.push_back({span_of(*runtimes, first, last), ""});
        first = last;
    }
    return cuts;
}

Result<std::string> docker_with_lines(const Telling& telling, const std::string& text)
{
    AH_TRY(std::string bare, without_lines(telling, text));
    AH_TRY(const json::Document document, json::Document::parse(bare, Code::invalid_request));
    const json::View root = document.root();
    AH_CHECK(root.object());
    const auto runtimes = root.find("runtimes");
    const std::string members = docker_members(telling);
    if (!runtimes) {
        const std::string whole =
            "\n  \"runtimes\": {" + members + "\n  }" + (root.size() == 0 ? "" : ",");
        return json::splice(bare, {{{root.span().begin + 1, root.span().begin + 1}, whole}});
    }
    AH_CHECK(runtimes->object());
    for (const std::string& name : runtimes_of(telling)) {
        if (const auto taken = runtimes->find(name))
            return std::unexpected(
                taken->wrong("is there and not as setup writes it; take it out first"));
    }
    const std::size_t at = runtimes->span().begin + 1;
    return json::splice(bare, {{{at, at}, members + (runtimes->size() == 0 ? "" : ",")}});
}

} // namespace

bool needs_links(Engine engine)
{
    return engine != Engine::docker;
}

std::string runtime_of(std::string_view profile)
{
    return "anchorhold-" + std::string(profile);
}

std::string own_text(const Telling& telling)
{
    const std::string word(word_for(telling.engine));
    const std::string mark = std::string(own_mark) + word +
                             "`, which overwrites it; `anchorhold setup " + word +
                             " --remove`\n# removes it.\n";
    switch (telling.engine) {
    case Engine::podman: return mark + podman_text(telling);
    case Engine::containerd: return mark + containerd_text(telling);
    case Engine::crio: return mark + crio_text(telling);
    case Engine::docker: return "{" + lines_of_ours(telling) + "}\n"; // JSON has no comments
    }
    std::abort(); // a byte that is no Engine
}

bool is_own_text(std::string_view text)
{
    return text.starts_with(own_mark);
}

Result<std::string> with_lines(const Telling& telling, const std::string& text)
{
    return telling.engine == Engine::docker
               ? docker_with_lines(telling, text)
               : with_marked(text, lines_of_ours(telling), kind_of(telling));
}

Result<std::string> without_lines(const Telling& telling, const std::string& text)
{
    if (telling.engine != Engine::docker)
        return without_marked(text, kind_of(telling));
    AH_TRY(const json::Document document, json::Document::parse(text, Code::invalid_request));
    AH_CHECK(document.root().object());
    return json::splice(text, docker_cuts(telling, document.root()));
}

std::string lines_of_ours(const Telling& telling)
{
    if (telling.engine == Engine::docker)
        return "\n  \"runtimes\": {" + docker_members(telling) + "\n  }\n";
    return containerd_sections(telling);
}

std::optional<std::string_view> empty_text(const Telling& telling)
{
    if (telling.engine == Engine::docker)
        return "{\n}\n";
    return telling.is_template ? std::optional(k3s_base) : std::nullopt;
}

} // namespace anchorhold::engine
