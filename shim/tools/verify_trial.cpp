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
#include "schema/engine/grpc.hpp"
#include "shim/runtime/cri_call.hpp"
#include "shim/tools/image_trials.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace anchorhold::tools {
namespace {

// Returns the socket of an engine's CRI: the one that crictl(1) would be told, or the engine's own.
std::string cri_socket(engine::Engine engine)
{
    constexpr std::string_view scheme = "unix://";
    const char* const chosen =
        std::getenv("CONTAINER_RUNTIME_ENDPOINT"); // NOLINT(concurrency-mt-unsafe)
    if (chosen != nullptr && *chosen != '\0') {
        std::string socket = chosen;
        return socket.starts_with(scheme) ? socket.substr(scheme.size()) : socket;
    }
    return engine == engine::Engine::crio ? "/run/crio/crio.sock"
                                          : "/run/containerd/containerd.sock";
}

// Runs pods. A pod's sandbox needs no image but the engine's own. Numbers are those of the fields
// in CRI's api.proto, v1.
class PodTrials final : public Trials {
public:
    PodTrials(std::string socket, std::string mark)
        : socket_(std::move(socket)), mark_(std::move(mark))
    {
    }

    // Refuses a socket of another engine: handlers have the same names in both.
    Status check_engine(engine::Engine engine) const
    {
        AH_TRY(const std::string answer, call("Version", {}));
        const std::string name = first_field(answer, 2);
        if (engine::engine_from(name) == engine)
            return {};
        return fail(Code::delegate_failed,
                    socket_ + " is of " + printable(name) +
                        "; have CONTAINER_RUNTIME_ENDPOINT name the socket of " +
                        std::string(word_for(engine)));
    }

    engine::Trial run(const TrialAsk& ask, const std::string& state_path) override
    {
        engine::Trial trial;
        trial.asked_off = true;
        const auto ran =
            call("RunPodSandbox", engine::field(1, pod()) + engine::field(2, ask.runtime));
        trial.ran = ran.has_value();
        if (ran) {
            trial.id = first_field(*ran, 1);
            trial.record = record_of(state_path, trial.id);
        } else {
            trial.output = ran.error().what;
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
    static std::string first_field(std::string_view message, std::uint32_t number)
    {
        const auto found = engine::fields(message, number);
        return found.empty() ? "" : found.front();
    }
    static std::string entry(std::string_view key, std::string_view value)
    {
        return engine::field(1, key) + engine::field(2, value);
    }
    std::string name() const { return "anchorhold-verify-" + mark_; }
    std::string label() const { return entry("dev.anchorhold.verify", mark_); }
    std::string pod() const
    {
        constexpr std::uint32_t metadata = 1, labels = 6, annotations = 7, linux = 8;
        return engine::field(metadata, engine::field(1, name()) + engine::field(2, mark_) +
                                           engine::field(3, "anchorhold-verify")) +
               engine::field(labels, label()) +
               engine::field(annotations, entry(off_annotation, "off")) + engine::field(linux, {});
    }

    // A signal does not end a call; the deadline does.
    Result<std::string> call(std::string_view method, std::string_view message) const
    {
        return runtime::call_cri(socket_, method, message, for_a_run);
    }
    // Returns the pod's id, found by its label; so a pod is found that a call made which did not
    // come back.
    Result<std::string> listed() const
    {
        constexpr std::uint32_t filter = 1, label_selector = 3;
        AH_TRY(
            const std::string answer,
            call("ListPodSandbox", engine::field(filter, engine::field(label_selector, label()))));
        return first_field(first_field(answer, 1), 1);
    }
    // Removes the pod. Returns what is left, for a person.
    std::string clear() const
    {
        const auto id = listed();
        if (!id)
            return name() + ", perhaps: " + id.error().what;
        if (id->empty())
            return {};
        (void)call("StopPodSandbox", engine::field(1, *id)); // the list shows what this did not do
        (void)call("RemovePodSandbox", engine::field(1, *id));
        const auto left = listed();
        return left ? *left : *id;
    }

    std::string socket_, mark_;
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
        auto trials = std::make_unique<PodTrials>(cri_socket(engine), std::move(mark));
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
