// SPDX-License-Identifier: Apache-2.0
#include "schema/policy.hpp"

#include "schema/read_profile.hpp"
#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace anchorhold {
namespace {

// Reserved, because they would name our own programs: anchorhold-hook, anchorhold-relay,
// anchorhold-gate.
constexpr std::array<std::string_view, 3> reserved_names{"hook", "relay", "gate"};

Result<std::vector<std::string>> read_strings(json::View array)
{
    AH_TRY(const std::vector<json::View> items, array.array());
    std::vector<std::string> texts;
    for (const json::View item : items) {
        AH_TRY(std::string text, item.string());
        if (std::ranges::find(texts, text) != texts.end())
            return std::unexpected(item.wrong("is there twice"));
        texts.push_back(std::move(text));
    }
    return texts;
}

Result<std::string> read_path(json::View at)
{
    AH_TRY(std::string path, at.string());
    if (!is_plain_path(path)) {
        return std::unexpected(at.expected("an absolute path without empty, \".\" and \"..\" "
                                           "components"));
    }
    return path;
}

bool overlap(const rules::Prefix& one, const rules::Prefix& other)
{
    return one.contains(other) || other.contains(one);
}

// Reads a range for addresses of our own: the pool from which runs get their /30, or the handles.
// It overlaps nothing that is denied to every run, because it is added to that itself.
Result<rules::Prefix> read_own_range(json::View at, unsigned longest)
{
    AH_TRY(const std::string text, at.string());
    const auto range = rules::Prefix::parse(text, Code::invalid_policy);
    if (!range)
        return std::unexpected(at.wrong(range.error().what));
    if (!range->is_v4() || range->length() < 8 || range->length() > longest) {
        return std::unexpected(
            at.expected("a prefix of IPv4 between /8 and /" + std::to_string(longest)));
    }
    for (const rules::Prefix& denied : rules::always_denied(rules::Network::default_pool())) {
        if (overlap(denied, *range) && denied != rules::Network::default_pool())
            return std::unexpected(at.wrong("meets " + denied.text() + ", which no run reaches"));
    }
    return *range;
}

Status read_networks(json::View root, Policy& policy)
{
    constexpr unsigned longest_pool = 29; // room for two links
    if (const auto at = root.find("pool")) {
        AH_TRY(policy.pool, read_own_range(*at, longest_pool));
    }
    if (const auto at = root.find("handles")) {
        AH_TRY(policy.handles, read_own_range(*at, rules::longest_handles));
    }
    if (overlap(policy.pool, policy.handles)) {
        const bool says_handles = root.find("handles").has_value();
        return std::unexpected(
            root.find(says_handles ? "handles" : "pool")
                ->wrong(says_handles
                            ? "meets the pool " + policy.pool.text() + "; choose another range"
                            : "meets the handles " + policy.handles.text() +
                                  "; choose another range, or say \"handles\" as well"));
    }
    if (const auto upstream = root.find("upstream"); upstream && !upstream->is_null()) {
        AH_CHECK(upstream->string());
        return std::unexpected(upstream->wrong("not available yet"));
    }
    return {};
}

Status check_version(json::View root)
{
    if (const auto at = root.find("version")) {
        AH_TRY(const std::int64_t version, at->integer());
        if (version != 1)
            return std::unexpected(at->expected("1, the only version this program knows"));
    }
    return {};
}

// Adds the texts that are not there yet.
void add_missing(const std::vector<std::string>& texts, std::vector<std::string>& into)
{
    for (const std::string& text : texts) {
        if (std::ranges::find(into, text) == into.end())
            into.push_back(text);
    }
}

Status read_sockets(json::View root, Policy& policy)
{
    const auto at = root.find("sockets");
    if (!at)
        return {};
    AH_TRY(const std::vector<std::string> folders, read_strings(*at));
    for (const json::View item : at->items())
        AH_CHECK(read_path(item));
    add_missing(folders, policy.sockets);
    return {};
}

// Reads the bounds of what an annotation may ask for.
Status read_bounds(json::View root, Policy& policy)
{
    if (const auto at = root.find("annotations")) {
        AH_TRY(policy.annotations, at->boolean());
    }
    AH_CHECK(read_egress(root, "ceiling", policy.ceiling));
    AH_CHECK(read_sockets(root, policy));
    if (const auto at = root.find("tcp_endpoints")) {
        AH_CHECK(read_strings(*at));
        for (const json::View item : at->items()) {
            AH_TRY(const std::string text, item.string());
            const auto target = parse_tcp_target(text, Code::invalid_policy);
            if (!target)
                return std::unexpected(item.wrong(target.error().what));
            policy.tcp_endpoints.push_back(*target);
        }
    }
    if (const auto at = root.find("allow"); at && !at->is_null()) {
        AH_TRY(policy.allow, rules::read_rules(*at, rules::ListKind::policy));
    }
    if (const auto at = root.find("deny")) {
        AH_TRY(policy.deny, rules::read_rules(*at, rules::ListKind::deny));
    }
    return {};
}

// Reads the members that only the policy itself has, up to its profiles.
Status read_own_members(json::View root, Policy& policy)
{
    AH_CHECK(root.only({"version",
                        "runtime",
                        "default",
                        "annotations",
                        "ceiling",
                        "sockets",
                        "tcp_endpoints",
                        "annotation_profiles",
                        "allow",
                        "deny",
                        "voids",
                        "vsock",
                        "dns",
                        "notice",
                        "relay",
                        "tcp",
                        "allow_by",
                        "on_broker_lost",
                        "broker_lost_after",
                        "broker_lost_grace",
                        "forwarding",
                        "pool",
                        "records",
                        "handles",
                        "upstream",
                        "profiles"}));
    if (const auto at = root.find("runtime")) {
        AH_TRY(policy.runtime, read_path(*at));
    }
    if (const auto at = root.find("records")) {
        AH_TRY(policy.records, read_path(*at));
    }
    AH_TRY(policy.switches, read_switches(root, {}));
    AH_CHECK(read_networks(root, policy));
    return read_bounds(root, policy);
}

// Reads what a drop-in may say besides its profiles. All else stays policy.json's, so that no
// recipe that was dropped in changes what another one gets.
Status read_drop_in_members(json::View root, Policy& policy)
{
    for (const json::View member : root.items()) {
        const std::string name = member.key();
        if (name != "version" && name != "sockets" && name != "annotation_profiles" &&
            name != "profiles") {
            return std::unexpected(member.wrong("a drop-in has version, sockets, "
                                                "annotation_profiles and profiles alone; put it "
                                                "into policy.json"));
        }
    }
    return read_sockets(root, policy);
}

Status read_default(json::View root, Policy& policy)
{
    const auto at = root.find("default");
    if (!at)
        return {};
    AH_TRY(policy.fallback, at->string());
    if (policy.fallback == "open" && policy.find("open") == nullptr) {
        Profile& open = policy.profiles["open"];
        open.name = "open";
        open.egress = Egress::open;
        open.switches = policy.switches;
    }
    if (policy.find(policy.fallback) == nullptr)
        return std::unexpected(at->wrong("no profile " + in_quotes(policy.fallback)));
    return {};
}

Status read_annotation_profiles(json::View root, Policy& policy)
{
    const auto at = root.find("annotation_profiles");
    if (!at)
        return {};
    AH_TRY(const std::vector<std::string> names, read_strings(*at));
    for (const json::View item : at->items()) {
        AH_TRY(const std::string name, item.string());
        if (policy.find(name) == nullptr)
            return std::unexpected(item.wrong("no profile " + in_quotes(name)));
    }
    add_missing(names, policy.annotation_profiles);
    return {};
}

enum class Part : std::uint8_t { policy, drop_in };

// Reads a policy and its drop-ins, one kind of member after the other, and keeps every fault: what
// comes first is what a caller is told.
class PolicyReader {
public:
    void add(const PolicyFile& file, Part part)
    {
        auto document = json::Document::parse(file.text, Code::invalid_policy);
        if (!document)
            return keep(std::unexpected(std::move(document).error()), file.path);
        documents_.push_back({*std::move(document), file.path, part});
        const json::View root = documents_.back().document.root();
        // The version comes first: another one may have other members.
        Status usable =
            root.object() ? check_version(root) : Status(std::unexpected(root.object().error()));
        if (!usable) {
            documents_.pop_back();
            keep(std::move(usable), file.path);
        }
    }

    void read()
    {
        for (const Source& one : documents_) {
            const json::View root = one.document.root();
            keep(one.part == Part::policy ? read_own_members(root, policy_)
                                          : read_drop_in_members(root, policy_),
                 one.path);
        }
        policy_.profiles["off"].switches = policy_.switches;
        for (const Source& one : documents_)
            read_profiles(one);
        for (const Source& one : documents_) {
            if (one.part == Part::policy)
                keep(read_default(one.document.root(), policy_), one.path);
        }
        for (const Source& one : documents_)
            keep(read_annotation_profiles(one.document.root(), policy_), one.path);
    }

    Policy policy_;
    std::vector<Error> faults_;

private:
    struct Source {
        json::Document document;
        std::string path;
        Part part;
    };

    void keep(Status status, const std::string& path)
    {
        if (!status)
            faults_.push_back(
                std::move(status).error().in(path.empty() ? "" : "policy " + printable(path)));
    }

    void read_profiles(const Source& source)
    {
        const auto at = source.document.root().find("profiles");
        const auto members = at ? at->object() : std::vector<json::View>();
        if (!members)
            return keep(std::unexpected(members.error()), source.path);
        for (const json::View member : *members) {
            const auto [owner, first] = owners_.try_emplace(member.key(), source.path);
            if (!first) {
                keep(std::unexpected(member.wrong("is in " + printable(owner->second) +
                                                  " as well; leave it in one of the two")),
                     source.path);
                continue;
            }
            auto profile = read_profile(member, policy_.switches);
            if (profile)
                policy_.profiles[profile->name] = *std::move(profile);
            else
                keep(std::unexpected(std::move(profile).error()), source.path);
        }
    }

    std::deque<Source> documents_;              // views point into them
    std::map<std::string, std::string> owners_; // the file of each profile
};

PolicyReader read_all(const PolicyFiles& files)
{
    PolicyReader reader;
    if (files.policy)
        reader.add(*files.policy, Part::policy);
    for (const PolicyFile& file : files.drop_ins)
        reader.add(file, Part::drop_in);
    reader.read();
    return reader;
}

} // namespace

bool is_profile_name(std::string_view name)
{
    return is_short_name(name) && std::ranges::find(reserved_names, name) == reserved_names.end();
}

std::optional<Relay> relay_from(std::string_view word)
{
    constexpr std::array<std::pair<std::string_view, Relay>, 3> words{
        {{"auto", Relay::automatic}, {"inside", Relay::inside}, {"child", Relay::child}}};
    const auto found = std::ranges::find(words, word, &std::pair<std::string_view, Relay>::first);
    return found == words.end() ? std::nullopt : std::optional(found->second);
}

Policy::Policy()
{
    profiles["off"].name = "off";
}

const Profile* Policy::find(std::string_view name) const
{
    const auto found = profiles.find(std::string(name));
    return found == profiles.end() ? nullptr : &found->second;
}

std::string Policy::known_profiles() const
{
    std::string list;
    for (const auto& [name, profile] : profiles)
        list += (list.empty() ? "" : ", ") + name;
    return list;
}

Result<Policy> parse_policy(std::string text)
{
    return merge_policy(PolicyFiles{PolicyFile{{}, std::move(text)}, {}});
}

Result<Policy> merge_policy(const PolicyFiles& files)
{
    PolicyReader reader = read_all(files);
    if (!reader.faults_.empty())
        return std::unexpected(std::move(reader.faults_.front()));
    return std::move(reader.policy_);
}

std::vector<Error> policy_faults(const PolicyFiles& files)
{
    return std::move(read_all(files).faults_);
}

} // namespace anchorhold
