// SPDX-License-Identifier: Apache-2.0
// What is going to be done for a run, as data: the edits of its config.json and the work of the
// hooks. Pure; shim/edit/config_edit.cpp turns it into splices, hooks/up.cpp into kernel state.
#pragma once

#include "schema/decide.hpp"
#include "schema/file_identity.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace anchorhold {

struct MountEdit { // one entry appended to `mounts`
    std::string destination;
    std::string source;
    std::vector<std::string> options;
    friend bool operator==(const MountEdit&, const MountEdit&) = default;
};

struct EndpointPlace { // a unix: endpoint after its socket was found on the host
    Endpoint endpoint;
    std::string directory; // resolved host directory, bound read-only into the container
    std::string socket;    // the socket's file name in it
    FileIdentity identity; // of the directory
    friend bool operator==(const EndpointPlace&, const EndpointPlace&) = default;
};

struct RunPaths {      // where this run's parts are, on the host unless said otherwise
    std::string hook;  // absolute path of anchorhold-hook
    std::string relay; // absolute path of anchorhold-relay
    std::vector<std::string> relay_mount_options; // for its bind: flags its filesystem has
    std::string state_dir;                        // "/run/anchorhold"
    std::string inside;                           // state_dir/runs/KEY/inside
    std::string place; // directory inside the container, e.g. "/dev/anchorhold"
    std::string key;
    std::string generation;
    FileIdentity host_netns;
    std::uint64_t host_cookie = 0; // SO_NETNS_COOKIE of the same, for a container without /proc
};

enum class NetworkNamespace : std::uint8_t { own, keep, pods }; // keep: open, and in place

struct SeccompPlan { // DESIGN 8a
    bool wanted = false;
    bool deny_vsock = true;
    friend bool operator==(const SeccompPlan&, const SeccompPlan&) = default;
};

struct Plan {
    NetworkNamespace network = NetworkNamespace::own;
    bool drop_setkey_hook = false; // Docker's libnetwork-setkey prestart hook
    bool strip_net_caps = false;   // CAP_NET_ADMIN, CAP_NET_RAW out of all five sets
    bool strip_proxies = false;
    std::vector<std::pair<std::string, std::string>> env; // set, replacing equal names
    std::vector<std::string> command_prefix;              // relay's argv up to and with "--"
    std::string relay;                                    // "inside", "child"; empty: none
    std::string on_broker_lost;                           // "stop" where it is; else empty
    std::vector<MountEdit> mounts;
    bool exempt_relay = false; // filtered: proxies stay, the relay's addresses go into NO_PROXY
    bool cover_hosts = false;  // the same of /etc/hosts: names pinned when the run was created
    std::string hosts;         // host path of ours
    bool cover_resolv_conf = false; // where the engine mounts /etc/resolv.conf, ours goes on top
    std::string resolv_conf;        // host path of ours
    std::int64_t extra_pids = 0;
    std::int64_t least_cpu_shares = 0; // 0: as they are
    bool free_low_ports = false; // sysctl net.ipv4.ip_unprivileged_port_start=53 when none is set
    SeccompPlan seccomp;
    bool hooks = false; // createRuntime and poststop of ours
    std::string hook_path, state_dir, key, generation;
    std::string mark; // "KEY.GENERATION"
    friend bool operator==(const Plan&, const Plan&) = default;
};

// `places` are those of the request's unix: endpoints, each of them. Its relay is no longer
// `automatic` (schema/first_process.hpp).
Plan make_plan(const Request& request, const Decision& decision,
               const std::vector<EndpointPlace>& places, const RunPaths& paths);

} // namespace anchorhold
