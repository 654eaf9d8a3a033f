// SPDX-License-Identifier: Apache-2.0
// The image holds nothing but our relay, which is static and can print its version. So no registry
// is asked, and nothing of the host's is bound.
#include "shim/tools/image_trials.hpp"

#include "hooks/files/whole_file.hpp"

#include <ctime>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

namespace anchorhold::tools {
namespace {

constexpr std::string_view inside = "anchorhold-verify"; // the program's name in the image

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
          built_(image_ + "-built"),
          folder_("/var/tmp/anchorhold-verify-" + mark_),
          held_(held)
    {
    }
    ImageTrials(const ImageTrials&) = delete;
    ImageTrials& operator=(const ImageTrials&) = delete;
    ~ImageTrials() override { (void)clear(); } // does nothing after put_away

    Status import(const std::string& relay)
    {
        AH_TRY(const auto content, files::read_file(relay, most_relay), "read the relay");
        AH_TRY(const UniqueFd archive,
               runtime::file_in_memory(archive_of(inside, content.value_or(""))));
        made_ = true;
        AH_TRY(const runtime::Answer answer,
               runtime::ask(held_, runtime::OnSignal::go_on, program_, {"import", "-", image_},
                            archive.get(), for_a_run));
        if (!answer.good()) {
            return fail(Code::delegate_failed,
                        "make an image of one file: " + one_line(complaint(answer)));
        }
        return {};
    }

    engine::Trial run(const TrialAsk& ask, const std::string& state_path) override
    {
        return ask.start == Start::run ? run_container(ask, state_path) : build(ask, state_path);
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

    engine::Trial run_container(const TrialAsk& ask, const std::string& state_path)
    {
        const std::string name = container();
        std::vector<std::string> words{"create", "--network", "none", "--name", name};
        if (!ask.runtime.empty())
            words.insert(words.end(), {"--runtime", ask.runtime});
        engine::Trial trial;
        trial.asked_off = ask.annotated && engine_ == engine::Engine::podman;
        if (trial.asked_off) // Docker has annotations since 25 only
            words.insert(words.end(), {"--annotation", std::string(off_annotation) + "=off"});
        words.insert(words.end(), {image_, "/" + std::string(inside), "--version"});
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

    // Runs one step of a build. No engine tells the whole id of its container, so the record is
    // found by what is known of it, see is_of_build.
    engine::Trial build(const TrialAsk& ask, const std::string& state_path)
    {
        engine::Trial trial;
        trial.may_fail = true;
        const auto env = runtime::find_on_path("env");
        const auto file = runtime::file_in_memory("FROM " + image_ + "\nRUN [\"/" +
                                                  std::string(inside) + "\", \"--version\"]\n");
        if (!env || !file || ::mkdir(folder_.c_str(), 0700) != 0) {
            trial.output = "Error: make " + folder_ + ", or find env(1)";
            return trial;
        }
        const std::int64_t begun = std::time(nullptr);
        const auto built = runtime::ask(held_, runtime::OnSignal::go_on, *env, build_words(ask),
                                        file->get(), for_a_run);
        trial.ran = built && built->good();
        if (!trial.ran)
            trial.output = complaint(built);
        const std::string said = built ? built->out : "";
        trial.record = record_of(state_path, [&](const Record& record) {
            return record.created >= begun && is_of_build(ask.start, record, said);
        });
        (void)do_away({"rmi", "--force", built_}); // asked for again in the end
        remove_folder();
        return trial;
    }

    std::vector<std::string> build_words(const TrialAsk& ask) const
    {
        std::vector<std::string> words;
        if (engine_ == engine::Engine::docker) {
            words = {ask.start == Start::build ? "DOCKER_BUILDKIT=0" : "DOCKER_BUILDKIT=1",
                     program_,
                     "build",
                     "--network",
                     "none",
                     "--no-cache",
                     "--force-rm",
                     "--tag",
                     built_,
                     "-"};
            return words;
        }
        // podman makes a step's bundle below TMPDIR. On a host with cgroup v1 a step shares the
        // host's cgroups otherwise, and we refuse it.
        words = {"TMPDIR=" + folder_, program_};
        if (!ask.runtime.empty())
            words.insert(words.end(), {"--runtime", ask.runtime});
        words.insert(words.end(),
                     {"build", "--network", "none", "--cgroupns", "private", "--no-cache",
                      "--force-rm", "--tag", built_, "--file", "-", folder_});
        return words;
    }

    // Says whether a record is of the step that has just run. The classic builder prints a part of
    // the container's id, podman makes the bundle in our folder. BuildKit tells nothing, so there a
    // run of its own since then must do.
    bool is_of_build(Start start, const Record& record, const std::string& said) const
    {
        constexpr std::size_t printed = 12; // digits of an id
        if (engine_ == engine::Engine::podman)
            return record.bundle.starts_with(folder_ + "/");
        if (start == Start::build_kit)
            return record.bundle.contains("/buildkit/executor/");
        return record.id.size() > printed &&
               said.contains("Running in " + record.id.substr(0, printed));
    }

    void remove_folder() const
    {
        (void)remove_folder_of_trial(folder_); // it may be gone
    }

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
        (void)do_away({"rmi", "--force", built_});
        (void)do_away({"rmi", "--force", image_});
        remove_folder();
        const runtime::Answer containers =
            do_away({"ps", "--all", "--quiet", "--filter", "name=" + container()});
        const runtime::Answer images = do_away({"images", "--quiet", image_});
        const runtime::Answer built = do_away({"images", "--quiet", built_});
        std::string left;
        if (!containers.good() || !containers.out.empty())
            left = "container " + container();
        if (!images.good() || !images.out.empty())
            left += (left.empty() ? "" : ", ") + ("image " + image_);
        if (!built.good() || !built.out.empty())
            left += (left.empty() ? "" : ", ") + ("image " + built_);
        return left;
    }

    engine::Engine engine_;
    std::string program_, mark_, image_, built_, folder_;
    const runtime::DeferredSignals& held_;
    bool made_ = false;
};

} // namespace

Result<std::unique_ptr<Trials>> image_trials(engine::Engine engine, const std::string& program,
                                             const std::string& mark, const std::string& relay,
                                             const runtime::DeferredSignals& held)
{
    auto trials = std::make_unique<ImageTrials>(engine, program, mark, held);
    AH_CHECK(trials->import(relay));
    return trials;
}

} // namespace anchorhold::tools
