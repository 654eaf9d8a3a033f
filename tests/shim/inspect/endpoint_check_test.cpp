// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/broker_advice.hpp"
#include "shim/inspect/command_user.hpp"
#include "shim/inspect/endpoint_check.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace anchorhold::endpoint_check_test {

using namespace inspect;
namespace {

Endpoint endpoint_at(const std::string& path, const std::string& name = "model")
{
    return {
        .name = name, .listen = *Port::from(8080, Code::invalid_request), .to = UnixTarget{path}};
}

CommandUser stranger()
{
    return {.host_uid = 54321, .host_gid = 54321, .host_groups = {}};
}

using Permitted = std::optional<std::vector<std::string>>;

// Returns what is said about a socket, without the beginning that never changes.
std::string judge(const std::string& path, const Permitted& permitted = std::nullopt,
                  const CommandUser& user = stranger())
{
    const Endpoint endpoint = endpoint_at(path);
    const auto found = find_endpoint(endpoint, permitted, user, {endpoint});
    if (found)
        return "served";
    CHECK(found.error().code == Code::endpoint_unavailable);
    CHECK(found.error().what.starts_with("endpoint model: "));
    return found.error().what.substr(16);
}

} // namespace

TEST_CASE("a served socket in a directory of the run's own is found, with who serves it")
{
    const Scratch scratch;
    const std::string directory = scratch.folder("brokers/42");
    const UniqueFd broker = unix_socket(directory + "/broker.sock");
    REQUIRE(broker);
    scratch.file("brokers/42/broker.pid");
    const Endpoint endpoint = endpoint_at(directory + "/broker.sock");
    struct stat file = {};
    REQUIRE(::stat(directory.c_str(), &file) == 0);
    for (const Permitted& permitted :
         {Permitted(), Permitted({scratch / "brokers"}), Permitted({scratch / "brokers//"}),
          Permitted({"/elsewhere", scratch.path()})}) {
        const auto found = find_endpoint(endpoint, permitted, stranger(), {endpoint});
        REQUIRE_MESSAGE(found.has_value(), found.error().what);
        CHECK(found->place == EndpointPlace{.endpoint = endpoint,
                                            .directory = directory,
                                            .socket = "broker.sock",
                                            .identity = {file.st_dev, file.st_ino}});
        CHECK(found->uid == ::geteuid());
        CHECK(found->pid == ::getpid());
    }
}

TEST_CASE("C-43: what is no served socket refuses the run and is not made")
{
    const Scratch scratch;
    const std::string at = scratch.folder("42") + "/broker.sock";
    CHECK(judge(at) == "no socket at " + at + "; start the broker first");
    CHECK(judge(scratch / "43/broker.sock") ==
          "no socket at " + (scratch / "43/broker.sock") + "; start the broker first");
    CHECK(!std::filesystem::exists(at));
    CHECK(!std::filesystem::exists(scratch / "43"));

    scratch.file("42/broker.sock", 0666);
    CHECK(judge(at) == "no socket at " + at + "; start the broker first");
    std::filesystem::remove(at);
    std::filesystem::create_directory(at);
    CHECK(judge(at) == "no socket at " + at + "; start the broker first");
    std::filesystem::remove(at);
    CHECK(judge(at + "/below") == "no socket at " + at + "/below; start the broker first");
    {
        const UniqueFd silent = unix_socket(at, Serves::no);
        CHECK(judge(at) == "nobody listens on " + at + "; start the broker first");
    }
    std::filesystem::remove(at);
    const UniqueFd broker = unix_socket(scratch / "engine.sock");
    std::filesystem::create_symlink(scratch / "engine.sock", at);
    CHECK(judge(at) == at + " is a symlink; name the real place");
}

TEST_CASE("a name that the relay could not dial is told with its length; a long directory is fine")
{
    const Scratch scratch;
    const std::string directory = scratch.folder(std::string(200, 'd'));
    const std::string most(107, 's');
    const UniqueFd broker = unix_socket(scratch / "short.sock");
    REQUIRE(broker);
    std::filesystem::rename(scratch / "short.sock", directory + "/" + most);
    CHECK(judge(directory + "/" + most) == "served");
    std::filesystem::rename(directory + "/" + most, directory + "/" + most + "s");
    CHECK(judge(directory + "/" + most + "s") ==
          "the socket's name has 108 bytes, more than the 107 that unix(7) takes; rename it");
}

TEST_CASE("a datagram socket is not what a relay can dial")
{
    const Scratch scratch;
    const std::string at = scratch.folder("42") + "/broker.sock";
    const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    at.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::chmod(at.c_str(), 0666) == 0);
    CHECK(judge(at) == at + " is no stream socket");
}

TEST_CASE("an annotation's socket lies strictly below a permitted directory")
{
    const Scratch scratch;
    const std::string brokers = scratch.folder("brokers", 0755);
    const std::string at = scratch.folder("brokers/42") + "/broker.sock";
    const UniqueFd broker = unix_socket(at);
    CHECK(judge(at, {{brokers}}) == "served");
    CHECK(judge(at, {std::vector<std::string>()}) ==
          "the policy does not permit " + at + ": its \"sockets\" list no directory");
    CHECK(judge(at, {{"/run/brokers", scratch / "brok"}}) ==
          "the policy does not permit " + at + ": its \"sockets\" are /run/brokers, " +
              (scratch / "brok"));
    CHECK(judge(at, {{brokers + "/42"}}) ==
          at + " lies directly in " + brokers +
              "/42, which other runs share; give the run a directory of its own below that");
}

TEST_CASE("no symlink leads out of, or about in, a permitted directory")
{
    const Scratch scratch;
    scratch.folder("brokers", 0755);
    const std::string outside = scratch.folder("engine") + "/api.sock";
    const UniqueFd engine = unix_socket(outside);
    const std::string link = scratch / "brokers/42";
    for (const std::string& target : {scratch / "engine", std::string("../engine")}) {
        std::filesystem::create_symlink(target, link);
        CHECK(judge(link + "/api.sock", {{scratch / "brokers"}}) ==
              link + "/api.sock is or goes through a symlink; name the real place");
        std::filesystem::remove(link);
    }
    CHECK(judge(scratch / "brokers//" + outside, {{scratch / "brokers"}}) ==
          printable(scratch / "brokers//" + outside) + " leads out of the permitted directory");
}

TEST_CASE("the administrator's own path may go through a symlink, and is resolved")
{
    const Scratch scratch;
    const std::string at = scratch.folder("real/42") + "/broker.sock";
    const UniqueFd broker = unix_socket(at);
    std::filesystem::create_symlink("real", scratch / "alias");
    const Endpoint endpoint = endpoint_at(scratch / "alias/42/broker.sock");
    const auto found = find_endpoint(endpoint, std::nullopt, stranger(), {endpoint});
    REQUIRE(found);
    CHECK(found->place.directory == scratch / "real/42");
}

TEST_CASE("B-38: a directory that holds anything but this run's sockets is not handed over")
{
    const Scratch scratch;
    const std::string directory = scratch.folder("42");
    const std::string at = directory + "/broker.sock";
    const UniqueFd broker = unix_socket(at);
    const UniqueFd search = unix_socket(directory + "/search.sock");
    const auto also = [&](const std::string& name) {
        return directory + " also holds \"" + name + "\"; give this run a directory of its own";
    };
    CHECK(judge(at) == also("search.sock"));
    const Endpoint model = endpoint_at(at);
    const Endpoint other = endpoint_at(directory + "/search.sock", "search");
    CHECK(find_endpoint(model, std::nullopt, stranger(), {model, other}));

    std::filesystem::remove(directory + "/search.sock");
    REQUIRE(::mkfifo((directory + "/pipe").c_str(), 0600) == 0);
    CHECK(judge(at) == also("pipe"));
    std::filesystem::remove(directory + "/pipe");
    std::filesystem::create_directory(directory + "/deeper");
    CHECK(judge(at) == also("deeper"));
}

TEST_CASE("C-62: a socket the command's user cannot reach is refused, with the remedy")
{
    const Scratch scratch;
    const std::string directory = scratch.folder("42");
    const std::string at = directory + "/broker.sock";
    const UniqueFd broker = unix_socket(at, Serves::yes, 0600);
    const std::string cannot =
        "uid 54321, the command's, cannot connect to " + at + "; chmod 0666 in a 0711 directory";
    CHECK(judge(at) == cannot);
    ::chmod(at.c_str(), 0644);
    CHECK(judge(at) == cannot);
    ::chmod(at.c_str(), 0660);
    CHECK(judge(at) == cannot);
    CommandUser member = stranger();
    member.host_groups = {7, ::getegid()};
    CHECK(judge(at, {}, member) == "served");
    scratch.folder("42", 0701); // to a member of the group its bits apply, not those of others
    CHECK(judge(at, {}, member) == cannot);
    scratch.folder("42", 0710);
    CHECK(judge(at, {}, member) == "served");
    CHECK(judge(at) == cannot);
    ::chmod(at.c_str(), 0666);
    CHECK(judge(at) == cannot);
    scratch.folder("42", 0711);
    CHECK(judge(at) == "served");
    ::chmod(at.c_str(), 0722);
    CHECK(judge(at) == "served");
}

TEST_CASE("B-36: a directory that others or the command's own user could write is refused")
{
    const Scratch scratch;
    const std::string directory = scratch.folder("42");
    const std::string at = directory + "/broker.sock";
    const UniqueFd broker = unix_socket(at);
    for (const mode_t mode : {0731U, 0713U, 01777U}) {
        scratch.folder("42", mode);
        CHECK(judge(at) == directory + " can be written by others; chmod 0711 it");
    }
    scratch.folder("42", 0711);
    CommandUser owner = stranger();
    owner.host_uid = ::geteuid();
    if (owner.host_uid != 0)
        CHECK(judge(at, {}, owner) == directory + " belongs to the command's own user (uid " +
                                          std::to_string(owner.host_uid) +
                                          " here); run the broker as another");
    else
        CHECK(judge(at, {}, owner) == "served");
}

TEST_CASE("a broker whose backlog is full is served, only slowly")
{
    const Scratch scratch;
    const std::string at = scratch.folder("42") + "/broker.sock";
    const UniqueFd broker = unix_socket(at);
    REQUIRE(::listen(broker.get(), 0) == 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    at.copy(address.sun_path, sizeof address.sun_path - 1);
    std::vector<UniqueFd> waiting;
    int answer = 0;
    while (answer == 0) {
        waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        answer = ::connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&address),
                           sizeof address);
    }
    REQUIRE(errno == EAGAIN);
    const Endpoint endpoint = endpoint_at(at);
    const auto found = find_endpoint(endpoint, std::nullopt, stranger(), {endpoint});
    REQUIRE(found);
    CHECK(found->pid == 0);
}

namespace {

// A server on a port that the kernel chooses.
struct Server {
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::uint16_t port = 0;

    Server(std::uint32_t address, int backlog)
    {
        sockaddr_in place = {};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(address);
        socklen_t size = sizeof place;
        auto* const generic = reinterpret_cast<sockaddr*>(&place);
        REQUIRE(::bind(socket.get(), generic, size) == 0);
        REQUIRE(::getsockname(socket.get(), generic, &size) == 0);
        port = ntohs(place.sin_port);
        if (backlog >= 0)
            REQUIRE(::listen(socket.get(), backlog) == 0);
    }
    std::string told(Tcp way = Tcp::veth) const
    {
        const Endpoint endpoint{.name = "model",
                                .listen = *Port::from(8080, Code::invalid_request),
                                .to = TcpTarget{"host", *Port::from(port, Code::invalid_request)}};
        const auto held = check_listener(endpoint, way);
        CHECK((held || held.error().code == Code::endpoint_unavailable));
        return held ? "served" : held.error().what;
    }
};

} // namespace

TEST_CASE("a port of the host where nobody listens refuses the run, as a socket does")
{
    CHECK(Server(INADDR_ANY, 8).told() == "served");
    const Server silent(INADDR_ANY, -1);
    CHECK(silent.told() == "endpoint model: nobody listens on port " + std::to_string(silent.port) +
                               " of this host; start the broker first");
    const Server loopback(INADDR_LOOPBACK, 8);
    CHECK(loopback.told(Tcp::gate) == "served");
    CHECK(loopback.told() == "endpoint model: the broker at port " + std::to_string(loopback.port) +
                                 " of this host listens on 127.0.0.1 alone, where no container "
                                 "comes; have it listen on 0.0.0.0");
    CHECK(check_listener(endpoint_at("/nowhere/broker.sock"), Tcp::veth));
}

TEST_CASE("a socket's path may be longer than sun_path")
{
    const Scratch scratch;
    const std::string shallow = scratch.folder("short");
    const UniqueFd broker = unix_socket(shallow + "/broker.sock");
    const std::string deep = std::string(120, 'x');
    std::filesystem::rename(shallow, scratch / deep);
    CHECK(judge(scratch / deep + "/broker.sock") == "served");
}

TEST_CASE("control characters in a path are escaped in what is said")
{
    CHECK(judge("/nowhere/\x1b[31m/x.sock") ==
          "no socket at /nowhere/\\x1b[31m/x.sock; start the broker first");
}

namespace {

enum class Dumpable : int { no = 0, yes = 1 };

// Returns the advice on a child of this process, as if it were a broker of `uid`.
std::optional<std::string> advice_on(Dumpable dumpable, uid_t uid, const CommandUser& user)
{
    int ready[2] = {};
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_DUMPABLE, static_cast<int>(dumpable));
        ::close(ready[0]);
        ::close(ready[1]);
        ::pause();
        ::_exit(0);
    }
    ::close(ready[1]);
    pollfd event = {.fd = ready[0], .events = 0, .revents = 0};
    ::poll(&event, 1, -1); // POLLHUP comes when the child has closed its end
    ::close(ready[0]);
    const auto advice = broker_advice(
        {.place = {.endpoint = endpoint_at("/x/y"), .directory = {}, .socket = {}, .identity = {}},
         .uid = uid,
         .pid = child},
        user);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return advice;
}

} // namespace

TEST_CASE("B-52: a broker that the command could be and that may be dumpable is advised about")
{
    const auto said = [](const std::string& who) {
        return "endpoint model: its broker runs as " + who +
               ", which the container may be, and could be robbed of its descriptors: give the "
               "broker a uid of its own, not dumpable";
    };
    CommandUser same;
    same.host_uid = 990;
    same.takes_any_uid = false;
    CommandUser any = stranger();
    CommandUser other = stranger();
    other.takes_any_uid = false;
    // The child runs as who runs this test, whoever called listen(2).
    CommandUser tester = same;
    tester.host_uid = ::geteuid();
    CHECK(advice_on(Dumpable::yes, 0, tester) == said("uid " + std::to_string(::geteuid())));
    if (::geteuid() == 0) { // no file of root's says whether it is dumpable
        CHECK(advice_on(Dumpable::no, 990, any) == said("uid 0"));
    } else {
        CHECK(advice_on(Dumpable::no, 0, tester) == std::nullopt);
    }
    tester.own_users = true;
    CHECK(advice_on(Dumpable::yes, 0, tester) == std::nullopt);
    CHECK(advice_on(Dumpable::yes, 990, same) == std::nullopt); // nobody serves as 990
    SocketServer unseen{
        .place = {.endpoint = endpoint_at("/x/y"), .directory = {}, .socket = {}, .identity = {}},
        .uid = 990};
    CHECK(broker_advice(unseen, any) == said("uid 990"));
    CHECK(broker_advice(unseen, other) == std::nullopt);
    unseen.uid = 0; // it may have become anybody since
    CHECK(broker_advice(unseen, any) == std::nullopt);
    unseen.pid = 1; // hands its sockets to others
    CHECK(broker_advice(unseen, any) == std::nullopt);
}

} // namespace anchorhold::endpoint_check_test
