// SPDX-License-Identifier: Apache-2.0
#include "schema/render.hpp"

#include "schema/record_network.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <tuple>

namespace anchorhold {

namespace {

// Returns how many columns a text takes. It is UTF-8 and was made printable, so every byte but the
// continuation bytes stands for one column.
std::size_t columns(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

void pad(std::string& text, std::size_t from, std::size_t width)
{
    const std::size_t taken = columns(std::string_view(text).substr(from));
    if (taken < width)
        text.append(width - taken, ' ');
}

std::string time_text(std::int64_t seconds)
{
    if (seconds == 0)
        return {};
    const std::time_t time = seconds;
    std::tm parts = {};
    ::gmtime_r(&time, &parts);
    std::array<char, 32> text{};
    const std::size_t length =
        std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text.data(), length};
}

std::vector<std::string> one(std::string text)
{
    if (text.empty())
        return {};
    return {printable(text, 1000)};
}

std::vector<std::string> all(const std::vector<std::string>& texts)
{
    std::vector<std::string> safe;
    for (const std::string& text : texts)
        safe.push_back(printable(text, 1000));
    return safe;
}

std::vector<std::string> endpoint_lines(const std::vector<Endpoint>& endpoints)
{
    std::vector<std::string> lines;
    for (const Endpoint& endpoint : endpoints) {
        lines.push_back(printable(endpoint.name +
                                      " at 127.0.0.1:" + std::to_string(endpoint.listen.number()) +
                                      " to " + target_text(endpoint.to),
                                  1000));
    }
    return lines;
}

std::string process_text(const ProcessIdentity& process)
{
    return process.pid == 0 ? std::string() : "pid " + std::to_string(process.pid);
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

// Returns them in an order of ours: the kernel's set has none.
std::vector<rules::Denied> by_time(std::vector<rules::Denied> denied)
{
    std::ranges::sort(denied, {}, [](const rules::Denied& one) {
        return std::tuple(one.last, one.to, one.port, one.udp);
    });
    return denied;
}

constexpr const char* may_be_more = "there may be more: only so many are kept";

void add_reaches(std::string_view verb, const std::vector<rules::Reach>& reaches,
                 std::vector<std::string>& lines)
{
    for (const rules::Reach& reach : reaches)
        lines.push_back(std::string(verb) + " " + reach.text());
}

std::vector<std::string> network_lines(const std::optional<rules::Network>& network)
{
    if (!network)
        return {};
    std::vector<std::string> lines;
    if (network->subnet)
        lines.push_back("subnet " + network->subnet->text());
    if (network->enable_forwarding)
        lines.emplace_back("forwarding may be switched on, as the policy says");
    for (const std::uint16_t port : network->broker_ports)
        lines.push_back("the host's tcp " + std::to_string(port));
    add_reaches("deny", network->deny, lines);
    add_reaches("allow", network->allow, lines);
    for (const rules::PinnedName& pinned : network->names)
        lines.push_back(printable(pinned.name + " is " + joined(pinned.addresses), 1000));
    return lines;
}

// Tells a gate's rules as they are written: names stand behind handles in the network's.
std::vector<std::string> gate_lines(const RunGate& gate)
{
    std::vector<std::string> lines;
    if (gate.lost != 0)
        lines.push_back("gone since " + time_text(gate.lost) + ", so all is closed");
    if (gate.lost == 0 && gate.process.pid != 0)
        lines.push_back(process_text(gate.process));
    if (gate.rules.epoch != 0)
        lines.push_back("times that it was started again: " + std::to_string(gate.rules.epoch));
    std::ranges::move(all(rules::lines_of(gate.rules)), std::back_inserter(lines));
    return lines;
}

std::vector<std::string> denied_lines(const Record& record)
{
    std::vector<std::string> lines;
    if (record.drops != 0)
        lines.push_back(std::to_string(record.drops) + " packets");
    if (!record.denied.empty()) {
        lines.push_back(std::to_string(record.denied.size()) +
                        (record.denied.size() == 1 ? " destination" : " destinations") +
                        ", see anchorhold denials");
    }
    if (record.more_denied)
        lines.emplace_back(may_be_more);
    return lines;
}

std::vector<std::string> network_of(const Plan& plan)
{
    if (plan.network == NetworkNamespace::own)
        return {plan.has_gate ? "its own, fresh, with a gate" : "its own, fresh"};
    if (plan.network == NetworkNamespace::pods)
        return {"its pod's"};
    if (plan.strip_net_caps)
        return {"the engine's, filtered in place"};
    return {};
}

std::vector<std::string> relay_of(const std::string& way)
{
    if (way == "inside")
        return {"inside: process 1, the command is its child"};
    if (way == "child")
        return {"child: the command is process 1"};
    return one(way);
}

std::vector<std::string> proxies_of(const Plan& plan)
{
    if (plan.strip_proxies)
        return {"removed"};
    if (plan.exempt_relay)
        return {"kept, with the relay's addresses in NO_PROXY"};
    return {};
}

} // namespace

std::string render_table(const std::vector<std::vector<std::string>>& rows)
{
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], columns(row[i]));
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::size_t from = text.size();
            text += row[i];
            if (i + 1 < row.size())
                pad(text, from, widths[i] + 2);
        }
        text += '\n';
    }
    return text;
}

std::string render_facts(const Facts& facts)
{
    std::size_t width = 0;
    for (const auto& [name, values] : facts)
        width = values.empty() ? width : std::max(width, name.size() + 1);
    std::string text;
    for (const auto& [name, values] : facts) {
        std::string label = std::string(name) + ":";
        for (const std::string& value : values) {
            const std::size_t from = text.size();
            text += label;
            pad(text, from, width + 2);
            text += value + "\n";
            label.clear();
        }
    }
    return text;
}

namespace {

// Says in which way a run is not as its record has it.
std::string doubt_of(const Record& record)
{
    return record.seen.empty() || record.seen == "as recorded" ? "" : printable(record.seen);
}

std::string state_cell(const Record& record)
{
    const std::string doubt = doubt_of(record);
    return std::string(word_for(record.state)) + (doubt.empty() ? "" : ", but " + doubt);
}

std::string seen_text(const Record& record)
{
    return record.seen.empty() ? "" : printable(record.seen) + ", " + time_text(record.seen_at);
}

// Returns the names that were refused, each with the rule that would allow it.
std::string refused_names_text(const Record& record)
{
    if (!record.refused_names)
        return "names are not counted in this run\n";
    const rules::RefusedNames& refused = *record.refused_names;
    std::vector<std::vector<std::string>> rows{{"NAME", "TRIES", "RULE"}};
    for (const rules::RefusedName& one : refused.names) {
        rows.push_back({printable(one.name, 300), std::to_string(one.tries),
                        printable(rules::remedy_for(one, record), 400)});
    }
    return render_table(rows) + (refused.others == 0
                                     ? ""
                                     : std::to_string(refused.others) +
                                           " tries of other names: only so many are kept\n");
}

} // namespace

std::string render_runs(const std::vector<Record>& records, Owners owners)
{
    std::vector<std::vector<std::string>> rows{
        {"OWNER", "ID", "STATE", "POSTURE", "INIT", "NETWORK"}};
    for (const Record& record : records) {
        rows.push_back({std::to_string(record.owner), printable(record.id, 40), state_cell(record),
                        std::string(word_for(record.posture)),
                        record.init.pid == 0 ? "-" : std::to_string(record.init.pid),
                        printable(record.sentence, 1000)});
    }
    if (owners == Owners::ours) {
        for (auto& row : rows)
            row.erase(row.begin());
    }
    return render_table(rows);
}

std::string render_denials(const Record& record)
{
    std::vector<std::vector<std::string>> rows{{"LAST", "DESTINATION", "PORT", "PROTOCOL"}};
    for (const rules::Denied& one : by_time(record.denied)) {
        rows.push_back({one.last == 0 ? "-" : time_text(one.last), printable(one.to),
                        one.port == 0 ? "-" : std::to_string(one.port), one.udp ? "UDP" : "TCP"});
    }
    return render_table(rows) + (record.more_denied ? may_be_more + std::string("\n") : "") +
           refused_names_text(record);
}

std::string denials_json(const Record& record)
{
    json::Writer out(json::Layout::pretty);
    write_denied(out.begin_object().key("denied"), by_time(record.denied));
    out.key("more_denied").boolean(record.more_denied);
    if (record.refused_names)
        write_refused_names(out.key("refused_names"), *record.refused_names);
    out.end_object();
    return out.take();
}

std::string render_record(const Record& record)
{
    return record.sentence + "\n" +
           render_facts({
               {"id", one(record.id)},
               {"key", one(run_name(record))},
               {"state", one(state_cell(record))},
               {"seen", one(seen_text(record))},
               {"why", one(std::string(word_for(record.why)))},
               {"code", one(record.code)},
               {"reason", one(record.reason)},
               {"profile", one(record.profile)},
               {"pod", one(record.pod)},
               {"technique", one(std::string(word_for(record.technique)))},
               {"relay", relay_of(record.relay)},
               {"when a broker is lost", one(record.on_broker_lost)},
               {"told inside", one(record.notice)},
               {"endpoints", endpoint_lines(record.endpoints)},
               {"gate", record.gate ? gate_lines(*record.gate) : std::vector<std::string>()},
               {"network",
                record.gate ? std::vector<std::string>() : network_lines(record.network)},
               {"denied", denied_lines(record)},
               {"verified", one(joined(record.verified))},
               {"voids", all(record.voids)},
               {"other channels", all(record.other_channels)},
               {"advice", all(record.advice)},
               {"removed variables", one(joined(record.removed_env))},
               {"removed capabilities", one(joined(record.removed_caps))},
               {"removed hooks", all(record.removed_hooks)},
               {"network namespace replaced", one(record.replaced_netns)},
               {"init", one(process_text(record.init))},
               {"created", one(time_text(record.created))},
               {"ended", one(time_text(record.ended))},
               {"runtime", one(record.delegate)},
               {"root", one(record.root)},
               {"bundle", one(record.bundle)},
           });
}

std::string render_pod(const Record& sandbox, const std::vector<Record>& containers)
{
    std::vector<std::vector<std::string>> rows;
    std::vector<Posture> postures{sandbox.posture};
    for (const Record& one : containers) {
        postures.push_back(one.posture);
        rows.push_back({printable(one.id, 64), std::string(word_for(one.state)),
                        std::string(word_for(one.posture)),
                        one.technique == Technique::pod ? "the pod's network" : "its own network"});
    }
    return "\nits pod is " + std::string(word_for(fold(postures))) + ", with\n" +
           render_table(rows);
}

Facts facts_of(const Plan& plan)
{
    std::vector<std::string> mounts;
    for (const MountEdit& mount : plan.mounts)
        mounts.push_back(printable(mount.source + " on " + mount.destination, 1000));
    std::vector<std::string> env;
    for (const auto& [name, value] : plan.env)
        env.push_back(printable(name + "=" + value, 1000));
    const auto when = [](bool wanted, const char* what) {
        return wanted ? std::vector<std::string>{what} : std::vector<std::string>{};
    };
    return {
        {"network namespace", network_of(plan)},
        {"command", one(plan.command_prefix.empty() ? "" : joined(plan.command_prefix) + " ...")},
        {"relay", relay_of(plan.relay)},
        {"when a broker is lost", one(plan.on_broker_lost)},
        {"mounts", mounts},
        {"told inside", one(plan.notice)},
        {"hosts file",
         when(plan.cover_hosts && !plan.has_gate, "names as they are when the run is created")},
        {"resolv.conf", when(plan.cover_resolv_conf, plan.has_gate ? "answered by the gate"
                                                     : plan.command_prefix.empty()
                                                         ? "without a resolver behind it"
                                                         : "answered with NXDOMAIN inside")},
        {"proxy variables", proxies_of(plan)},
        {"variables set", env},
        {"capabilities", when(plan.strip_net_caps, "CAP_NET_ADMIN and CAP_NET_RAW removed")},
        {"devices", when(plan.close_devices, "closed but for those that every container gets")},
        {"system calls", when(plan.seccomp.wanted,
                              plan.seccomp.deny_vsock
                                  ? "ways round the namespace denied, vsock among them"
                                  : "ways round the namespace denied, vsock allowed by policy")},
        {"hooks", when(plan.hooks, "createRuntime and poststop of anchorhold-hook")},
        {"engine's network hook", when(plan.drop_setkey_hook, "removed where there is one")},
    };
}

} // namespace anchorhold
