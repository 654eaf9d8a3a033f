// SPDX-License-Identifier: Apache-2.0
// The throw-away containers of `verify`.
//
// Removal. Everything is found again by names drawn at random. So it is also found when the call
// that made it did not come back in time.
//
// Signals. A signal does not end a call that makes something: the engine would go on making it
// without us.
#include "shim/tools/verify_trial.hpp"

#include "hooks/files/mountinfo.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/state_dir.hpp"
#include "schema/json/json.hpp"
#include "shim/tools/image_trials.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

// Runs pods. A pod's sandbox needs no image but the engine's own.
class PodTrials final : public Trials {
public:
    PodTrials(engine::Engine engine, std::string program, std::string mark,
              const runtime::DeferredSignals& held)
        : program_(std::move(program)), mark_(std::move(mark)), held_(held)
    {
        // crictl(1) tries all sockets that it knows, with warnings, unless somebody chose one.
        const bool chosen =
            std::getenv("CONTAINER_RUNTIME_ENDPOINT") != nullptr || // NOLINT(concurrency-mt-unsafe)
            ::access("/etc/crictl.yaml", F_OK) == 0;
        options_ = {"--timeout", "60s"};
        if (!chosen) {
            options_.insert(options_.end(),
                            {"--runtime-endpoint", engine == engine::Engine::crio
                                                       ? "unix:///var/run/crio/crio.sock"
                                                       : "unix:///run/containerd/containerd.sock"});
        }
    }

    // Refuses a crictl(1) that speaks to another engine: handlers have the same names in both. When
    // there is no answer here, a trial gets none either and says why.
    Status check_engine(engine::Engine engine) const
    {
        constexpr std::string_view label = "RuntimeName:";
        const auto answer = crictl({"version"});
        const std::string said = answer && answer->good() ? answer->out : "";
        const std::size_t at = said.find(label);
        const std::size_t begin =
            at == std::string::npos ? at : said.find_first_not_of(' ', at + label.size());
        if (begin == std::string::npos)
            return {};
        const std::string name = first_word(said.substr(begin));
        if (engine::engine_from(name) == engine)
            return {};
        return fail(Code::delegate_failed, "crictl speaks to " + printable(name) +
                                               "; have CONTAINER_RUNTIME_ENDPOINT "
                                               "name the socket of " +
                                               std::string(word_for(engine)));
    }

    engine::Trial run(const TrialAsk& ask, const std::string& state_path) override
    {
        engine::Trial trial;
        trial.asked_off = true;
        const auto config = runtime::file_in_memory(pod());
        if (!config) {
            trial.output = config.error().what;
            return trial;
        }
        std::vector<std::string> words{"runp"};
        if (!ask.runtime.empty())
            words.insert(words.end(), {"--runtime", ask.runtime});
        words.push_back(runtime::path_of(*config));
        const auto ran = crictl(words);
        trial.ran = ran && ran->good();
        if (trial.ran) {
            trial.id = first_word(ran->out);
            trial.record = record_of(state_path, trial.id);
        } else {
            trial.output = complaint(ran);
        }
        (void)clear(); // asked for again in the end
        return trial;
    }

    void put_away(engine::EngineSetup& setup) override
    {
        const std::string left = clear();
        if (!left.empty()) {
            setup.faults.push_back({engine::FaultKind::left_over,
                                    {},
                                    "left behind: pod " + printable(left),
                                    "remove it: crictl rmp --force " + printable(left)});
        }
    }

private:
    std::string name() const { return "anchorhold-verify-" + mark_; }
    std::string pod() const
    {
        json::Writer writer;
        writer.begin_object().key("metadata").begin_object().member("name", name());
        writer.member("uid", mark_).member("namespace", "anchorhold-verify").end_object();
        writer.key("annotations").begin_object().member(off_annotation, "off").end_object();
        writer.key("linux").begin_object().end_object().end_object();
        return writer.take();
    }

    Result<runtime::Answer> crictl(const std::vector<std::string>& words) const
    {
        std::vector<std::string> all = options_;
        all.insert(all.end(), words.begin(), words.end());
        return runtime::ask(held_, runtime::OnSignal::go_on, program_, all, -1,
                            for_a_run + std::chrono::seconds(5));
    }
    // Returns the pod's id, found by name; so a pod is found that a call made which did not come
    // back.
    Result<std::string> listed() const
    {
        AH_TRY(const runtime::Answer answer, crictl({"pods", "--quiet", "--name", name()}));
        if (!answer.good())
            return fail(Code::delegate_failed, one_line(answer.err));
        return first_word(answer.out);
    }
    // Removes the pod. Returns what is left, for a person.
    std::string clear() const
    {
        const auto id = listed();
        if (!id)
            return name() + ", perhaps: " + id.error().what;
        if (id->empty())
            return {};
        (void)crictl({"stopp", *id}); // the list shows what this did not do
        (void)crictl({"rmp", *id});
        const auto left = listed();
        return left ? *left : *id;
    }

    std::string program_, mark_;
    const runtime::DeferredSignals& held_;
    std::vector<std::string> options_;
};

} // namespace

std::optional<Record> record_of(const std::string& state_path,
                                const std::function<bool(const Record&)>& is_it)
{
    auto existing = state::StateDir::existing(state_path);
    const std::optional<state::StateDir> state = existing ? *std::move(existing) : std::nullopt;
    if (!state)
        return std::nullopt;
    const auto keys = state->runs();
    for (const RunKey& key : keys ? *keys : std::vector<RunKey>()) {
        auto read = state->read(key);
        auto record = read ? *std::move(read) : std::nullopt;
        if (record && is_it(*record))
            return record;
    }
    const auto ended = state->ended(); // behind the live runs: a run ends by moving here
    for (const Record& record : ended ? *ended : std::vector<Record>()) {
        if (is_it(record))
            return record;
    }
    return std::nullopt;
}

std::optional<Record> record_of(const std::string& state_path, const std::string& id)
{
    return record_of(state_path, [&id](const Record& record) { return record.id == id; });
}

bool remove_folder_of_trial(const std::string& folder)
{
    const auto table = files::read_file("/proc/self/mountinfo", files::most_mountinfo);
    if (!table || !*table)
        return false;
    const auto mounts = files::read_mountinfo(**table);
    if (std::ranges::any_of(mounts, [&folder](const files::HostMount& mount) {
            return mount.place == folder || mount.place.starts_with(folder + "/");
        }))
        return false;
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    return !error;
}

std::string complaint(const Result<runtime::Answer>& answer)
{
    if (!answer)
        return answer.error().what;
    return (answer->late ? "Error: no answer in time\n" : "") + answer->err + answer->out;
}

std::string first_word(std::string_view text)
{
    return std::string(text.substr(0, text.find_first_of(" \n")));
}

Result<std::unique_ptr<Trials>> trials_of(engine::Engine engine, const std::string& relay,
                                          const runtime::DeferredSignals& held)
{
    AH_TRY(std::string mark, state::random_generation());
    if (engine == engine::Engine::containerd || engine == engine::Engine::crio) {
        AH_TRY(std::string crictl, runtime::find_on_path("crictl"), "no throw-away pod was run");
        auto trials = std::make_unique<PodTrials>(engine, std::move(crictl), std::move(mark), held);
        AH_CHECK(trials->check_engine(engine), "no throw-away pod was run");
        return trials;
    }
    AH_TRY(std::string program, runtime::find_on_path(word_for(engine)),
           "no throw-away container was run");
    AH_TRY(auto trials, image_trials(engine, program, mark, relay, held),
           "no throw-away container was run");
    return trials;
}

} // namespace anchorhold::tools
