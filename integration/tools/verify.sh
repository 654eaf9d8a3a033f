#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `verify` says how it wants to be asked, and when an engine is not there.
. "$(dirname "$0")/../lib/verify.sh"

refused() { # SENTENCE WORD...
    same "anchorhold: verify: $1 (invalid_request)" "$("$runtime" "${@:2}" 2>&1 >/dev/null)"
}
check "an engine that is none is refused" refused \
    '"runc" is not podman, docker, containerd or crio' verify runc
check "no engine is told the usage" refused \
    "usage: anchorhold verify [--json] [--config FILE] ENGINE [RUNTIME]" verify
check "our own options are the engine's to give" refused \
    "what counts is how the engine calls us; leave the --ah- options away" --ah-profile=ci verify podman
remember_kernel
check "an engine that is not here" finds "engine_unusable no_handler" "crio is not on PATH" crio
finish
