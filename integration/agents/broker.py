#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A model broker whose model always does the same: it has a command run, then says what that said.

Speaks Anthropic Messages and OpenAI Responses, streamed, on a Unix socket or a TCP port. --log gets
one JSON line per request: what was asked for (a proxy is asked for whole URLs), and of a turn what
the agent told its model.

    broker.py (--socket PATH | --port PORT) --user UID --log FILE

Prints one line on stdout when it is ready.
"""

import argparse
import json
import os
import socketserver
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../demo"))
import broker  # noqa: E402

COMMAND = "sh /agents/look"


def last_line(content):
    """Returns the text of a tool's result: a string or a list of parts, after the agent's words."""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    return content.rstrip("\n").split("\n")[-1]


class Handler(broker.Handler):
    turn = None

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        speak = {"/v1/messages": self.speak_messages, "/v1/responses": self.speak_responses}
        for end, answer in speak.items():
            if path.endswith(end):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                answer(asked)
                self.send_chunk(b"")
                return
        self.send_error(404)

    def do_GET(self):
        """Codex asks for a WebSocket first, and takes this for a no."""
        self.send_error(426)

    def do_CONNECT(self):
        self.send_error(403)

    def decide(self, results, tools, known):
        """Returns the answer, and the tool to call instead, if any; writes both into the log."""
        tool = next((name for name in known if name in tools), None)
        said = last_line(results[-1]) if results else None
        turn = {"turn": "answer" if said else "call" if tool else "aside"}
        turn |= {"heard": said} if said else {"tools": tools}
        self.note(turn)
        return (f"The walls say: {said}" if said else "Nothing."), None if said else tool

    # ---- Anthropic Messages ---------------------------------------------------------------------

    def speak_messages(self, asked):
        parts = [part for message in asked["messages"] if isinstance(message["content"], list)
                 for part in message["content"]]
        results = [part["content"] for part in parts if part["type"] == "tool_result"]
        tools = [tool["name"] for tool in asked.get("tools", [])]
        text, tool = self.decide(results, tools, ["Bash"])
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        if tool:
            wanted = json.dumps({"command": COMMAND, "description": "look around"})
            block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": wanted}
        reason = "tool_use" if tool else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
                   "model": asked["model"], "stop_reason": None, "stop_sequence": None,
                   "usage": usage}
        self.say("message_start", message=message)
        self.say("content_block_start", index=0, content_block=block)
        self.say("content_block_delta", index=0, delta=delta)
        self.say("content_block_stop", index=0)
        self.say("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage)
        self.say("message_stop")

    # ---- OpenAI Responses -----------------------------------------------------------------------

    # Which tool runs a command differs from version to version.
    shells = {
        "exec_command": {"cmd": COMMAND},
        "shell_command": {"command": COMMAND},
        "shell": {"command": COMMAND.split()},
    }

    def speak_responses(self, asked):
        results = [item["output"] for item in asked["input"]
                   if item.get("type") == "function_call_output"]
        tools = [tool.get("name") or tool["type"] for tool in asked.get("tools", [])]
        text, tool = self.decide(results, tools, list(self.shells))
        response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
        self.say("response.created", response=response)
        if tool:
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool,
                    "arguments": json.dumps(self.shells[tool])}
        else:
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
            self.say("response.output_item.added", output_index=0, item=item)
            self.say("response.output_text.delta", item_id="msg_1", output_index=0,
                     content_index=0, delta=text)
            item = item | {"content": [{"type": "output_text", "text": text}]}
        self.say("response.output_item.done", output_index=0, item=item)
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1,
                 "output_tokens_details": None, "total_tokens": 2}
        response |= {"status": "completed", "output": [item], "usage": usage}
        self.say("response.completed", response=response)

    # ---- the wire -------------------------------------------------------------------------------

    def say(self, event, **members):
        self.send_event(event, {"type": event} | members)

    def note(self, entry):
        print(json.dumps(entry), file=self.server.log, flush=True)

    def log_request(self, code="-", size="-"):
        self.note({"request": f"{self.command} {self.path}", "status": int(code)})


class PortBroker(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    options = argparse.ArgumentParser()
    where = options.add_mutually_exclusive_group(required=True)
    where.add_argument("--socket")
    where.add_argument("--port", type=int)
    options.add_argument("--user", required=True)
    options.add_argument("--log", required=True, type=argparse.FileType("a"))
    given = options.parse_args()
    if given.socket:
        server = broker.Broker(given.socket, Handler, given.log, 0)
        server.bind(given.socket)
    else:
        server = PortBroker(("", given.port), Handler, bind_and_activate=False)
        server.log = given.log
        server.server_bind()
    broker.become(given.user)
    server.server_activate()
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
