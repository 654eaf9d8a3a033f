# SPDX-License-Identifier: Apache-2.0
"""count.py TESTLOG: prints how many cases of a meson test log passed and how many failed, and on
stderr, in full, what failed.

A test that names its cases ("ok NAME", "not ok NAME", or doctest's summary) counts as many; one
that failed without saying which counts as one failure more, so that none goes unseen. A skip
counts as a failure: the test command installs whatever is needed.
"""

import json
import re
import sys

SUMMARY = re.compile(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def cases(test):
    text = test.get("stdout", "")
    passed = len(re.findall(r"^ok ", text, re.M))
    failed = len(re.findall(r"^not ok ", text, re.M))
    for good, bad in SUMMARY.findall(text):
        passed += int(good)
        failed += int(bad)
    if test["result"] == "OK":
        return max(passed, 1), failed
    return passed, max(failed, 1)


def explain(test):
    """What passed says nothing about what did not."""
    print(f"\n---- {test['name']}: {test['result']}", file=sys.stderr)
    for line in test.get("stdout", "").splitlines():
        if not line.startswith("ok "):
            print(line, file=sys.stderr)
    print(test.get("stderr", ""), end="", file=sys.stderr)


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        tests = [json.loads(line) for line in log]
    counts = [cases(test) for test in tests]
    for test, (_, failed) in zip(tests, counts):
        if failed:
            explain(test)
    print(sum(good for good, _ in counts), sum(bad for _, bad in counts))


main()
