// SPDX-License-Identifier: Apache-2.0
// A program that loads, reads back and drops the tables of one run in the namespace it is called
// in, for integration/hooks/tables.sh:
//   tables inside|plant|host|drop|denied|bench [WORD=VALUE...]
// integration/gate plants by it what a run with a gate has inside.
#include "hooks/net/local_routes.hpp"
#include "hooks/nft/host_table.hpp"
#include "hooks/nft/inside_table.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include <linux/netlink.h>

using namespace anchorhold;
using namespace anchorhold::net;
using namespace anchorhold::nft;
using namespace anchorhold::rules;
using namespace anchorhold::state;

namespace {

struct Asked {
    HostRun run{"000000000001", Posture::sealed, Technique::veth, {}};
    std::uint32_t link = 0;
    std::optional<Prefix> handles;
    int runs = 0;
};

Reach reach_of(std::string_view text) // reads 10.1.0.0/16:tcp:5432-5439
{
    const std::size_t ports = text.rfind(':');
    const std::size_t protocol = text.rfind(':', ports - 1);
    const std::string range(text.substr(ports + 1));
    const std::size_t dash = range.find('-');
    const int first = std::stoi(range);
    const int last = dash == range.npos ? first : std::stoi(range.substr(dash + 1));
    return {*Prefix::parse(text.substr(0, protocol), Code::invalid_policy),
            {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last),
             text.substr(protocol + 1, 3) == "udp"}};
}

bool read(Asked& asked, std::string_view word, const std::string& value)
{
    Network& network = asked.run.network;
    const auto prefix = [&] { return *Prefix::parse(value, Code::invalid_policy); };
    if (word == "key")
        asked.run.key = value;
    else if (word == "posture")
        asked.run.posture = *posture_from(value);
    else if (word == "technique")
        asked.run.technique = *technique_from(value);
    else if (word == "subnet")
        network.subnet = *Subnet::parse(value, Code::invalid_policy);
    else if (word == "port")
        network.broker_ports.push_back(static_cast<std::uint16_t>(std::stoi(value)));
    else if (word == "allow")
        network.allow.push_back(reach_of(value));
    else if (word == "deny")
        network.deny.push_back(reach_of(value));
    else if (word == "node")
        network.node.push_back(prefix());
    else if (word == "delivered")
        network.delivered.push_back(prefix());
    else if (word == "guest")
        network.guest.push_back(prefix());
    else if (word == "link")
        asked.link = static_cast<std::uint32_t>(std::stoi(value));
    else if (word == "handles")
        asked.handles = prefix();
    else if (word == "pool")
        network.pool = prefix();
    else if (word == "runs")
        asked.runs = std::stoi(value);
    else
        return false;
    return true;
}

int complain(const Error& error)
{
    std::fprintf(stderr, "%s\n", error.what.c_str());
    return 1;
}

int compare(const std::vector<std::string>& planned, const std::vector<std::string>& seen)
{
    for (const std::string& line : planned) {
        if (std::ranges::find(seen, line) == seen.end())
            std::fprintf(stderr, "planned %s\n", line.c_str());
    }
    for (const std::string& line : seen) {
        if (std::ranges::find(planned, line) == planned.end())
            std::fprintf(stderr, "seen    %s\n", line.c_str());
    }
    std::puts(planned == seen ? "same" : "different");
    return planned == seen ? 0 : 1;
}

int inside(Netlink& kernel, const Asked& asked)
{
    const InsidePlan plan{asked.run.posture, asked.run.network, asked.link, asked.handles};
    const auto planned = expected_inside(plan);
    if (!planned)
        return complain(planned.error());
    for (const ExistingTable standing : {ExistingTable::none, ExistingTable::ours}) {
        if (const auto sent = kernel.send(load_inside_table(plan, standing)); !sent)
            return complain(sent.error());
    }
    const auto seen = ask_all(kernel, inside_table());
    if (!seen)
        return complain(seen.error());
    const int ours = compare(planned->ours, seen->ours);
    return compare(planned->elements, seen->elements) + ours;
}

int plant(Netlink& kernel, const Asked& asked)
{
    auto route = Netlink::open(NETLINK_ROUTE, Deadline(std::chrono::seconds(20)));
    if (!route)
        return complain(route.error());
    std::vector<Step> steps = make_v4_local(*asked.handles);
    steps.push_back(make_v6_local());
    const auto sent = route->send(steps);
    return sent ? inside(kernel, asked) : complain(sent.error());
}

int host(Netlink& kernel, const Asked& asked)
{
    const auto planned = host_rules_lines(asked.run);
    if (!planned)
        return complain(planned.error());
    if (const auto sent = kernel.send(load_host_rules(asked.run)); !sent)
        return complain(sent.error());
    const auto seen = ask_host_rules(kernel, asked.run);
    return seen ? compare(*planned, *seen) : complain(seen.error());
}

int denied(Netlink& kernel)
{
    std::vector<Message> all;
    for (const Step& request : list_denied()) {
        const auto some = kernel.list(request);
        if (!some)
            return complain(some.error());
        all.insert(all.end(), some->begin(), some->end());
    }
    const auto list = read_denied(all, std::time(nullptr));
    if (!list)
        return complain(list.error());
    for (const Denied& one : *list)
        std::printf("%s %s %u\n", one.to.c_str(), one.udp ? "udp" : "tcp", one.port);
    return 0;
}

double median_ms(Netlink& kernel, const HostRun& run, double* drop, double* back)
{
    using Clock = std::chrono::steady_clock;
    const auto ms = [](auto since) {
        return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
    };
    std::vector<double> loads, drops, backs;
    for (int i = 0; i < 21; ++i) {
        auto start = Clock::now();
        if (const auto sent = kernel.send(load_host_rules(run)); !sent)
            return complain(sent.error());
        loads.push_back(ms(start));
        start = Clock::now();
        if (const auto seen = ask_host_rules(kernel, run); !seen)
            return complain(seen.error());
        backs.push_back(ms(start));
        start = Clock::now();
        if (const auto sent = kernel.send(drop_host_rules(run)); !sent)
            return complain(sent.error());
        drops.push_back(ms(start));
    }
    for (auto* const all : {&loads, &drops, &backs})
        std::ranges::sort(*all);
    *drop = drops[10];
    *back = backs[10];
    return loads[10];
}

// Measures with many other runs, whose links need not be there.
int bench(Netlink& kernel, const Asked& asked)
{
    for (int i = 0; i < asked.runs; ++i) {
        HostRun other = asked.run;
        char key[13];
        std::snprintf(key, sizeof key, "%012x", i + 0x1000);
        other.key = key;
        other.network.subnet->base += static_cast<std::uint32_t>(4 * i + 4);
        if (const auto sent = kernel.send(load_host_rules(other)); !sent)
            return complain(sent.error());
    }
    double drop = 0;
    double back = 0;
    const double load = median_ms(kernel, asked.run, &drop, &back);
    std::printf("%d runs: load %.3f ms, read back %.3f ms, drop %.3f ms\n", asked.runs, load, back,
                drop);
    return 0;
}

int act(Netlink& kernel, std::string_view verb, const Asked& asked)
{
    const auto send = [&](const std::vector<Step>& steps) {
        const auto sent = kernel.send(steps);
        return sent ? 0 : complain(sent.error());
    };
    if (verb == "inside")
        return inside(kernel, asked);
    if (verb == "plant" && asked.handles)
        return plant(kernel, asked);
    if (verb == "host")
        return host(kernel, asked);
    if (verb == "drop") {
        const auto generation = ask_generation(kernel);
        const auto unused = ask_unneeded(kernel, asked.run);
        if (!generation || !unused)
            return complain(generation ? unused.error() : generation.error());
        return send(drop_host_rules(asked.run, *unused, *generation));
    }
    if (verb == "denied")
        return denied(kernel);
    if (verb == "bench")
        return bench(kernel, asked);
    return 2;
}

} // namespace

int main(int count, char** arguments)
{
    Asked asked;
    for (int i = 2; i < count; ++i) {
        const std::string_view argument = arguments[i];
        const std::size_t is = argument.find('=');
        if (is == argument.npos ||
            !read(asked, argument.substr(0, is), std::string(argument.substr(is + 1))))
            return 2;
    }
    auto kernel = Netlink::open(NETLINK_NETFILTER, Deadline(std::chrono::seconds(20)));
    if (!kernel)
        return complain(kernel.error());
    return count < 2 ? 2 : act(*kernel, arguments[1], asked);
}
