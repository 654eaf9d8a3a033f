#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Speaks to an engine as a kubelet does, over the socket of its Container Runtime Interface.

cri.py SERVED

serves there whoever calls with cri_call.py SERVED [--deadline SECONDS] SOCKET COMMAND...; it prints one
line when it does. What speaks gRPC takes longer to load than most calls do.

    ready IMAGE...              returns once the engine serves, has a network and knows the images
    runp FILE HANDLER           a pod from the JSON of a PodSandboxConfig; prints its id
    stopp POD; rmp POD; pods [NAME]
    statep POD; podip POD       its state, its address
    create POD FILE PODFILE     a container from the JSON of a ContainerConfig; prints its id
    run COUNT POD FILE PODFILE  as many, one after the other, each to its end; the last one's status
    start ID; stop ID [GRACE]; rm ID; containers
    state ID; info ID
    resize ID BYTES             another memory limit, while it runs
    exec ID -- WORD...          passes stdout, stderr and the exit status on
    portforward POD PORT        stdin to PORT of the pod, and its answer to stdout

An error is one line on stderr, and status 1.
"""

import argparse
import base64
import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
import urllib.parse

import grpc
from google.protobuf import descriptor_pb2, json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool

HERE = os.path.dirname(os.path.abspath(__file__))
DESCRIBED = subprocess.run(
    ["protoc", "-I", HERE, "--descriptor_set_out=/dev/stdout", "cri.proto"],
    check=True, stdout=subprocess.PIPE,
).stdout
POOL = DescriptorPool()
for described in descriptor_pb2.FileDescriptorSet.FromString(DESCRIBED).file:
    POOL.Add(described)
FACTORY = message_factory.MessageFactory(POOL)


class Engine:
    """Every call of cri.proto as a method: engine.StopContainer(container_id=..., timeout=5)."""

    def __init__(self, path, deadline):
        self.channel = grpc.insecure_channel(f"unix:{path}")
        self.deadline = deadline

    def message(self, name):
        return FACTORY.GetPrototype(POOL.FindMessageTypeByName(f"runtime.v1.{name}"))

    def read(self, name, path):
        with open(path, encoding="utf-8") as file:
            return json_format.Parse(file.read(), self.message(name)())

    def __getattr__(self, call):
        service = "ImageService" if call.startswith("Image") else "RuntimeService"
        send = self.channel.unary_unary(
            f"/runtime.v1.{service}/{call}",
            request_serializer=self.message(call + "Request").SerializeToString,
            response_deserializer=self.message(call + "Response").FromString,
        )
        return lambda **fields: send(
            self.message(call + "Request")(**fields), timeout=self.deadline
        )


def is_ready(engine, images):
    conditions = engine.Status().status.conditions
    known = (engine.ImageStatus(image={"image": image}).image.id for image in images)
    return conditions and all(condition.status for condition in conditions) and all(known)


def ready(engine, *images):
    # The interface has no event for it: what is imported is known to containerd's CRI a little
    # later, and between listening and serving it refuses.
    while True:
        try:
            if is_ready(engine, images):
                return
        except grpc.RpcError as error:
            if "not initialized" not in error.details():
                raise


def runp(engine, file, handler):
    config = engine.read("PodSandboxConfig", file)
    print(engine.RunPodSandbox(config=config, runtime_handler=handler).pod_sandbox_id)


def stopp(engine, pod):
    engine.StopPodSandbox(pod_sandbox_id=pod)


def rmp(engine, pod):
    engine.RemovePodSandbox(pod_sandbox_id=pod)


def pods(engine, name=""):
    for pod in engine.ListPodSandbox().items:
        if name in ("", pod.metadata.name):
            print(pod.id)


def statep(engine, pod):
    state = engine.PodSandboxStatus(pod_sandbox_id=pod).status.state
    print(("ready", "not ready")[state])


def podip(engine, pod):
    print(engine.PodSandboxStatus(pod_sandbox_id=pod).status.network.ip)


def create(engine, pod, file, pod_file):
    config = engine.read("ContainerConfig", file)
    sandbox = engine.read("PodSandboxConfig", pod_file)
    made = engine.CreateContainer(pod_sandbox_id=pod, config=config, sandbox_config=sandbox)
    print(made.container_id)


def start(engine, container):
    engine.StartContainer(container_id=container)


def stop(engine, container, grace="0"):
    engine.StopContainer(container_id=container, timeout=int(grace))


def rm(engine, container):
    engine.RemoveContainer(container_id=container)


def resize(engine, container, limit):
    engine.UpdateContainerResources(
        container_id=container, linux={"memory_limit_in_bytes": int(limit)}
    )


def containers(engine):
    for container in engine.ListContainers().containers:
        print(container.id)


STATES = ("created", "running", "exited", "unknown")


def status_of(engine, container):
    return engine.ContainerStatus(container_id=container).status


def state(engine, container):
    print(STATES[status_of(engine, container).state])


def info(engine, container):
    print(engine.ContainerStatus(container_id=container, verbose=True).info["info"])


TASKS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"
IN_MOVED_FROM, IN_DELETE = 0x40, 0x200


def wait(engine, container):
    # The interface has no event for an end; its folder of containerd's goes when that has heard of it.
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init()
    if libc.inotify_add_watch(watch, TASKS.encode(), IN_MOVED_FROM | IN_DELETE) < 0:
        raise OSError(ctypes.get_errno(), f"cannot watch {TASKS}")
    while os.path.exists(f"{TASKS}/{container}"):
        os.read(watch, 1 << 16)
    os.close(watch)
    while (status := status_of(engine, container)) and STATES[status.state] == "running":
        pass  # what is left to do for it is to write that down
    return status.exit_code


def run(engine, count, pod, file, pod_file):
    config = engine.read("ContainerConfig", file)
    sandbox = engine.read("PodSandboxConfig", pod_file)
    for _ in range(int(count)):
        made = engine.CreateContainer(pod_sandbox_id=pod, config=config, sandbox_config=sandbox)
        start(engine, made.container_id)
        status = wait(engine, made.container_id)
        rm(engine, made.container_id)
    return status


def execute(engine, container, *words):
    words = words[1:] if words[:1] == ("--",) else words
    done = engine.ExecSync(container_id=container, cmd=words)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    return done.exit_code


class WebSocket:
    """As much of RFC 6455 as one port-forward needs; kubectl's own SPDY would need a library."""

    def __init__(self, url, protocol):
        where = urllib.parse.urlsplit(url)
        self.stream = socket.create_connection((where.hostname, where.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {protocol}\r\n\r\n".encode()
        )
        self.file = self.stream.makefile("rb")
        answer = self.file.readline().decode().strip()
        if " 101 " not in answer:
            raise OSError(f"no websocket at {url}: {answer}")
        while self.file.readline().strip():
            pass

    def send(self, data):
        """One binary frame; the mask that a client must use is all zeros."""
        length = len(data)
        size = bytes([0x80 | length]) if length < 126 else b"\xfe" + struct.pack(">H", length)
        self.stream.sendall(b"\x82" + size + b"\0\0\0\0" + data)

    def frames(self):
        while (head := self.file.read(2)) and head[0] & 0x0F != 8:
            length = head[1] & 0x7F
            if length > 125:
                length = int.from_bytes(self.file.read(2 if length == 126 else 8), "big")
            yield self.file.read(length)


def portforward(engine, pod, port):
    # Each port has two channels, data and errors. The engine says the port first on both.
    url = engine.PortForward(pod_sandbox_id=pod, port=[int(port)]).url
    web = WebSocket(url, "v4.channel.k8s.io")
    web.send(b"\0" + sys.stdin.buffer.read(60000))
    greeted, errors = set(), b""
    for frame in web.frames():
        channel, data = frame[0], frame[1:]
        if not data:
            continue
        if channel not in greeted:
            greeted.add(channel)
        elif channel == 0:
            sys.stdout.buffer.write(data)
        else:
            errors += data
    if errors:
        raise OSError(errors.decode())


COMMANDS = {
    command.__name__: command
    for command in (ready, runp, stopp, rmp, pods, statep, podip, create, start, stop,
                    rm, run, containers, resize, state, info, portforward)
} | {"exec": execute}


def obey(words):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--deadline", type=float, default=100)
    parser.add_argument("socket")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    asked = parser.parse_args(words)
    try:
        return COMMANDS[asked.command](Engine(asked.socket, asked.deadline), *asked.words) or 0
    except grpc.RpcError as error:
        why = f"{error.code().name}: {error.details()}"
    except (OSError, ValueError, json_format.ParseError) as error:
        why = str(error)
    print(f"cri: {asked.command}:", " ".join(why.split()), file=sys.stderr)
    return 1


def end_with(caller):
    caller.recv(1)
    os._exit(1)


def answer(caller):
    """With the caller's stdin, stdout and stderr, and for no longer than it waits."""
    words, files, _, _ = socket.recv_fds(caller, 1 << 17, 3)
    for ours, theirs in enumerate(files):
        os.dup2(theirs, ours)
        os.close(theirs)
    threading.Thread(target=end_with, args=[caller], daemon=True).start()
    status = obey(words.decode().split("\0"))
    sys.stdout.flush()
    caller.send(bytes([status]))


def main():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[1])
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("listening", flush=True)
    while True:
        caller, _ = listener.accept()
        if os.fork() == 0:  # before there is a channel, which a child could not use
            try:
                answer(caller)
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(1)
        caller.close()


main()
