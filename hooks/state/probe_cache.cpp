// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/probe_cache.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/json/json.hpp"

#include <algorithm>
#include <optional>

namespace anchorhold::state {
namespace {

constexpr std::int64_t no_stands = 60;      // seconds for which a "no" is not asked again
constexpr std::size_t largest_file = 65536; // bytes
constexpr std::chrono::seconds patience_for_probes(15); // two probes of at most 5 s, and a reserve

Result<ProbeAnswer> read_answer(json::View view)
{
    ProbeAnswer answer;
    for (const json::View member : view.items()) {
        const std::string key = member.key();
        if (key == "name") {
            AH_TRY(answer.name, member.string());
        } else if (key == "yes") {
            AH_TRY(answer.yes, member.boolean());
        } else if (key == "step") {
            AH_TRY(answer.step, member.string());
        } else if (key == "errno") {
            AH_TRY(const std::int64_t number, member.integer());
            answer.number = static_cast<int>(number);
        } else if (key == "remedy") {
            AH_TRY(answer.remedy, member.string());
        }
    }
    answer.unknown = !answer.yes && is_circumstance(answer.number);
    return answer;
}

Result<std::string> text_at(json::View object, std::string_view key)
{
    const auto found = object.find(key);
    return found ? found->string() : Result<std::string>(std::string());
}

// Returns the stored answers for this key. A file that cannot be read counts as no file.
std::optional<ProbeAnswers> standing(const std::string& path, const ProbeKey& key)
{
    auto read = files::read_file(path, largest_file);
    auto text = read ? *std::move(read) : std::nullopt;
    if (!text)
        return std::nullopt;
    auto answers = parse_probe_answers(*std::move(text));
    if (!answers || answers->key != key)
        return std::nullopt;
    return *std::move(answers);
}

bool is_fresh(const ProbeAnswers& answers, std::int64_t now)
{
    const bool all_yes = std::ranges::all_of(answers.answers, &ProbeAnswer::yes);
    return all_yes || (now >= answers.asked && now - answers.asked < no_stands);
}

std::vector<ProbeAnswer> from_cache(ProbeAnswers answers)
{
    for (ProbeAnswer& answer : answers.answers)
        answer.from_cache = true;
    return std::move(answers.answers);
}

} // namespace

std::string to_json(const ProbeAnswers& answers)
{
    json::Writer writer(json::Layout::pretty);
    writer.begin_object();
    writer.member("boot", answers.key.boot);
    writer.member("relay", answers.key.relay);
    writer.member("hook", answers.key.hook).member("own", answers.key.own);
    writer.key("asked").integer(answers.asked);
    writer.key("answers").begin_array();
    for (const ProbeAnswer& answer : answers.answers) {
        writer.begin_object();
        writer.member("name", answer.name);
        writer.key("yes").boolean(answer.yes);
        writer.member("step", answer.step);
        writer.key("errno").integer(answer.number);
        writer.member("remedy", answer.remedy);
        writer.end_object();
    }
    writer.end_array().end_object();
    return writer.take();
}

Result<ProbeAnswers> parse_probe_answers(std::string text)
{
    AH_TRY(const auto document, json::Document::parse(std::move(text), Code::network_setup_failed),
           "probes.json");
    const json::View root = document.root();
    ProbeAnswers answers;
    AH_TRY(answers.key.boot, text_at(root, "boot"), "probes.json");
    AH_TRY(answers.key.relay, text_at(root, "relay"), "probes.json");
    AH_TRY(answers.key.hook, text_at(root, "hook"), "probes.json");
    AH_TRY(answers.key.own, text_at(root, "own"), "probes.json");
    const auto asked = root.find("asked");
    const auto list = root.find("answers");
    if (!asked || !list)
        return fail(Code::network_setup_failed, "probes.json: a member is missing");
    AH_TRY(answers.asked, asked->integer(), "probes.json");
    AH_TRY(const auto items, list->array(), "probes.json");
    for (const json::View item : items) {
        AH_TRY(auto answer, read_answer(item), "probes.json");
        answers.answers.push_back(std::move(answer));
    }
    return answers;
}

Result<std::vector<ProbeAnswer>> answer(const StateDir& state, const ProbeQuestion& question,
                                        Freshness freshness)
{
    const std::string path = state.path() + "/probes.json";
    const std::string lock_path = state.path() + "/locks/probes";
    auto known = standing(path, question.key);
    if (freshness == Freshness::cached && known && is_fresh(*known, question.now))
        return from_cache(*std::move(known));
    AH_TRY(auto lock, files::FileLock::try_take(lock_path), "probe");
    if (!lock && freshness == Freshness::cached && known)
        return from_cache(*std::move(known));
    if (!lock) {
        AH_TRY(auto waited_for, files::FileLock::take(lock_path, patience_for_probes),
               "wait for another's probe");
        lock.emplace(std::move(waited_for));
        known = standing(path, question.key); // the answers of the process that held the lock
        if (freshness == Freshness::cached && known && is_fresh(*known, question.now))
            return from_cache(*std::move(known));
    }
    ProbeAnswers found{question.key, question.now, question.ask()};
    if (std::ranges::none_of(found.answers, &ProbeAnswer::unknown))
        (void)files::replace_file(path, to_json(found),
                                  0600); // if this fails, the next run probes again
    return std::move(found.answers);
}

} // namespace anchorhold::state
