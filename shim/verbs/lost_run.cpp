// SPDX-License-Identifier: Apache-2.0
// The runtimes keep the annotations of a container in a directory of its own below their root:
// runc in state.json as labels "KEY=VALUE" (libcontainer, configs.Config), crun in config.json, a
// copy of the bundle's (libcrun, container.c). Our edit put the mark there before they read it.
#include "shim/verbs/lost_run.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/request.hpp"
#include "shim/config/view.hpp"

#include <algorithm>

namespace anchorhold::verbs {
namespace {

constexpr std::size_t most_kept = std::size_t{64} * 1024 * 1024; // bytes

bool has_label(json::View state)
{
    const auto labels = config::elements(config::member(state, "config"), "labels");
    const std::string mark = std::string(mark_annotation) + "=";
    return labels && std::ranges::any_of(*labels, [&](const json::View label) {
               const auto text = label.string();
               return text && text->starts_with(mark);
           });
}

// Says whether a file that the runtime keeps has our mark. One that cannot be parsed has it when
// the word stands in it: whose it is cannot be known.
Result<bool> has_mark(const std::string& path)
{
    AH_TRY(auto text, files::read_file(path, most_kept), "look at what the runtime keeps");
    if (!text || text->find(mark_annotation) == std::string::npos)
        return false;
    json::Limits limits;
    limits.bytes = text->size();
    const auto kept = json::Document::parse(*std::move(text), Code::network_setup_failed, limits);
    if (!kept)
        return true;
    const json::View root = kept->root();
    return config::member(config::member(root, "annotations"), mark_annotation) || has_label(root);
}

} // namespace

Status refuse_lost_run(const Session& session)
{
    const words::Invocation& call = session.invocation;
    std::vector<std::string> ids = session.rest; // with an unknown option any word may be the id
    if (!call.unknown)
        ids.assign(call.operands.begin(), call.operands.begin() + (call.operands.empty() ? 0 : 1));
    for (const std::string& word : ids) {
        if (session.root.empty() || !ContainerId::parse(word))
            continue;
        for (const char* const name : {"/state.json", "/config.json"}) {
            AH_TRY(const bool ours, has_mark(session.root + "/" + word + name));
            if (ours) {
                return fail(Code::network_setup_failed,
                            "the container is anchorhold's, but its record is not in " +
                                printable(session.state_path) +
                                "; name the state directory that it was created with, or delete "
                                "the container and create it anew");
            }
        }
    }
    return {};
}

} // namespace anchorhold::verbs
