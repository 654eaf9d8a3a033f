// SPDX-License-Identifier: Apache-2.0
// The throw-away containers of `verify`.
//
// Image. It holds nothing but our relay, which is static and can print its version. So no registry
// is asked, and nothing of the host's is bound.
//
// Removal. Everything is found again by names drawn at random. So it is also found when the call
// that made it did not come back in time.
//
// Signals. A signal does not end a call that makes something: the engine would go on making it
// without us.
#include "shim/tools/verify_trial.hpp"
#include "hooks/state/files.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/state_dir.hpp"
#include "schema/json/json.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

constexpr std::chrono::seconds for_a_run(60);
constexpr std::chrono::seconds for_putting_away(60);
constexpr std::size_t most_relay = std::size_t{16} * 1024 * 1024; // bytes
constexpr std::string_view inside = "anchorhold-verify";          // the program's name in the image
constexpr std::string_view off_annotation = "dev.anchorhold.egress"; // "off": no broker, no network

// Returns the record of a container that has just run. For a pod it is called while the pod stands.
std::optional<Record> record_of(const std::string& state_path, const std::string& id)
{
    auto existing = state::StateDir::existing(state_path);
    const std::optional<state::StateDir> state = existing ? *std::move(existing) : std::nullopt;
    if (!state)
        return std::nullopt;
    const auto keys = state->runs();
    for (const RunKey& key : keys ? *keys : std::vector<RunKey>()) {
        auto read = state->read(key);
        auto record = read ? *std::move(read) : std::nullopt;
        if (record && record->id == id)
            return record;
    }
    const auto ended = state->ended(); // behind the live runs: a run ends by moving here
    for (const Record& record : ended ? *ended : std::vector<Record>()) {
        if (record.id == id)
            return record;
    }
    return std::nullopt;
}

// Returns what a failed call has to say.
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

// Returns an archive of one file (ustar, POSIX.1-1988): a header and the file, filled up to blocks
// of 512 bytes, and two empty blocks.
std::string archive_of(std::string_view name, std::string_view content)
{
    constexpr std::size_t block = 512;
    std::string header(block, '\0');
    const auto put = [&](std::size_t at, std::string_view text) {
        header.replace(at, text.size(), text);
    };
    const auto octal = [](std::size_t number, std::size_t digits) {
        std::string text(digits, '0');
        for (std::size_t at = digits; at > 0; number /= 8)
            text[--at] = static_cast<char>('0' + number % 8);
        return text;
    };
    put(0, name);
    put(100, octal(0555, 7));
    put(108, octal(0, 7));
    put(116, octal(0, 7));
    put(124, octal(content.size(), 11));
    put(136, octal(0, 11));
    put(148, "        "); // the sum counts its own place as blanks
    put(156, "0");
    put(257, std::string_view("ustar\00000", 8));
    std::size_t sum = 0;
    for (const char character : header)
        sum += static_cast<unsigned char>(character);
    put(148, octal(sum, 6) + std::string("\0 ", 2));
    std::string archive = header;
    archive += content;
    archive.resize((archive.size() + block - 1) / block * block + 2 * block, '\0');
    return archive;
}

// Runs containers of podman or Docker, with those commands only that both have.
class ImageTrials final : public Trials {
public:
    ImageTrials(engine::Engine engine, std::string program, std::string mark,
                const runtime::DeferredSignals& held)
        : engine_(engine),
          program_(std::move(program)),
          mark_(std::move(mark)),
          image_("localhost/anchorhold-verify:" + mark_),
          held_(held)
    {
    }
    ImageTrials(const ImageTrials&) = delete;
    ImageTrials& operator=(const ImageTrials&) = delete;
    ~ImageTrials() override { (void)clear(); } // does nothing after put_away

    Status import(const std::string& relay)
    {
        AH_TRY(const auto content, state::read_file(relay, most_relay), "read the relay");
        AH_TRY(const UniqueFd archive,
               runtime::file_in_memory(archive_of(inside, content.value_or(""))));
        made_ = true;
        AH_TRY(const runtime::Answer answer,
               runtime::ask(held_, runtime::OnSignal::go_on, program_, {"import", "-", image_},
                            archive.get(), for_a_run));
        if (!answer.good()) {
            return fail(Code::delegate_failed,
                        "make an image of one file: " + printable(complaint(answer), 500));
        }
        return {};
    }

    engine::Trial run(const std::string& handler, const std::string& state_path) override
    {
        const std::string name = container();
        std::vector<std::string> words{"create", "--runtime", handler, "--network",
                                       "none",   "--name",    name};
        if (engine_ == engine::Engine::podman) // Docker has annotations since 25 only
            words.insert(words.end(), {"--annotation", std::string(off_annotation) + "=off"});
        words.insert(words.end(), {image_, "/" + std::string(inside), "--version"});
        engine::Trial trial;
        const auto created =
            runtime::ask(held_, runtime::OnSignal::go_on, program_, words, -1, for_a_run);
        if (!created || !created->good()) {
            trial.output = complaint(created);
        } else {
            trial.id = first_word(created->out);
            start(trial);
            trial.record = record_of(state_path, trial.id);
        }
        remove_container(name);
        return trial;
    }

    void put_away(engine::EngineSetup& setup) override
    {
        const std::string left = clear();
        if (!left.empty()) {
            setup.faults.push_back({engine::FaultKind::left_over,
                                    {},
                                    "left behind: " + printable(left),
                                    "remove it by hand"});
        }
    }

private:
    std::string container() const { return "anchorhold-verify-" + mark_; }

    void start(engine::Trial& trial) const
    {
        const auto ran = runtime::ask(held_, runtime::OnSignal::end_it, program_,
                                      {"start", "--attach", trial.id}, -1, for_a_run);
        trial.ran = ran && ran->good();
        if (!trial.ran)
            trial.output = complaint(ran);
    }

    runtime::Answer do_away(const std::vector<std::string>& words) const
    {
        const auto answer =
            runtime::ask(held_, runtime::OnSignal::go_on, program_, words, -1, for_putting_away);
        return answer ? *answer : runtime::Answer{.status = 1, .late = false, .out = {}, .err = {}};
    }
    // Removes the container. Its success is not looked at, because both engines complain about a
    // container that is gone already; clear() asks for it by name.
    void remove_container(const std::string& name) const
    {
        (void)do_away({"rm", "--force", "--volumes", name});
    }

    // Removes everything that was made. Returns what is left, for a person.
    std::string clear()
    {
        if (!std::exchange(made_, false))
            return {};
        remove_container(container());
        (void)do_away({"rmi", "--force", image_});
        const runtime::Answer containers =
            do_away({"ps", "--all", "--quiet", "--filter", "name=" + container()});
        const runtime::Answer images = do_away({"images", "--quiet", image_});
        std::string left;
        if (!containers.good() || !containers.out.empty())
            left = "container " + container();
        if (!images.good() || !images.out.empty())
            left += (left.empty() ? "" : ", ") + ("image " + image_);
        return left;
    }

    engine::Engine engine_;
    std::string program_, mark_, image_;
    const runtime::DeferredSignals& held_;
    bool made_ = false;
};

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

    engine::Trial run(const std::string& handler, const std::string& state_path) override
    {
        engine::Trial trial;
        const auto config = runtime::file_in_memory(pod());
        if (!config) {
            trial.output = config.error().what;
            return trial;
        }
        const auto ran = crictl({"runp", "--runtime", handler, runtime::path_of(*config)});
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
            return fail(Code::delegate_failed, printable(answer.err, 500));
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
    auto trials = std::make_unique<ImageTrials>(engine, std::move(program), std::move(mark), held);
    AH_CHECK(trials->import(relay), "no throw-away container was run");
    return trials;
}

} // namespace anchorhold::tools
