# SPDX-License-Identifier: Apache-2.0
"""count.py TESTLOG [SKIPPED]: prints how many cases of a meson test log passed, failed, and were
skipped; on stderr, in full, what failed; and appends to the file SKIPPED a line for each case that
was skipped, with its reason.

A test that names its cases ("ok NAME", "not ok NAME", "skip NAME # WHY", or doctest's summary)
counts as many; one that failed without saying which counts as one failure more, so that none goes
unseen. A test that is skipped as a whole must say so by such a line; else a package was missing,
which is a failure, as the test command installs whatever is needed.
"""

import json
import re
import sys

SUMMARY = re.compile(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def skips(test):
    return re.findall(r"^skip (.*)", test.get("stdout", ""), re.M)


def cases(test):
    """Passed, failed, skipped."""
    text = test.get("stdout", "")
    passed = len(re.findall(r"^ok ", text, re.M))
    failed = len(re.findall(r"^not ok ", text, re.M))
    skipped = len(skips(test))
    for good, bad in SUMMARY.findall(text):
        passed += int(good)
        failed += int(bad)
    if test["result"] == "OK":
        return max(passed, 0 if skipped else 1), failed, skipped
    if test["result"] == "SKIP" and skipped:
        return passed, failed, skipped
    return passed, max(failed, 1), skipped


def explain(test):
    """What passed says nothing about what did not."""
    print(f"\n---- {test['name']}: {test['result']}", file=sys.stderr)
    for line in test.get("stdout", "").splitlines():
        if not line.startswith(("ok ", "skip ")):
            print(line, file=sys.stderr)
    print(test.get("stderr", ""), end="", file=sys.stderr)


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        tests = [json.loads(line) for line in log]
    counts = [cases(test) for test in tests]
    for test, (_, failed, _) in zip(tests, counts):
        if failed:
            explain(test)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a", encoding="utf-8") as file:
            for test in tests:
                name = test["name"].rsplit(" ", 1)[-1]
                file.writelines(f"{name}: {line}\n" for line in skips(test))
    print(*(sum(column) for column in zip(*counts)))


if __name__ == "__main__":
    main()
