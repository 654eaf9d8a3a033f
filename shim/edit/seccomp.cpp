// SPDX-License-Identifier: Apache-2.0
// Theory of operation.
//
// An empty network namespace severs IP. It does not sever vsock and the other families that know
// no namespaces, it does not bind io_uring (which opens sockets past a filter on socket(2)),
// pidfd_getfd(2) takes a socket out of the broker, and request_key(2) has the host resolve names.
// The container's filter has to do that, and it is the engine's: so it is rewritten, to let through
// what it let through before and we do too, and never more.
//
// Runtimes hand the rules to libseccomp one by one, and there a rule is not what it looks like.
// Measured with runc 1.1.5 and crun 1.8.1 on libseccomp 2.5.4:
//
// - A rule without conditions wins over every rule with some, wherever it stands. So a denial by
//   family next to an engine's "socket: allow" is silently lost.
// - Of two rules with conditions on different arguments, the one on the higher argument is asked
//   first. "Log socket(2) with protocol 0" lets vsock through past any denial by family.
//   Hence: `socket` leaves every rule that permits, whatever the default, and comes back family by
//   family with the rule's other conditions (`grants`).
// - EQ and NE compare 64 bits while the kernel takes 32 of them: socket(0x100000028, ...) is vsock.
//   A grant may use EQ, a denial must mask (MASKED_EQ 0xffffffff).
// - Two conditions on one argument make two rules, of which either suffices.
// - A rule on `socket` is on i386 (s390, ppc too) also one on socketcall(SYS_SOCKET), without the
//   family, which is behind a pointer. Granting one family there grants all, and two such rules of
//   different action make create fail (EEXIST). A denial of `socketcall` without conditions that
//   stands first swallows them; programs that use socketcall lose sockets.
// - A rule whose action equals the default's, errno included, is skipped and swallows nothing.
// - Architectures that a profile does not list are killed, so its list may stay what it is.
#include "shim/edit/seccomp.hpp"

#include "shim/edit/seccomp_rules.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>

namespace anchorhold::edit {

#if defined(__x86_64__)
const std::string_view native_machine = "x86_64";
#elif defined(__aarch64__)
const std::string_view native_machine = "aarch64";
#else
const std::string_view native_machine = ""; // its native convention alone; others are killed
#endif

namespace {

// ---- the profile as it stands

struct Condition {
    std::uint64_t index = 0, value = 0, value_two = 0;
    std::string op;
    std::string raw;

    // Does it hold for this argument? Nothing: an operator that we do not know.
    std::optional<bool> holds(std::uint64_t argument) const
    {
        if (op == "SCMP_CMP_EQ")
            return argument == value;
        if (op == "SCMP_CMP_NE")
            return argument != value;
        if (op == "SCMP_CMP_LT")
            return argument < value;
        if (op == "SCMP_CMP_LE")
            return argument <= value;
        if (op == "SCMP_CMP_GE")
            return argument >= value;
        if (op == "SCMP_CMP_GT")
            return argument > value;
        if (op == "SCMP_CMP_MASKED_EQ")
            return (argument & value) == (value_two & value);
        return std::nullopt;
    }
};
using Conditions = std::vector<Condition>; // all of them must hold

enum class ActionDoes : std::uint8_t { denies, permits };

struct Action {
    std::string_view word;
    ActionDoes verdict;
};
// TRACE and NOTIFY ask somebody who may permit.
constexpr Action actions[] = {
    {"SCMP_ACT_ALLOW", ActionDoes::permits},       {"SCMP_ACT_LOG", ActionDoes::permits},
    {"SCMP_ACT_TRACE", ActionDoes::permits},       {"SCMP_ACT_NOTIFY", ActionDoes::permits},
    {"SCMP_ACT_ERRNO", ActionDoes::denies},        {"SCMP_ACT_KILL", ActionDoes::denies},
    {"SCMP_ACT_KILL_THREAD", ActionDoes::denies},  {"SCMP_ACT_TRAP", ActionDoes::denies},
    {"SCMP_ACT_KILL_PROCESS", ActionDoes::denies},
};

std::optional<ActionDoes> action_does(std::string_view word)
{
    for (const Action& action : actions) {
        if (action.word == word)
            return action.verdict;
    }
    return std::nullopt;
}

// A member that is missing, and to both runtimes one that is null.
std::optional<json::View> present(json::View object, std::string_view key)
{
    auto member = object.find(key);
    return member && !member->is_null() ? member : std::nullopt;
}

Result<std::string> optional_string(json::View object, std::string_view key)
{
    const auto member = present(object, key);
    return member ? member->string() : std::string();
}

Result<std::vector<json::View>> optional_array(json::View object, std::string_view key)
{
    const auto member = present(object, key);
    return member ? member->array() : std::vector<json::View>();
}

// An argument of a system call: 64 bits, unsigned.
Result<std::uint64_t> optional_word(json::View object, std::string_view key)
{
    const auto member = present(object, key);
    if (!member)
        return 0;
    const std::string_view raw = member->raw();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
    if (error != std::errc() || end != raw.data() + raw.size())
        return std::unexpected(member->expected("an unsigned 64-bit integer"));
    return number;
}

Result<Condition> read_condition(json::View argument)
{
    AH_CHECK(argument.object(), "read argument");
    Condition condition;
    AH_TRY(condition.index, optional_word(argument, "index"), "read argument");
    AH_TRY(condition.value, optional_word(argument, "value"), "read argument");
    AH_TRY(condition.value_two, optional_word(argument, "valueTwo"), "read argument");
    AH_TRY(condition.op, optional_string(argument, "op"), "read argument");
    condition.raw = argument.raw();
    return condition;
}

// ---- what it becomes

struct Grant { // socket(family, ...) where the other conditions hold
    std::uint32_t family = 0;
    std::string others; // of the rule's arguments, as they stood, each behind a comma
    std::string action; // the rule's action and errnoRet, as they stood
};

struct Rewrite {
    Families kept;
    std::vector<std::string> rules;
    std::vector<Grant> grants;
    std::string obstacle;
};

std::string text_of_grant(const Grant& grant)
{
    return R"({"names":["socket"],)" + grant.action + R"(,"args":[{"index":0,"value":)" +
           std::to_string(grant.family) + R"(,"op":"SCMP_CMP_EQ"})" + grant.others + "]}";
}

// The first of two rules with the same conditions wins, and one without conditions over all.
std::vector<std::string> merged(const std::vector<Grant>& grants)
{
    std::vector<std::string> rules;
    for (auto grant = grants.begin(); grant != grants.end(); ++grant) {
        const auto same = [&](const Grant& other) {
            return other.family == grant->family && other.others == grant->others;
        };
        const auto wider = [&](const Grant& other) {
            return other.family == grant->family && other.others.empty();
        };
        if (std::any_of(grants.begin(), grant, same) ||
            (!grant->others.empty() && std::ranges::any_of(grants, wider)))
            continue;
        rules.push_back(text_of_grant(*grant));
    }
    return rules;
}

// The runtimes' reading: conditions are AND-ed, unless an argument appears twice.
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

// What is left of the conditions for one family; nothing when they refuse it.
std::optional<std::string> others_for(std::uint32_t family, const Conditions& conditions)
{
    std::string others;
    for (const Condition& condition : conditions) {
        const bool about_family = condition.index == 0;
        if (about_family && !condition.holds(family).value_or(false))
            return std::nullopt;
        if (!about_family)
            others += "," + condition.raw;
    }
    return others;
}

Status add_grants(json::View rule, std::string_view action_word, Rewrite& rewrite)
{
    AH_TRY(const auto arguments, optional_array(rule, "args"), "read rule");
    Conditions conditions;
    for (const json::View argument : arguments) {
        AH_TRY(Condition condition, read_condition(argument), "read rule");
        if (!condition.holds(0))
            rewrite.obstacle = argument.wrong("unknown operator " + in_quotes(condition.op)).what;
        conditions.push_back(std::move(condition));
    }
    std::string action = R"("action":)" + json::quote(action_word);
    if (const auto number = present(rule, "errnoRet"))
        action += R"(,"errnoRet":)" + std::string(number->raw());
    for (const Conditions& alternative : alternatives(conditions)) {
        for (const std::uint32_t family : rewrite.kept) {
            if (auto others = others_for(family, alternative))
                rewrite.grants.push_back({family, *std::move(others), action});
        }
    }
    return {};
}

Status take_rule(json::View rule, Rewrite& rewrite)
{
    AH_CHECK(rule.object(), "read rule");
    AH_TRY(const auto names, optional_array(rule, "names"), "read rule");
    std::string others;
    bool ours = false;
    bool sockets = false;
    for (const json::View name : names) {
        AH_TRY(const std::string call, name.string(), "read rule");
        ours = ours || goes_round(call);
        sockets = sockets || call == "socket";
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
    if (sockets)
        AH_CHECK(add_grants(rule, action, rewrite), "narrow socket");
    const auto list = rule.find("names");
    if (others.empty() || !list)
        return {};
    json::Span span = list->span();
    span = {span.begin - rule.span().begin, span.end - rule.span().begin};
    rewrite.rules.push_back(json::splice(rule.raw(), {{span, "[" + others + "]"}}));
    return {};
}

// The denials that stand first; those of a profile that denies by default are its own but one.
Result<std::vector<std::string>> denials_for(json::View profile, std::string_view default_action,
                                             const Families& kept)
{
    if (action_does(default_action) == ActionDoes::permits)
        return all_denials(kept);
    AH_TRY(const std::uint64_t number, optional_word(profile, "defaultErrnoRet"), "edit seccomp");
    const bool unlike = present(profile, "defaultErrnoRet") && number != EPERM;
    return std::vector<std::string>{denial({"socketcall"}, unlike ? EPERM : ENOSYS)};
}

// Sets a member of an object that has at least one.
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
    for (std::string& rule : rewrite.rules) { // an earlier edit's denials stand there already
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
    // To runc that is no profile, and crun refuses it.
    if (action.empty() && rules.empty())
        return SeccompEdit{{set_member(*linux_part, "seccomp", whole_profile(plan))}, ""};
    return edit_profile(*profile, action, plan);
}

} // namespace anchorhold::edit
