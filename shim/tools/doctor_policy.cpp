// SPDX-License-Identifier: Apache-2.0
#include "shim/tools/doctor_policy.hpp"

#include "schema/decide.hpp"
#include "schema/path_words.hpp"
#include "schema/request.hpp"
#include "shim/inspect/endpoint_check.hpp"
#include "shim/prepare/wildcards.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>

namespace anchorhold::tools {
namespace {

constexpr std::size_t engines_id = 64; // letters of a container's id in every engine

HostCaps caps_for(const Request& request, const std::vector<state::ProbeAnswer>& answers)
{
    HostCaps caps = state::caps_of(answers);
    const auto obstacle =
        state::obstacle_to_forwarding(state::ip_forward, request.switches.forwarding);
    if (caps.can_filter && obstacle) {
        caps.can_filter = false;
        caps.no_filter = *obstacle;
    }
    return caps;
}

// Refuses what is refused in a network of the run's own and in one that an engine made.
Status check_decision(const Request& request, const std::vector<state::ProbeAnswer>& answers)
{
    auto alone = decide(request, caps_for(request, answers));
    if (alone || decide(request, state::caps_of(answers), GivenNetns::engines))
        return {};
    return std::unexpected(std::move(alone).error());
}

// Says whether a socket is only not there now, or not served.
bool may_come(const std::string& path)
{
    struct stat file = {};
    return ::lstat(path.c_str(), &file) == 0 ? S_ISSOCK(file.st_mode) : errno == ENOENT;
}

Status reach(const Endpoint& endpoint, const Request& request)
{
    if (!std::holds_alternative<UnixTarget>(endpoint.to))
        return inspect::check_listener(endpoint, request.switches.tcp);
    AH_TRY(const inspect::SocketServer server,
           inspect::find_endpoint(endpoint, std::nullopt, {}, request.endpoints));
    (void)server; // that it is there is all
    return {};
}

// Judges one endpoint. `written` is as in the policy, `filled` has the container's id filled in.
void judge_endpoint(const Endpoint& written, const Endpoint& filled, const Request& request,
                    ProfileState& state)
{
    const auto* const socket = std::get_if<UnixTarget>(&filled.to);
    const Status found = reach(filled, request);
    if (found)
        return;
    const bool waits = found.error().what.ends_with("; start the broker first") &&
                       (socket == nullptr || may_come(socket->path));
    if (waits && has_path_words(target_text(written.to)))
        return; // each run has a socket of its own, which nobody asks for now
    state.fit = state.fit && waits;
    if (state.says.empty() || !state.fit)
        state.says = found.error().what;
}

Result<Request> resolve_alone(const Policy& policy, const std::string& name)
{
    AH_TRY(const ContainerId id, ContainerId::parse(std::string(engines_id, '0')));
    return resolve(policy, {}, {.name = name, .by = ChosenBy::option}, {id, {}});
}

ProfileState look_at_profile(const Policy& policy, const Profile& profile, const std::string& name,
                             const std::vector<state::ProbeAnswer>& answers)
{
    ProfileState state{.name = name, .fit = true, .says = {}};
    auto request = resolve_alone(policy, name);
    if (request && profile.cri)
        request->role = PodRole::sandbox; // what serves no pods serves no run of this profile
    auto decided =
        request ? check_decision(*request, answers) : Status(std::unexpected(request.error()));
    if (decided)
        decided = prepare::check_wildcards(request->allow);
    if (!decided)
        return {.name = name, .fit = false, .says = decided.error().what};
    for (std::size_t i = 0; i < request->endpoints.size() && state.fit; ++i)
        judge_endpoint(profile.endpoints[i], request->endpoints[i], *request, state);
    return state;
}

} // namespace

std::vector<ProfileState> look_at_profiles(const Policy& policy,
                                           const std::vector<state::ProbeAnswer>& answers)
{
    std::vector<ProfileState> states;
    for (const auto& [name, profile] : policy.profiles)
        states.push_back(look_at_profile(policy, profile, name, answers));
    return states;
}

bool are_fit(const std::vector<ProfileState>& profiles)
{
    return std::ranges::all_of(profiles, &ProfileState::fit);
}

void write_profiles(json::Writer& writer, const std::vector<ProfileState>& profiles)
{
    writer.begin_array();
    for (const ProfileState& one : profiles) {
        writer.begin_object().member("name", one.name).key("fit").boolean(one.fit);
        writer.member("says", one.says).end_object();
    }
    writer.end_array();
}

void add_profile_rows(std::vector<std::vector<std::string>>& rows,
                      const std::vector<ProfileState>& profiles)
{
    for (const ProfileState& one : profiles) {
        if (!one.says.empty())
            rows.push_back({"profile " + one.name, one.fit ? "yes" : "NO", one.says});
    }
}

} // namespace anchorhold::tools
