// SPDX-License-Identifier: Apache-2.0
// exec into a run of ours. The process is edited in a copy, which the runtime gets as
// /proc/self/fd/N. The file that the engine gave, the bundle's config.json and the command are
// never changed.
#include "shim/verbs/exec.hpp"

#include "shim/config/bundle.hpp"
#include "shim/edit/exec_process.hpp"
#include "shim/inspect/descriptors.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/session.hpp"
#include "shim/verbs/exec_check.hpp"
#include "shim/verbs/lost_run.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace anchorhold::verbs {
namespace {

constexpr std::size_t most_process = std::size_t{16} * 1024 * 1024; // bytes

// Returns the plan for an exec'd process: what held for the first process holds for it. With a
// broken policy the profile's variables are not known, and none is set.
Plan exec_plan(const Session& session, const Record& record)
{
    Plan plan;
    plan.strip_proxies = record.posture <= Posture::sealed;
    plan.exempt_relay = record.posture == Posture::filtered && !record.endpoints.empty();
    if (session.policy) {
        if (const Profile* const profile = session.policy->find(record.profile))
            plan.env = profile->env;
    }
    if (!record.notice.empty())
        add_notice(plan.env, record.notice);
    return plan;
}

// Writes the text into a sealed file in memory that stays open across execve(2). Its descriptor
// lies above those that are handed to the container. Returns its path.
Result<std::string> publish(const std::string& text, unsigned handed)
{
    const UniqueFd memory(::memfd_create("process.json", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory)
        return fail_errno("make a file in memory", errno);
    if (::write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::lseek(memory.get(), 0, SEEK_SET) != 0 ||
        ::fcntl(memory.get(), F_ADD_SEALS,
                F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return fail_errno("write a file in memory", errno);
    const int lasting = ::fcntl(memory.get(), F_DUPFD, static_cast<int>(handed) + 3);
    if (lasting < 0)
        return fail_errno("keep a file in memory", errno);
    return "/proc/self/fd/" + std::to_string(lasting);
}

// Reads a process file as runc does: a link is followed, and a pipe is waited for. /proc/self/fd/N
// is such a link.
Result<std::string> read_process(const std::string& path)
{
    const std::string doing = "read the process " + in_quotes(path);
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file)
        return fail_errno(doing, errno, Code::invalid_request);
    std::string text;
    std::array<char, 4096> part = {};
    for (;;) {
        const ssize_t got = ::read(file.get(), part.data(), part.size());
        if (got < 0)
            return fail_errno(doing, errno, Code::invalid_request);
        if (got == 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > most_process)
            return fail_errno(doing, EFBIG, Code::invalid_request);
    }
}

// Returns the process as the engine or the command line gives it; nothing when crun will use its
// own.
Result<std::optional<std::string>> process_given(const words::Invocation& call,
                                                 const Record& record)
{
    if (const words::OptionAt* const file = call.last("process")) {
        AH_TRY(auto text, read_process(file->value));
        return text;
    }
    if (call.flavour == words::Flavour::crun)
        return std::optional<std::string>();
    AH_TRY(const config::Bundle bundle, config::Bundle::open(record.bundle), "open the bundle");
    AH_TRY(auto config, bundle.read_config(), "read the bundle");
    AH_TRY(auto process, edit::process_from_flags(std::move(config), call));
    return process;
}

// Returns the runtime's words with the edited process in them.
Result<std::vector<std::string>> edited_words(const Session& session, const OwnRun& run)
{
    const Record& record = run.record;
    const words::Invocation& call = session.invocation;
    const Plan plan = exec_plan(session, record);
    AH_TRY(const unsigned handed, inspect::count_handed(call));
    AH_CHECK(inspect::check_descriptors(handed));
    AH_TRY(const auto given, process_given(call, record));
    AH_CHECK(check_exec(session, run, given ? *given : edit::process_from_crun_flags(call)));
    if (!given)
        return edit::edit_flags(session.rest, call, plan);
    AH_TRY(const std::string edited, edit::edit_process(*given, plan));
    AH_TRY(const std::string path, publish(edited, handed));
    if (const words::OptionAt* const file = call.last("process"))
        return words::with_value(session.rest, *file, path);
    std::vector<std::string> words = session.rest;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(call.verb_index) + 1,
                 {"--process", path});
    return words;
}

} // namespace

Result<int> exec_process(const Session& session)
{
    AH_TRY(const auto run, find_own_run(session));
    if (!run)
        AH_CHECK(refuse_lost_run(session));
    if (!run || run->record.posture == Posture::open)
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    AH_CHECK(words::check_words(session.invocation));
    AH_TRY(const auto words, edited_words(session, *run));
    return std::unexpected(runtime::exec_runtime(session.runtime, words));
}

} // namespace anchorhold::verbs
