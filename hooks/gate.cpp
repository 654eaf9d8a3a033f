// SPDX-License-Identifier: Apache-2.0
#include "hooks/gate.hpp"

#include "hooks/gate_sockets.hpp"
#include "hooks/net/local_routes.hpp"
#include "hooks/state/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace anchorhold {
namespace {

constexpr std::size_t most_heard = 1024; // bytes of the gate's error line that are kept

// A started gate, which is killed unless it is released.
class GateProcess {
public:
    explicit GateProcess(pid_t pid) : pid_(pid) {}
    GateProcess(const GateProcess&) = delete;
    GateProcess& operator=(const GateProcess&) = delete;
    ~GateProcess()
    {
        if (pid_ <= 0)
            return;
        (void)::kill(pid_, SIGKILL); // the number is still our child's: it was not waited for
        (void)::waitpid(pid_, nullptr, __WALL);
    }
    pid_t pid() const { return pid_; }
    void release() { pid_ = 0; }

private:
    pid_t pid_;
};

Result<UniqueFd> file_of(const std::string& text)
{
    UniqueFd file(::memfd_create("anchorhold-rules", MFD_CLOEXEC));
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return fail_errno("write the gate's rules", errno);
    return file;
}

Result<UniqueFd> handle_of(const ProcessIdentity& init)
{
    UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(init.pid), 0)));
    if (!handle)
        return fail_errno("hold the container's first process", errno);
    AH_TRY(const auto now, state::identify(static_cast<pid_t>(init.pid)));
    if (!now || *now != init)
        return fail(Code::network_setup_failed, "the container's first process is gone");
    return handle;
}

// The gate's command line: words, and descriptors that it inherits.
struct GateCommand {
    std::vector<std::string> words;
    std::vector<int> kept;

    void pass(const char* word, int fd)
    {
        words.insert(words.end(), {word, std::to_string(fd)});
        kept.push_back(fd);
    }
};

// Becomes the gate. In the child only calls that are safe after fork(2).
[[noreturn]] void become_gate(const GateCommand& command, const std::vector<char*>& arguments,
                              int said)
{
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const bool ready = null >= 0 && ::dup2(null, STDIN_FILENO) == STDIN_FILENO &&
                       ::dup2(null, STDOUT_FILENO) == STDOUT_FILENO &&
                       ::dup2(said, STDERR_FILENO) == STDERR_FILENO && ::setsid() >= 0;
    const bool passed =
        std::ranges::all_of(command.kept, [](int fd) { return ::fcntl(fd, F_SETFD, 0) == 0; });
    std::array<char*, 1> no_environment = {nullptr};
    if (ready && passed)
        ::execve(arguments.front(), arguments.data(), no_environment.data());
    constexpr std::string_view text = "anchorhold-gate: cannot be executed\n";
    (void)::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(127);
}

// Reads what the gate says until it closes its stderr. It says nothing when it serves.
Result<std::string> hear(int said, const state::Deadline& deadline)
{
    std::string text;
    for (;;) {
        AH_CHECK(deadline.wait_readable(said, "wait for the gate"));
        std::array<char, most_heard> part;
        const ssize_t got = ::read(said, part.data(), part.size());
        if (got < 0)
            return fail_errno("hear the gate", errno);
        if (got == 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(got));
        text.resize(std::min(text.size(), most_heard));
    }
}

Result<pid_t> execute(const GateCommand& command, UniqueFd& said)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return fail_errno("make a pipe", errno);
    said = UniqueFd(ends[0]);
    const UniqueFd saying(ends[1]);
    std::vector<char*> arguments;
    for (const std::string& word : command.words)
        arguments.push_back(const_cast<char*>(word.c_str())); // execve(2) does not change it
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0)
        return fail_errno("fork", errno);
    if (child == 0)
        become_gate(command, arguments, saying.get());
    return child;
}

Status make_addresses_local(net::Netlink& route, const rules::Prefix& handles)
{
    AH_CHECK(route.send(net::make_v4_local(handles)));
    const net::Step v6 = net::make_v6_local();
    (void)route.send({&v6, 1}); // refused where there is no IPv6; packets then find no route
    return {};
}

// ---- questions from inside --------------------------------------------------------------------

sockaddr_in place_of(std::uint32_t address, std::uint16_t port)
{
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(address);
    return place;
}

Result<UniqueFd> connected_inside(const net::Netns& netns, int type, const sockaddr_in& to)
{
    UniqueFd socket;
    AH_CHECK(net::visit_inside(netns, [&]() -> Status {
        socket = UniqueFd(::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket)
            return fail_errno("open a socket", errno);
        // On lo the answer is there when the call returns.
        if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
            errno != EINPROGRESS)
            return fail_errno("ask the gate from inside", errno);
        return {};
    }));
    return socket;
}

// A name that nobody can have (RFC 6761), and that this gate was never asked before.
std::string question_for(std::string_view nonce)
{
    std::string query("ah\1\0\0\1\0\0\0\0\0\0", 12);
    for (const std::string_view label : {nonce, std::string_view("invalid")}) {
        query += static_cast<char>(label.size());
        query += label;
    }
    return query + std::string("\0\0\1\0\1", 5);
}

Status check_names(const net::Netns& netns, const rules::Prefix& handles,
                   const state::Deadline& deadline)
{
    constexpr std::uint16_t dns = 53;
    constexpr int name_error = 3;
    AH_TRY(const std::string nonce, state::random_generation());
    AH_TRY(const UniqueFd socket,
           connected_inside(netns, SOCK_DGRAM, place_of(rules::lo_address(handles), dns)));
    const std::string query = question_for(nonce);
    std::array<char, 512> reply{};
    if (::send(socket.get(), query.data(), query.size(), 0) < 0)
        return fail_errno("ask the gate for a name", errno);
    AH_CHECK(deadline.wait_readable(socket.get(), "ask the gate for a name"));
    const ssize_t got = ::recv(socket.get(), reply.data(), reply.size(), 0);
    if (got < 0)
        return fail_errno("ask the gate for a name", errno);
    if (static_cast<std::size_t>(got) != query.size() || (reply[3] & 15) != name_error)
        return fail(Code::network_setup_failed, "the gate answers a name that nobody has");
    return {};
}

// Connects to an address that means no name, at a port that the table lets through.
Status check_capture(const net::Netns& netns, const rules::GateRules& rules,
                     const state::Deadline& deadline)
{
    const rules::Network network = rules::gate_network(rules);
    const auto open = std::ranges::find(network.allow, rules.handles, &rules::Reach::to);
    if (open == network.allow.end())
        return {}; // no rule names a name, so no handle can be connected to
    const std::uint32_t nobodys = rules::lo_address(rules.handles) + 2;
    AH_TRY(const UniqueFd socket,
           connected_inside(netns, SOCK_STREAM, place_of(nobodys, open->ports.first)));
    AH_CHECK(deadline.wait_readable(socket.get(), "connect through the gate"));
    char byte = 0;
    const ssize_t got = ::recv(socket.get(), &byte, 1, 0);
    if (got >= 0 || errno != ECONNRESET)
        return fail(Code::network_setup_failed,
                    "the gate does not reset a connection to an address that means no name");
    return {};
}

} // namespace

unsigned gate_user(std::string_view key)
{
    constexpr unsigned first = 0x70000000;
    unsigned bits = 0;
    const std::string_view digits = key.substr(0, 4);
    (void)std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    return first + bits;
}

Result<ProcessIdentity> start_gate(const net::Netns& netns, net::Conversations& inside,
                                   const GateStart& start, const state::Deadline& deadline)
{
    AH_TRY(const rules::GateRules rules, rules::read_gate_rules(start.rules), "the gate's rules");
    if (start.listen.size() != rules.endpoints.size())
        return fail(Code::network_setup_failed, "the gate's endpoints have not a port each");
    AH_TRY(const UniqueFd init, handle_of(netns.init));
    if (!start.again) {
        AH_CHECK(net::check_alone(netns));
        AH_CHECK(make_addresses_local(inside.route, rules.handles));
    }
    GateSockets sockets;
    AH_CHECK(net::visit_inside(netns, [&]() -> Status {
        AH_TRY(sockets, open_gate_sockets(rules.handles, start.listen));
        return {};
    }));
    AH_TRY(const UniqueFd rule_file, file_of(start.rules));
    GateCommand command{{start.program}, {}};
    command.pass("--rules", rule_file.get());
    command.pass("--report", start.report);
    command.pass("--init", init.get());
    command.pass("--dns", sockets.names.get());
    command.pass("--capture", sockets.capture4.get());
    if (sockets.capture6)
        command.pass("--capture", sockets.capture6.get());
    for (const auto& [number, socket] : sockets.endpoints) {
        const std::string place = std::to_string(number) + ":";
        command.words.insert(command.words.end(),
                             {"--endpoint", place + std::to_string(socket.get())});
        command.kept.push_back(socket.get());
    }
    if (start.user) {
        const std::string user = std::to_string(*start.user);
        command.words.insert(command.words.end(), {"--user", user, "--group", user});
    }
    UniqueFd said;
    AH_TRY(const pid_t child, execute(command, said));
    GateProcess process(child);
    AH_TRY(const std::string text, hear(said.get(), deadline));
    if (!text.empty())
        return fail(Code::network_setup_failed, printable(text.substr(0, text.find('\n')), 500));
    AH_TRY(const auto identity, state::identify(child));
    if (!identity)
        return fail(Code::network_setup_failed, "the gate ended at once");
    AH_CHECK(check_names(netns, rules.handles, deadline));
    AH_CHECK(check_capture(netns, rules, deadline));
    process.release();
    return *identity;
}

} // namespace anchorhold
