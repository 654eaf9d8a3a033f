// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/seccomp_read.hpp"

#include <charconv>

namespace anchorhold::edit {
namespace {

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

} // namespace

std::optional<bool> Condition::holds(std::uint64_t argument) const
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

std::optional<ActionDoes> action_does(std::string_view word)
{
    for (const Action& action : actions) {
        if (action.word == word)
            return action.verdict;
    }
    return std::nullopt;
}

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

} // namespace anchorhold::edit
