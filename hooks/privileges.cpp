// SPDX-License-Identifier: Apache-2.0
#include "hooks/privileges.hpp"

#include <cap-ng.h>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace anchorhold {

Status keep_capabilities(std::initializer_list<unsigned> wanted)
{
    if (capng_get_caps_process() != 0)
        return fail(Code::network_setup_failed, "read our capabilities");
    std::vector<unsigned> kept;
    for (const unsigned capability : wanted) {
        if (capng_have_capability(CAPNG_PERMITTED, capability) != 0)
            kept.push_back(capability);
    }
    capng_clear(CAPNG_SELECT_CAPS);
    for (const unsigned capability : kept) {
        if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, capability) != 0 ||
            capng_update(CAPNG_ADD, CAPNG_PERMITTED, capability) != 0)
            return fail(Code::network_setup_failed, "choose our capabilities");
    }
    if (capng_apply(CAPNG_SELECT_CAPS) != 0)
        return fail_errno("drop capabilities", errno);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail_errno("give up new privileges", errno);
    return {};
}

Status die_with_parent()
{
    const pid_t parent = ::getppid();
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return fail_errno("tie us to the runtime", errno);
    if (::getppid() != parent) // the parent ended before prctl(2), so no signal will come
        return fail(Code::network_setup_failed, "the runtime is gone");
    return {};
}

Status settle_descriptors()
{
    if (::signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return fail_errno("ignore SIGPIPE", errno);
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        // open(2) takes the lowest free number, which is this one. It stays open on purpose.
        if (::fcntl(number, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != number)
            return fail_errno("open /dev/null", errno);
    }
    return {};
}

} // namespace anchorhold
