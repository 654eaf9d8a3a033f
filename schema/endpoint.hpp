// SPDX-License-Identifier: Apache-2.0
// Something outside that the container reaches at 127.0.0.1:PORT, and the rules of an allow list.
#pragma once

#include "schema/error.hpp"
#include "schema/json.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace anchorhold {

class Port {
public:
    static Result<Port> parse(std::string_view text, Code code); // "1" to "65535", nothing else
    static Result<Port> from(std::int64_t number, Code code);
    std::uint16_t number() const noexcept { return number_; }
    friend bool operator==(const Port&, const Port&) = default;

private:
    explicit Port(std::uint16_t number) : number_(number) {}
    std::uint16_t number_;
};

struct UnixTarget {
    std::string path; // absolute, no "." or ".." component, no NUL; {id} may stand in a profile's
    friend bool operator==(const UnixTarget&, const UnixTarget&) = default;
};
struct TcpTarget {
    std::string host; // "host" is this machine itself
    Port port;
    friend bool operator==(const TcpTarget&, const TcpTarget&) = default;
};

struct Endpoint {
    std::string name; // [a-z0-9-]{1,32}
    Port listen;
    std::variant<UnixTarget, TcpTarget> to;
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

constexpr std::size_t most_endpoints = 16;

// "unix:/run/x.sock", "tcp:HOST:PORT".
Result<std::variant<UnixTarget, TcpTarget>> parse_target(std::string_view text, Code code);
std::string target_text(const std::variant<UnixTarget, TcpTarget>& target);
// The JSON array form; names and ports unique, at most most_endpoints.
Result<std::vector<Endpoint>> read_endpoints(json::View array);
// An annotation's value: the JSON form, or "model:8080=unix:/run/x.sock, ...".
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);
// Refuses one name or one port twice over the whole list.
Status check_distinct(const std::vector<Endpoint>& endpoints, Code code);

struct PortRange {
    std::uint16_t first = 443;
    std::uint16_t last = 443; // inclusive, first <= last
    bool udp = false;
    friend bool operator==(const PortRange&, const PortRange&) = default;
};
struct AllowRule {
    std::string to; // canonical: "10.1.0.0/16", "2001:db8::/32", "github.com", "*.x.org"
    std::vector<PortRange> ports;    // never empty: no port means tcp 443
    std::vector<std::string> except; // canonical prefixes inside `to`
    friend bool operator==(const AllowRule&, const AllowRule&) = default;
};
Result<std::vector<AllowRule>> read_allow(json::View array);
Result<std::vector<AllowRule>> parse_allow(std::string_view text); // JSON or short form

} // namespace anchorhold
