// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/exec_process.hpp"

#include "schema/proxy_env.hpp"
#include "shim/config/oci_keys.hpp"
#include "shim/config/splice.hpp"
#include "shim/edit/capabilities.hpp"
#include "shim/edit/config_edit.hpp"
#include "shim/edit/env.hpp"
#include "shim/inspect/capabilities.hpp"
#include "shim/inspect/inspection.hpp"

#include <algorithm>
#include <charconv>

namespace anchorhold::edit {
namespace {

// The text before a process, so that it is parsed as a part of config.json: error places and rules
// are the same.
constexpr std::string_view opening = R"({"process":)";

Result<json::Document> parse_process(std::string_view text)
{
    AH_TRY(auto document, json::Document::parse(std::string(opening) + std::string(text) + "}",
                                                Code::invalid_request));
    if (document.root().size() != 1)
        return fail(Code::invalid_request, "process: text behind the object");
    AH_CHECK(config::check_oci_keys(document.root(), config::OciKeys::all));
    return document;
}

std::string unwrapped(const std::string& text)
{
    return text.substr(opening.size(), text.size() - opening.size() - 1);
}

// Returns the process of a config.json, whole or made by parse_process. A missing one is an error.
Result<json::View> process_of(const json::Document& document)
{
    AH_TRY(const auto process, config::container(document.root(), "process", json::Kind::object));
    if (!process)
        return fail(document.code(), "process: expected an object");
    return *process;
}

// Sets a member of an object, which may exist or not.
void set(config::Edits& edits, json::View object, std::string_view key, std::string json)
{
    if (const auto member = object.find(key)) {
        edits.replace(*member, std::move(json));
    } else {
        edits.add(object, config::Side::back, json::quote(key) + ":" + json);
    }
}

// Adds to an array, which is made when there is none.
Status append(config::Edits& edits, json::View object, std::string_view key,
              const std::vector<std::string>& jsons)
{
    const auto list = config::container(object, key, json::Kind::array);
    if (!list)
        return std::unexpected(list.error());
    std::string text;
    for (const std::string& json : jsons)
        text += (text.empty() ? "" : ",") + json;
    if (!text.empty())
        edits.add_to_member(object, key, json::Kind::array, config::Side::back, text);
    return {};
}

// Returns a uid or gid as the text of a JSON number.
Result<std::string> id_number(std::string_view text)
{
    std::uint32_t number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc() || end != text.data() + text.size())
        return fail(Code::invalid_request, in_quotes(text) + " is not a user or group number");
    return std::to_string(number);
}

std::vector<std::string> values_of(const words::Invocation& call, std::string_view name)
{
    std::vector<std::string> values;
    for (const words::OptionAt& option : call.options) {
        if (option.name == name)
            values.push_back(option.value);
    }
    return values;
}

std::vector<std::string> quoted_values(const words::Invocation& call, std::string_view name)
{
    std::vector<std::string> values = values_of(call, name);
    for (std::string& value : values)
        value = json::quote(value);
    return values;
}

// Carries out --user UID[:GID] and --additional-gids.
Status set_user(config::Edits& edits, json::View process, const words::Invocation& call)
{
    const words::OptionAt* const option = call.last("user");
    std::vector<std::string> gids = values_of(call, "additional-gids");
    if (option == nullptr && gids.empty())
        return {};
    AH_TRY(const auto user, config::container(process, "user", json::Kind::object));
    if (!user)
        return fail(Code::invalid_request, "process.user: expected an object");
    if (option != nullptr && !option->value.empty()) {
        const std::string_view value = option->value;
        const std::size_t colon = value.find(':');
        AH_TRY(std::string uid, id_number(value.substr(0, colon)), "--user");
        set(edits, *user, "uid", std::move(uid));
        if (colon != std::string_view::npos) {
            AH_TRY(std::string gid, id_number(value.substr(colon + 1)), "--user");
            set(edits, *user, "gid", std::move(gid));
        }
    }
    for (std::string& gid : gids) {
        AH_TRY(gid, id_number(gid), "--additional-gids");
    }
    return append(edits, *user, "additionalGids", gids);
}

// Carries out --cap as runc does: runc raises the ambient set only where the process has an
// inheritable set.
Status add_capabilities(config::Edits& edits, json::View process, const words::Invocation& call)
{
    const std::vector<std::string> names = quoted_values(call, "cap");
    if (names.empty())
        return {};
    AH_TRY(const auto sets, config::container(process, "capabilities", json::Kind::object));
    if (!sets) {
        const std::string list = config::quoted_list(values_of(call, "cap"));
        set(edits, process, "capabilities",
            R"({"bounding":)" + list + R"(,"effective":)" + list + R"(,"permitted":)" + list + "}");
        return {};
    }
    AH_TRY(const auto inheritable, config::container(*sets, "inheritable", json::Kind::array));
    for (const std::string_view name : {"bounding", "effective", "permitted"})
        AH_CHECK(append(edits, *sets, name, names));
    return inheritable ? append(edits, *sets, "ambient", names) : Status();
}

// Carries out the command and the flags that set one member.
Status set_words(config::Edits& edits, json::View process, const words::Invocation& call)
{
    set(edits, process, "args",
        config::quoted_list({call.operands.begin() + 1, call.operands.end()}));
    set(edits, process, "terminal", call.last("tty") != nullptr ? "true" : "false");
    if (call.last("no-new-privs") != nullptr)
        set(edits, process, "noNewPrivileges", "true");
    constexpr std::pair<std::string_view, std::string_view> texts[] = {
        {"cwd", "cwd"}, {"apparmor", "apparmorProfile"}, {"process-label", "selinuxLabel"}};
    for (const auto& [flag, key] : texts) {
        if (const words::OptionAt* const option = call.last(flag); option && !option->value.empty())
            set(edits, process, key, json::quote(option->value));
    }
    return append(edits, process, "env", quoted_values(call, "env"));
}

} // namespace

Result<std::string> edit_process(std::string_view text, const Plan& plan)
{
    AH_TRY(const json::Document document, parse_process(text));
    AH_TRY(const json::View process, process_of(document));
    AH_TRY(auto env, edit_env(process, plan));
    AH_TRY(auto caps, edit_capabilities(process));
    std::ranges::move(caps.splices, std::back_inserter(env.splices));
    return unwrapped(json::splice(document.text(), env.splices));
}

Result<std::string> voiding_capabilities_in(std::string_view text)
{
    AH_TRY(const json::Document document, parse_process(text));
    AH_TRY(const json::View process, process_of(document));
    return inspect::voiding_capabilities_of(process);
}

Result<inspect::CommandUser> user_of_process(std::string_view text)
{
    AH_TRY(const json::Document document, parse_process(text));
    return inspect::command_user(document.root());
}

Result<std::string> process_from_flags(std::string config, const words::Invocation& call)
{
    if (call.operands.size() < 2)
        return fail(Code::invalid_request, "exec needs a command or --process");
    AH_TRY(const auto whole, json::Document::parse(std::move(config)), "config.json");
    AH_CHECK(config::check_oci_keys(whole.root(), config::OciKeys::all), "config.json");
    AH_TRY(const json::View found, process_of(whole), "config.json");
    AH_TRY(const json::Document document, parse_process(found.raw()));
    AH_TRY(const json::View process, process_of(document));
    config::Edits edits;
    AH_CHECK(set_words(edits, process, call));
    AH_CHECK(set_user(edits, process, call));
    AH_CHECK(add_capabilities(edits, process, call));
    return unwrapped(json::splice(document.text(), std::move(edits).splices()));
}

std::string process_from_crun_flags(const words::Invocation& call)
{
    const words::OptionAt* const user = call.last("user");
    const auto uid = user
                         ? id_number(std::string_view(user->value).substr(0, user->value.find(':')))
                         : Result<std::string>("65534");
    return R"({"capabilities":{"bounding":)" + config::quoted_list(values_of(call, "cap")) +
           R"(},"user":{"uid":)" + uid.value_or("0") + R"(},"noNewPrivileges":)" +
           (call.last("no-new-privs") != nullptr ? "true" : "false") + "}";
}

Result<std::vector<std::string>> edit_flags(const std::vector<std::string>& rest,
                                            const words::Invocation& call, const Plan& plan)
{
    AH_TRY(const auto document,
           json::Document::parse(process_from_crun_flags(call), Code::invalid_request), "--cap");
    AH_TRY(const CapsEdit caps, edit_capabilities(document.root()), "--cap");
    const Variables variables = variables_for(values_of(call, "env"), plan);
    std::vector<words::OptionAt> drop;
    bool env_left = false;
    for (const words::OptionAt& option : call.options) {
        const std::string_view name = env_name(option.value);
        const bool env = option.name == "env" &&
                         ((plan.strip_proxies && is_proxy_name(name)) || sets(variables, name));
        const bool cap = option.name == "cap" &&
                         std::ranges::find(caps.removed, option.value) != caps.removed.end();
        env_left = env_left || (option.name == "env" && !env);
        if (env || cap)
            drop.push_back(option);
    }
    std::vector<std::string> words = words::without(rest, drop);
    const auto behind_verb = words.begin() + static_cast<std::ptrdiff_t>(call.verb_index) + 1;
    if (!env_left)
        return words;
    std::vector<std::string> set;
    set.reserve(variables.size());
    for (const auto& [name, value] : variables)
        set.push_back(std::string("--env=").append(name).append("=").append(value));
    words.insert(behind_verb, set.begin(), set.end());
    return words;
}

} // namespace anchorhold::edit
