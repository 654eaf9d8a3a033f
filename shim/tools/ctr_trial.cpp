// SPDX-License-Identifier: Apache-2.0
#include "shim/tools/ctr_trial.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/state/process.hpp"

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>

namespace anchorhold::tools {
namespace {

// A container without an image: its root is a folder with one file, as ctr takes one.
class CtrContainer {
public:
    CtrContainer(std::string ctr, const std::string& mark, const runtime::DeferredSignals& held)
        : ctr_(std::move(ctr)),
          name_("anchorhold-verify-" + mark),
          root_("/var/tmp/" + name_),
          held_(held)
    {
    }

    Status make_root(const std::string& relay) const
    {
        AH_TRY(const auto content, files::read_file(relay, most_relay), "read the relay");
        if (::mkdir(root_.c_str(), 0755) != 0)
            return fail_errno("make " + root_, errno);
        return files::replace_file(root_ + "/verify", content.value_or(""), 0555);
    }
    Result<runtime::Answer> run(const std::string& program) const
    {
        return ask({"run", "--rm", "--runc-binary", program, "--annotation",
                    std::string(off_annotation) + "=off", "--cgroup", "/" + name_, "--rootfs",
                    root_, name_, "/verify", "--version"},
                   for_a_run);
    }
    // Removes everything. Returns what is left, for a person.
    std::string clear() const
    {
        (void)ask({"tasks", "delete", "--force", name_}, for_putting_away); // mostly gone already
        (void)ask({"containers", "delete", name_}, for_putting_away);
        (void)ask({"namespaces", "remove", name_}, for_putting_away);
        const bool removed = remove_folder_of_trial(root_);
        const auto left = ask({"containers", "list", "--quiet"}, for_putting_away);
        // A ctr that does not even list has not run anything either.
        return (!left || !left->good() || left->out.empty()) && removed ? "" : name_;
    }
    const std::string& name() const { return name_; }

private:
    Result<runtime::Answer> ask(std::vector<std::string> words, std::chrono::seconds patience) const
    {
        words.insert(words.begin(), {"--namespace", name_});
        return runtime::ask(held_, runtime::OnSignal::go_on, ctr_, words, -1, patience);
    }

    std::string ctr_, name_, root_;
    const runtime::DeferredSignals& held_;
};

} // namespace

engine::Trial try_ctr(const std::string& program, const std::string& relay,
                      const std::string& state_path, const runtime::DeferredSignals& held,
                      engine::EngineSetup& setup)
{
    engine::Trial trial{.asked_off = true, .may_fail = true};
    auto ctr = runtime::find_on_path("ctr");
    const auto mark = state::random_generation();
    if (!ctr || !mark) {
        trial.output = ctr ? mark.error().what : ctr.error().what;
        return trial;
    }
    const CtrContainer container(*std::move(ctr), *mark, held);
    if (const auto made = container.make_root(relay); made) {
        const auto ran = container.run(program);
        trial.ran = ran && ran->good();
        trial.id = container.name();
        trial.record = record_of(state_path, trial.id);
        if (!trial.ran)
            trial.output = complaint(ran);
    } else {
        trial.output = made.error().what;
    }
    if (const std::string left = container.clear(); !left.empty()) {
        setup.faults.push_back(
            {engine::FaultKind::left_over,
             {},
             "left behind, perhaps: container " + left,
             "remove it: ctr --namespace " + left + " containers delete " + left});
    }
    return trial;
}

} // namespace anchorhold::tools
