// SPDX-License-Identifier: Apache-2.0
// Something outside that the container reaches at 127.0.0.1:PORT.
#pragma once

#include "schema/error.hpp"
#include "schema/json/json.hpp"

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
    std::string path; // DIRECTORY/SOCKET as is_plain_path has it; {id} may stand in a profile's
    std::string_view directory() const { return std::string_view(path).substr(0, path.rfind('/')); }
    friend bool operator==(const UnixTarget&, const UnixTarget&) = default;
};
struct TcpTarget {
    std::string host; // "host" is this machine itself
    Port port;
    friend bool operator==(const TcpTarget&, const TcpTarget&) = default;
};

struct Endpoint {
    std::string name; // is_short_name
    Port listen;
    std::variant<UnixTarget, TcpTarget> to;
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Absolute, and no component is empty, "." or "..": what a prefix of the text says about the place
// is then true but for symlinks.
bool is_plain_path(std::string_view path);

// [a-z0-9-]{1,32}: what an endpoint or a profile may be called.
bool is_short_name(std::string_view name);

constexpr std::size_t most_endpoints = 16;

// "unix:/run/x.sock", "tcp:HOST:PORT".
Result<std::variant<UnixTarget, TcpTarget>> parse_target(std::string_view text, Code code);
Result<TcpTarget> parse_tcp_target(std::string_view text, Code code); // "HOST:PORT"
std::string target_text(const std::variant<UnixTarget, TcpTarget>& target);
// The JSON array form; names and ports unique, at most most_endpoints.
Result<std::vector<Endpoint>> read_endpoints(json::View array);
// An annotation's value: the JSON form, or "model:8080=unix:/run/x.sock, ...".
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);
// Refuses one name or one port twice over the whole list.
Status check_distinct(const std::vector<Endpoint>& endpoints, Code code);

} // namespace anchorhold
