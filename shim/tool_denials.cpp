// SPDX-License-Identifier: Apache-2.0
#include "schema/render.hpp"
#include "shim/delegate.hpp"
#include "shim/helpers.hpp"
#include "shim/tool_list.hpp"

namespace anchorhold {

namespace {

// The kernel's set is written to the record by the hook, for we know no netlink.
Status refresh(Found& found)
{
    const Record& record = found.record;
    AH_TRY(const Helpers helpers, find_helpers(), "");
    AH_TRY(const Caught caught,
           run_quietly(helpers.hook,
                       {"--state", found.state.path(), "denials", record.key, record.generation}),
           "");
    if (caught.status != 0)
        return fail(Code::network_setup_failed,
                    printable(caught.text.substr(0, caught.text.find('\n')), 500));
    AH_TRY(const RunKey key, RunKey::parse(record.key), "");
    AH_TRY(auto fresh, found.state.read(key), "");
    if (fresh && fresh->generation == record.generation)
        found.record = *std::move(fresh);
    return {};
}

} // namespace

Result<int> tool_denials(const Session& session, const ToolCall& call, Told& told)
{
    AH_TRY(Found found, find_run(session, call.operands[0]), "");
    // What is on record still answers when the kernel cannot be asked, and the status tells that it
    // may be old.
    const bool asks = found.live && found.record.network.has_value();
    const Status asked = asks ? refresh(found) : Status{};
    if (call.json) {
        told.text = denials_json(found.record.denied);
        return asked ? 0 : 1;
    }
    told.text = render_denials(found.record.denied);
    if (!asked)
        told.text += "as of the last time the kernel was asked: " + asked.error().what + "\n";
    return asked ? 0 : 1;
}

} // namespace anchorhold
