// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/choose.hpp"

#include <algorithm>

namespace anchorhold::engine {
namespace {

// Returns the profiles that get a runtime: those asked for, else all that the policy has. Its pods
// would be refused without "cri", and "open" confines nothing.
Result<std::vector<std::string>> chosen_profiles(const Policy& policy, Engine engine,
                                                 const std::vector<std::string>& asked)
{
    std::vector<std::string> chosen;
    for (const std::string& name : asked) {
        if (policy.find(name) == nullptr) {
            return fail(Code::invalid_request, "no profile " + in_quotes(name) +
                                                   "; the policy has " + policy.known_profiles());
        }
        if (std::ranges::find(chosen, name) == chosen.end())
            chosen.push_back(name);
    }
    if (!asked.empty())
        return chosen;
    for (const auto& [name, profile] : policy.profiles) {
        if (name != "off" && name != "open" && (profile.cri || !makes_pods(engine)))
            chosen.push_back(name);
    }
    return chosen;
}

} // namespace

Status choose_runtimes(const Policy& policy, const std::vector<std::string>& asked,
                       Telling& telling)
{
    AH_TRY(telling.profiles, chosen_profiles(policy, telling.engine, asked));
    const Profile* const fallback = policy.find(policy.fallback);
    telling.plain = !makes_pods(telling.engine) || (fallback != nullptr && fallback->cri);
    if (telling.plain || !telling.profiles.empty())
        return {};
    return fail(Code::invalid_request, "no profile of the policy says \"cri\": true, without which "
                                       "pods are refused; add it to one");
}

std::string notes_on(const Policy& policy, const Telling& telling)
{
    std::string text;
    for (const std::string& name : telling.profiles) {
        if (makes_pods(telling.engine) && !policy.find(name)->cri) {
            text +=
                "note: profile " + name + " does not say \"cri\": true, so its pods are refused\n";
        }
    }
    return text;
}

} // namespace anchorhold::engine
