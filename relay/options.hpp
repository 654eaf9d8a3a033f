// SPDX-License-Identifier: Apache-2.0
// The command line of the relay. The shim writes it, and processes inside the container can read
// it. So it holds no secret, and each option has one spelling:
//
//   anchorhold-relay [--inside DIR --mark TEXT] [--host-netns DEVICE:INODE] [--host-cookie N]
//                    [--dns [--names FD]]
//                    [--step-aside | --stop-when-lost SECONDS:GRACE]
//                    [--endpoint PORT=TARGET]... -- COMMAND [ARG...]
//
// FD is the file in which refused names are counted (names.hpp).
//
// Without an endpoint and without --dns, which takes --inside, it looks and then becomes the
// command: nothing of ours stays.
//
// TARGET is PATH/SOCKET[@DEVICE:INODE], or host:PORT. The latter is the host's end of the
// container's link; `up` has written its address into the file that holds the mark.
#pragma once

#include "relay/failure.hpp"

#include <limits.h>
#include <stdint.h>

namespace anchorhold::relay {

struct FileIdentity {
    bool known = false; // false: none was recorded, and any file passes
    uint64_t device = 0;
    uint64_t inode = 0;
};

struct Endpoint {
    const char* text; // as given, for messages
    uint16_t port;
    uint16_t host_port;       // 0: a Unix socket
    FileIdentity identity;    // of the directory
    char socket[108];         // the file name in it, as long as a sun_path can be
    char directory[PATH_MAX]; // absolute; the last member, because most of it is never written
};

constexpr unsigned max_endpoints = 16;

// The options: 68 KiB of zeros. They belong into static storage, where pages that nobody writes to
// cost nothing.
struct Options {
    bool version;
    bool dns;
    bool step_aside; // the command is process 1, not the relay
    bool stop_when_lost;
    int names;          // descriptor; 0: names are not counted
    int64_t lost_after; // seconds without a broker until TERM
    int64_t lost_grace; // seconds from TERM until KILL
    const char* inside; // directory with the file `enforced`, which must hold `mark`
    const char* mark;
    FileIdentity host_netns;
    bool host_cookie_known;
    uint64_t host_cookie; // SO_NETNS_COOKIE of the host's namespace
    char** command;       // ends with a null pointer
    unsigned endpoint_count;
    Endpoint endpoints[max_endpoints]; // the last member, because most of it is never written
};

// Reads the command line into `options`, which must be zeroed.
Failure parse_options(int argc, char** argv, Options& options);

} // namespace anchorhold::relay
