// SPDX-License-Identifier: Apache-2.0
#include "relay/options.hpp"

#include <string.h>

namespace anchorhold::relay {
namespace {

Failure usage(const char* subject, const char* why)
{
    return {.doing = "read argument", .subject = subject, .why = why};
}

// Reads "DEVICE:INODE", both decimal.
bool parse_identity(const char* text, FileIdentity& identity)
{
    const char* colon = strchr(text, ':');
    if (colon == nullptr)
        return false;
    identity.known = true;
    return parse_number(text, static_cast<size_t>(colon - text), UINT64_MAX, identity.device) &&
           parse_number(colon + 1, strlen(colon + 1), UINT64_MAX, identity.inode);
}

// Cuts the identity off a path and returns the size of the path. A path may hold '@' too, so only a
// tail that reads as an identity is one.
size_t take_identity(const char* path, FileIdentity& identity)
{
    const char* at = strrchr(path, '@');
    FileIdentity found;
    if (at == nullptr || !parse_identity(at + 1, found))
        return strlen(path);
    identity = found;
    return static_cast<size_t>(at - path);
}

Failure split_path(const char* path, size_t size, Endpoint& endpoint)
{
    const void* last = memrchr(path, '/', size);
    if (path[0] != '/' || last == nullptr)
        return usage(endpoint.text, "the socket's path is not absolute");
    const auto directory = static_cast<size_t>(static_cast<const char*>(last) - path);
    const size_t name = size - directory - 1;
    if (name == 0)
        return usage(endpoint.text, "the socket has no name");
    if (name >= sizeof endpoint.socket || directory >= sizeof endpoint.directory)
        return usage(endpoint.text, "a socket's name has at most 107 bytes");
    memcpy(endpoint.socket, path + directory + 1, name);
    memcpy(endpoint.directory, path, directory == 0 ? 1 : directory);
    return {};
}

bool parse_port(const char* text, size_t size, uint16_t& port)
{
    uint64_t number = 0;
    if (!parse_number(text, size, UINT16_MAX, number) || number == 0)
        return false;
    port = static_cast<uint16_t>(number);
    return true;
}

Failure parse_target(const char* target, Endpoint& endpoint)
{
    constexpr char host[] = "host:";
    constexpr size_t length = sizeof host - 1;
    if (strncmp(target, host, length) != 0) {
        const size_t size = take_identity(target, endpoint.identity);
        return split_path(target, size, endpoint);
    }
    if (!parse_port(target + length, strlen(target + length), endpoint.host_port))
        return usage(endpoint.text, "not host:PORT with a port from 1 to 65535");
    return {};
}

Failure parse_endpoint(const char* value, Options& options)
{
    if (options.endpoint_count == max_endpoints)
        return usage(value, "more than 16 endpoints");
    Endpoint& endpoint = options.endpoints[options.endpoint_count];
    endpoint.text = value;
    const char* equals = strchr(value, '=');
    if (equals == nullptr || !parse_port(value, static_cast<size_t>(equals - value), endpoint.port))
        return usage(value, "not PORT=TARGET with a port from 1 to 65535");
    for (unsigned at = 0; at < options.endpoint_count; ++at) {
        if (options.endpoints[at].port == endpoint.port)
            return usage(value, "the port is given twice");
    }
    if (const Failure wrong = parse_target(equals + 1, endpoint))
        return wrong;
    ++options.endpoint_count;
    return {};
}

Failure parse_inside(const char* value, Options& options)
{
    options.inside = value;
    return {};
}

Failure parse_mark(const char* value, Options& options)
{
    options.mark = value;
    return {};
}

Failure parse_host_netns(const char* value, Options& options)
{
    if (!parse_identity(value, options.host_netns))
        return usage(value, "not DEVICE:INODE");
    return {};
}

Failure parse_host_cookie(const char* value, Options& options)
{
    options.host_cookie_known = true;
    if (!parse_number(value, strlen(value), UINT64_MAX, options.host_cookie))
        return usage(value, "not a number");
    return {};
}

Failure parse_names(const char* value, Options& options)
{
    uint64_t number = 0;
    if (!parse_number(value, strlen(value), INT_MAX, number) || number < 3)
        return usage(value, "not a descriptor from 3 on");
    options.names = static_cast<int>(number);
    return {};
}

Failure parse_stop_when_lost(const char* value, Options& options)
{
    const char* colon = strchr(value, ':');
    uint64_t after = 0;
    uint64_t grace = 0;
    if (colon == nullptr ||
        !parse_number(value, static_cast<size_t>(colon - value), UINT32_MAX, after) ||
        !parse_number(colon + 1, strlen(colon + 1), UINT32_MAX, grace))
        return usage(value, "not SECONDS:GRACE");
    options.stop_when_lost = true;
    options.lost_after = static_cast<int64_t>(after);
    options.lost_grace = static_cast<int64_t>(grace);
    return {};
}

struct Option {
    const char* name;
    Failure (*parse)(const char* value, Options& options);
};

constexpr Option with_value[] = {
    {"--endpoint", parse_endpoint},
    {"--host-cookie", parse_host_cookie},
    {"--host-netns", parse_host_netns},
    {"--inside", parse_inside},
    {"--mark", parse_mark},
    {"--names", parse_names},
    {"--stop-when-lost", parse_stop_when_lost},
};

const Option* find_option(const char* name)
{
    for (const Option& option : with_value) {
        if (strcmp(option.name, name) == 0)
            return &option;
    }
    return nullptr;
}

Failure check_whole(const Options& options)
{
    if (options.endpoint_count == 0 && options.inside == nullptr)
        return usage("--endpoint", "it is missing");
    if (options.endpoint_count == 0 && options.step_aside && !options.dns)
        return usage("--step-aside", "without an endpoint nothing stays beside the command");
    if (options.endpoint_count == 0 && options.stop_when_lost)
        return usage("--stop-when-lost", "without an endpoint there is no broker");
    for (unsigned at = 0; at < options.endpoint_count; ++at) {
        if (options.endpoints[at].host_port != 0 && options.inside == nullptr)
            return usage(options.endpoints[at].text, "host:PORT belongs with --inside");
    }
    if ((options.inside == nullptr) != (options.mark == nullptr))
        return usage("--mark", "it belongs with --inside");
    if (options.names != 0 && !options.dns)
        return usage("--names", "it belongs with --dns");
    if (options.stop_when_lost && options.step_aside)
        return usage("--stop-when-lost", "process 1 cannot be stopped from beside it");
    if (options.command == nullptr || options.command[0] == nullptr)
        return usage("--", "no command follows");
    return {};
}

} // namespace

Failure parse_options(int argc, char** argv, Options& options)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        options.version = true;
        return {};
    }
    for (int at = 1; at < argc; ++at) {
        if (strcmp(argv[at], "--") == 0) {
            options.command = argv + at + 1;
            break;
        }
        if (strcmp(argv[at], "--dns") == 0) {
            options.dns = true;
            continue;
        }
        if (strcmp(argv[at], "--step-aside") == 0) {
            options.step_aside = true;
            continue;
        }
        const Option* option = find_option(argv[at]);
        if (option == nullptr)
            return usage(argv[at], "no such option");
        if (argv[at + 1] == nullptr)
            return usage(argv[at], "a value is missing");
        if (const Failure wrong = option->parse(argv[++at], options))
            return wrong;
    }
    return check_whole(options);
}

} // namespace anchorhold::relay
