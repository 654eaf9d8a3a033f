// SPDX-License-Identifier: Apache-2.0
// Theory of operation.
//
// An empty network namespace cuts off IP. It does not cut off everything:
// - vsock and other address families know no namespaces;
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
//   `socket` is taken out of every rule that permits, whatever the default is. It comes back family
//   by family, with the rule's other conditions (`grants`).
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
// network namespace, and the grants of socket(2).
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
const std::string_view native_machine = ""; // the native convention alone; others are killed
#endif

namespace {

// ---- Reading the profile

// A condition on one argument of a system call.
struct Condition {
    // The argument's number (from 0), and what it is compared with.
    std::uint64_t index = 0, value = 0, value_two = 0;
    std::string op;
    std::string raw; // its JSON text

    // Says whether it holds for this argument; nothing for an operator that we do not know.
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

// The effect of an action on the call.
enum class ActionDoes : std::uint8_t {
    denies,
    permits, // also when somebody else decides
};

struct Action {
    std::string_view word;
    ActionDoes verdict;
};
// The actions that we know. TRACE and NOTIFY ask somebody who may permit the call.
constexpr Action actions[] = {
    {"SCMP_ACT_ALLOW", ActionDoes::permits},       {"SCMP_ACT_LOG", ActionDoes::permits},
    {"SCMP_ACT_TRACE", ActionDoes::permits},       {"SCMP_ACT_NOTIFY", ActionDoes::permits},
    {"SCMP_ACT_ERRNO", ActionDoes::denies},        {"SCMP_ACT_KILL", ActionDoes::denies},
    {"SCMP_ACT_KILL_THREAD", ActionDoes::denies},  {"SCMP_ACT_TRAP", ActionDoes::denies},
    {"SCMP_ACT_KILL_PROCESS", ActionDoes::denies},
};

// Returns nothing for an action that we do not know.
std::optional<ActionDoes> action_does(std::string_view word)
{
    for (const Action& action : actions) {
        if (action.word == word)
            return action.verdict;
    }
    return std::nullopt;
}

// Returns a member; nothing when it is missing or null, which both runtimes take for missing.
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

// Reads an argument of a system call: 64 bits, unsigned; 0 when it is missing.
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

// ---- Writing it anew

// A rule that permits socket(family, ...) where the other conditions hold.
struct Grant {
    std::uint32_t family = 0;
    std::string others; // the rule's other conditions as they stood, each behind a comma
    std::string action; // the rule's action and errnoRet as they stood
};

// A profile on its way to the new text.
struct Rewrite {
    Families kept;                  // the families that socket(2) may make
    std::vector<std::string> rules; // JSON texts of the engine's rules
    std::vector<Grant> grants;
    std::string obstacle; // why it cannot be rewritten; empty: it can
};

std::string text_of_grant(const Grant& grant)
{
    return R"({"names":["socket"],)" + grant.action + R"(,"args":[{"index":0,"value":)" +
           std::to_string(grant.family) + R"(,"op":"SCMP_CMP_EQ"})" + grant.others + "]}";
}

// Returns the grants as rules, without those that would have no effect: the first of two rules with
// the same conditions wins, and one without other conditions wins over all of its family.
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

// Returns the conditions that are left of a rule for one family; nothing when it does not hold for
// that family.
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

// Adds the grants that a rule on `socket` becomes.
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

// Takes one rule of the engine over. A rule that denies stays as it is. From one that permits, the
// calls that go round a network namespace are taken out.
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

// Returns the denials that stand first. A profile that denies by default needs one only, of
// socketcall, with an errno unlike its default's, because else libseccomp would skip it.
Result<std::vector<std::string>> denials_for(json::View profile, std::string_view default_action,
                                             const Families& kept)
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
