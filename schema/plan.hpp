// SPDX-License-Identifier: Apache-2.0
// The plan of a run, as data: the edits of its config.json and the work of the hooks. Pure.
// shim/edit/config_edit.cpp turns it into splices, hooks/up.cpp into kernel state.
#pragma once

#include "schema/decide.hpp"
#include "schema/file_identity.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace anchorhold {

// One entry that is appended to `mounts`.
struct MountEdit {
    std::string destination;
    std::string source;
    std::vector<std::string> options;
    friend bool operator==(const MountEdit&, const MountEdit&) = default;
};

// A unix: endpoint after its socket was found on the host.
struct EndpointPlace {
    Endpoint endpoint;
    std::string directory; // host directory, resolved; bound read-only into the container
    std::string socket;    // the socket's file name in it
    FileIdentity identity; // of the directory
    friend bool operator==(const EndpointPlace&, const EndpointPlace&) = default;
};

// The places of the parts of a run. Paths are on the host unless a member says otherwise.
struct RunPaths {
    std::string hook;  // absolute path of anchorhold-hook
    std::string relay; // absolute path of anchorhold-relay
    std::string gate;  // absolute path of anchorhold-gate
    // For the relay's bind mount: the flags that its filesystem has.
    std::vector<std::string> relay_mount_options;
    std::string state_dir; // "/run/anchorhold"
    std::string inside;    // state_dir/runs/KEY/inside
    std::string place;     // a directory inside the container, e.g. "/dev/anchorhold"
    std::string key;
    std::string generation;
    FileIdentity host_netns;
    int names_descriptor = 0; // for the file in which refused names are counted; 0: there is none
    std::uint64_t host_cookie = 0; // SO_NETNS_COOKIE of host_netns, for a container without /proc
};

// The duty of our first process before the command goes.
enum class FirstProcessDuty : std::uint8_t {
    none,  // there is none
    look,  // it looks from inside and then becomes the command
    serve, // it looks, and stays to carry endpoints or to answer name queries
};
// Every confined run has a first process. Where the pod's sandbox serves, a container only looks.
FirstProcessDuty duty_of(const Request& request, const Decision& decision);

enum class NetworkNamespace : std::uint8_t {
    own,  // a new one
    keep, // the one that config.json names; open, and filtered in place
    pods, // the one that the pod's sandbox holds
};

// The seccomp rules for system calls that lead out past an empty network namespace: vsock,
// io_uring, and sockets taken from other processes (pidfd_getfd).
struct SeccompPlan {
    bool wanted = false;
    bool deny_vsock = true;
    friend bool operator==(const SeccompPlan&, const SeccompPlan&) = default;
};

// Adds the variable that holds the path of the notice, ANCHORHOLD_README. A profile's own stays.
void add_notice(std::vector<std::pair<std::string, std::string>>& env, const std::string& path);

struct Plan {
    NetworkNamespace network = NetworkNamespace::own;
    bool has_gate = false;         // names are answered by the gate, not by the relay
    bool drop_setkey_hook = false; // remove Docker's libnetwork-setkey prestart hook
    bool strip_net_caps = false;   // remove CAP_NET_ADMIN and CAP_NET_RAW from all five sets
    bool strip_proxies = false;
    // Variables to set; they replace those of equal names.
    std::vector<std::pair<std::string, std::string>> env;
    std::vector<std::string> command_prefix; // the relay's argv, up to and with "--"
    std::string relay;                       // "inside" or "child"; empty: no relay
    std::string on_broker_lost;              // "stop" where the policy says so, else empty
    std::vector<MountEdit> mounts;
    // Set in a filtered run: its proxies stay, and NO_PROXY gets the relay's addresses.
    bool exempt_relay = false;
    bool cover_hosts = false; // of a filtered run: mount our /etc/hosts with the pinned names
    std::string hosts;        // host path of our file
    // Mount our resolv.conf over the one that the engine mounts at /etc/resolv.conf.
    bool cover_resolv_conf = false;
    std::string resolv_conf; // host path of our file
    // The path, inside, of the file that tells the command what it can reach; empty: there is none.
    std::string notice;
    // The number that the first process gets runs/KEY/names at; 0: names are not counted.
    int names_descriptor = 0;
    std::int64_t extra_pids = 0;
    std::int64_t least_cpu_shares = 0; // lower shares are raised to this; 0: they stay
    // Set sysctl net.ipv4.ip_unprivileged_port_start=53, when config.json sets none.
    bool free_low_ports = false;
    bool close_devices = false; // begin linux.resources.devices with a rule that closes all
    SeccompPlan seccomp;
    bool hooks = false; // add our createRuntime and poststop hooks
    std::string hook_path, state_dir, key, generation;
    std::string mark; // "KEY.GENERATION"
    friend bool operator==(const Plan&, const Plan&) = default;
};

// Returns the plan. `places` has every unix: endpoint of the request. The request's relay is no
// longer `automatic` (schema/first_process.hpp).
Plan make_plan(const Request& request, const Decision& decision,
               const std::vector<EndpointPlace>& places, const RunPaths& paths);

} // namespace anchorhold
