// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/refusal.hpp"

#include "hooks/state/ended_records.hpp"
#include "hooks/state/process.hpp"

#include <ctime>
#include <unistd.h>

namespace anchorhold::verbs {

void leave_refusal(const Session& session, const state::StateDir& state, const ContainerId& id,
                   const std::string& generation, const Error& error)
{
    Record record;
    record.key = RunKey::of(session.root, id).text();
    record.id = id.text();
    record.root = session.root;
    record.generation = generation;
    record.state = RunState::failed;
    record.sentence = "Network: none, the container was not created";
    record.code = name_of(error.code);
    record.reason = error.what;
    record.created = record.ended = std::time(nullptr);
    const auto creator = state::identify(::getpid());
    record.creator = creator && *creator ? **creator : ProcessIdentity{};
    record.records = records_folder(session);
    (void)state::keep_record(record);
    (void)state.archive_refusal(record);
}

} // namespace anchorhold::verbs
