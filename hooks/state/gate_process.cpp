// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/gate_process.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/state/deadline.hpp"
#include "hooks/state/process.hpp"
#include "schema/rules/gate_report.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::chrono::seconds patience_for_end(2);
constexpr std::size_t longest_report = std::size_t{1} << 20; // bytes
constexpr int most_reads = 3; // a report may be read while it is written

std::string report_path(const StateDir& state, const std::string& key, std::uint32_t epoch)
{
    return state.path() + "/runs/" + key + "/gate." + std::to_string(epoch);
}

std::optional<rules::GateReport> read_report(const std::string& path)
{
    for (int i = 0; i < most_reads; ++i) {
        auto text = files::read_file(path, longest_report);
        if (!text || !*text || (*text)->empty())
            return std::nullopt; // it refused nothing so far
        if (auto report = rules::read_gate_report(**std::move(text)))
            return *std::move(report);
    }
    return std::nullopt;
}

} // namespace

Result<UniqueFd> make_gate_report(const StateDir& state, const Record& record)
{
    const std::string path = report_path(state, record.key, record.gate->rules.epoch);
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
        return fail_errno("make " + path, errno);
    return file;
}

bool has_lost_gate(const Record& record)
{
    return record.gate && record.state == RunState::enforced && !is_alive(record.gate->process);
}

Status end_gate(const ProcessIdentity& gate, std::chrono::milliseconds grace)
{
    const auto pid = static_cast<pid_t>(gate.pid);
    if (pid <= 0)
        return {};
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process)
        return errno == ESRCH ? Status() : fail_errno("hold the run's gate", errno);
    AH_TRY(const auto now, identify(pid));
    if (!now || *now != gate)
        return {};
    if (grace.count() > 0 && Deadline(grace).wait_readable(process.get(), "wait for the gate"))
        return {};
    if (::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
        return fail_errno("end the run's gate", errno);
    return Deadline(patience_for_end).wait_readable(process.get(), "wait for the gate's end");
}

void note_gate_reports(const StateDir& state, Record& record)
{
    if (!record.gate)
        return;
    std::vector<rules::GateReport> reports;
    for (std::uint32_t epoch = 0; epoch <= record.gate->rules.epoch; ++epoch) {
        if (auto report = read_report(report_path(state, record.key, epoch)))
            reports.push_back(*std::move(report));
    }
    rules::note_refused(record, reports);
}

} // namespace anchorhold::state
