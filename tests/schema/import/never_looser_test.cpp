// SPDX-License-Identifier: Apache-2.0
// The property of every import: what the imported policy lets through, its source let through.
// Random documents are judged by the code that enforces, and by models which have only the rules of
// matching of each source. Where nothing was lost, the reverse holds too, except for srt, where a
// denied name closes its address.
#include "schema/rules/gate_rules.hpp"
#include "schema/rules/network.hpp"

#include "tests/schema/import/imports.hpp"

#include <algorithm>
#include <array>
#include <random>

namespace anchorhold::import_never_looser_test {

using namespace imports;
using namespace rules;
namespace {

struct Host {
    std::string_view name; // empty: it is known by its address alone
    std::string_view address;
};
constexpr std::array<Host, 8> hosts{{{"a.org", "203.0.113.1"},
                                     {"x.a.org", "203.0.113.2"},
                                     {"y.x.a.org", "203.0.113.3"},
                                     {"b.org", "203.0.113.4"},
                                     {"", "192.0.2.0"},
                                     {"", "192.0.2.1"},
                                     {"", "192.0.2.2"},
                                     {"", "192.0.2.3"}}};
constexpr std::array<std::uint16_t, 5> ports{22, 80, 81, 443, 853};

Prefix range(std::string_view text)
{
    return *Prefix::parse(text, Code::invalid_request);
}

class Dice {
public:
    std::size_t roll(std::size_t sides) { return random_() % sides; }
    template <std::size_t Size> std::string one_of(const std::array<const char*, Size>& words)
    {
        return words[roll(Size)];
    }

private:
    std::mt19937 random_{20261130};
};

// ---- sandbox-runtime ----------------------------------------------------------------------------

using Words = std::vector<std::string>;

constexpr std::array srt_words{"a.org",       "A.org:443",     "*.a.org", "*.x.a.org:80",
                               "x.a.org",     "b.org:22",      "*:22",    "*",
                               "203.0.113.1", "192.0.2.1:443", "*:443",   "192.0.2.0/30",
                               "y.x.a.org",   "b.org:0443",    "b",       "x.a.org:80"};

bool srt_matches(std::string word, const std::string& host, std::uint16_t port)
{
    const std::size_t colon = word.rfind(':');
    if (colon != std::string::npos) {
        if (word.substr(colon + 1) != std::to_string(port))
            return false;
        word.resize(colon);
    }
    std::ranges::transform(word, word.begin(),
                           [](char c) { return static_cast<char>(std::tolower(c)); });
    if (word.starts_with("*."))
        return host[0] > '9' && host.ends_with(word.substr(1));
    return word == "*" || word == host;
}

struct Srt {
    static constexpr bool is_exact = false;
    Words allowed, denied;

    explicit Srt(Dice& dice)
    {
        for (std::size_t i = dice.roll(5); i > 0; --i)
            allowed.push_back(dice.one_of(srt_words));
        for (std::size_t i = dice.roll(3); i > 0; --i)
            denied.push_back(dice.one_of(srt_words));
    }
    static std::string_view format() { return "srt"; }
    std::string text() const
    {
        json::Writer out;
        out.begin_object().key("network").begin_object();
        out.strings("allowedDomains", allowed).strings("deniedDomains", denied);
        out.end_object().end_object();
        return out.take();
    }
    bool is_in(const Words& list, const std::string& host, std::uint16_t port) const
    {
        return std::ranges::any_of(
            list, [&](const std::string& word) { return srt_matches(word, host, port); });
    }
    bool permits(const Host& host, std::uint16_t port, bool udp) const
    {
        return !udp && std::ranges::any_of(Words{std::string(host.name), std::string(host.address)},
                                           [&](const std::string& as) {
                                               return !as.empty() && is_in(allowed, as, port) &&
                                                      !is_in(denied, as, port);
                                           });
    }
};

// ---- OpenSandbox --------------------------------------------------------------------------------

constexpr std::array opensandbox_words{"a.org",        "*.a.org",   "X.a.org",     "*.x.a.org",
                                       " b.org",       "b.org.",    "203.0.113.1", "192.0.2.0/30",
                                       "192.0.2.2/31", "192.0.2.1", "y.x.a.org",   "*"};

struct OpenSandbox {
    static constexpr bool is_exact = true;
    struct Rule {
        bool allows;
        std::string word;
    };
    bool open;
    std::vector<Rule> rules;

    explicit OpenSandbox(Dice& dice) : open(dice.roll(6) == 0)
    {
        for (std::size_t i = dice.roll(6); i > 0; --i)
            rules.push_back({dice.roll(3) != 0, dice.one_of(opensandbox_words)});
    }
    static std::string_view format() { return "opensandbox"; }
    std::string text() const
    {
        json::Writer out;
        out.begin_object().member("defaultAction", open ? "allow" : "deny");
        out.key("egress").begin_array();
        for (const Rule& rule : rules) {
            out.begin_object().member("action", rule.allows ? "allow" : "deny");
            out.member("target", rule.word).end_object();
        }
        out.end_array().end_object();
        return out.take();
    }
    bool resolves(const std::string& name) const
    {
        for (const Rule& rule : rules) {
            std::string word = rule.word.substr(rule.word.find_first_not_of(' '));
            std::ranges::transform(word, word.begin(),
                                   [](char c) { return static_cast<char>(std::tolower(c)); });
            if (word == name || (word.starts_with("*.") && name.ends_with(word.substr(1))))
                return rule.allows;
        }
        return open;
    }
    bool names_address(bool allowed, const Prefix& address) const
    {
        return std::ranges::any_of(rules, [&](const Rule& rule) {
            const auto to = Prefix::parse(rule.word, Code::invalid_request);
            return rule.allows == allowed && to && to->contains(address);
        });
    }
    bool permits(const Host& host, std::uint16_t port, bool /*udp*/) const
    {
        const Prefix address = range(host.address);
        if (port == 853 || names_address(false, address))
            return false;
        return names_address(true, address) || open ||
               (!host.name.empty() && resolves(std::string(host.name)));
    }
};

// ---- NetworkPolicy ------------------------------------------------------------------------------

struct NetworkPolicy {
    static constexpr bool is_exact = true;
    struct Block {
        std::string cidr, hole; // empty: none
    };
    struct PortEntry {
        int first, last; // 0: none
        std::string protocol;
    };
    struct Rule {
        std::vector<Block> to;
        std::vector<PortEntry> ports;
    };
    std::vector<Rule> rules;

    explicit NetworkPolicy(Dice& dice)
    {
        constexpr std::array cidrs{"192.0.2.0/30",
                                   "192.0.2.0/31",
                                   "192.0.2.2/31",
                                   "192.0.2.1/32",
                                   "203.0.113.0/24",
                                   "192.0.2.1/30",
                                   ""};
        constexpr std::array holes{"", "", "192.0.2.1/32", "192.0.2.2/31", "203.0.113.2/32"};
        constexpr std::array protocols{"TCP", "UDP", "SCTP", ""};
        for (std::size_t i = dice.roll(4); i > 0; --i) {
            Rule rule;
            for (std::size_t j = dice.roll(3); j > 0; --j)
                rule.to.push_back({dice.one_of(cidrs), dice.one_of(holes)});
            for (std::size_t j = dice.roll(3); j > 0; --j) {
                const int first = dice.roll(4) == 0 ? 0 : ports[dice.roll(5)];
                rule.ports.push_back({first, first == 0 || dice.roll(2) == 0 ? 0 : first + 1,
                                      dice.one_of(protocols)});
            }
            rules.push_back(rule);
        }
    }
    static std::string_view format() { return "networkpolicy"; }
    std::string text() const
    {
        json::Writer out;
        out.begin_object().member("apiVersion", "networking.k8s.io/v1");
        out.member("kind", "NetworkPolicy").key("metadata").begin_object();
        out.member("name", "imported").end_object().key("spec").begin_object();
        out.strings("policyTypes", {"Egress"}).key("egress").begin_array();
        for (const Rule& rule : rules)
            write(out, rule);
        out.end_array().end_object().end_object();
        return out.take();
    }
    static void write(json::Writer& out, const Rule& rule)
    {
        out.begin_object().key("to").begin_array();
        for (const Block& block : rule.to) {
            out.begin_object();
            if (block.cidr.empty()) {
                out.key("podSelector").begin_object().end_object();
            } else {
                out.key("ipBlock").begin_object().member("cidr", block.cidr);
                if (!block.hole.empty())
                    out.strings("except", {block.hole});
                out.end_object();
            }
            out.end_object();
        }
        out.end_array().key("ports").begin_array();
        for (const PortEntry& entry : rule.ports) {
            out.begin_object();
            if (entry.first != 0)
                out.key("port").integer(entry.first);
            if (entry.last != 0)
                out.key("endPort").integer(entry.last);
            if (!entry.protocol.empty())
                out.member("protocol", entry.protocol);
            out.end_object();
        }
        out.end_array().end_object();
    }
    // A block that the API server refuses permits nothing.
    static bool is_to(const Block& block, const Prefix& address)
    {
        const auto to = Prefix::parse(block.cidr, Code::invalid_request);
        if (!to || !to->contains(address))
            return false;
        return block.hole.empty() ||
               (to->contains(range(block.hole)) && !range(block.hole).contains(address));
    }
    static bool is_at(const PortEntry& entry, std::uint16_t port, bool udp)
    {
        const std::string protocol = entry.protocol.empty() ? "TCP" : entry.protocol;
        return protocol == (udp ? "UDP" : "TCP") &&
               (entry.first == 0 ||
                (entry.first <= port && port <= std::max(entry.first, entry.last)));
    }
    bool permits(const Host& host, std::uint16_t port, bool udp) const
    {
        const Prefix address = range(host.address);
        return std::ranges::any_of(rules, [&](const Rule& rule) {
            const bool to = rule.to.empty() || std::ranges::any_of(rule.to, [&](const Block& one) {
                                return is_to(one, address);
                            });
            return to && (rule.ports.empty() ||
                          std::ranges::any_of(rule.ports, [&](const PortEntry& entry) {
                              return is_at(entry, port, udp);
                          }));
        });
    }
};

// ---- the property -------------------------------------------------------------------------------

Network network_of(const Policy& policy)
{
    Network network;
    const auto allow = policy.find(policy.fallback)->allow.value_or(std::vector<AllowRule>());
    for (const AllowRule& rule : allow) {
        const auto* const host = std::ranges::find(hosts, text_of(rule.to), &Host::name);
        if (host != hosts.end())
            network.names.push_back({std::string(host->name), {std::string(host->address)}});
    }
    compile(allow, policy.deny, network);
    return network;
}

GateRules gate_rules_of(const Policy& policy)
{
    GateRules rules;
    rules.allow = policy.find(policy.fallback)->allow.value_or(std::vector<AllowRule>());
    rules.deny = policy.deny;
    return rules;
}

bool is_dialled(const GateMatcher& gate, const Host& host, std::uint16_t port)
{
    const Prefix address = range(host.address);
    const auto name = NamePattern::parse(host.name, Code::invalid_request);
    const AllowRule* const rule = name ? gate.rule_for(*name, port) : nullptr;
    return gate.rule_for(address, port) != nullptr ||
           (rule != nullptr && gate.judge(*rule, address, port).ruling == Ruling::allowed);
}

struct Seen {
    std::size_t permitted = 0, whole = 0, refused = 0, dialled = 0;
};

template <typename Source> void hold(const Source& source, Seen& seen)
{
    const std::string text = source.text();
    const auto got = import_policy(Source::format(), text);
    if (!got) {
        ++seen.refused;
        return;
    }
    const Network network = network_of(policy_in(got->policy));
    const GateRules rules = gate_rules_of(policy_in(got->policy));
    const GateMatcher gate(rules);
    const bool whole = Source::is_exact && got->losses.empty();
    seen.whole += whole ? 1 : 0;
    for (const Host& host : hosts) {
        for (const std::uint16_t port : ports) {
            for (const bool udp : {false, true}) {
                const bool ours =
                    judge(network, range(host.address), port, udp).ruling == Ruling::allowed;
                const bool theirs = source.permits(host, port, udp);
                if (ours != theirs && (ours || whole))
                    FAIL(text);
                seen.permitted += ours ? 1 : 0;
            }
            const bool dialled = is_dialled(gate, host, port);
            if (dialled && !source.permits(host, port, false))
                FAIL(text);
            seen.dialled += dialled ? 1 : 0;
        }
    }
}

template <typename Source> Seen hold_many()
{
    Dice dice;
    Seen seen;
    for (int round = 0; round < 400; ++round)
        hold(Source(dice), seen);
    return seen;
}

} // namespace

TEST_CASE("srt: what comes out permits nothing that the settings did not")
{
    const Seen seen = hold_many<Srt>();
    CHECK(seen.dialled > 500);
    CHECK(seen.permitted > 500); // the models have permitted something
    CHECK(seen.refused > 20);
}

TEST_CASE("opensandbox: what comes out permits nothing that the policy did not")
{
    const Seen seen = hold_many<OpenSandbox>();
    CHECK(seen.dialled > 500);
    CHECK(seen.permitted > 500);
    CHECK(seen.whole > 50);
}

TEST_CASE("networkpolicy: what comes out permits nothing that the object did not")
{
    const Seen seen = hold_many<NetworkPolicy>();
    CHECK(seen.permitted > 500);
    CHECK(seen.whole > 50);
}

} // namespace anchorhold::import_never_looser_test
