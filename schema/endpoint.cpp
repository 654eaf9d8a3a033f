// SPDX-License-Identifier: Apache-2.0
#include "schema/endpoint.hpp"

#include "schema/json/comma_list.hpp"
#include "schema/rules/gate_words.hpp"

#include <algorithm>
#include <charconv>

namespace anchorhold {
namespace {

constexpr std::size_t longest_endpoint_name = 32;

std::string no_endpoint_name(std::string_view name)
{
    return in_quotes(name) + " is not an endpoint name: 1 to 32 of [a-z0-9-]";
}

Result<UnixTarget> parse_unix_target(std::string_view path, Code code)
{
    // The socket's directory is what is mounted, so it must not be the root of the file system.
    if (!is_plain_path(path) || path.rfind('/') == 0) {
        return fail(code, in_quotes(path) + " is not an absolute path DIRECTORY/SOCKET without "
                                            "empty, \".\" and \"..\" components");
    }
    return UnixTarget{std::string(path)};
}

// Reads a host: an address alone, or an exact name.
Result<std::string> parse_host(std::string_view text, Code code)
{
    const bool bracketed = text.starts_with('[') && text.ends_with(']');
    if (bracketed)
        text = text.substr(1, text.size() - 2);
    AH_TRY(const rules::Destination host, rules::parse_destination(text, code));
    const auto* name = std::get_if<rules::NamePattern>(&host);
    const bool is_v6 = text.find(':') != std::string_view::npos;
    if ((name != nullptr && !name->is_exact()) || is_v6 != bracketed ||
        text.find('/') != std::string_view::npos)
        return fail(code, in_quotes(text) + " is not a host: a name, an IPv4 address or [IPv6]");
    const std::string canonical = rules::text_of(host);
    return canonical.substr(0, canonical.find('/'));
}

// Adds the place to an error of a parser that does not know it.
template <typename Value> Result<Value> placed(json::View at, Result<Value> value)
{
    if (!value)
        return std::unexpected(at.wrong(value.error().what));
    return value;
}

Result<json::View> member(json::View object, std::string_view name)
{
    if (const auto found = object.find(name))
        return *found;
    return std::unexpected(object.wrong("has no \"" + std::string(name) + "\""));
}

bool is_to_name(const Endpoint& endpoint)
{
    const auto* const target = std::get_if<TcpTarget>(&endpoint.to);
    if (target == nullptr || target->host == "host")
        return false;
    const auto host = rules::parse_destination(target->host, Code::invalid_request);
    return host && std::holds_alternative<rules::NamePattern>(*host);
}

Result<Endpoint> read_endpoint(json::View value, EndpointsOf of)
{
    AH_CHECK(value.object());
    AH_CHECK(value.only({"name", "listen", "to", "within"}));
    const auto within = value.find("within");
    if (within && of != EndpointsOf::policy)
        return std::unexpected(within->wrong("is for the policy's own endpoints alone"));
    AH_TRY(const json::View name_at, member(value, "name"));
    AH_TRY(const json::View listen_at, member(value, "listen"));
    AH_TRY(const json::View to_at, member(value, "to"));
    AH_TRY(std::string name, name_at.string());
    AH_TRY(const std::int64_t listen, listen_at.integer());
    AH_TRY(const std::string to, to_at.string());
    if (!is_short_name(name))
        return std::unexpected(name_at.wrong(no_endpoint_name(name)));
    AH_TRY(const Port port, placed(listen_at, Port::from(listen, Code::invalid_request)));
    AH_TRY(auto target, placed(to_at, parse_target(to, Code::invalid_request)));
    Endpoint endpoint{std::move(name), port, std::move(target)};
    if (within && !is_to_name(endpoint))
        return std::unexpected(within->wrong("has a place only beside tcp: and a name"));
    if (within) {
        AH_TRY(endpoint.within, rules::read_within(*within));
    }
    return endpoint;
}

// Reads "model:8080=unix:/run/x.sock".
Result<Endpoint> parse_endpoint(std::string_view text)
{
    const std::size_t equals = text.find('=');
    const std::size_t colon = text.substr(0, equals).find(':');
    if (equals == std::string_view::npos || colon == std::string_view::npos)
        return fail(Code::invalid_request, in_quotes(text) + " is not NAME:PORT=unix:PATH");
    const std::string_view name = text.substr(0, colon);
    if (!is_short_name(name))
        return fail(Code::invalid_request, no_endpoint_name(name));
    AH_TRY(const Port port,
           Port::parse(text.substr(colon + 1, equals - colon - 1), Code::invalid_request));
    AH_TRY(auto target, parse_target(text.substr(equals + 1), Code::invalid_request));
    return Endpoint{std::string(name), port, std::move(target)};
}

Status check_apart(const Endpoint& one, const Endpoint& other, Code code)
{
    if (one.name == other.name)
        return fail(code, "two endpoints are named " + one.name);
    if (one.listen == other.listen) {
        return fail(code, "endpoints " + one.name + " and " + other.name + " both listen on " +
                              std::to_string(one.listen.number()));
    }
    return {};
}

} // namespace

Result<Port> Port::parse(std::string_view text, Code code)
{
    std::uint16_t number = 0;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto [stop, ec] = std::from_chars(begin, end, number);
    if (ec != std::errc() || stop != end || text.front() == '0')
        return fail(code, in_quotes(text) + " is not a port");
    return Port(number);
}

Result<Port> Port::from(std::int64_t number, Code code)
{
    if (number < 1 || number > 65535)
        return fail(code, std::to_string(number) + " is not a port");
    return Port(static_cast<std::uint16_t>(number));
}

bool is_short_name(std::string_view name)
{
    return !name.empty() && name.size() <= longest_endpoint_name &&
           std::ranges::all_of(name, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
           });
}

bool is_plain_path(std::string_view path)
{
    if (!path.starts_with('/') || path.find('\0') != std::string_view::npos)
        return false;
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::string_view component = path.substr(0, path.find('/'));
        if (component.empty() || component == "." || component == "..")
            return false;
        path.remove_prefix(component.size());
    }
    return true;
}

Result<TcpTarget> parse_tcp_target(std::string_view text, Code code)
{
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return fail(code, in_quotes(text) + " is not HOST:PORT");
    AH_TRY(std::string host, parse_host(text.substr(0, colon), code));
    AH_TRY(const Port port, Port::parse(text.substr(colon + 1), code));
    return TcpTarget{std::move(host), port};
}

Result<std::variant<UnixTarget, TcpTarget>> parse_target(std::string_view text, Code code)
{
    if (text.starts_with("unix:")) {
        AH_TRY(auto target, parse_unix_target(text.substr(5), code));
        return target;
    }
    if (text.starts_with("tcp:")) {
        AH_TRY(auto target, parse_tcp_target(text.substr(4), code));
        return target;
    }
    return fail(code, in_quotes(text) + " is neither unix:PATH nor tcp:HOST:PORT");
}

std::string target_text(const std::variant<UnixTarget, TcpTarget>& target)
{
    if (const auto* socket = std::get_if<UnixTarget>(&target))
        return "unix:" + socket->path;
    const auto& [host, port] = std::get<TcpTarget>(target);
    const bool is_v6 = host.find(':') != std::string::npos;
    return "tcp:" + (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port.number());
}

Result<std::vector<Endpoint>> read_endpoints(json::View array, EndpointsOf of)
{
    AH_TRY(const std::vector<json::View> items, array.array());
    std::vector<Endpoint> endpoints;
    for (const json::View item : items) {
        AH_TRY(Endpoint endpoint, read_endpoint(item, of));
        endpoints.push_back(std::move(endpoint));
    }
    if (const Status distinct = check_distinct(endpoints, Code::invalid_request); !distinct)
        return std::unexpected(array.wrong(distinct.error().what));
    return endpoints;
}

Result<std::vector<Endpoint>> parse_endpoints(std::string_view text)
{
    if (comma_list::is_json(text)) {
        AH_TRY(const json::Document document,
               json::Document::parse(std::string(text), Code::invalid_request));
        return read_endpoints(document.root(), EndpointsOf::anybody);
    }
    AH_TRY(const std::vector<std::string_view> entries, comma_list::entries(text));
    std::vector<Endpoint> endpoints;
    for (const std::string_view entry : entries) {
        AH_TRY(Endpoint endpoint, parse_endpoint(entry));
        endpoints.push_back(std::move(endpoint));
    }
    AH_CHECK(check_distinct(endpoints, Code::invalid_request));
    return endpoints;
}

Status check_distinct(const std::vector<Endpoint>& endpoints, Code code)
{
    if (endpoints.size() > most_endpoints)
        return fail(code, "more than " + std::to_string(most_endpoints) + " endpoints");
    for (auto one = endpoints.begin(); one != endpoints.end(); ++one) {
        for (auto other = endpoints.begin(); other != one; ++other)
            AH_CHECK(check_apart(*other, *one, code));
    }
    return {};
}

} // namespace anchorhold
