// SPDX-License-Identifier: Apache-2.0
#include "schema/first_process.hpp"

#include <algorithm>
#include <array>

namespace anchorhold {
namespace {

// The programs that have to be process 1, by file name in whatever directory: /sbin/init of every
// distribution, /init of s6-overlay, and the programs that these links lead to. Programs that also
// run below another process 1 (tini, catatonit, dumb-init) are not here.
constexpr std::array<std::string_view, 6> first_programs{
    "init", "openrc-init", "runit", "runit-init", "s6-svscan", "systemd",
};

std::string_view file_name(std::string_view program)
{
    return program.substr(program.rfind('/') + 1);
}

} // namespace

bool must_be_first(std::string_view program)
{
    return std::ranges::find(first_programs, file_name(program)) != first_programs.end();
}

std::string_view subreaper_variable(std::string_view program)
{
    const std::string_view name = file_name(program);
    const bool is_tini = name == "tini" || name == "tini-static" || name == "docker-init";
    return is_tini ? "TINI_SUBREAPER" : "";
}

Result<Relay> relay_for(const Switches& asked, const FirstProcess& first)
{
    const bool known = first.own_pids && must_be_first(first.program);
    const Relay relay = asked.relay != Relay::automatic ? asked.relay
                        : known                         ? Relay::child
                                                        : Relay::inside;
    if (relay != Relay::child)
        return relay;
    if (!first.own_pids) {
        return fail(Code::invalid_request,
                    "relay: child needs a container with a pid namespace of its own, or it would "
                    "outlive its command");
    }
    if (asked.on_broker_lost == OnBrokerLost::stop) {
        return fail(Code::invalid_request,
                    "on_broker_lost: stop needs a command that is not process 1: say relay: inside "
                    "or on_broker_lost: keep");
    }
    return relay;
}

} // namespace anchorhold
