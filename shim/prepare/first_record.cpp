// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/first_record.hpp"

#include "hooks/state/process.hpp"
#include "schema/sha256.hpp"

#include <ctime>
#include <unistd.h>

namespace anchorhold::prepare {

namespace {

// Returns what a sentence says that does not hold: a policy with "voids": "record" let it pass.
std::string voided_words(const std::vector<inspect::Finding>& voids)
{
    std::string words = ", but voided by ";
    for (const inspect::Finding& one : voids)
        words += (&one == &voids.front() ? "" : ", ") + printable(one.where);
    return words;
}

} // namespace

Result<Record> first_record(const Session& session, const PreparedRun& run, const ContainerId& id)
{
    Record record;
    record.key = RunKey::of(session.root, id).text();
    record.id = id.text();
    record.root = session.root;
    record.generation = run.planned.plan.generation;
    record.requested = run.chosen.request.asked;
    record.profile = run.chosen.request.profile.name;
    if (run.chosen.pod.holder)
        record.pod = run_name(*run.chosen.pod.holder);
    record.posture = run.chosen.decision.posture;
    record.technique = run.chosen.decision.technique;
    record.relay = run.planned.plan.relay;
    record.notice = run.planned.plan.notice;
    record.on_broker_lost = run.planned.plan.on_broker_lost;
    record.why = run.chosen.decision.why;
    record.reason = run.chosen.decision.detail;
    record.endpoints = run.chosen.request.endpoints;
    for (const rules::AllowRule& rule : run.chosen.request.allow)
        record.allow.push_back(text_of(rule));
    if (!run.chosen.joins_pod()) // else it is the pod's to take away
        record.network = run.seen.network;
    if (run.seen.gate)
        record.gate = RunGate{.rules = *run.seen.gate, .process = {}, .lost = 0};
    record.sentence = sentence_for(run.chosen.request, run.chosen.decision, run.seen.destinations);
    for (const inspect::Finding& finding : run.planned.voids)
        record.voids.push_back(inspect::text_of(finding));
    if (!record.voids.empty())
        record.sentence += voided_words(run.planned.voids);
    record.other_channels = run.seen.inspection.other_channels;
    record.advice = run.seen.inspection.advice;
    record.sources = run.seen.inspection.sources;
    record.mount_points = run.seen.mount_points;
    std::erase_if(record.sources, [&run](const BindSource& source) { // ours lies on it
        return (run.planned.plan.cover_resolv_conf && source.destination == "/etc/resolv.conf") ||
               (run.planned.plan.cover_hosts && source.destination == "/etc/hosts");
    });
    record.replaced_netns = run.seen.inspection.replaced_netns;
    record.removed_env = run.planned.edited.removed_env;
    record.removed_caps = run.planned.edited.removed_caps;
    record.removed_hooks = run.planned.edited.removed_hooks;
    record.delegate = session.runtime;
    record.records = records_folder(session);
    record.bundle = run.asked.bundle.path();
    record.config_digest = sha256_hex(run.planned.edited.text);
    record.created = std::time(nullptr);
    AH_TRY(record.boot_id, state::boot_id(), "write the record");
    AH_TRY(record.host_netns, state::namespace_of(0, "net"), "write the record");
    AH_TRY(record.host_pidns, state::namespace_of(0, "pid"), "write the record");
    AH_TRY(const auto creator, state::identify(::getpid()), "write the record");
    record.creator = creator.value_or(ProcessIdentity{});
    return record;
}

} // namespace anchorhold::prepare
