// SPDX-License-Identifier: Apache-2.0
// The posture record of a run: what was asked, what holds, and what was seen to hold
// (schema/record.schema.json). It is written before the first change to the host, and teardown
// reads it.
#pragma once

#include "schema/file_identity.hpp"
#include "schema/plan.hpp"
#include "schema/rules/gate_rules.hpp"
#include "schema/rules/network.hpp"
#include "schema/rules/refused_names.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold {

// A process by pid and start time (proc(5), stat field 22): the kernel uses a pid again, but not
// with its start time.
struct ProcessIdentity {
    std::int64_t pid = 0;    // 0: no process yet
    std::uint64_t start = 0; // clock ticks after boot
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

enum class RunState : std::uint8_t {
    planned,  // written before the first change to the host
    enforced, // the hook has set up the network and checked it
    ended,    // it was enforced and has been torn down
    failed,   // it was never enforced; `code` and `reason` say why
};
std::string_view word_for(RunState state);
std::optional<RunState> run_state_from(std::string_view word);

// The file that the shim saw at a place where config.json binds a path of the host.
struct BindSource {
    std::string where;       // "mounts[3].source"
    std::string destination; // path inside the container, normal; "/": the container's root
    FileIdentity identity;   // 0:0: there was no file
    friend bool operator==(const BindSource&, const BindSource&) = default;
};

// What the runtime makes on the host for mounts of ours, and teardown removes.
struct MountPoints {
    std::string root;      // host path of the directory in which they lie
    FileIdentity identity; // of the root
    std::vector<std::string>
        paths; // below the root; first the files, then the directories around them
    friend bool operator==(const MountPoints&, const MountPoints&) = default;
};

// The gate of a run that is served by one (Technique::gate).
struct RunGate {
    rules::GateRules rules;  // rules.epoch counts how often it was started again
    ProcessIdentity process; // pid 0: not started yet
    std::int64_t lost = 0;   // seconds since the epoch, when it was first seen to be gone; 0: never
    friend bool operator==(const RunGate&, const RunGate&) = default;
};

struct Record {
    static constexpr int current_schema = 1;
    int schema = current_schema;
    std::string key, id, root, generation;
    RunState state = RunState::planned;
    Egress requested = Egress::off;
    std::string profile; // name
    // Only of a container in a pod: KEY.GENERATION of the run that holds the pod's network.
    std::string pod;
    Posture posture = Posture::severed;
    Technique technique = Technique::none;
    std::string relay; // "inside": the relay is process 1; "child": the command is; empty: no relay
    std::string on_broker_lost; // "stop" where the policy says so, else empty
    std::string notice;         // path, inside, of the file that tells the command; empty: none
    std::string sentence;
    Why why = Why::as_asked;
    std::string code;   // word of the error code when the run failed, else empty
    std::string reason; // one line that says why it failed or was tightened
    std::vector<Endpoint> endpoints;
    std::vector<std::string> allow;  // the rules of a filtered run, as they are written
    std::vector<BindSource> sources; // the root first; compared with what was mounted
    std::optional<MountPoints> mount_points;
    // The kernel's answers: "netns", "links", "drop-table", ... (schema/verified.hpp).
    std::vector<std::string> verified;
    std::vector<std::string> voids;
    std::vector<std::string> other_channels;
    std::vector<std::string> advice;
    std::vector<std::string> removed_env; // names, never values
    std::vector<std::string> removed_caps;
    std::vector<std::string> removed_hooks;
    // The network namespace in config.json that we replaced by a new one.
    std::string replaced_netns;
    std::uint64_t drops = 0;
    // The part of `drops` counted by tables that were replaced since.
    std::uint64_t drops_before = 0;
    std::vector<rules::Denied> denied; // oldest first
    bool more_denied = false;          // not all were kept: there may be more
    // Absent where nobody counts them, and as long as the relay of the run has not begun to.
    std::optional<rules::RefusedNames> refused_names;
    // Of a sealed or filtered run, and of one with a gate: what its table inside lets pass.
    std::optional<rules::Network> network;
    std::optional<RunGate> gate;
    std::string delegate; // absolute path of the runtime; the word is the format's
    std::string bundle;
    std::string config_digest; // SHA-256 of the edited config.json
    std::string records;       // directory in which the last record is kept too; empty: none
    std::string boot_id;
    FileIdentity host_netns, host_pidns;
    ProcessIdentity creator, init;
    std::optional<FileIdentity> netns; // the container's network namespace
    std::int64_t created = 0;          // seconds since the epoch
    std::int64_t ended = 0;
    // What was seen of a live run when the record was shown: "as recorded", or what is not so any
    // more; and when that was. Never in a record that is kept.
    std::string seen;
    std::int64_t seen_at = 0;
    // Uid of the user among whose files the record was found; 0: among root's, or nobody asked.
    // Never in a record that is kept.
    std::int64_t owner = 0;
    friend bool operator==(const Record&, const Record&) = default;
};

// Returns "KEY.GENERATION", by which edit marks and the members of a pod name a run.
std::string run_name(const Record& record);
std::string to_json(const Record& record); // pretty-printed, as record.schema.json says
// Reads a record. Refuses a newer schema number. Within a known one missing members keep their
// defaults and unknown members are passed over, so that versions can change while runs are alive.
Result<Record> parse_record(std::string text);

} // namespace anchorhold
