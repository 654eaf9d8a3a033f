// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/asked.hpp"

#include "shim/config/oci_keys.hpp"

namespace anchorhold::prepare {
namespace {

bool looks_like_ours(std::string_view key)
{
    std::string folded;
    for (const char c : key) {
        if (c != ' ' && c != '\t')
            folded += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return folded.starts_with(annotation_prefix);
}

// Returns our annotations and what looks like them. Those of others are not decoded: they may hold
// any bytes.
Result<Annotations> annotations_of(json::View config)
{
    Annotations found;
    const auto member = config.find("annotations");
    if (!member || member->is_null())
        return found;
    AH_TRY(const auto entries, member->object());
    for (const json::View entry : entries) {
        if (entry.kind() != json::Kind::string)
            return std::unexpected(entry.expected("a string"));
        if (!looks_like_ours(entry.key()))
            continue;
        AH_TRY(std::string value, entry.string());
        found.emplace_back(entry.key(), std::move(value));
    }
    return found;
}

} // namespace

Result<config::Bundle> open_bundle(const std::string& path)
{
    AH_TRY(config::Bundle bundle, config::Bundle::open(path), "open the bundle");
    return bundle;
}

Result<ReadBundle> read_bundle(config::Bundle bundle)
{
    AH_TRY(std::string text, bundle.read_config(), "read config.json");
    AH_TRY(json::Document config, json::Document::parse(std::move(text)), "config.json");
    AH_CHECK(config::check_oci_keys(config.root(), config::OciKeys::openness), "config.json");
    return ReadBundle{std::move(bundle), std::move(config)};
}

Result<AskedRun> read_asked(ReadBundle read)
{
    AH_TRY(const Annotations annotations, annotations_of(read.config.root()), "config.json");
    AH_TRY(Asked asked, read_annotations(annotations));
    AskedRun run{.bundle = std::move(read.bundle),
                 .config = std::move(read.config),
                 .asked = std::move(asked),
                 .mark = {}};
    for (const auto& [name, value] : annotations) {
        if (name == mark_annotation)
            run.mark = value;
    }
    return run;
}

} // namespace anchorhold::prepare
