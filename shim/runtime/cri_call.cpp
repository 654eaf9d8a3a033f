// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/cri_call.hpp"

#include "hooks/files/owned_path.hpp"
#include "schema/engine/grpc.hpp"
#include "schema/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace anchorhold::runtime {
namespace {

using Clock = std::chrono::steady_clock;

Result<UniqueFd> connect_to(const std::string& path)
{
    // Whoever may write to the socket calls the engine; whoever may write to its folder replaces
    // it.
    AH_CHECK(files::check_owned_path(path.substr(0, path.rfind('/')),
                                     "the folder of the engine's socket", Code::delegate_failed));
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un place = {};
    place.sun_family = AF_UNIX;
    if (!fd || path.size() >= sizeof place.sun_path)
        return fail(Code::delegate_failed, "make a socket for " + path);
    path.copy(place.sun_path, path.size());
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
        return fail_errno("connect to " + path, errno, Code::delegate_failed);
    return fd;
}

Status send_all(const UniqueFd& fd, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return fail_errno("ask the engine", errno, Code::delegate_failed);
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

// Waits until there is something to read.
Status wait_for(const UniqueFd& fd, Clock::time_point end)
{
    pollfd watched{.fd = fd.get(), .events = POLLIN, .revents = 0};
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
        const int ready = left <= 0 ? 0 : ::poll(&watched, 1, static_cast<int>(left));
        if (ready > 0)
            return {};
        if (ready == 0)
            return fail(Code::delegate_failed, "no answer in time");
        if (errno != EINTR)
            return fail_errno("wait for the engine", errno, Code::delegate_failed);
    }
}

} // namespace

Result<std::string> call_cri(const std::string& socket, std::string_view method,
                             std::string_view message, std::chrono::seconds deadline)
{
    constexpr std::size_t piece = 16384;
    const Clock::time_point end = Clock::now() + deadline;
    AH_TRY(const UniqueFd fd, connect_to(socket));
    AH_CHECK(send_all(
        fd, engine::grpc_request("/runtime.v1.RuntimeService/" + std::string(method), message)));
    engine::GrpcAnswer answer;
    std::array<char, piece> received = {};
    while (!answer.has_ended()) {
        AH_CHECK(wait_for(fd, end));
        const ssize_t size = ::recv(fd.get(), received.data(), received.size(), 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return fail_errno("read the engine's answer", errno, Code::delegate_failed);
        if (size == 0)
            break;
        AH_CHECK(send_all(fd, answer.take({received.data(), static_cast<std::size_t>(size)})));
    }
    auto came = answer.message();
    if (!came)
        return fail(Code::delegate_failed, answer.error());
    return *std::move(came);
}

} // namespace anchorhold::runtime
