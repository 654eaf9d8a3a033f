// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/first_record.hpp"

#include "hooks/state/process.hpp"
#include "schema/sha256.hpp"

#include <ctime>
#include <unistd.h>

namespace anchorhold::prepare {

Result<Record> first_record(const Session& session, const Prepared& prepared, const ContainerId& id)
{
    Record record;
    record.key = RunKey::of(session.root, id).text();
    record.id = id.text();
    record.root = session.root;
    record.generation = prepared.plan.generation;
    record.requested = prepared.request.asked;
    record.profile = prepared.request.profile.name;
    if (prepared.pod.holder)
        record.pod = run_name(*prepared.pod.holder);
    record.posture = prepared.decision.posture;
    record.technique = prepared.decision.technique;
    record.relay = prepared.plan.relay;
    record.on_broker_lost = prepared.plan.on_broker_lost;
    record.why = prepared.decision.why;
    record.reason = prepared.decision.detail;
    record.endpoints = prepared.request.endpoints;
    for (const rules::AllowRule& rule : prepared.request.allow)
        record.allow.push_back(text_of(rule));
    if (!prepared.joins_pod()) // else it is the pod's to take away
        record.network = prepared.network;
    record.sentence = sentence_for(prepared.request, prepared.decision);
    for (const inspect::Finding& finding : prepared.inspection.voids)
        record.voids.push_back(finding.where + ": " + finding.what);
    record.other_channels = prepared.inspection.other_channels;
    record.advice = prepared.inspection.advice;
    record.sources = prepared.inspection.sources;
    std::erase_if(record.sources, [&prepared](const BindSource& source) { // ours lies on it
        return (prepared.plan.cover_resolv_conf && source.destination == "/etc/resolv.conf") ||
               (prepared.plan.cover_hosts && source.destination == "/etc/hosts");
    });
    record.replaced_netns = prepared.inspection.replaced_netns;
    record.removed_env = prepared.edited.removed_env;
    record.removed_caps = prepared.edited.removed_caps;
    record.removed_hooks = prepared.edited.removed_hooks;
    record.delegate = session.runtime;
    record.bundle = prepared.bundle.path();
    record.config_digest = sha256_hex(prepared.edited.text);
    record.created = std::time(nullptr);
    AH_TRY(record.boot_id, state::boot_id(), "write the record");
    AH_TRY(record.host_netns, state::namespace_of(0, "net"), "write the record");
    AH_TRY(record.host_pidns, state::namespace_of(0, "pid"), "write the record");
    AH_TRY(const auto creator, state::identify(::getpid()), "write the record");
    record.creator = creator.value_or(ProcessIdentity{});
    return record;
}

} // namespace anchorhold::prepare
