// SPDX-License-Identifier: Apache-2.0
// An endpoint: something outside that the container reaches at 127.0.0.1:PORT.
#pragma once

#include "schema/error.hpp"
#include "schema/json/json.hpp"
#include "schema/rules/destination.hpp"

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
    std::string path; // DIRECTORY/SOCKET, is_plain_path; in a profile it may hold path_words.hpp
    std::string_view directory() const { return std::string_view(path).substr(0, path.rfind('/')); }
    friend bool operator==(const UnixTarget&, const UnixTarget&) = default;
};
struct TcpTarget {
    std::string host; // "host" is this machine itself
    Port port;
    friend bool operator==(const TcpTarget&, const TcpTarget&) = default;
};

struct Endpoint {
    std::string name; // see is_short_name
    Port listen;
    std::variant<UnixTarget, TcpTarget> to;
    // The private ranges to which the gate may follow the name of a tcp: target.
    std::vector<rules::Prefix> within = {};
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Returns whether the path is absolute and has no component that is empty, "." or "..". A prefix of
// such a path names a directory above the place, unless there are symlinks.
bool is_plain_path(std::string_view path);

// Returns whether the name is [a-z0-9-]{1,32}, as names of endpoints and profiles must be.
bool is_short_name(std::string_view name);

constexpr std::size_t most_endpoints = 16;

// Reads "unix:/run/x.sock" or "tcp:HOST:PORT". Refuses anything else with `code`.
Result<std::variant<UnixTarget, TcpTarget>> parse_target(std::string_view text, Code code);
Result<TcpTarget> parse_tcp_target(std::string_view text, Code code); // "HOST:PORT"
std::string target_text(const std::variant<UnixTarget, TcpTarget>& target);
enum class EndpointsOf : std::uint8_t {
    anybody, // an annotation's, or a record's
    policy,  // a profile's: one to a name may have "within"
};
// Reads the JSON array. Refuses (invalid_request) a name or port given twice, and more than
// most_endpoints.
Result<std::vector<Endpoint>> read_endpoints(json::View array, EndpointsOf of);
// Reads an annotation's value: the JSON array, or the short form "model:8080=unix:/run/x.sock,
// ...".
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);
// Refuses, with `code`, a name or a port that stands twice in the list.
Status check_distinct(const std::vector<Endpoint>& endpoints, Code code);

} // namespace anchorhold
