// SPDX-License-Identifier: Apache-2.0
// Ways out over IP, and the question to the model.
#include "attempt.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace attempt {

long number_in(const std::string& text)
{
    long number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

namespace {

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// "1.2.3.4:80", "[fe80::1%up0]:80"
Address parse(const std::string& text)
{
    Address address;
    const auto colon = text.rfind(':');
    std::string host = text.substr(0, colon);
    const auto port = htons(static_cast<std::uint16_t>(number_in(text.substr(colon + 1))));
    if (host.front() != '[') {
        auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
        *v4 = {.sin_family = AF_INET, .sin_port = port, .sin_addr = {}, .sin_zero = {}};
        inet_pton(AF_INET, host.c_str(), &v4->sin_addr);
        address.size = sizeof *v4;
        return address;
    }
    host = host.substr(1, host.size() - 2);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = port;
    if (const auto scope = host.find('%'); scope != host.npos) {
        v6->sin6_scope_id = if_nametoindex(host.substr(scope + 1).c_str());
        host.resize(scope);
    }
    inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr);
    address.size = sizeof *v6;
    return address;
}

bool ready(int fd, short events)
{
    constexpr int patience = 5000; // in milliseconds, after which nobody is taken to be there
    pollfd wanted{fd, events, 0};
    return poll(&wanted, 1, patience) == 1;
}

int connect_to(const Address& to, int type)
{
    const int fd = socket(to.storage.ss_family, type | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, to.get(), to.size) == 0)
        return fd;
    if (errno != EINPROGRESS)
        return -1;
    int error = ETIMEDOUT;
    socklen_t size = sizeof error;
    if (ready(fd, POLLOUT))
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0 ? fd : -1;
}

std::string read_some(int fd)
{
    char buffer[4096];
    if (!ready(fd, POLLIN))
        return {};
    const auto size = read(fd, buffer, sizeof buffer);
    return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
}

// Sends `bytes` and is content with any answer.
Outcome exchange(int fd, const std::string& bytes)
{
    if (fd < 0 || send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0)
        return {errno, ""};
    errno = 0;
    if (const auto answer = read_some(fd); !answer.empty())
        return {0, std::to_string(answer.size()) + " bytes"};
    return {errno ? errno : ETIMEDOUT, "no answer"};
}

// A question for the A record of secret.attacker.test (RFC 1035, 4.1).
const std::string question("\x12\x34\x01\0\0\1\0\0\0\0\0\0\6secret\10attacker\4test\0\0\1\0\1", 38);

Outcome echo_request(int fd, const std::string& address)
{
    icmphdr header{};
    header.type = ICMP_ECHO;
    header.checksum = htons(0xf7ff); // the complement of type 8, all else zero
    const Address to = parse(address + ":0");
    if (fd < 0 || sendto(fd, &header, sizeof header, 0, to.get(), to.size) < 0)
        return {errno, ""};
    return read_some(fd).empty() ? Outcome{ETIMEDOUT, "no answer"} : Outcome{};
}

int to_model(const std::string& port)
{
    return connect_to(parse("127.0.0.1:" + port), SOCK_STREAM);
}

std::string request(const std::string& line, const std::string& body)
{
    return line + " HTTP/1.1\r\nHost: model\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

int pieces_in(const std::string& answer)
{
    int count = 0;
    for (auto at = answer.find("text_delta"); at != answer.npos;
         at = answer.find("text_delta", at + 1))
        ++count;
    return count;
}

bool acknowledge(const std::string& port, int piece)
{
    const int fd = to_model(port);
    return exchange(fd, request("GET /heard/" + std::to_string(piece), "")).error == 0;
}

} // namespace

Outcome tcp(const std::string& to)
{
    const int fd = connect_to(parse(to), SOCK_STREAM);
    return fd < 0 ? Outcome{errno, ""} : Outcome{0, read_some(fd)};
}

Outcome udp(const std::string& to)
{
    return exchange(connect_to(parse(to), SOCK_DGRAM), "knock");
}

Outcome say(const std::string& text_and_to)
{
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= text_and_to.size();) {
        const auto end = std::min(text_and_to.find('@', at), text_and_to.size());
        words.push_back(text_and_to.substr(at, end - at));
        at = end + 1;
    }
    const Address to = parse(words.at(1));
    const int one = 1;
    const int fd = socket(to.storage.ss_family, SOCK_DGRAM, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof one) < 0)
        return {errno, "socket"};
    for (std::size_t i = 2; i < words.size(); ++i) {
        const std::string value = words[i].substr(words[i].find('=') + 1);
        if (words[i].starts_with("device=") &&
            setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, value.c_str(),
                       static_cast<socklen_t>(value.size() + 1)) < 0)
            return {errno, "SO_BINDTODEVICE"};
        if (!words[i].starts_with("source="))
            continue;
        const Address from = parse(value);
        const bool v6 = from.storage.ss_family == AF_INET6;
        if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND, &one,
                       sizeof one) < 0 ||
            bind(fd, from.get(), from.size) < 0)
            return {errno, "bind"};
    }
    const auto& text = words.front();
    return {sendto(fd, text.data(), text.size(), 0, to.get(), to.size) < 0 ? errno : 0, ""};
}

Outcome dns_udp(const std::string& server)
{
    return exchange(connect_to(parse(server + ":53"), SOCK_DGRAM), question);
}

Outcome dns_tcp(const std::string& server)
{
    const char size[] = {0, static_cast<char>(question.size())};
    return exchange(connect_to(parse(server + ":53"), SOCK_STREAM),
                    std::string(size, sizeof size) + question);
}

Outcome ping(const std::string& address)
{
    return echo_request(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), address);
}

Outcome raw_ping(const std::string& address)
{
    return echo_request(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), address);
}

Outcome tcp_in_userns(const std::string& to)
{
    if (unshare(CLONE_NEWUSER) < 0)
        return {errno, "unshare"};
    return tcp(to);
}

Outcome shell(const std::string& command)
{
    const int status = std::system(("exec >/dev/null 2>&1; " + command).c_str());
    return status == 0 ? Outcome{} : Outcome{EPERM, "status " + std::to_string(status >> 8)};
}

Outcome listen_for_caller(const std::string& at)
{
    const Address here = parse(at);
    const int one = 1;
    const int fd = socket(here.storage.ss_family, SOCK_STREAM, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, here.get(), here.size) < 0 || listen(fd, 8) < 0)
        return {errno, ""};
    std::puts("listening");
    std::fflush(stdout);
    return accept(fd, nullptr, nullptr) < 0 ? Outcome{errno, "accept"} : Outcome{};
}

Outcome ask(const std::string& port)
{
    const int fd = to_model(port);
    const auto question_text = request("POST /v1/messages", R"({"stream": true})");
    if (fd < 0 || send(fd, question_text.data(), question_text.size(), MSG_NOSIGNAL) < 0)
        return {errno, ""};
    std::string answer;
    for (std::string part; !(part = read_some(fd)).empty();)
        answer += part;
    std::fputs(answer.c_str(), stdout);
    return answer.ends_with("0\r\n\r\n") ? Outcome{} : Outcome{EPROTO, "the answer is cut short"};
}

Outcome ask_stepwise(const std::string& port)
{
    const int fd = to_model(port);
    const auto question_text = request("POST /v1/messages", R"({"stream": true})");
    if (fd < 0 || send(fd, question_text.data(), question_text.size(), MSG_NOSIGNAL) < 0)
        return {errno, ""};
    std::string answer;
    int heard = 0;
    while (!answer.ends_with("0\r\n\r\n")) {
        const auto part = read_some(fd);
        if (part.empty())
            return {ETIMEDOUT, "after " + std::to_string(heard) + " pieces"};
        answer += part;
        for (; heard < pieces_in(answer); ++heard)
            if (!acknowledge(port, heard))
                return {EPROTO, "acknowledgement of piece " + std::to_string(heard)};
    }
    return {0, std::to_string(heard) + " pieces, each before the next was written"};
}

Outcome bind_port(const std::string& port)
{
    const Address here = parse("127.0.0.1:" + port);
    const int one = 1;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    return bind(fd, here.get(), here.size) < 0 ? Outcome{errno, ""} : Outcome{};
}

} // namespace attempt
