// SPDX-License-Identifier: Apache-2.0
#include "schema/import/import.hpp"

#include "schema/import/networkpolicy.hpp"
#include "schema/import/opensandbox.hpp"
#include "schema/import/srt.hpp"
#include "schema/policy.hpp"

#include <algorithm>
#include <optional>

namespace anchorhold::imports {
namespace {

// Returns the short form that a person would have written, "pypi.org" or "[2001:db8::/32]:53";
// nothing when the rule needs an object.
std::optional<std::string> short_text(const rules::AllowRule& rule, rules::ListKind kind)
{
    std::string text = rules::text_of(rule.to);
    const auto* const range = std::get_if<rules::Prefix>(&rule.to);
    if (range != nullptr && range->is_single())
        text.resize(text.rfind('/'));
    const rules::PortRange first = rule.ports[0];
    const bool one =
        kind == rules::ListKind::allow
            ? rule.ports == std::vector{rules::PortRange{first.first, first.first, false}}
            : rule.ports == both_protocols(first.first, first.first);
    if (!rule.except.empty() ||
        (!one && (kind == rules::ListKind::allow || rule.ports != all_ports())))
        return std::nullopt;
    if (!one || rule.ports == std::vector{rules::PortRange{}})
        return text;
    const bool brackets = range != nullptr && !range->is_v4();
    return (brackets ? "[" + text + "]:" : text + ":") + std::to_string(first.first);
}

void write_rule(json::Writer& out, const rules::AllowRule& rule)
{
    out.begin_object().member("to", rules::text_of(rule.to)).key("ports").begin_array();
    for (const rules::PortRange& range : rule.ports) {
        out.begin_object().key("port").integer(range.first);
        if (range.last != range.first)
            out.key("endPort").integer(range.last);
        out.member("protocol", range.udp ? "UDP" : "TCP").end_object();
    }
    out.end_array();
    if (!rule.except.empty()) {
        out.key("except").begin_array();
        for (const rules::Prefix& hole : rule.except)
            out.string(hole.text());
        out.end_array();
    }
    out.end_object();
}

void write_rules(json::Writer& out, rules::ListKind kind,
                 const std::vector<rules::AllowRule>& rules)
{
    out.key(kind == rules::ListKind::allow ? "allow" : "deny").begin_array();
    for (const rules::AllowRule& rule : rules) {
        if (const auto text = short_text(rule, kind)) {
            out.string(*text);
        } else {
            write_rule(out, rule);
        }
    }
    out.end_array();
}

std::string write_policy(const Draft& draft)
{
    json::Writer out(json::Layout::pretty);
    out.begin_object().key("version").integer(1);
    out.member("default", draft.profiles.size() == 1 ? draft.profiles[0].name : "off");
    if (!draft.deny.empty())
        write_rules(out, rules::ListKind::deny, draft.deny);
    out.key("profiles").begin_object();
    for (const ImportedProfile& profile : draft.profiles) {
        out.key(profile.name).begin_object();
        out.member("egress", profile.allow.empty() ? "off" : "allowlist");
        if (!profile.allow.empty())
            write_rules(out, rules::ListKind::allow, profile.allow);
        out.end_object();
    }
    out.end_object().end_object();
    return out.take();
}

Result<Draft> read(std::string_view format, json::View root)
{
    if (format == "srt")
        return draft_from_srt(root);
    if (format == "networkpolicy")
        return draft_from_networkpolicy(root);
    return draft_from_opensandbox(root);
}

Status check_json(std::string_view format, std::string_view text)
{
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '{')
        return {};
    if (format != "networkpolicy")
        return fail(Code::invalid_request, "the document: expected a JSON object");
    return fail(Code::invalid_request,
                "the document: expected a JSON object; YAML becomes one by kubectl create "
                "--dry-run=client -o json -f FILE, what a cluster has by kubectl get "
                "networkpolicy NAME -o json");
}

} // namespace

Result<Imported> import_policy(std::string_view format, std::string text)
{
    if (std::ranges::find(import_formats, format) == import_formats.end())
        return fail(Code::invalid_request, "no format is called " + in_quotes(format));
    AH_CHECK(check_json(format, text));
    AH_TRY(const json::Document document,
           json::Document::parse(std::move(text), Code::invalid_request));
    AH_TRY(Draft draft, read(format, document.root()));
    Imported imported{write_policy(draft), std::move(draft.losses)};
    // The result must be a policy that we accept, so an import has the limits of a policy: so many
    // rules, so many names.
    if (auto policy = parse_policy(imported.policy); !policy) {
        policy.error().code = Code::invalid_request;
        return std::unexpected(std::move(policy).error().in("what would come out"));
    }
    return imported;
}

} // namespace anchorhold::imports
