// SPDX-License-Identifier: Apache-2.0
// Theory of operation.
//
// An empty network namespace cuts off IP. It does not cut off everything:
// - vsock and other address families know no namespaces;
// - netlink's audit protocol writes into the host's log, and others speak to the host too;
// - io_uring opens sockets past a filter on socket(2);
// - pidfd_getfd(2) takes a socket out of the broker;
// - request_key(2) has the host resolve names.
//
// The container's seccomp filter has to do that. The filter belongs to the engine, so the profile
// is rewritten: it lets through what it let through before and we permit too, and never more.
//
// Runtimes hand the rules to libseccomp one by one. There a rule is not what it looks like.
// Measured with runc 1.1.5 and crun 1.8.1 on libseccomp 2.5.4:
//
// - A rule without conditions wins over every rule with conditions, wherever it stands. So a denial
//   by family beside an engine's "socket: allow" is silently lost.
// - Two rules may have conditions on different arguments. Then the one on the higher argument is
//   asked first. "Log socket(2) with protocol 0" lets vsock through past any denial by family. So
//   `socket` and `socketpair` are taken out of every rule that permits, whatever the default is.
//   They come back family by family, netlink protocol by protocol, with the rule's other conditions
//   (`grants`).
// - EQ and NE compare 64 bits while the kernel takes 32 of them: socket(0x100000028, ...) is vsock.
//   So a grant may use EQ, but a denial must mask (MASKED_EQ 0xffffffff).
// - Two conditions on one argument make two rules, and either of them suffices.
// - A rule on `socket` is on i386 (also s390 and ppc) a rule on socketcall(SYS_SOCKET) too. That
//   one has no family, which stands behind a pointer. So granting one family there grants all, and
//   two such rules with different actions make create fail (EEXIST). A denial of `socketcall`
//   without conditions that stands first swallows them. Programs that use socketcall then have no
//   sockets.
// - A rule whose action equals the default's, errno included, is skipped and swallows nothing.
// - Architectures that a profile does not list are killed, so its list may stay as it is.
//
// The order of the new rules: our denials, the engine's rules without the calls that go round a
// network namespace, and the grants of sockets.
#include "shim/edit/seccomp.hpp"

#include "shim/edit/seccomp_read.hpp"
#include "shim/edit/seccomp_rules.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sys/socket.h>

namespace anchorhold::edit {

#if defined(__x86_64__)
const std::string_view native_machine = "x86_64";
#elif defined(__aarch64__)
const std::string_view native_machine = "aarch64";
#else
const std::string_view native_machine = ""; // the native convention alone; others are killed
#endif

namespace {

// A rule that permits socket(family, ...), or socketpair, where the other conditions hold.
struct Grant {
    std::string call;
    std::uint32_t family = 0;
    std::string others; // the rule's other conditions as they stood, each behind a comma
    std::string action; // the rule's action and errnoRet as they stood
};

// A profile on its way to the new text.
struct Rewrite {
    Values kept;                    // the families that may be made
    std::vector<std::string> rules; // JSON texts of the engine's rules
    std::vector<Grant> grants;
    std::string obstacle; // why it cannot be rewritten; empty: it can
};

std::string equal(int argument, std::uint32_t value)
{
    return R"({"index":)" + std::to_string(argument) + R"(,"value":)" + std::to_string(value) +
           R"(,"op":"SCMP_CMP_EQ"})";
}

std::string text_of_grant(const Grant& grant)
{
    return R"({"names":[)" + json::quote(grant.call) + "]," + grant.action + R"(,"args":[)" +
           equal(0, grant.family) + grant.others + "]}";
}

bool is_about(const Grant& one, const Grant& other)
{
    return one.call == other.call && one.family == other.family;
}

// Returns the grants as rules, without those that would have no effect: the first of two rules with
// the same conditions wins, and one without other conditions wins over all of its family.
std::vector<std::string> merged(const std::vector<Grant>& grants)
{
    std::vector<std::string> rules;
    for (auto grant = grants.begin(); grant != grants.end(); ++grant) {
        const auto same = [&](const Grant& other) {
            return is_about(other, *grant) && other.others == grant->others;
        };
        const auto wider = [&](const Grant& other) {
            return is_about(other, *grant) && other.others.empty();
        };
        if (std::any_of(grants.begin(), grant, same) ||
            (!grant->others.empty() && std::ranges::any_of(grants, wider)))
            continue;
        rules.push_back(text_of_grant(*grant));
    }
    return rules;
}

// Returns the rules that the runtimes make of one: its conditions are ANDed, unless an argument
// appears twice. Then each condition makes a rule of its own.
std::vector<Conditions> alternatives(const Conditions& conditions)
{
    std::vector<std::uint64_t> arguments;
    std::vector<Conditions> alone;
    for (const Condition& condition : conditions) {
        arguments.push_back(condition.index);
        alone.push_back({condition});
    }
    std::ranges::sort(arguments);
    if (std::ranges::adjacent_find(arguments) == arguments.end())
        return {conditions};
    return alone;
}

// Returns whether all conditions on one argument hold for this value of it.
bool all_hold(const Conditions& conditions, std::uint64_t argument, std::uint32_t value)
{
    return std::ranges::all_of(conditions, [&](const Condition& condition) {
        return condition.index != argument || condition.holds(value).value_or(false);
    });
}

// Returns the conditions that are not on one of these arguments, each behind a comma.
std::string without_arguments(const Conditions& conditions, std::uint64_t one, std::uint64_t two)
{
    std::string others;
    for (const Condition& condition : conditions) {
        if (condition.index != one && condition.index != two)
            others += "," + condition.raw;
    }
    return others;
}

// Returns the conditions that are left of a rule for one family, once for each grant that it
// becomes. Netlink comes back protocol by protocol, as sockets come back family by family.
std::vector<std::string> others_for(std::string_view call, std::uint32_t family,
                                    const Conditions& conditions)
{
    if (!all_hold(conditions, 0, family))
        return {};
    if (call != "socket" || family != AF_NETLINK)
        return {without_arguments(conditions, 0, 0)};
    std::vector<std::string> others;
    for (const std::uint32_t protocol : kept_protocols) {
        if (all_hold(conditions, 2, protocol))
            others.push_back("," + equal(2, protocol) + without_arguments(conditions, 0, 2));
    }
    return others;
}

Result<Conditions> read_conditions(json::View rule, Rewrite& rewrite)
{
    AH_TRY(const auto arguments, optional_array(rule, "args"), "read rule");
    Conditions conditions;
    for (const json::View argument : arguments) {
        AH_TRY(Condition condition, read_condition(argument), "read rule");
        if (!condition.holds(0))
            rewrite.obstacle = argument.wrong("unknown operator " + in_quotes(condition.op)).what;
        conditions.push_back(std::move(condition));
    }
    return conditions;
}

// Adds the grants that a rule on `call`, one that makes sockets, becomes.
Status add_grants(json::View rule, std::string_view action_word, const std::string& call,
                  Rewrite& rewrite)
{
    AH_TRY(const Conditions conditions, read_conditions(rule, rewrite));
    std::string action = R"("action":)" + json::quote(action_word);
    if (const auto number = present(rule, "errnoRet"))
        action += R"(,"errnoRet":)" + std::string(number->raw());
    for (const Conditions& alternative : alternatives(conditions)) {
        for (const std::uint32_t family : rewrite.kept) {
            for (std::string& others : others_for(call, family, alternative))
                rewrite.grants.push_back({call, family, std::move(others), action});
        }
    }
    return {};
}

// Takes one rule of the engine over. A rule that denies stays as it is. From one that permits, the
// calls that go round a network namespace are taken out.
Status take_rule(json::View rule, Rewrite& rewrite)
{
    AH_CHECK(rule.object(), "read rule");
    AH_TRY(const auto names, optional_array(rule, "names"), "read rule");
    std::string others;
    bool ours = false;
    std::vector<std::string> sockets;
    for (const json::View name : names) {
        AH_TRY(const std::string call, name.string(), "read rule");
        ours = ours || goes_round(call);
        if (std::ranges::find(socket_calls, call) != socket_calls.end())
            sockets.push_back(call);
        if (!goes_round(call))
            others += (others.empty() ? "" : ",") + std::string(name.raw());
    }
    AH_TRY(const std::string action, optional_string(rule, "action"), "read rule");
    const auto verdict = action_does(action);
    if (ours && !verdict)
        rewrite.obstacle = rule.wrong("unknown action " + in_quotes(action)).what;
    if (!ours || verdict != ActionDoes::permits) {
        rewrite.rules.emplace_back(rule.raw());
        return {};
    }
    for (const std::string& call : sockets)
        AH_CHECK(add_grants(rule, action, call, rewrite), "narrow " + call);
    const auto list = rule.find("names");
    if (others.empty() || !list)
        return {};
    json::Span span = list->span();
    span = {span.begin - rule.span().begin, span.end - rule.span().begin};
    rewrite.rules.push_back(json::splice(rule.raw(), {{span, "[" + others + "]"}}));
    return {};
}

// Returns the denials that stand first. A profile that denies by default needs one only, of
// socketcall, with an errno unlike its default's, because else libseccomp would skip it.
Result<std::vector<std::string>> denials_for(json::View profile, std::string_view default_action,
                                             const Values& kept)
{
    if (action_does(default_action) == ActionDoes::permits)
        return all_denials(kept);
    AH_TRY(const std::uint64_t number, optional_word(profile, "defaultErrnoRet"), "edit seccomp");
    const bool unlike = present(profile, "defaultErrnoRet") && number != EPERM;
    return std::vector<std::string>{denial({"socketcall"}, unlike ? EPERM : ENOSYS)};
}

// Sets a member of an object that has at least one member.
json::Splice set_member(json::View object, std::string_view key, std::string value)
{
    if (const auto member = object.find(key))
        return {member->span(), std::move(value)};
    const std::size_t inside = object.span().begin + 1;
    return {{inside, inside}, json::quote(key) + ":" + std::move(value) + ","};
}

Result<SeccompEdit> edit_profile(json::View profile, std::string_view default_action,
                                 const SeccompPlan& plan)
{
    Rewrite rewrite;
    if (!action_does(default_action)) {
        rewrite.obstacle =
            profile.wrong("unknown default action " + in_quotes(default_action)).what;
    }
    rewrite.kept = kept_families(plan);
    AH_TRY(auto denials, denials_for(profile, default_action, rewrite.kept), "deny calls");
    AH_TRY(const auto rules, optional_array(profile, "syscalls"), "edit seccomp");
    for (const json::View rule : rules)
        AH_CHECK(take_rule(rule, rewrite), "edit seccomp");
    if (!rewrite.obstacle.empty())
        return SeccompEdit{{}, rewrite.obstacle};
    const std::vector<std::string> first = denials;
    // The denials of an earlier edit stand there already.
    for (std::string& rule : rewrite.rules) {
        if (std::ranges::find(first, rule) == first.end())
            denials.push_back(std::move(rule));
    }
    std::ranges::copy(merged(rewrite.grants), std::back_inserter(denials));
    json::Splice edit = set_member(profile, "syscalls", array_of(denials));
    const auto before = profile.find("syscalls");
    return before && before->raw() == edit.text ? SeccompEdit() : SeccompEdit{{edit}, ""};
}

} // namespace

std::vector<std::string> architectures_of(std::string_view machine)
{
    if (machine == "x86_64")
        return {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"};
    if (machine == "aarch64")
        return {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"};
    return {};
}

std::string whole_profile(const SeccompPlan& plan, std::string_view machine)
{
    std::vector<std::string> architectures;
    for (const std::string& word : architectures_of(machine))
        architectures.push_back(json::quote(word));
    return R"({"defaultAction":"SCMP_ACT_ALLOW","architectures":)" + array_of(architectures) +
           R"(,"syscalls":)" + array_of(all_denials(kept_families(plan))) + "}";
}

Result<SeccompEdit> edit_seccomp(json::View config, const SeccompPlan& plan)
{
    const auto linux_part = present(config, "linux");
    if (!plan.wanted || !linux_part || linux_part->size() == 0)
        return SeccompEdit();
    const auto profile = present(*linux_part, "seccomp");
    if (!profile)
        return SeccompEdit{{set_member(*linux_part, "seccomp", whole_profile(plan))}, ""};
    AH_CHECK(profile->object(), "edit seccomp");
    AH_TRY(const std::string action, optional_string(*profile, "defaultAction"), "edit seccomp");
    AH_TRY(const auto rules, optional_array(*profile, "syscalls"), "edit seccomp");
    // A profile with neither action nor rules is none to runc, and crun refuses it.
    if (action.empty() && rules.empty())
        return SeccompEdit{{set_member(*linux_part, "seccomp", whole_profile(plan))}, ""};
    return edit_profile(*profile, action, plan);
}

} // namespace anchorhold::edit
