#!/usr/bin/python3 -SE
# SPDX-License-Identifier: Apache-2.0
"""As much of crictl(1), which Debian 12 does not have, as `anchorhold verify` asks of it."""

import argparse
import os
import sys

import cri_call

parser = argparse.ArgumentParser()
parser.add_argument("--timeout", required=True)
parser.add_argument("--runtime-endpoint", default=os.environ.get("CONTAINER_RUNTIME_ENDPOINT"))
commands = parser.add_subparsers(dest="command", required=True)
commands.add_parser("version")
runp = commands.add_parser("runp")
runp.add_argument("--runtime", required=True)
runp.add_argument("config")
pods = commands.add_parser("pods")
pods.add_argument("--quiet", action="store_true", required=True)
pods.add_argument("--name", required=True)
for name in ("stopp", "rmp"):
    commands.add_parser(name).add_argument("id")
asked = parser.parse_args()

words = {
    "version": lambda: ["version"],
    "runp": lambda: ["runp", asked.config, asked.runtime],
    "pods": lambda: ["pods", asked.name],
    "stopp": lambda: ["stopp", asked.id],
    "rmp": lambda: ["rmp", asked.id],
}[asked.command]()
engine = asked.runtime_endpoint.removeprefix("unix://")
sys.exit(cri_call.call("/run/lab/cri", [engine] + words))
