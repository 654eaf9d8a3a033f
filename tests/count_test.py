#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""count.py loses no case, and takes none for what it is not."""

import json
import os
import subprocess
import sys
import tempfile

COUNT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "count.py")

# What a test printed, its result, what it counts as.
TESTS = [
    ("ok a\nok b\n", "OK", "2 0 0"),
    ("not ok a\nok b\n", "FAIL", "1 1 0"),
    ("", "OK", "1 0 0"),
    ("", "FAIL", "0 1 0"),
    ("ok a\n", "TIMEOUT", "1 1 0"),
    ("ok a\nskip b # needs x\n", "OK", "1 0 1"),
    ("skip a # needs x\n", "OK", "0 0 1"),
    ("skip all other cases # needs x\n", "SKIP", "0 0 1"),
    ("# needs scdoc\n", "SKIP", "0 1 0"),
    ("skip a # needs x\nnot ok b\n", "FAIL", "0 1 1"),
    ("skip a # needs x\n", "FAIL", "0 1 1"),
    ("[doctest] test cases: 7 | 6 passed | 1 failed | 0 skipped\n", "FAIL", "6 1 0"),
    ("not skip a\n  skip b\nok skip c # d\n", "OK", "1 0 0"),
]


def count(tests):
    """What count.py prints of them, and what it files as skipped."""
    with tempfile.TemporaryDirectory() as directory:
        with open(f"{directory}/log", "w", encoding="utf-8") as log:
            for text, result in tests:
                test = {"name": "project:suite / one", "stdout": text, "result": result}
                print(json.dumps(test), file=log)
        done = subprocess.run(
            [sys.executable, "-B", COUNT, f"{directory}/log", f"{directory}/skipped"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        )
        with open(f"{directory}/skipped", encoding="utf-8") as skipped:
            return done.stdout.strip(), skipped.read()


def check(wanted, got, what):
    print("ok" if wanted == got else f"not ok: wanted {wanted!r}, got {got!r}:", what)
    return wanted == got


# By number: what they printed would be counted again.
good = [
    check(wanted, count([(text, result)])[0], f"test {number}, {result}")
    for number, (text, result, wanted) in enumerate(TESTS, 1)
]
good.append(check("1 0 2", count([("ok a\nskip b # c\n", "OK"), ("skip d # e\n", "SKIP")])[0], "sums"))
good.append(check("one: b # c\n", count([("ok a\nskip b # c\n", "OK")])[1], "skips are listed"))
sys.exit(not all(good))
