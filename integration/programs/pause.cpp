// SPDX-License-Identifier: Apache-2.0
// Holds a pod's namespaces, and waits to be told to end. Where the pod shares its pids this is the
// init of all of them, so it reaps; signal(7): an ignored SIGCHLD leaves no zombies.
#include <csignal>
#include <unistd.h>

int main()
{
    std::signal(SIGCHLD, SIG_IGN);
    std::signal(SIGTERM, [](int) { _exit(0); });
    for (;;)
        pause();
}
