// SPDX-License-Identifier: Apache-2.0
// Records in JSON. Members that hold the same kind of value are tables, which one loop reads and
// another writes. A member that is missing keeps its default, so that records of older versions can
// be read. An unknown member is passed over, so that records of later versions of the same schema
// can be read too.
#include "schema/record.hpp"

#include "schema/file_identity.hpp"
#include "schema/record_network.hpp"
#include "schema/run_key.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace anchorhold {
namespace {

template <typename Value> using Members = std::pair<std::string_view, Value Record::*>;

constexpr std::array<Members<std::string>, 4> names{{
    {"key", &Record::key},
    {"id", &Record::id},
    {"root", &Record::root},
    {"generation", &Record::generation},
}};
constexpr std::array<Members<std::string>, 8> sentences{{
    {"relay", &Record::relay},
    {"on_broker_lost", &Record::on_broker_lost},
    {"profile", &Record::profile},
    {"pod", &Record::pod},
    {"notice", &Record::notice},
    {"sentence", &Record::sentence},
    {"code", &Record::code},
    {"reason", &Record::reason},
}};
constexpr std::array<Members<std::string>, 6> circumstances{{
    {"replaced_netns", &Record::replaced_netns},
    {"delegate", &Record::delegate},
    {"bundle", &Record::bundle},
    {"config_digest", &Record::config_digest},
    {"records", &Record::records},
    {"boot_id", &Record::boot_id},
}};
constexpr std::array<Members<std::vector<std::string>>, 8> lists{{
    {"allow", &Record::allow},
    {"verified", &Record::verified},
    {"voids", &Record::voids},
    {"other_channels", &Record::other_channels},
    {"advice", &Record::advice},
    {"removed_env", &Record::removed_env},
    {"removed_caps", &Record::removed_caps},
    {"removed_hooks", &Record::removed_hooks},
}};
constexpr std::array<Members<FileIdentity>, 2> identities{{
    {"host_netns", &Record::host_netns},
    {"host_pidns", &Record::host_pidns},
}};
constexpr std::array<Members<ProcessIdentity>, 2> processes{{
    {"creator", &Record::creator},
    {"init", &Record::init},
}};
constexpr std::array<Members<std::int64_t>, 4> numbers{{
    {"created", &Record::created},
    {"ended", &Record::ended},
    {"seen_at", &Record::seen_at},
    {"owner", &Record::owner},
}};

template <typename Table>
void write_texts(json::Writer& out, const Table& table, const Record& from)
{
    for (const auto& [name, member] : table)
        out.member(name, from.*member);
}

void write_endpoints(json::Writer& out, const std::vector<Endpoint>& endpoints)
{
    out.key("endpoints").begin_array();
    for (const Endpoint& endpoint : endpoints) {
        out.begin_object().member("name", endpoint.name);
        out.key("listen").integer(endpoint.listen.number());
        out.member("to", target_text(endpoint.to)).end_object();
    }
    out.end_array();
}

void write_sources(json::Writer& out, const std::vector<BindSource>& sources)
{
    out.key("sources").begin_array();
    for (const BindSource& source : sources) {
        out.begin_object().member("where", source.where);
        out.member("destination", source.destination);
        out.member("identity", source.identity.text()).end_object();
    }
    out.end_array();
}

// Writes the circumstances. What is not known yet is left out: a process that was not started, a
// time that has not come.
void write_circumstances(json::Writer& out, const Record& record)
{
    write_texts(out, circumstances, record);
    for (const auto& [name, member] : identities)
        out.member(name, (record.*member).text());
    if (record.netns)
        out.member("netns", record.netns->text());
    for (const auto& [name, member] : processes) {
        if (record.*member != ProcessIdentity{})
            write_process(out.key(name), record.*member);
    }
    if (!record.seen.empty())
        out.member("seen", record.seen);
    for (const auto& [name, member] : numbers) {
        if (record.*member != 0)
            out.key(name).integer(record.*member);
    }
}

Result<std::vector<std::string>> read_list(json::View array)
{
    AH_TRY(const std::vector<json::View> items, array.array());
    std::vector<std::string> texts;
    for (const json::View item : items) {
        AH_TRY(std::string text, item.string());
        texts.push_back(std::move(text));
    }
    return texts;
}

Result<FileIdentity> read_identity(json::View at)
{
    AH_TRY(const std::string text, at.string());
    const auto identity = FileIdentity::parse(text, Code::network_setup_failed);
    if (!identity)
        return std::unexpected(at.wrong(identity.error().what));
    return identity;
}

void write_mount_points(json::Writer& out, const MountPoints& made)
{
    out.key("mount_points").begin_object().member("root", made.root);
    out.member("identity", made.identity.text()).strings("paths", made.paths);
    out.end_object();
}

// Reads what teardown removes. No part of it has a default.
Result<MountPoints> read_mount_points(json::View object)
{
    AH_CHECK(object.object());
    MountPoints made;
    const auto root = object.find("root");
    const auto identity = object.find("identity");
    const auto paths = object.find("paths");
    if (!root || !identity || !paths)
        return std::unexpected(object.wrong("has no root, identity or paths"));
    AH_TRY(made.root, root->string());
    AH_TRY(made.identity, read_identity(*identity));
    AH_TRY(made.paths, read_list(*paths));
    return made;
}

Result<std::vector<BindSource>> read_sources(json::View array)
{
    AH_TRY(const std::vector<json::View> items, array.array());
    std::vector<BindSource> sources;
    for (const json::View item : items) {
        AH_CHECK(item.object());
        BindSource source;
        if (const auto at = item.find("where")) {
            AH_TRY(source.where, at->string());
        }
        if (const auto at = item.find("destination")) {
            AH_TRY(source.destination, at->string());
        }
        if (const auto at = item.find("identity")) {
            AH_TRY(source.identity, read_identity(*at));
        }
        sources.push_back(std::move(source));
    }
    return sources;
}

template <typename Enum> using FromWord = std::optional<Enum> (*)(std::string_view);

template <typename Enum>
Status read_word(json::View object, std::string_view name, FromWord<Enum> from, Enum& into)
{
    const auto at = object.find(name);
    if (!at)
        return {};
    AH_TRY(const std::string word, at->string());
    const auto value = from(word);
    if (!value)
        return std::unexpected(at->wrong(in_quotes(word) + " is not known here"));
    into = *value;
    return {};
}

template <typename Table, typename Read>
Status read_members(json::View object, const Table& table, Read read, Record& into)
{
    for (const auto& [name, member] : table) {
        if (const auto at = object.find(name)) {
            AH_TRY(into.*member, read(*at));
        }
    }
    return {};
}

Status read_schema(json::View root, Record& record)
{
    const auto at = root.find("schema");
    if (!at)
        return std::unexpected(root.wrong("has no schema number"));
    AH_TRY(const std::int64_t schema, at->integer());
    if (schema < 1 || schema > Record::current_schema) {
        return std::unexpected(at->wrong(std::to_string(schema) + " is not known here, 1 to " +
                                         std::to_string(Record::current_schema) + " are"));
    }
    record.schema = static_cast<int>(schema);
    return {};
}

// Refuses a record without a proper key, generation or state: what names a run becomes part of
// paths.
Status check_names(json::View root, const Record& record)
{
    if (!RunKey::parse(record.key))
        return std::unexpected(root.wrong("has no key of a run"));
    const bool is_hex =
        record.generation.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (record.generation.empty() || !is_hex)
        return std::unexpected(root.wrong("has no generation"));
    if (!root.find("state"))
        return std::unexpected(root.wrong("has no state"));
    return {};
}

Result<Record> read_record(json::View root)
{
    AH_CHECK(root.object());
    Record record;
    AH_CHECK(read_schema(root, record));
    const auto text = [](json::View at) { return at.string(); };
    const auto number = [](json::View at) { return at.integer(); };
    AH_CHECK(read_members(root, names, text, record));
    AH_CHECK(read_members(root, sentences, text, record));
    AH_CHECK(read_members(root, circumstances, text, record));
    AH_CHECK(read_members(root, lists, read_list, record));
    AH_CHECK(read_members(root, identities, read_identity, record));
    AH_CHECK(read_members(root, processes, read_process, record));
    AH_CHECK(read_members(root, numbers, number, record));
    AH_CHECK(read_word<RunState>(root, "state", run_state_from, record.state));
    AH_CHECK(read_word<Egress>(root, "requested", egress_from, record.requested));
    AH_CHECK(read_word<Posture>(root, "posture", posture_from, record.posture));
    AH_CHECK(read_word<Technique>(root, "technique", technique_from, record.technique));
    AH_CHECK(read_word<Why>(root, "why", why_from, record.why));
    if (const auto at = root.find("endpoints")) {
        AH_TRY(record.endpoints, read_endpoints(*at, EndpointsOf::anybody));
    }
    if (const auto at = root.find("sources")) {
        AH_TRY(record.sources, read_sources(*at));
    }
    if (const auto at = root.find("mount_points")) {
        AH_TRY(record.mount_points, read_mount_points(*at));
    }
    if (const auto at = root.find("seen")) {
        AH_TRY(record.seen, at->string());
    }
    if (const auto at = root.find("netns")) {
        AH_TRY(record.netns, read_identity(*at));
    }
    if (const auto at = root.find("drops")) {
        AH_TRY(record.drops, read_count(*at));
    }
    if (const auto at = root.find("drops_before")) {
        AH_TRY(record.drops_before, read_count(*at));
    }
    if (const auto at = root.find("denied")) {
        AH_TRY(record.denied, read_denied(*at));
    }
    if (const auto at = root.find("more_denied")) {
        AH_TRY(record.more_denied, at->boolean());
    }
    if (const auto at = root.find("refused_names")) {
        AH_TRY(record.refused_names, read_refused_names(*at));
    }
    if (const auto at = root.find("network")) {
        AH_TRY(record.network, read_network(*at));
    }
    if (const auto at = root.find("gate")) {
        AH_TRY(record.gate, read_gate(*at));
    }
    AH_CHECK(check_names(root, record));
    return record;
}

} // namespace

std::string_view word_for(RunState state)
{
    switch (state) {
    case RunState::planned: return "planned";
    case RunState::enforced: return "enforced";
    case RunState::ended: return "ended";
    case RunState::failed: return "failed";
    }
    std::abort(); // a byte that is no RunState: refuse to guess
}

std::optional<RunState> run_state_from(std::string_view word)
{
    for (const RunState state :
         {RunState::planned, RunState::enforced, RunState::ended, RunState::failed}) {
        if (word_for(state) == word)
            return state;
    }
    return std::nullopt;
}

std::string run_name(const Record& record)
{
    return record.key + "." + record.generation;
}

std::string to_json(const Record& record)
{
    json::Writer out(json::Layout::pretty);
    out.begin_object();
    out.key("schema").integer(record.schema);
    write_texts(out, names, record);
    out.member("state", word_for(record.state));
    out.member("requested", word_for(record.requested));
    out.member("posture", word_for(record.posture));
    out.member("technique", word_for(record.technique));
    out.member("why", word_for(record.why));
    write_texts(out, sentences, record);
    write_endpoints(out, record.endpoints);
    write_sources(out, record.sources);
    if (record.mount_points)
        write_mount_points(out, *record.mount_points);
    for (const auto& [name, member] : lists)
        out.strings(name, record.*member);
    out.key("drops").integer(signed_of(record.drops));
    out.key("drops_before").integer(signed_of(record.drops_before));
    write_denied(out.key("denied"), record.denied);
    out.key("more_denied").boolean(record.more_denied);
    if (record.refused_names)
        write_refused_names(out.key("refused_names"), *record.refused_names);
    if (record.network)
        write_network(out.key("network"), *record.network);
    if (record.gate)
        write_gate(out.key("gate"), *record.gate);
    write_circumstances(out, record);
    out.end_object();
    return out.take();
}

Result<Record> parse_record(std::string text)
{
    AH_TRY(const json::Document document,
           json::Document::parse(std::move(text), Code::network_setup_failed));
    return read_record(document.root());
}

} // namespace anchorhold
