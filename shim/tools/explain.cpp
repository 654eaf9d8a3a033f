// SPDX-License-Identifier: Apache-2.0
#include "schema/render.hpp"
#include "shim/prepare/first_record.hpp"
#include "shim/prepare/prepare.hpp"
#include "shim/tools/tool_list.hpp"

namespace anchorhold::tools {

Result<int> tool_explain(const Session& session, const ToolCall& call, ToolOutput& output)
{
    for (const auto& obstacle : {session.obstacle, session.creation_obstacle}) {
        if (obstacle)
            return std::unexpected(*obstacle);
    }
    AH_TRY(const ContainerId id, ContainerId::parse("explained"));
    const std::string bundle = call.bundle.empty() ? "." : call.bundle;
    AH_TRY(const prepare::PreparedRun run,
           prepare::prepare_bundle(session, bundle, id, "0000000000000000"));
    if (run.is_untouched()) {
        output.text = sentence_for(run.chosen.request, run.chosen.decision, 0) +
                      "\nconfig.json is left alone, the runtime runs in our place\n";
        return 0;
    }
    AH_TRY(const Record record, prepare::first_record(session, run, id));
    Facts facts{{"profile", {printable(record.profile)}},
                {"why", {std::string(word_for(record.why))}},
                {"voids", record.voids},
                {"other channels", record.other_channels},
                {"advice", record.advice},
                {"removed variables", record.removed_env},
                {"removed capabilities", record.removed_caps}};
    if (!record.replaced_netns.empty())
        facts.emplace_back("instead of", std::vector{printable(record.replaced_netns)});
    for (auto& fact : facts_of(run.planned.plan))
        facts.push_back(std::move(fact));
    output.text = record.sentence + "\n" + render_facts(facts);
    return 0;
}

} // namespace anchorhold::tools
