// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/prepare.hpp"

namespace anchorhold::prepare {

std::string bundle_of(const words::Invocation& invocation)
{
    const words::OptionAt* option = invocation.last("bundle");
    return option != nullptr && !option->value.empty() ? option->value : ".";
}

Result<PreparedRun> prepare(const Session& session, AskedRun asked, const ContainerId& id,
                            const std::string& generation)
{
    AH_TRY(ChosenRun chosen, choose(session, asked, id));
    PreparedRun run{
        .asked = std::move(asked), .chosen = std::move(chosen), .seen = {}, .planned = {}};
    if (run.is_untouched())
        return run;
    AH_TRY(run.seen, look(session, run.asked, run.chosen, id));
    AH_TRY(run.planned, plan(session, run.asked, run.chosen, run.seen,
                             {RunKey::of(session.root, id), generation}));
    return run;
}

Result<PreparedRun> prepare_bundle(const Session& session, const std::string& path,
                                   const ContainerId& id, const std::string& generation)
{
    AH_TRY(config::Bundle bundle, open_bundle(path));
    AH_TRY(ReadBundle read, read_bundle(std::move(bundle)));
    AH_TRY(AskedRun asked, read_asked(std::move(read)));
    return prepare(session, std::move(asked), id, generation);
}

} // namespace anchorhold::prepare
