// SPDX-License-Identifier: Apache-2.0
// A run's posture record: what was asked, what holds, what was seen to hold
// (schema/record.schema.json). Written before the first change to the host, read by teardown.
#pragma once

#include "schema/file_identity.hpp"
#include "schema/plan.hpp"
#include "schema/process_identity.hpp"
#include "schema/rules/network.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold {

enum class RunState : std::uint8_t { planned, enforced, ended, failed };
std::string_view word_for(RunState state);
std::optional<RunState> run_state_from(std::string_view word);

struct BindSource {          // what the shim saw where config.json binds a path of the host
    std::string where;       // "mounts[3].source"
    std::string destination; // inside, normal; "/": the container's root
    FileIdentity identity;   // 0:0: there was nothing
    friend bool operator==(const BindSource&, const BindSource&) = default;
};

struct Record {
    static constexpr int current_schema = 1;
    int schema = current_schema;
    std::string key, id, root, generation;
    RunState state = RunState::planned;
    Egress requested = Egress::off;
    std::string profile; // name
    std::string pod; // of a container of a pod: KEY.GENERATION of the run that holds its network
    Posture posture = Posture::severed;
    Technique technique = Technique::none;
    std::string relay; // "inside": it is process 1; "child": the command is; empty: there is none
    std::string on_broker_lost; // "stop" where that is the policy; else empty
    std::string sentence;
    Why why = Why::as_asked;
    std::string code;   // error code word when failed, else empty
    std::string reason; // one line: why it failed or was tightened
    std::vector<Endpoint> endpoints;
    std::vector<std::string> allow;  // of a filtered run: its rules, as they are written
    std::vector<BindSource> sources; // the root first; compared with what was mounted
    std::vector<std::string>
        verified; // what the kernel answered: "netns", "links", "drop-table", ...
    std::vector<std::string> voids;
    std::vector<std::string> other_channels;
    std::vector<std::string> advice;
    std::vector<std::string> removed_env; // names, never values
    std::vector<std::string> removed_caps;
    std::vector<std::string> removed_hooks;
    std::string replaced_netns; // what stood in config.json before we gave it its own
    std::uint64_t drops = 0;
    std::uint64_t drops_before = 0; // of them, those that tables counted which were replaced since
    std::vector<rules::Denied> denied;     // oldest first
    bool more_denied = false;              // there was no room for all: there may be more
    std::optional<rules::Network> network; // of a sealed or filtered run
    std::string delegate;                  // absolute path of the runtime below
    std::string bundle;
    std::string config_digest; // SHA-256 of the edited config.json
    std::string boot_id;
    FileIdentity host_netns, host_pidns;
    ProcessIdentity creator, init;
    std::optional<FileIdentity> netns; // the container's
    std::int64_t created = 0;          // seconds since the epoch
    std::int64_t ended = 0;
    friend bool operator==(const Record&, const Record&) = default;
};

// "KEY.GENERATION": edit marks and the members of a pod name a run so.
std::string run_name(const Record& record);
std::string to_json(const Record& record); // pretty, follows record.schema.json
// A newer schema number is refused. Within a known one, missing members keep their defaults and
// unknown ones are passed over, so that versions may come and go while runs are alive.
Result<Record> parse_record(std::string text);

} // namespace anchorhold
