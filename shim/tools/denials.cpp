// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/gate_process.hpp"
#include "hooks/state/names_file.hpp"
#include "schema/render.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/tools/tool_list.hpp"

namespace anchorhold::tools {

namespace {

// Brings the record up to date with what the kernel has denied, and reads it again.
Status refresh(Found& found)
{
    const Record& record = found.record;
    AH_CHECK(runtime::note_denied_by_hook(*found.state, record));
    AH_TRY(const RunKey key, RunKey::parse(record.key));
    AH_TRY(auto fresh, found.state->read(key));
    if (fresh && fresh->generation == record.generation)
        found.record = *std::move(fresh);
    return {};
}

} // namespace

Result<int> tool_denials(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(Found found, find_run(session, call, output));
    // The record still answers when the kernel cannot be asked. The status tells that it may be
    // old.
    const bool asks = found.live && found.record.network.has_value();
    const Status asked = asks ? refresh(found) : Status{};
    if (found.live) {
        state::note_refused_names(*found.state, found.record);
        state::note_gate_reports(*found.state, found.record);
    }
    if (call.json) {
        output.text = denials_json(found.record);
        return asked ? 0 : 1;
    }
    output.text = render_denials(found.record);
    if (!asked)
        output.text += "as of the last time the kernel was asked: " + asked.error().what + "\n";
    return asked ? 0 : 1;
}

} // namespace anchorhold::tools
