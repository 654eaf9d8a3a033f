#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A model broker whose model always does the same: it has a command run, then says what that said.

Where the agent offers the tools of MCP servers too, ask_stdio and ask_http, it calls these next.

Speaks Anthropic Messages, OpenAI Responses, Chat Completions and Gemini, streamed where that is
asked for, on a Unix socket or a TCP port. --log gets one JSON line per request: what was asked for
(a proxy is asked for whole URLs) with which key, and of a turn what the agent told its model.

    broker.py (--socket PATH | --port PORT [--tls FILE]) --user UID --log FILE

Prints one line on stdout when it is ready.
"""

import argparse
import json
import os
import socketserver
import ssl
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../demo"))
import broker  # noqa: E402

COMMAND = "sh /agents/look"
QUESTION = {"what": "who is there"}
# Which tool runs a command differs from agent to agent, and from version to version.
SHELLS = {
    "Bash": {"command": COMMAND, "description": "look around"},
    "bash": {"command": COMMAND, "description": "look around"},
    "run_shell_command": {"command": COMMAND},
    "exec_command": {"cmd": COMMAND},
    "shell_command": {"command": COMMAND},
    "shell": {"command": COMMAND.split()},
}


def last_line(content):
    """Returns the text of a tool's result: a string or a list of parts, after the agent's words."""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    lines = [line for line in content.splitlines()
             if line and not line.startswith(("</", "Process Group"))]
    return (lines or [""])[-1].removeprefix("Output: ")


class Handler(broker.Handler):
    turn = None

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        speak = {"/v1/messages": self.speak_messages, "/v1/responses": self.speak_responses,
                 "/v1/chat/completions": self.speak_chat,
                 ":streamGenerateContent": self.speak_gemini}
        if path.endswith(":generateContent"):
            self.send_json(self.gemini_choice(asked))
            return
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
        """Some agents ask their proxy for a tunnel to their model: what comes through it is for us."""
        if self.path != "127.0.0.1:8080":
            self.send_error(403)
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = False

    def decide(self, results, tools, called):
        """Returns the answer, and the tool to call instead with its arguments, if any; writes both
        into the log. `called` has the names of the tools that were called before."""
        shell = next((name for name in SHELLS if name in tools), None)
        steps = [(shell, SHELLS[shell])] if shell else []
        steps += [(name, QUESTION) for end in ("ask_stdio", "ask_http") for name in tools
                  if name.endswith(end)]
        said = " and ".join(last_line(result) for result in results)
        call = next((step for step in steps if step[0] not in called), None)
        turn = {"turn": "call" if call else "answer" if said else "aside"}
        self.note(turn | ({"heard": said} if said else {"tools": tools}))
        return (f"The walls say: {said}" if said else "Nothing."), call

    # ---- Anthropic Messages ---------------------------------------------------------------------

    def speak_messages(self, asked):
        parts = [part for message in asked["messages"] if isinstance(message["content"], list)
                 for part in message["content"]]
        results = [part["content"] for part in parts if part["type"] == "tool_result"]
        called = [part["name"] for part in parts if part["type"] == "tool_use"]
        tools = [tool["name"] for tool in asked.get("tools", [])]
        text, call = self.decide(results, tools, called)
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": call[0],
                     "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        reason = "tool_use" if call else "end_turn"
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

    def speak_responses(self, asked):
        results = [item["output"] for item in asked["input"]
                   if item.get("type") == "function_call_output"]
        tools, spaces = [], {}
        for tool in asked.get("tools", []):
            for one in tool.get("tools", [tool]): # a namespace has the tools of one MCP server
                tools.append(one.get("name") or one["type"])
                spaces[tools[-1]] = {"namespace": tool["name"]} if one is not tool else {}
        called = [item["name"] for item in asked["input"] if item.get("type") == "function_call"]
        text, call = self.decide(results, tools, called)
        response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
        self.say("response.created", response=response)
        if call:
            number = len(results)
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                    "name": call[0], "arguments": json.dumps(call[1])} | spaces[call[0]]
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

    # ---- OpenAI Chat Completions ----------------------------------------------------------------

    def speak_chat(self, asked):
        results = [message["content"] for message in asked["messages"]
                   if message["role"] == "tool"]
        tools = [tool["function"]["name"] for tool in asked.get("tools", [])]
        called = [call["function"]["name"] for message in asked["messages"]
                  for call in message.get("tool_calls") or []]
        text, call = self.decide(results, tools, called)
        delta = {"role": "assistant", "content": text}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            delta = {"role": "assistant", "content": None, "tool_calls": [
                {"index": 0, "id": f"call_{len(results)}", "type": "function",
                 "function": function}]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        for part, reason in ((delta, None), ({}, "tool_calls" if call else "stop")):
            choice = {"index": 0, "delta": part, "finish_reason": reason}
            self.send_data({"id": "chat_1", "object": "chat.completion.chunk", "created": 1,
                            "model": asked["model"], "choices": [choice], "usage": usage})
        self.send_chunk(b"data: [DONE]\n\n")

    # ---- Gemini ---------------------------------------------------------------------------------

    def gemini_turn(self, asked):
        parts = [part for content in asked["contents"] for part in content["parts"]]
        results = [str(next(iter(part["functionResponse"]["response"].values()), ""))
                   for part in parts if "functionResponse" in part]
        tools = [function["name"] for tool in asked.get("tools", [])
                 for function in tool.get("functionDeclarations", [])]
        called = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        text, call = self.decide(results, tools, called)
        return self.gemini_answer({"functionCall": {"name": call[0], "args": call[1]}} if call
                                  else {"text": text})

    def gemini_answer(self, part):
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP",
                     "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage}

    def gemini_choice(self, asked):
        """Answers the question which model is to have the turn, in the members that it names."""
        wanted = asked["generationConfig"]["responseJsonSchema"]["properties"]
        choice = {name: 1 if member["type"] == "INTEGER" else "easy"
                  for name, member in wanted.items()}
        return self.gemini_answer({"text": json.dumps(choice)})

    def speak_gemini(self, asked):
        self.send_data(self.gemini_turn(asked))

    # ---- the wire -------------------------------------------------------------------------------

    def send_data(self, data):
        self.send_chunk(f"data: {json.dumps(data)}\n\n".encode())

    def send_json(self, data):
        text = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def say(self, event, **members):
        self.send_event(event, {"type": event} | members)

    def note(self, entry):
        print(json.dumps(entry), file=self.server.log, flush=True)

    def log_request(self, code="-", size="-"):
        key = self.headers.get("x-api-key")
        self.note({"request": f"{self.command} {self.path}", "status": int(code), "key": key})


class PortBroker(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    options = argparse.ArgumentParser()
    where = options.add_mutually_exclusive_group(required=True)
    where.add_argument("--socket")
    where.add_argument("--port", type=int)
    options.add_argument("--tls", help="its certificate and key")
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
        if given.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(given.tls)
            server.socket = context.wrap_socket(server.socket, server_side=True)
    broker.become(given.user)
    server.server_activate()
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
