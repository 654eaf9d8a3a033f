// SPDX-License-Identifier: Apache-2.0
// `runs` and `show`: the runs on record, and whether what it says of a live one still stands. Live
// runs come before ended ones of the same id.
#include "hooks/files/directory.hpp"
#include "hooks/state/ended_records.hpp"
#include "hooks/state/seen.hpp"
#include "hooks/state/users_records.hpp"
#include "schema/render.hpp"
#include "shim/tools/tool_list.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <tuple>
#include <unistd.h>

namespace anchorhold::tools {

namespace {

constexpr const char* users_place = "/run/user";
constexpr const char* unchecked = "what rows of other owners say is their own word\n";

// Returns the records of the runs that ended, newest first: those of the state directory and those
// that the policy has kept. Where the latter cannot be read, `output` says so, and the rest stands.
Result<std::vector<Record>> ended_records(const Session& session,
                                          const std::optional<state::StateDir>& state,
                                          ToolOutput& output)
{
    std::vector<state::EndedRecord> found;
    if (state) {
        AH_TRY(found, state->last_records());
    }
    const std::string folder = records_folder(session);
    if (folder.empty())
        return state::newest_first(std::move(found));
    const Status fit = files::check_directory(folder);
    auto kept = fit ? state::read_ended(folder) : std::unexpected(fit.error());
    if (kept) {
        std::ranges::move(*kept, std::back_inserter(found));
    } else if (kept.error().number != ENOENT) { // nothing was kept yet
        output.remarks += "records that are kept: " + printable(kept.error().what, 500) + "\n";
    }
    return state::newest_first(std::move(found));
}

// Reads the records of the live runs, oldest first. A record that cannot be read is named in
// `unreadable` and not passed over.
std::vector<Record> live_records(const state::StateDir& state, const std::vector<RunKey>& keys,
                                 std::string& unreadable)
{
    std::vector<Record> records;
    for (const RunKey& key : keys) {
        auto record = state.read(key);
        if (!record) {
            unreadable += "unreadable " + key.text() + ": " + record.error().what + "\n";
        } else if (*record) {
            records.push_back(**std::move(record));
        }
    }
    std::ranges::sort(records, {}, &Record::created);
    return records;
}

std::string as_array(const std::vector<Record>& records)
{
    std::string text = "[";
    for (const Record& record : records)
        text += (text.size() > 1 ? "," : "") + to_json(record);
    return text + "]\n";
}

bool is_called(const Record& record, std::string_view name)
{
    return record.id == name || record.key == name || run_name(record) == name;
}

bool is_called_like(const Record& record, std::string_view prefix)
{
    return record.id.starts_with(prefix) || run_name(record).starts_with(prefix);
}

// Returns the run of that name, else the one that begins so; nothing when there is none. Refuses
// (invalid_request) a name that could be several runs.
Result<std::optional<Record>> pick(const std::vector<Record>& records, const std::string& name)
{
    std::vector<const Record*> meant;
    for (const auto matches : {is_called, is_called_like}) {
        for (const Record& record : records) {
            const bool known = std::ranges::any_of(
                meant, [&](const Record* other) { return other->key == record.key; });
            if (matches(record, name) && !known)
                meant.push_back(&record);
        }
        if (!meant.empty())
            break;
    }
    if (meant.empty())
        return std::nullopt;
    if (meant.size() == 1)
        return *meant[0];
    std::string keys;
    for (const Record* record : meant)
        keys += " " + record->key + " (" + printable(record->id) + ")";
    return fail(Code::invalid_request, in_quotes(name) + " could be several runs:" + keys);
}

// Two runs of one second are told apart by the start of the processes that made them.
bool was_made_before(const Record& one, const Record& other)
{
    return std::tuple(one.created, one.creator.start) <
           std::tuple(other.created, other.creator.start);
}

const Record* made_last(const std::vector<Record>& records)
{
    const auto last = std::ranges::max_element(records, was_made_before);
    return last == records.end() ? nullptr : &*last;
}

// Returns the containers of a pod: live ones first, then ended ones by time.
Result<std::vector<Record>> containers_of(const Session& session, const Found& found)
{
    ToolOutput said_before; // by find_run
    std::vector<Record> containers;
    std::string unreadable;
    if (found.state) {
        AH_TRY(const auto keys, found.state->runs(), "list the runs");
        containers = live_records(*found.state, keys, unreadable);
    }
    AH_TRY(const auto ended, ended_records(session, found.state, said_before));
    containers.insert(containers.end(), ended.rbegin(), ended.rend());
    std::erase_if(containers, [name = run_name(found.record)](const Record& record) {
        return record.pod != name;
    });
    return containers;
}

// Adds the runs of rootless engines, and says in `unreadable` which were left out.
Status add_users_records(const ToolCall& call, std::vector<Record>& records,
                         std::string& unreadable)
{
    if (::geteuid() != 0)
        return fail(Code::invalid_request, "--all reads the files of other users; run it as root");
    auto users = state::read_users_records(users_place,
                                           call.ended ? state::Which::ended : state::Which::live);
    std::ranges::move(users.records, std::back_inserter(records));
    for (const std::string& sentence : users.left_out)
        unreadable += "left out " + printable(sentence, 500) + "\n";
    return {};
}

} // namespace

Result<int> tool_runs(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(const auto state, state::StateDir::existing(session.state_path),
           "open the state directory");
    std::vector<Record> records;
    std::string unreadable;
    if (call.ended) {
        AH_TRY(records, ended_records(session, state, output));
        std::ranges::reverse(records);
    } else if (state) {
        AH_TRY(const auto keys, state->runs(), "list the runs");
        records = live_records(*state, keys, unreadable);
    }
    std::string left_out;
    if (call.all)
        AH_CHECK(add_users_records(call, records, left_out));
    if (!call.ended)
        std::ranges::for_each(records, state::note_seen);
    if (call.json) {
        output.text = as_array(records);
        output.remarks += left_out;
    } else {
        output.text = render_runs(records, call.all ? Owners::shown : Owners::ours) + unreadable +
                      left_out + (call.all ? unchecked : "");
    }
    return unreadable.empty() ? 0 : 1;
}

Result<Found> find_run(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(auto state, state::StateDir::existing(session.state_path), "open the state directory");
    std::vector<Record> live;
    std::string unreadable;
    if (state) {
        AH_TRY(const auto keys, state->runs(), "list the runs");
        live = live_records(*state, keys, unreadable);
    }
    AH_TRY(const auto ended, ended_records(session, state, output));
    if (!state && ended.empty())
        return fail(Code::invalid_request, "nothing is on record in " + session.state_path);
    if (call.operands.empty()) {
        const Record* const alive = made_last(live);
        const Record* const over = made_last(ended);
        if (alive == nullptr && over == nullptr)
            return fail(Code::invalid_request, "no run is on record in " + session.state_path);
        const bool is_live =
            over == nullptr || (alive != nullptr && !was_made_before(*alive, *over));
        return Found{std::move(state), is_live ? *alive : *over, is_live};
    }
    const std::string& name = call.operands[0];
    AH_TRY(auto found, pick(live, name));
    const bool is_live = found.has_value();
    if (!is_live) {
        AH_TRY(found, pick(ended, name));
    }
    if (!found)
        return fail(Code::invalid_request, "no run is called " + in_quotes(name));
    return Found{std::move(state), *std::move(found), is_live};
}

Result<int> tool_show(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(Found found, find_run(session, call, output));
    if (found.live)
        state::note_seen(found.record);
    if (call.json) {
        output.text = to_json(found.record);
        return 0;
    }
    output.text = render_record(found.record);
    AH_TRY(const auto containers, containers_of(session, found));
    if (!containers.empty())
        output.text += render_pod(found.record, containers);
    return 0;
}

} // namespace anchorhold::tools
