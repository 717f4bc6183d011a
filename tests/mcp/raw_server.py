"""An MCP server on standard input and output that follows a plan, including invalid behaviour. Standard library
only.

Start: python raw_server.py PLAN.json

Members of the plan: `tools` in the protocol's form, `calls` with the answer or action of each tool, `modern` for the
protocol era without a handshake, `initialized` with the answer to the handshake, `log` (a file for the received
messages), `page` (how many items a page has), `cursors` (one before each further page of one item), `prompted` (the
content of prompts), `changes` (the list that changes after a method), and the faults `noise`,
`exit`, `exit_at` (a method), `hang`, `refuse` (a method), `cursor` (on each page of a list), `line_end`, `is_framed`
(messages have headers), `id_last`, `slow_s` (seconds before it starts), `stderr`, `ignore_term` and `unsubscribes`
(subscriptions end at once).
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
PROTOCOL = "2026-07-28"
_turn = threading.Lock()
_cancelled = threading.Event()
_answers: queue.Queue[dict[str, Any]] = queue.Queue()
"""The client's answers to requests of a call with the action `ask`."""


def write(message: dict[str, Any]) -> None:
    if PLAN.get("ids") == "zero" and "id" in message:
        message = {**message, "id": 0}
    if PLAN.get("ids") == "text" and isinstance(message.get("id"), int):
        message = {**message, "id": str(message["id"])}
    if PLAN.get("id_last") and "id" in message:
        message = {**message, "id": message.pop("id")}
    data = json.dumps(
        {"jsonrpc": "2.0", **message}, ensure_ascii="encoding" not in PLAN, indent=PLAN.get("indent")
    )
    with _turn:
        header = f"Content-Length: {len(data.encode())}\r\n\r\n" if PLAN.get("is_framed") else ""
        sys.stdout.write(header + PLAN.get("before", "") + data + PLAN.get("line_end", "\n"))
        sys.stdout.flush()


def plan() -> dict[str, Any]:
    """Read the plan again, because a test may change it while the server runs."""
    found: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    return found


def log(message: dict[str, Any]) -> None:
    if path := PLAN.get("log"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")


def capabilities() -> dict[str, Any]:
    found: dict[str, Any] = {"tools": {"listChanged": True}}
    if "prompts" in PLAN:
        found["prompts"] = {"listChanged": True}
    if PLAN.keys() & {"resources", "resourceTemplates"}:
        found["resources"] = {"listChanged": True}
    return found


def answer(message: dict[str, Any]) -> dict[str, Any]:
    method, params = message["method"], message.get("params") or {}
    about = {"name": "raw", "version": "1"}
    match method:
        case "server/discover" if PLAN.get("modern"):
            return {
                "resultType": "complete", "supportedVersions": [PROTOCOL], "capabilities": capabilities(),
                "_meta": {"io.modelcontextprotocol/serverInfo": about}, "instructions": PLAN.get("instructions", ""),
                "ttlMs": 0, "cacheScope": "private",
            }  # fmt: skip
        case "initialize" if "initialized" in PLAN:
            return dict(PLAN["initialized"])
        case "initialize":
            return {
                "protocolVersion": "2025-11-25", "capabilities": capabilities(), "serverInfo": about,
                "instructions": PLAN.get("instructions", ""),
            }  # fmt: skip
        case "tools/list":
            return listed("tools", params)
        case "prompts/list":
            return listed("prompts", params)
        case "resources/list":
            return listed("resources", params)
        case "resources/templates/list" if "resourceTemplates" in PLAN:
            return listed("resourceTemplates", params)
        case "prompts/get":
            words = f"{params['name']} {json.dumps(params.get('arguments', {}))}"
            content = PLAN.get("prompted", {"type": "text", "text": words})
            return {"messages": [{"role": "user", "content": content}], **complete()}
        case "resources/read":
            content = {"uri": params["uri"], "text": f"text of {params['uri']}"}
            return {"contents": [content], **cached()}
        case "tools/call":
            return call(params)
        case _:
            raise LookupError(method)


def complete() -> dict[str, Any]:
    return {"resultType": "complete"} if PLAN.get("modern") else {}


def cached() -> dict[str, Any]:
    return {**complete(), "ttlMs": 0, "cacheScope": "private"} if PLAN.get("modern") else {}


def listed(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    items = plan().get(kind, [])
    more = {"nextCursor": PLAN["cursor"]} if "cursor" in PLAN else {}
    if (cursors := PLAN.get("cursors")) is not None:  # one item a page
        number = cursors.index(params["cursor"]) + 1 if "cursor" in params else 0
        more = {"nextCursor": cursors[number]} if number < len(cursors) else {}
        items = items[number : number + 1]
    elif size := PLAN.get("page"):
        begin = int(params.get("cursor", "at 0").removeprefix("at "))
        more = {"nextCursor": f"at {begin + size}"} if begin + size < len(items) else {}
        items = items[begin : begin + size]
    return {kind: items, **more, **cached()}


def call(params: dict[str, Any]) -> dict[str, Any]:
    name, arguments = params["name"], params.get("arguments", {})
    wanted = plan().get("calls", {}).get(name, {})
    match wanted.get("do"):
        case "exit":
            os._exit(wanted.get("code", 3))
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "late":
            _cancelled.wait()
        case "stderr":
            sys.stderr.write("x" * wanted["size"])
            sys.stderr.flush()
        case "hang":
            time.sleep(3600)
        case "close":
            os.close(sys.stdout.fileno())
            time.sleep(3600)
        case "progress":
            token = wanted.get("token", params.get("_meta", {}).get("progressToken"))
            for step in range(1, 4):
                done = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
                write({"method": "notifications/progress", "params": done})
        case "change":
            for _ in range(wanted.get("times", 1)):
                write({"method": "notifications/tools/list_changed"})
        case "ask":
            write({"id": "asked", "method": wanted["method"], "params": wanted.get("params", {})})
            for other in wanted.get("also", ()):
                write({"id": other, "method": other, "params": {}})
            answers = [_answers.get() for _ in ("asked", *wanted.get("also", ()))]
            text = "\n".join(json.dumps(answer) for answer in answers)
            return {"content": [{"type": "text", "text": text}], **complete()}
        case "elicit" if PLAN.get("modern"):
            if "inputResponses" not in params:
                asked = {"method": "elicitation/create", "params": wanted["form"]}
                return {
                    "resultType": "input_required",
                    "inputRequests": {"k": asked},
                    "requestState": wanted["state"],
                }
            echoed = params.get("requestState") == wanted["state"]
            text = json.dumps([params["inputResponses"]["k"], echoed])
            return {"content": [{"type": "text", "text": text}], **complete()}
        case "flood":
            return {"content": [{"type": "text", "text": "x" * wanted["size"]}], **complete()}
        case "env":
            return {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}], **complete()}
    if "result" in wanted:
        return {**wanted["result"], **complete()}
    text = wanted.get("text", f"{name} {json.dumps(arguments, sort_keys=True)}")
    content = wanted.get("content", [{"type": "text", "text": text}])
    return {"content": content, "isError": wanted.get("is_error", False), **complete()}


def main() -> None:
    if encoding := PLAN.get("encoding"):
        streams: Any = (sys.stdin, sys.stdout)
        for stream in streams:
            stream.reconfigure(encoding=encoding, errors="replace")
    if PLAN.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if child := PLAN.get("child"):
        Path(child).write_text(str(subprocess.Popen(["sleep", "3600"]).pid), "utf-8")
    sys.stderr.write(PLAN.get("stderr", "") * PLAN.get("stderr_times", 1))
    sys.stderr.flush()
    for line in PLAN.get("noise", ()):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    if starts := PLAN.get("starts"):
        with open(starts, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    time.sleep(PLAN.get("slow_s", 0))
    if "exit" in PLAN:
        sys.exit(PLAN["exit"])
    for line in sys.stdin:
        message = json.loads(line)
        log(message)
        if message.get("method") == PLAN.get("exit_at", ""):
            os._exit(5)
        if message.get("method") == "notifications/cancelled":
            _cancelled.set()
        if "id" not in message or "method" not in message:
            if "id" in message:
                _answers.put(message)
            continue
        if PLAN.get("hang") == message["method"]:
            continue
        threading.Thread(target=serve, args=(message,), daemon=True).start()
    if PLAN.get("ignore_term"):
        time.sleep(3600)


def serve(message: dict[str, Any]) -> None:
    try:
        if PLAN.get("refuse") == message["method"]:
            raise LookupError(message["method"])
        named = (message.get("params") or {}).get("name", "")
        if error := plan().get("calls", {}).get(named, {}).get("error"):
            return write({"id": message["id"], "error": error})
        if message["method"] == "subscriptions/listen" and PLAN.get("unsubscribes"):
            about = {"io.modelcontextprotocol/subscriptionId": message["id"]}
            given = {"notifications": message["params"]["notifications"], "_meta": about}
            write({"method": "notifications/subscriptions/acknowledged", "params": given})
            return write({"id": message["id"], "result": {"resultType": "complete", "_meta": about}})
        write({"id": message["id"], "result": answer(message)})
        if kind := PLAN.get("changes", {}).get(message["method"]):
            write({"method": f"notifications/{kind}/list_changed"})
    except LookupError as error:
        write({"id": message["id"], "error": {"code": -32601, "message": f"Method not found: {error}"}})


if __name__ == "__main__":
    main()
