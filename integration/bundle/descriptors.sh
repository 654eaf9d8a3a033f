#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An open descriptor works on in whatever namespace it lands: what would lead a container out is
# refused before anything starts, what engines hand over passes.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/engines.sh"
. "$(dirname "$0")/../lib/cells.sh"
needs "${cell_needs[@]}"
enter_lab
make_rootfs "$lab/rootfs"
policy

# Answers "reached" to whoever connects.
start_ready "$python" -c 'import socket
s = socket.create_server(("127.0.0.1", 7000))
print("up", flush=True)
while True: s.accept()[0].send(b"reached\n")'

cat >"$lab/holding.py" <<'CODE'
"""holding.py FD KIND COMMAND...: runs COMMAND with a descriptor of that kind as FD."""
import os, socket, sys
fd, kind, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
here, there = socket.socketpair()
there.send(b"reached\n")
pipe, end = os.pipe()
os.write(end, b"reached\n")
with open("/run/lab/text", "w") as file:
    file.write("reached\n")
made = {
    "tcp": lambda: socket.create_connection(("127.0.0.1", 7000)).detach(),
    "udp": lambda: socket.socket(type=socket.SOCK_DGRAM).detach(),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).detach(),
    "directory": lambda: os.open("/", os.O_RDONLY),
    "path": lambda: os.open("/", os.O_PATH),
    "netns": lambda: os.open("/proc/self/ns/net", os.O_RDONLY),
    "pidfd": lambda: os.pidfd_open(os.getpid()),
    "tun": lambda: os.open("/dev/net/tun", os.O_RDWR),
    "unix": lambda: os.dup(here.fileno()),
    "pipe": lambda: pipe,
    "file": lambda: os.open("/run/lab/text", os.O_RDONLY),
    "null": lambda: os.open("/dev/null", os.O_RDWR),
}[kind]()
os.dup2(made, fd)
os.set_inheritable(there.fileno(), kind == "unix")  # or the socket would have no other end
os.set_inheritable(end, kind == "pipe")
if "LISTEN_FDS" in os.environ:
    os.environ["LISTEN_PID"] = str(os.getpid())  # runc goes by it
os.execvp(command[0], command)
CODE

# run_with FD KIND RUNTIME OPTION...
run_with() {
    within 60 "$python" -IS "$lab/holding.py" "$1" "$2" "$3" run --bundle "$lab/b/cell" "${@:4}" cell \
        2>&1 </dev/null
}

# leads_out KIND PROBE: without us the probe, a shell's words, says "reached" by descriptor 3.
leads_out() {
    local line
    bundle cell . sh -c "$2"
    check "without us: $1" contains "$(run_with 3 "$1" "$plain_runtime" --preserve-fds 1)" reached
    line=$(run_with 3 "$1" "$runtime" --preserve-fds 1)
    check "refused: $1" is_refusal "$line" 3
    line=$(LISTEN_FDS=1 run_with 3 "$1" "$runtime")
    check "refused as a LISTEN descriptor: $1" is_refusal "$line" 3
}

is_refusal() { # is_refusal LINE FD
    contains "$1" "anchorhold: run cell: descriptor $2 is " &&
        contains "$1" " (invalid_request)" && [[ $1 != *$'\n'* ]] && nothing_left
}

remember_kernel
leads_out tcp 'read -r answer <&3; echo "$answer"'
leads_out directory 'cd /proc/self/fd/3/run/lab && [ -e holding.py ] && echo reached'
leads_out path 'cd /proc/self/fd/3/run/lab && [ -e holding.py ] && echo reached'
is_named() { echo "case \$(readlink /proc/self/fd/3) in $1) echo reached ;; esac"; }
leads_out udp "$(is_named 'socket:*')"
leads_out netlink "$(is_named 'socket:*')"
leads_out netns "$(is_named 'net:*')"
leads_out pidfd "$(is_named '*pidfd*')"
if only_where tun "without us: tun" "refused: tun" "refused as a LISTEN descriptor: tun"; then
    leads_out tun "$(is_named '*/tun')"
fi

bundle cell . sh -c 'read -r answer; echo "$answer"'
check "without us: a socket as stdin" \
    contains "$(run_with 0 tcp "$plain_runtime" 2>&1)" reached
check "refused: a socket as stdin" is_refusal "$(run_with 0 tcp "$runtime")" 0

bundle cell . sh -c 'read -r answer <&3; echo "$answer"'
passes() { # passes KIND
    check "passes: $1" same reached "$(run_with 3 "$1" "$runtime" --preserve-fds 1)"
}
passes file
passes pipe
passes unix
check "a Unix socket is named as a channel" same true "$("$runtime" show --json cell |
    jq '.other_channels | contains(["descriptor 3 is a Unix socket"])')"
bundle cell . sh -c 'echo >&3 && echo fine'
check "passes: /dev/null" same fine "$(run_with 3 null "$runtime" --preserve-fds 1)"

# ---- exec ---------------------------------------------------------------------------------------

bundle long . sh -c 'echo up; exec sleep infinity'
start_ready in_cell long
exec_with() { # exec_with KIND RUNTIME
    within 60 "$python" -IS "$lab/holding.py" 3 "$1" "$2" exec --preserve-fds 1 long \
        sh -c 'read -r answer <&3; echo "$answer"' 2>&1 </dev/null
}
check "without us: exec with a socket of the host's network" \
    contains "$(exec_with tcp "$plain_runtime")" reached
check "refused: exec with a socket of the host's network" \
    contains "$(exec_with tcp "$runtime")" "anchorhold: exec long: descriptor 3 is a socket"
check "passes: exec with a file" same reached "$(exec_with file "$runtime")"
"$runtime" kill long KILL
wait $!

check "nothing is left" nothing_left
finish
