// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/update.hpp"

#include "shim/edit/update.hpp"
#include "shim/inspect/devices.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/verbs/handed_file.hpp"
#include "shim/verbs/lost_run.hpp"

namespace anchorhold::verbs {
namespace {

// Refuses device rules as create does: those that open more than every container has, and a list
// that does not close everything first.
Status check_devices(const json::Document& resources)
{
    const json::View section = *resources.root().find("linux")->find("resources");
    const auto rules = section.find("devices");
    if (!rules || rules->size() == 0)
        return {};
    inspect::Inspection found;
    AH_CHECK(inspect::inspect_devices(resources.root(), found));
    if (found.voids.empty())
        return {};
    const inspect::Finding& first = found.voids.front();
    return fail(Code::bundle_voids_posture, first.where + ": " + first.what);
}

Result<std::string> edited_file(const Record& record, const std::string& path,
                                std::int64_t extra_pids)
{
    AH_TRY(const std::string text,
           path == "-" ? read_standard_input("the resources") : read_handed(path, "the resources"));
    AH_TRY(const json::Document resources, edit::parse_resources(text), "the resources");
    if (record.posture != Posture::open)
        AH_CHECK(check_devices(resources));
    return edit::edit_resources(resources, extra_pids);
}

} // namespace

Result<int> update_container(const Session& session)
{
    const words::Invocation& call = session.invocation;
    AH_TRY(const auto run, find_own_run(session));
    if (!run)
        AH_CHECK(refuse_lost_run(session));
    if (!run)
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    AH_CHECK(words::check_words(call));
    const Record& record = run->record;
    const std::int64_t extra_pids = record.relay.empty() ? 0 : 1;
    const words::OptionAt* const file = call.last("resources");
    if (file == nullptr || file->value.empty()) {
        return std::unexpected(runtime::exec_runtime(
            session.runtime, edit::edit_limits(session.rest, call, extra_pids)));
    }
    AH_TRY(const std::string edited, edited_file(record, file->value, extra_pids));
    AH_TRY(const std::string path, hand_over(edited, 0));
    return std::unexpected(
        runtime::exec_runtime(session.runtime, words::with_value(session.rest, *file, path)));
}

} // namespace anchorhold::verbs
