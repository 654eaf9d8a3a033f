// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/pod.hpp"

#include "schema/file_identity.hpp"
#include "shim/config/view.hpp"
#include "shim/inspect/inspection.hpp"
#include "shim/inspect/namespaces.hpp"

#include <array>
#include <sys/stat.h>

namespace anchorhold::prepare {
namespace {

// containerd, pkg/cri/annotations; CRI-O, pkg/annotations, whose words podman uses for its pods.
constexpr std::array<std::string_view, 2> role_keys{"io.kubernetes.cri.container-type",
                                                    "io.kubernetes.cri-o.ContainerType"};

Result<PodRole> pod_role(json::View config)
{
    const auto annotations = config::member(config, "annotations");
    PodRole role = PodRole::none;
    for (const std::string_view key : role_keys) {
        const auto at = config::member(annotations, key);
        if (!at)
            continue;
        if (role != PodRole::none) {
            return fail(Code::invalid_request,
                        "annotations " + std::string(role_keys[0]) + " and " +
                            std::string(role_keys[1]) +
                            " are of two engines, so one is forged; remove it from the pod");
        }
        AH_TRY(const std::string word, at->string());
        if (word != "sandbox" && word != "container")
            return std::unexpected(at->expected("sandbox or container"));
        role = word == "sandbox" ? PodRole::sandbox : PodRole::container;
    }
    return role;
}

// Finds the run that holds a network namespace, and the runs that joined it and live there too.
Status find_holder(const Session& session, const FileIdentity& netns, PodPlace& place)
{
    AH_TRY(const auto state, state::StateDir::existing(session.state_path),
           "open the state directory");
    if (!state)
        return {};
    AH_TRY(const auto living, state->living_in(netns));
    for (const Record& record : living) {
        place.inits.push_back(record.init.pid);
        if (record.technique != Technique::pod)
            place.holder = record;
    }
    return {};
}

Status find_netns(const Session& session, json::View config, PodPlace& place)
{
    AH_TRY(const std::string path, inspect::given_netns_path(config), "config.json");
    struct stat there = {};
    if (path.empty() || ::stat(path.c_str(), &there) != 0)
        return {};
    return find_holder(session, {there.st_dev, there.st_ino}, place);
}

} // namespace

bool makes_pods(const Policy& policy, const ProfileChoice& choice)
{
    const bool annotated = choice.by == ChosenBy::annotation;
    const Profile* const profile = policy.find(annotated ? policy.fallback : choice.name);
    return profile != nullptr && profile->cri;
}

Status stay_out_of_cells(const Session& session, json::View config)
{
    PodPlace there;
    AH_CHECK(find_netns(session, config, there));
    if (!there.holder || there.holder->posture == Posture::open)
        return {};
    return fail(Code::posture_unavailable,
                "egress open in the network namespace of run " + there.holder->key +
                    ", which is confined; ask for what that has, or leave its namespace");
}

Result<PodPlace> find_pod(const Session& session, json::View config)
{
    PodPlace place;
    AH_TRY(place.role, pod_role(config), "config.json");
    AH_TRY(const std::string path, inspect::given_netns_path(config), "config.json");
    place.names_netns = !path.empty();
    if (place.role == PodRole::sandbox)
        return place; // its network is nobody's yet
    AH_CHECK(find_netns(session, config, place));
    return place;
}

} // namespace anchorhold::prepare
