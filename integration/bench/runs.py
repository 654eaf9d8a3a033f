#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""runs.py ROUNDS NAME:BUNDLE:COMMAND...

Times create + start + delete of a container whose command exits at once, each round once per row
and in turned order, so that what else the machine does falls on all alike. Printed are the medians
(of the parts too), what they are of the first row's, and how far they lie over the second's.
`cpu` is user and system time of the commands and what they waited for, which suffers less from a
busy machine. Figures to read, not a test: nothing here fails for being slow.
"""

import ctypes
import os
import statistics
import sys
import time

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
SETTLED = 0.05  # seconds: the kernel takes a network namespace down behind our back


def timed(words):
    """Milliseconds until the command has ended, and of the processors. Its stdio is nobody's."""
    nothing = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
    begin = time.perf_counter()
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=nothing)
    _, status, used = os.wait4(pid, 0)
    took = (time.perf_counter() - begin) * 1000
    if status != 0:
        sys.exit(f"{' '.join(words)}: status {os.waitstatus_to_exitcode(status)}")
    return took, (used.ru_utime + used.ru_stime) * 1000


def lifecycle(command, bundle, identifier):
    pid_file = f"{bundle}/init.pid"
    create = timed([*command, "create", "--bundle", bundle, "--pid-file", pid_file, identifier])
    with open(pid_file, encoding="ascii") as file:
        init = int(file.read())
    start = timed([*command, "start", identifier])
    os.waitpid(init, 0)  # as the subreaper; its own time is not ours
    return create, start, timed([*command, "delete", identifier])


def settle():
    """Or the next row would pay for what this one left to do. Busy, for an idle processor sleeps."""
    end = time.perf_counter() + SETTLED
    while time.perf_counter() < end:
        pass


def measure(rows, rounds):
    times = {name: [] for name, _, _ in rows}
    for turn in range(rounds + 1):  # the first round warms up and is thrown away
        shift = turn % len(rows)
        for name, bundle, command in rows[shift:] + rows[:shift]:
            took = lifecycle(command.split(), bundle, f"bench-{name}-{turn}")
            settle()
            if turn > 0:
                times[name].append(took)
    return times


def report(times):
    def column(name, number):  # of create, start and delete
        return [sum(part[number] for part in sample) for sample in times[name]]

    medians = {name: statistics.median(column(name, 0)) for name in times}
    first, second = list(times)[:2]
    print(f"{'ms':10}{'min':>8}{'median':>8}{'max':>8}  |{'create':>8}{'start':>8}{'delete':>8}  |"
          f"{'cpu':>8}  |{'/ ' + first:>11}{'- ' + second:>11}")
    for name, samples in times.items():
        walls = column(name, 0)
        parts = [statistics.median(sample[verb][0] for sample in samples) for verb in range(3)]
        print(f"{name:10}{min(walls):8.2f}{medians[name]:8.2f}{max(walls):8.2f}  |"
              + "".join(f"{part:8.2f}" for part in parts)
              + f"  |{statistics.median(column(name, 1)):8.2f}"
              + f"  |{medians[name] / medians[first]:10.2f}x{medians[name] - medians[second]:+11.2f}")


def main():
    rounds = int(sys.argv[1])
    rows = [word.split(":", 2) for word in sys.argv[2:]]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    report(measure(rows, rounds))


if __name__ == "__main__":
    main()
