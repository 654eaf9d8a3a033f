// SPDX-License-Identifier: Apache-2.0
#include "hooks/resolve.hpp"

#include "hooks/privileges.hpp"
#include "hooks/state/container_state.hpp"
#include "schema/json/json.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace anchorhold {
namespace {

// Longer than glibc waits for its first name server (5 s).
constexpr std::chrono::milliseconds patience_for_names(6500);
constexpr std::size_t most_at_once = 32;
// Bytes of an answer. A pipe holds that much, so no child waits for us.
constexpr std::size_t most_answer = std::size_t{60} * 1024;

struct AddressList {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

const void* address_of(const addrinfo& entry)
{
    if (entry.ai_family == AF_INET)
        return &reinterpret_cast<const sockaddr_in*>(entry.ai_addr)->sin_addr;
    if (entry.ai_family == AF_INET6)
        return &reinterpret_cast<const sockaddr_in6*>(entry.ai_addr)->sin6_addr;
    return nullptr;
}

// Asks for one name, in the child. Returns an address per line.
std::string ask(const char* name)
{
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name, nullptr, &hints, &found) != 0)
        return {};
    const std::unique_ptr<addrinfo, AddressList> list(found);
    std::string lines;
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
        char text[INET6_ADDRSTRLEN] = {};
        const void* const address = address_of(*entry);
        if (address != nullptr &&
            ::inet_ntop(entry->ai_family, address, text, sizeof text) != nullptr &&
            lines.size() < most_answer)
            lines.append(text).append("\n");
    }
    return lines;
}

[[noreturn]] void answer(const char* name, pid_t parent, int out)
{
    bool told = false;
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent) {
        const std::string lines = ask(name);
        told = ::write(out, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
    }
    ::_exit(told ? 0 : 1); // exit(3) would flush the parent's buffers a second time
}

// Returns an address in its canonical form: "::ffff:1.2.3.4" becomes "1.2.3.4". Cuts off a prefix
// length. Returns no text for a line that is no address.
std::string canonical(std::string_view line)
{
    const auto address = rules::Prefix::parse(line, Code::network_setup_failed);
    if (!address)
        return {};
    const std::string text = address->text();
    return text.substr(0, text.find('/'));
}

std::vector<std::string> addresses_in(std::string_view lines)
{
    std::vector<std::string> addresses;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(lines.size(), line.size() + 1));
        if (std::string address = canonical(line); !address.empty())
            addresses.push_back(std::move(address));
    }
    std::ranges::sort(addresses);
    const auto twice = std::ranges::unique(addresses);
    addresses.erase(twice.begin(), twice.end());
    return addresses;
}

// A child that asks for one name. The child ends at the latest with this object.
class Question {
public:
    static Result<Question> ask(const std::string& name)
    {
        int ends[2] = {-1, -1};
        if (::pipe2(ends, O_CLOEXEC) != 0)
            return fail_errno("make a pipe", errno);
        UniqueFd in(ends[0]);
        const UniqueFd out(ends[1]);
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child < 0)
            return fail_errno("fork", errno);
        if (child == 0)
            answer(name.c_str(), parent, out.get());
        return Question(child, std::move(in));
    }
    Question(Question&& other) noexcept
        : child_(std::exchange(other.child_, 0)), in_(std::move(other.in_))
    {
    }
    Question& operator=(Question&&) = delete;
    ~Question()
    {
        if (child_ > 0)
            (void)end();
    }

    std::vector<std::string> hear(const state::Deadline& deadline)
    {
        const auto lines = state::read_to_end(in_.get(), most_answer + INET6_ADDRSTRLEN, deadline);
        heard_ = lines.has_value();
        return end() && heard_ ? addresses_in(*lines) : std::vector<std::string>();
    }

private:
    Question(pid_t child, UniqueFd in) : child_(child), in_(std::move(in)) {}

    // Waits for the child's end. Kills it first, unless its answer was read to the end: then it is
    // about to end by itself. Returns whether it succeeded.
    bool end()
    {
        const pid_t child = std::exchange(child_, 0);
        if (!heard_)
            (void)::kill(child, SIGKILL); // the pid is our child's until it is waited for
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

    pid_t child_;
    UniqueFd in_;
    bool heard_ = false;
};

} // namespace

Result<std::vector<rules::PinnedName>> resolve_names(const std::vector<std::string>& names,
                                                     const state::Deadline& deadline)
{
    std::vector<rules::PinnedName> pinned;
    while (pinned.size() < names.size()) {
        const std::size_t begin = pinned.size();
        const std::size_t end = std::min(names.size(), begin + most_at_once);
        std::vector<Question> questions;
        for (std::size_t at = begin; at < end; ++at) {
            AH_TRY(auto question, Question::ask(names[at]), "ask for " + in_quotes(names[at]));
            questions.push_back(std::move(question));
        }
        for (std::size_t at = begin; at < end; ++at)
            pinned.push_back({names[at], questions[at - begin].hear(deadline)});
    }
    return pinned;
}

Result<std::string> run_resolve(std::span<char* const> names)
{
    AH_CHECK(die_with_parent());
    AH_CHECK(keep_capabilities({}));
    AH_TRY(const auto pinned,
           resolve_names({names.begin(), names.end()}, state::Deadline(patience_for_names)),
           "resolve names");
    json::Writer writer;
    writer.begin_object();
    for (const rules::PinnedName& name : pinned)
        writer.strings(name.name, name.addresses);
    writer.end_object();
    return writer.take() + "\n";
}

} // namespace anchorhold
