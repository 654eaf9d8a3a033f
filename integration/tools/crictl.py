#!/usr/bin/python3 -SE
# SPDX-License-Identifier: Apache-2.0
"""As much of crictl(1), which Debian 12 does not have, as `anchorhold verify` asks of it."""

import os
import sys

import cri_call

match sys.argv[1:]:
    case ["--timeout", _, "--runtime-endpoint", endpoint, *asked]:
        pass
    case ["--timeout", _, *asked]:
        endpoint = os.environ["CONTAINER_RUNTIME_ENDPOINT"]
    case words:
        sys.exit(f"crictl: a --timeout was expected: {words}")
match asked:
    case ["version"] | ["stopp" | "rmp", _]:
        words = asked
    case ["runp", "--runtime", handler, config]:
        words = ["runp", config, handler]
    case ["runp", config]:
        words = ["runp", config, ""]  # the engine's default
    case ["pods", "--quiet", "--name", name]:
        words = ["pods", name]
    case _:
        sys.exit(f"crictl: a command was expected: {asked}")
sys.exit(cri_call.call("/run/lab/cri", [endpoint.removeprefix("unix://")] + words))
