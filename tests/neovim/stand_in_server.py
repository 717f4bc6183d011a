"""A scripted language server in place of agent-ls: the test controls its messages.

Neovim starts bridge.py, so that there is a process to start and to kill. `StandIn` runs in the test: it
answers routine requests, tracks the synced documents, records every request, and can send any message.
Members that a test leaves out are filled in. Every message of both sides is validated against the protocol's
schema: `misfits`.
"""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from tests.neovim import completed_messages
from tests.support import wire_schema

DEADLINE_S = 240.0
OURS = ("agent/", "workspace/textDocumentContent")
Json = dict[str, Any]


@dataclass
class Document:
    version: int
    text: str


@dataclass
class StandInSession:
    """A session and its recorded events. The answer to a subscription contains `open_parts`."""

    id: str
    events: list[Json] = field(default_factory=list)
    open_parts: list[Json] = field(default_factory=list)
    hunks: list[Json] = field(default_factory=list)
    approvals: list[Json] = field(default_factory=list)
    info: Json = field(default_factory=dict)
    draft: Json | None = None


class StandIn:
    """A scripted server with one connection at a time. After a connection has ended, Neovim can connect again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "stand-in.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(DEADLINE_S)
        self._listener.bind(str(self.path))
        self._listener.listen(1)
        self._connection: socket.socket | None = None
        self._received: queue.Queue[Json] = queue.Queue()
        self._answers: queue.Queue[Json] = queue.Queue()
        self._arrived = threading.Condition()
        self._write_lock = threading.Lock()
        self._last_id = 0
        self.documents: dict[str, Document] = {}
        self.sessions: dict[str, StandInSession] = {}
        self.refusals: dict[str, Json] = {}
        self.replies: dict[str, Json] = {}
        self.silent: set[str] = set()
        self.before_answer: dict[str, Callable[[], object]] = {}
        self.ended = threading.Event()
        self.initialize: Json = {}
        self.misfits: list[str] = []
        self._asked: dict[str, str] = {}
        self._closing = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(Path(__file__).with_name("bridge.py")), str(self.path)]

    # -- actions of a test

    def expect(self, method: str) -> Json:
        """Return the parameters of the next request or notification with this name; skip others before it."""
        while True:
            try:
                message = self._received.get(timeout=DEADLINE_S)
            except queue.Empty:
                raise AssertionError(f"{method} did not come within {DEADLINE_S} s") from None
            if message.get("method") == method:
                return dict(message.get("params") or {})

    def seen(self) -> list[str]:
        """Return the names of received messages that `expect` has not consumed."""
        names = []
        with contextlib.suppress(queue.Empty):
            while True:
                names.append(str(self._received.get_nowait()["method"]))
        return names

    def session(self, session_id: str = "s1", **info: Any) -> StandInSession:
        """Add a session to those that the server knows, or change the `info` of a known one."""
        found = self.sessions.setdefault(session_id, StandInSession(session_id))
        found.info |= info
        return found

    def emit(
        self,
        kind: str,
        data: Json | None = None,
        session_id: str = "s1",
        turn_id: str = "t1",
        agent_id: str = "",
    ) -> Json:
        """Record an event and send it."""
        event = self.record(kind, data, session_id, turn_id)
        event |= {"agentId": agent_id} if agent_id else {}
        self.tell(event)
        return event

    def tell(self, event: Json) -> None:
        """Send an event that is not recorded, or was recorded before."""
        event = completed_messages.completed_event({"timestamp": "2026-01-02T03:04:05.678Z", **event})
        self._note(event["kind"], wire_schema.misfit_of_event(event))
        if event["kind"] == "client_request":
            what, params = event["data"]["what"], event["data"]["params"]
            self._asked[event["data"]["requestId"]] = what
            if what in wire_schema.schema()["clientRequests"]:
                self._note(what, wire_schema.misfit_of("clientRequests", what, "params", params))
        self.notify("agent/event", event)

    def record(
        self, kind: str, data: Json | None = None, session_id: str = "s1", turn_id: str = "t1"
    ) -> Json:
        """Record an event without sending it, as one that the client missed."""
        session = self.session(session_id)
        event = {
            "sessionId": session_id,
            "seq": len(session.events) + 1,
            "kind": kind,
            "timestamp": "2026-01-02T03:04:05.678Z",
            "turnId": turn_id,
            "data": data or {},
        }
        event = completed_messages.completed_event(event)
        self._note(kind, wire_schema.misfit_of_event(event))
        session.events.append(event)
        return event

    def delta(
        self, kind: str, part_id: str, offset: int, text: str, session_id: str = "s1", name: str = ""
    ) -> None:
        data = {"text": text, **({"name": name} if name else {})}
        self.tell(
            {
                "sessionId": session_id,
                "kind": kind,
                "after": len(self.session(session_id).events),
                "partId": part_id,
                "offset": offset,
                "data": data,
            }
        )

    def apply_edit(self, uri: str, edits: list[Json], version: int | None = None) -> Json:
        """Send one versioned edit and return the client's answer. `version` None: the last synced version."""
        at = self.documents[uri].version if version is None else version
        change = {"textDocument": {"uri": uri, "version": at}, "edits": edits}
        return self.request("workspace/applyEdit", {"edit": {"documentChanges": [change]}})

    def request(self, method: str, params: Json) -> Json:
        """Send a request to the client; return its result or error."""
        self._last_id += 1
        number = self._last_id
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            try:
                answer = self._answers.get(timeout=DEADLINE_S)
            except queue.Empty:
                raise AssertionError(f"no answer to {method} within {DEADLINE_S} s") from None
            if answer["id"] == number:
                return dict(answer.get("result") or answer.get("error") or {})

    def notify(self, method: str, params: Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def wait_text(self, uri: str, text: str) -> Document:
        """Wait until the client has synced this text."""
        with self._arrived:
            self._wait(
                lambda: uri in self.documents and self.documents[uri].text == text, f"{uri} to be {text!r}"
            )
            return self.documents[uri]

    def wait_open(self, uri: str) -> Document:
        with self._arrived:
            self._wait(lambda: uri in self.documents, f"{uri} to be opened")
            return self.documents[uri]

    def refuse(self, method: str, message: str, **data: Any) -> None:
        """Answer this method with an error from now on."""
        self.refusals[method] = {"code": 1, "message": message, "data": data}

    def drop_connection(self) -> None:
        """Close the connection, after which bridge.py exits with a nonzero code, as a killed server does."""
        if self._connection:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closing = True
        self.drop_connection()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(DEADLINE_S)

    # -- internal

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        if not self._arrived.wait_for(condition, DEADLINE_S):
            raise AssertionError(f"waited {DEADLINE_S} s for {what}; documents: {self.documents}")

    def _serve(self) -> None:
        while not self._closing:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connection, self.documents = connection, {}
            with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError, ValueError):
                for message in read_messages(stream):
                    self._take(message)
            self.ended.set()

    def _take(self, message: Json) -> None:
        if "method" not in message:
            self._answers.put(message)
            return
        method, params = message["method"], message.get("params") or {}
        if method.startswith(OURS):
            self._check(method, params)
        with self._arrived:
            self._sync(method, params)
            self._arrived.notify_all()
        if before := self.before_answer.pop(method, None):
            before()
        if "id" in message and method not in self.silent:
            self._send({"jsonrpc": "2.0", "id": message["id"], **self._answer(method, params)})
        self._received.put(message)

    def _send(self, message: Json) -> None:
        body = json.dumps(message).encode()
        with self._write_lock, contextlib.suppress(OSError):
            if self._connection:
                self._connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def _sync(self, method: str, params: Json) -> None:
        if method == "textDocument/didOpen":
            opened = params["textDocument"]
            self.documents[opened["uri"]] = Document(opened["version"], opened["text"])
        elif method == "textDocument/didChange":
            document = self.documents[params["textDocument"]["uri"]]
            for change in params["contentChanges"]:
                document.text = changed(document.text, change)
            document.version = params["textDocument"]["version"]
        elif method == "textDocument/didClose":
            self.documents.pop(params["textDocument"]["uri"], None)
        elif method == "agent/draft":
            self.session(params["sessionId"]).draft = {"text": params["text"], "attachments": []}

    def _answer(self, method: str, params: Json) -> Json:
        if error := self.refusals.get(method):
            return {"error": error}
        answer = getattr(self, "_on_" + method.replace("/", "_").replace("$", ""), None)
        result = self.replies[method] if method in self.replies else answer(params) if answer else None
        if result is not None and method.startswith(OURS):
            result = completed_messages.completed_side("methods", method, "result", result)
            self._note(method, wire_schema.misfit_of("methods", method, "result", result))
        return {"result": result}

    def _check(self, method: str, params: Json) -> None:
        self._note(method, wire_schema.misfit_of("methods", method, "params", params))
        if method == "agent/clientAnswer" and (what := self._asked.get(params.get("requestId", ""))):
            if (result := params.get("result")) is not None:
                self._note(what, wire_schema.misfit_of("clientRequests", what, "result", result))

    def _note(self, what: str, misfit: str) -> None:
        if misfit:
            self.misfits.append(f"{what}: {misfit}")

    def _on_initialize(self, params: Json) -> Json:
        self.initialize = params
        capabilities = {
            "positionEncoding": "utf-8",
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
            "experimental": {"agentLs": {"version": 1, "events": True, "review": True, "approvals": True}},
        }
        return {"capabilities": capabilities, "serverInfo": {"name": "agent-ls", "version": "stand-in"}}

    def _on_agent_newSession(self, params: Json) -> Json:
        session = self.session(
            f"s{len(self.sessions) + 1}", workspaceFolder=params.get("workspaceFolder", "")
        )
        walkthrough = params.get("provider") == "walkthrough"
        session.info |= {"provider": params.get("provider") or "anthropic", "isWalkthrough": walkthrough}
        return {"session": self._info(session)}

    def _on_agent_subscribe(self, params: Json) -> Json:
        session = self.session(params["sessionId"])
        return {
            "clientId": "c1",
            "session": self._info(session),
            "events": session.events[params["since"] :],
            "lastSeq": len(session.events),
            "openParts": session.open_parts,
            **({"draft": session.draft} if session.draft else {}),
            "pending": {"approvals": session.approvals, "questions": [], "hunks": session.hunks},
        }

    def _on_agent_sessions(self, _: Json) -> Json:
        newest_first = reversed(self.sessions.values())
        return {"sessions": [self._info(session) for session in newest_first]}

    def _on_agent_submit(self, params: Json) -> Json:
        return {"turnId": "t1"}

    def _on_agent_steer(self, _: Json) -> Json:
        return {"steerId": "steer1"}

    def _on_agent_followUp(self, _: Json) -> Json:
        return {"queuedId": "q1"}

    def _on_agent_approve(self, params: Json) -> Json:
        return {"decision": params["decision"], "decidedBy": params["clientKey"]}

    def _on_agent_review(self, _: Json) -> Json:
        return {"changed": [], "refused": []}

    def _on_agent_configure(self, params: Json) -> Json:
        session = self.session(params["sessionId"])
        session.info |= {name: params[name] for name in ("model", "mode", "effort") if name in params}
        return {"session": self._info(session), "appliesFrom": "nextCall"}

    def _on_agent_terminals(self, params: Json) -> Json:
        return {"terminals": self.session(params["sessionId"]).info.get("terminals", [])}

    def _on_agent_rename(self, params: Json) -> Json:
        return {"session": self._info(self.session(params["sessionId"]))}

    def _on_agent_fork(self, params: Json) -> Json:
        return self._on_agent_newSession(params)

    def _on_agent_export(self, _: Json) -> Json:
        return {"text": "# Totals\n\n> Fix it.\n"}

    def _on_agent_terminalKill(self, _: Json) -> Json:
        return {}

    def _on_agent_interrupt(self, _: Json) -> Json:
        return {}

    def _on_agent_clientAnswer(self, _: Json) -> Json:
        return {}

    def _info(self, session: StandInSession) -> Json:
        kinds = {event["kind"]: event for event in session.events}
        state = kinds["state"]["data"]["state"] if "state" in kinds else "IDLE"
        return {
            "id": session.id,
            "title": "",
            "state": state,
            "provider": "anthropic",
            "model": "model-x",
            "mode": "ask",
            "review": "after",
            "workspaceFolder": "",
            "created": "2026-01-02T03:04:05.678Z",
            "updated": "2026-01-02T03:04:05.678Z",
            "lastSeq": len(session.events),
            "live": True,
            "access": "owner",
            "isWalkthrough": False,
            "activity": "idle",
            **session.info,
        }


def read_messages(stream: BinaryIO) -> Iterator[Json]:
    while True:
        size = 0
        while (line := stream.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line[15:])
        body = stream.read(size)
        if not line or len(body) < size:
            return
        yield json.loads(body)


def changed(text: str, change: Json) -> str:
    """Apply one incremental change, in UTF-8 positions."""
    if "range" not in change:
        return str(change["text"])
    lines = text.encode().split(b"\n")

    def offset(position: Json) -> int:
        before = sum(len(line) + 1 for line in lines[: position["line"]])
        return before + int(position["character"])

    start, end = offset(change["range"]["start"]), offset(change["range"]["end"])
    data = text.encode()
    new: str = change["text"]
    return (data[:start] + new.encode() + data[end:]).decode()
