// SPDX-License-Identifier: Apache-2.0
// Tears runs down, and looks at what is left of them, for the tests of teardown.
#pragma once

#include "hooks/state/teardown.hpp"
#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

namespace anchorhold::teardown_test {

using namespace state;

constexpr std::array every_state = {RunState::planned, RunState::enforced, RunState::ended,
                                    RunState::failed};

inline void put(const StateDir& state, const Record& record)
{
    const auto key = RunKey::parse(record.key);
    REQUIRE(key);
    REQUIRE(state.make_run(*key));
    std::ofstream(state.inside_path(*key) + "/enforced") << record.generation << "\n";
    REQUIRE(state.write(record));
}

inline TeardownOutcome torn(const StateDir& state, std::string_view generation = {}, int which = 0)
{
    const auto result = teardown(state, a_key(which), generation);
    REQUIRE_MESSAGE(result, (result ? "" : result.error().what));
    return *result;
}

inline SweepResult swept(const StateDir& state, Sweep mode, std::size_t limit = 0)
{
    const auto result = gc(state, mode, limit);
    REQUIRE(result);
    return *result;
}

// Returns everything below the state directory: names, and the content of files.
inline std::vector<std::string> whole(const StateDir& state)
{
    std::vector<std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(state.path())) {
        std::string line = entry.path();
        if (entry.is_regular_file()) {
            std::ifstream file(entry.path());
            line += " " + std::string(std::istreambuf_iterator<char>(file), {});
        }
        lines.push_back(line);
    }
    std::ranges::sort(lines);
    return lines;
}

inline void check_nothing_left(const StateDir& state)
{
    CHECK(names_in(state.path() + "/runs").empty());
    CHECK(names_in(state.path() + "/locks").empty());
}

inline Record last_record(const StateDir& state)
{
    const auto ended = state.ended();
    REQUIRE(ended);
    REQUIRE(ended->size() == 1);
    return ended->front();
}

} // namespace anchorhold::teardown_test
