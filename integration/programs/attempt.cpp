// SPDX-License-Identifier: Apache-2.0
// attempt [into=FILE] NAME[=ARGUMENT]...: tries each and prints "NAME=ARGUMENT reached" or
// "... refused: WHY"; with `into` at the end of that file.
// Static, so that it runs in every image.
#include "attempt.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using attempt::Outcome;

struct Way {
    const char* name;
    Outcome (*go)(const std::string&);
};

constexpr Way ways[] = {
    {"tcp", attempt::tcp},
    {"udp", attempt::udp},
    {"say", attempt::say},
    {"dns-udp", attempt::dns_udp},
    {"dns-tcp", attempt::dns_tcp},
    {"ping", attempt::ping},
    {"raw-ping", attempt::raw_ping},
    {"tcp-in-userns", attempt::tcp_in_userns},
    {"sh", attempt::shell},
    {"listen", attempt::listen_for_caller},
    {"ask", attempt::ask},
    {"ask-stepwise", attempt::ask_stepwise},
    {"abstract", attempt::abstract_socket},
    {"socket", attempt::socket_of},
    {"wide-socket", attempt::wide_socket},
    {"i386-socketcall", attempt::i386_socketcall},
    {"i386-socket", attempt::i386_socket},
    {"x32-socket", attempt::x32_socket},
    {"io-uring", attempt::io_uring},
    {"request-key", attempt::request_key},
    {"tun", attempt::tun},
    {"nft-table", attempt::nft_table},
    {"net-capabilities", attempt::net_capabilities},
    {"peer-descriptor", attempt::peer_descriptor},
    {"park-namespace", attempt::park_namespace},
    {"trace", attempt::trace},
    {"bind-port", attempt::bind_port},
};

Outcome go(const std::string& name, const std::string& argument)
{
    for (const Way& way : ways)
        if (name == way.name)
            return way.go(argument);
    return {EINVAL, "no such attempt"};
}

// In a process of its own: one attempt must not spoil the next.
void report(const std::string& word)
{
    const auto equals = word.find('=');
    const std::string argument = equals == word.npos ? "" : word.substr(equals + 1);
    const auto begin = std::chrono::steady_clock::now();
    const Outcome got = go(word.substr(0, equals), argument);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    std::printf("%s %s%s%s (%lld ms)\n", word.c_str(), got.error ? "refused: " : "reached",
                got.error ? std::strerror(got.error) : "",
                got.detail.empty() ? "" : (": " + got.detail).c_str(),
                static_cast<long long>(took.count()));
    std::fflush(stdout);
}

} // namespace

int main(int count, char** words)
{
    for (int i = 1; i < count; ++i) {
        if (std::strncmp(words[i], "into=", 5) == 0) {
            if (std::freopen(words[i] + 5, "a", stdout) == nullptr)
                return 1;
            continue;
        }
        const pid_t child = fork();
        if (child == 0) {
            report(words[i]);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            std::printf("%s broken: status %d\n", words[i], status);
            std::fflush(stdout);
        }
    }
    return 0;
}
