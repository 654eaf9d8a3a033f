// SPDX-License-Identifier: Apache-2.0
#include "relay/terminal.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

namespace anchorhold::relay {

void release_terminal()
{
    if (tcgetsid(STDIN_FILENO) != getpid() || ioctl(STDIN_FILENO, TIOCNOTTY) != 0)
        return;
    sigset_t sent;
    sigemptyset(&sent);
    sigaddset(&sent, SIGHUP);
    sigaddset(&sent, SIGCONT);
    const timespec at_once = {};
    while (sigtimedwait(&sent, nullptr, &at_once) > 0) {
    }
}

void take_terminal()
{
    (void)ioctl(STDIN_FILENO, TIOCSCTTY, 0);
}

} // namespace anchorhold::relay
