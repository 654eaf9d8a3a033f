#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs inside the container: asks the model, then tries what the container was not given.
# $1 is a port that is served on the host's loopback.

echo "  proxy variables: $(env | grep -ci proxy)"
echo "  interfaces: $(sed -n 's/^ *\([^ ]*\):.*/\1/p' /proc/net/dev)"
printf '  the model answers: '
wget -q -O - --post-data '{"messages":[]}' http://127.0.0.1:8080/v1/messages |
    sed -n 's/.*"text": "\([^"]*\)".*/\1/p' | while IFS= read -r piece; do printf %s "$piece"; done
echo

refused() {
    if answer=$(timeout 5 "$@" 2>&1 </dev/null); then
        echo "  REACHED  $*"
        exit 1
    fi
    echo "  refused  $*: $(echo "$answer" | sed -n '$s/^[a-z]*: //p')"
}
refused wget -q -O - http://192.0.2.1/
refused wget -q -O - http://example.com/
refused wget -q -O - "http://127.0.0.1:$1/"
