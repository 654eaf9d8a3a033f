// SPDX-License-Identifier: Apache-2.0
// Runs as they could stand in a state directory, for the tests of state and teardown.
#pragma once

#include "hooks/state/process.hpp"
#include "hooks/state/state_dir.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace anchorhold {

using namespace state;

constexpr const char* a_generation = "0123456789abcdef";

inline StateDir open_state(const Scratch& scratch)
{
    auto state = StateDir::open(scratch / "state");
    REQUIRE(state);
    return *std::move(state);
}

inline RunKey a_key(int which = 0)
{
    const auto key = RunKey::parse("00000000000" + std::to_string(which));
    REQUIRE(key);
    return *key;
}

inline ProcessIdentity ourselves()
{
    const auto found = identify(::getpid());
    REQUIRE(found);
    REQUIRE(*found);
    return **found;
}

// Returns our pid with an earlier start time: a process that is gone.
inline ProcessIdentity somebody_gone()
{
    const ProcessIdentity us = ourselves();
    return {us.pid, us.start - 1};
}

// Returns a record made by us, in this boot and pid namespace, whose init is gone.
inline Record a_record(RunState state, int which = 0)
{
    Record record;
    record.key = a_key(which).text();
    record.id = "c" + std::to_string(which);
    record.root = "/run/runc";
    record.generation = a_generation;
    record.state = state;
    record.profile = "off";
    record.sentence = "Network: off";
    record.delegate = "/usr/sbin/runc";
    record.bundle = "/nonexistent";
    record.config_digest = std::string(64, '0');
    record.creator = ourselves();
    record.init = somebody_gone();
    const auto boot = boot_id();
    const auto pids = namespace_of(0, "pid");
    REQUIRE(boot);
    REQUIRE(pids);
    record.boot_id = *boot;
    record.host_pidns = *pids;
    record.host_netns = {4, 4026531840};
    if (state == RunState::failed) {
        record.code = "network_setup_failed";
        record.reason = "the hook's reason";
    }
    return record;
}

// Returns the name under which an ended run of that number is kept.
inline std::string ended_name(int which)
{
    const std::string digits = std::to_string(which);
    return std::string(12 - digits.size(), '0') + digits + "." + a_generation + ".json";
}

// Makes a file that was written so many seconds ago.
inline void write_older(const std::string& path, int seconds)
{
    std::ofstream(path) << "x";
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::array<timespec, 2> times = {timespec{now.tv_sec - seconds, 0},
                                           timespec{now.tv_sec - seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

inline std::vector<std::string> names_in(const std::string& path)
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path))
        names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

} // namespace anchorhold
