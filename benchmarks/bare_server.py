"""The floor: a minimal agent that uses only the standard library and none of the safeguards of agent-ls.

The server implements only the part of the protocol that the scenarios use. It writes no log, validates nothing, reviews
nothing, and asks for approval only where a scenario measures the approval. The difference in time and memory between
agent-ls and this server is the cost of these functions.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

HUNKS = 1000

Json = dict[str, Any]


def post(base_url: str, body: Json) -> http.client.HTTPConnection:
    """Send a request on a new connection."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc)
    _ask(connection, body)
    return connection


def _ask(connection: http.client.HTTPConnection, body: Json) -> None:
    data = json.dumps(body).encode()
    connection.request("POST", "/v1/messages", data, {"content-type": "application/json"})


class Server:
    def __init__(self) -> None:
        self._out = sys.stdout.buffer
        self._connection = http.client.HTTPConnection(urlsplit(os.environ["ANTHROPIC_BASE_URL"]).netloc)
        self._sending = threading.Lock()
        self._messages: list[Json] = []
        self._documents: dict[str, list[str]] = {}
        self._approved = threading.Event()
        self._changed = threading.Event()
        self._folder = Path()

    def run(self) -> None:
        while message := _read():
            if "method" not in message:
                continue  # the answer to workspace/applyEdit: the changed document shows that the edit was applied
            result = self._handle(message["method"], message["params"])
            if "id" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            if message["method"] == "agent/submit":
                threading.Thread(target=self._turn, args=(message["params"],), daemon=True).start()

    def _handle(self, method: str, params: Json) -> Any:
        match method:
            case "initialize":
                return {"capabilities": {}}
            case "agent/newSession":
                self._folder = Path(unquote(urlsplit(params["workspaceFolder"]).path))
                self._messages = []
                return {"session": {"id": "s"}}
            case "agent/interrupt":
                if self._connection.sock:
                    self._connection.sock.shutdown(2)
            case "agent/approve":
                self._approved.set()
            case "agent/hunks":
                hunk = {
                    "id": "h",
                    "state": "pending",
                    "newRange": [1, 2],
                    "oldLines": ["old\n"],
                    "newLines": ["new\n"],
                }
                return {"files": [{"uri": params["uri"], "hunks": [{**hunk, "n": n} for n in range(HUNKS)]}]}
            case "textDocument/didOpen":
                document = params["textDocument"]
                self._documents[document["uri"]] = document["text"].splitlines(keepends=True)
            case "textDocument/didChange":
                lines = self._documents[params["textDocument"]["uri"]]
                for change in params["contentChanges"]:
                    start, end = change["range"]["start"], change["range"]["end"]
                    head = lines[start["line"]][: start["character"]]
                    tail = lines[end["line"]][end["character"] :] if end["line"] < len(lines) else ""
                    changed = (head + change["text"] + tail).splitlines(keepends=True)
                    lines[start["line"] : end["line"] + 1] = changed
                self._changed.set()
        return {}

    def _turn(self, params: Json) -> None:
        self._messages.append({"role": "user", "content": params["input"][0]["text"]})
        try:
            while calls := self._answer():
                self._messages.append({"role": "user", "content": [self._run(call) for call in calls]})
        except (ConnectionError, http.client.HTTPException):  # the client has sent agent/interrupt
            self._connection.close()
        self._event("processing_end", {})

    def _answer(self) -> list[Json]:
        """Send the conversation to the model, and return the tool calls in its answer."""
        body = {"model": "claude", "max_tokens": 1, "stream": True, "messages": self._messages}
        _ask(self._connection, body)
        blocks: list[Json] = []
        offset = 0
        for event in _events(self._connection.getresponse()):
            if event["type"] == "content_block_start":
                blocks.append({**event["content_block"], "json": ""})
            elif event["type"] == "content_block_delta":
                delta, block = event["delta"], blocks[-1]
                if text := delta.get("text"):
                    block["text"] += text
                    self._event("assistant_text_delta", {"text": text}, offset)
                    offset += len(text)
                else:
                    block["json"] += delta["partial_json"]
        for block in blocks:
            arguments = block.pop("json")
            if block["type"] == "tool_use":
                block["input"] = json.loads(arguments)
        self._messages.append({"role": "assistant", "content": blocks})
        return [block for block in blocks if block["type"] == "tool_use"]

    def _run(self, call: Json) -> Json:
        arguments = call["input"]
        match call["name"]:
            case "read_file":
                lines = (self._folder / arguments["file_path"]).read_text().splitlines(keepends=True)
                start = arguments.get("offset", 1) - 1
                output = "".join(lines[start : start + arguments.get("limit", 2000)])
            case "edit_file":
                path = self._folder / arguments["file_path"]
                if path.as_uri() in self._documents:
                    return {**_result(call), "content": self._edit_document(path.as_uri(), arguments)}
                text = path.read_text()
                if text.count(arguments["old_string"]) == 1:
                    path.write_text(text.replace(arguments["old_string"], arguments["new_string"]))
                output = "Edited."
            case "write_file":
                (self._folder / arguments["file_path"]).write_text(arguments["content"])
                output = "Wrote."
            case _:
                output = self._command(arguments["command"])
        return {**_result(call), "content": output}

    def _edit_document(self, uri: str, arguments: Json) -> str:
        """Request an edit of one line from the editor, and wait until the document has changed."""
        lines, old = self._documents[uri], arguments["old_string"]
        (at,) = (number for number, line in enumerate(lines) if old in line)
        new = lines[at].replace(old, arguments["new_string"])
        where = {"start": {"line": at, "character": 0}, "end": {"line": at + 1, "character": 0}}
        edits = [{"range": where, "newText": new}]
        change = {"documentChanges": [{"textDocument": {"uri": uri}, "edits": edits}]}
        self._changed.clear()
        self._send({"jsonrpc": "2.0", "id": 1, "method": "workspace/applyEdit", "params": {"edit": change}})
        self._changed.wait()
        return "Edited." if lines[at] == new else "Failed."

    def _command(self, command: str) -> str:
        self._event("approval_requested", {"requestId": "r"})
        self._approved.wait()
        with subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.PIPE) as process:
            assert process.stdout
            output = process.stdout.readline().decode()
            self._event("tool_call_output_delta", {"text": output})
        return output

    def _event(self, kind: str, data: Json, offset: int = 0) -> None:
        params = {"sessionId": "s", "kind": kind, "offset": offset, "data": data}
        self._send({"jsonrpc": "2.0", "method": "agent/event", "params": params})

    def _send(self, message: Json) -> None:
        body = json.dumps(message, separators=(",", ":")).encode()
        with self._sending:
            self._out.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._out.flush()


def _result(call: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": call["id"]}


def _read() -> Json | None:
    length = 0
    while (line := sys.stdin.buffer.readline()) != b"\r\n":
        if not line:
            return None
        length = int(line.partition(b":")[2])
    message: Json = json.loads(sys.stdin.buffer.read(length))
    return message


def _events(response: http.client.HTTPResponse) -> Iterator[Json]:
    event: Json = {}
    while line := response.readline():
        if line.startswith(b"data:"):
            event = json.loads(line[5:])
            yield event
    if event.get("type") != "message_stop":
        raise ConnectionError


if __name__ == "__main__":
    Server().run()
