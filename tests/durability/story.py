"""A whole session in which a server can be killed: the model's script, and the actions of user and editor.

`Story.play` runs one session and can end the server with SIGKILL when its Nth message arrives. `resume` opens the
session in a new server and checks that nothing is lost. The session is the same for each provider.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from agent_ls.store.sessions import SessionStore
from tests.loopback.script import Json
from tests.support.editor import Editor, new_key, text_input
from tests.support.framed_client import DEADLINE_S, ServerProcess
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    LoopbackProvider,
    OpenAIResponsesServer,
    Reasoning,
    Text,
    ToolCall,
)

SERVERS: dict[str, type[AnthropicServer | OpenAIResponsesServer]] = {
    "anthropic": AnthropicServer,
    "openai": OpenAIResponsesServer,
}

TASK, FOLLOW_UP, SECOND, GO_ON = "Make it eleven.", "And what now?", "Look at it again.", "Please go on."
STEER = "Be quick about it."

SHOWN = "# typed, never saved \N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}\ndef one():\n    return 1\n"
"""The text of the open document, which was never saved."""
ON_DISK = "def one():\n    return 1\n"
CLOSED = "first\nto go\nlast\n"

COMMAND = "printf 'one\\n'; printf 'two\\n' >&2; printf 'three\\n'"


def environment(provider: LoopbackProvider, state: Path) -> dict[str, str]:
    name = "ANTHROPIC" if isinstance(provider, AnthropicServer) else "OPENAI"
    return {
        f"{name}_API_KEY": "sk-test-loopback",
        f"{name}_BASE_URL": provider.base_url,
        "AGENT_LS_STATE_DIR": str(state),
    }


def edit(provider: str, name: str, old: str, new: str) -> ToolCall:
    """Return the call with which this provider's models replace these lines of a file."""
    if provider == "anthropic":
        return ToolCall("edit_file", {"file_path": name, "old_string": old, "new_string": new})
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    patch = "\n".join(("*** Begin Patch", f"*** Update File: {name}", "@@", *lines, "*** End Patch", ""))
    return ToolCall("apply_patch", {"patch": patch})


def model(provider: str) -> Callable[[Json], Answer]:
    """Return the script of a loopback provider. It depends only on the request, so it can continue from any point."""

    def answer(body: Json) -> Answer:
        said, results = _where(body)
        return _ANSWERS[said](provider)[results]

    return answer


def _where(body: Json) -> tuple[str, int]:
    """Return the user's last input, and the number of tool results after it."""
    last, results = "", 0
    for said in _input_texts(body):
        if known := next((text for text in _ANSWERS if text in said), ""):
            last, results = known, 0
        elif said == _RESULT:
            results += 1
    return last, results


_RESULT = "(a result)"


def _input_texts(body: Json) -> Iterator[str]:
    """Yield the texts of the user and the tools in a request, in order, for either wire."""
    for item in body.get("messages") or body["input"]:
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            yield _RESULT
        elif item.get("role") == "user":
            content = item["content"]
            for block in [{"text": content}] if isinstance(content, str) else content:
                yield _RESULT if block.get("type") == "tool_result" else block.get("text", "")


def _task(provider: str) -> dict[int, Answer]:
    name = "file_path"
    return {
        0: [
            Reasoning("Let me ", "see."),
            Text("I look ", "at both ", "first."),
            ToolCall("read_file", {name: "open.py"}),
            ToolCall("read_file", {name: "closed.txt"}),
        ],
        2: [
            Reasoning("The open one."),
            Text("Now it is ", "eleven."),
            edit(provider, "open.py", "    return 1\n", "    return 11\n"),
        ],
        3: [edit(provider, "closed.txt", "first\nto go\nlast\n", "first\nlast\n")],
        4: [Text("I try it."), ToolCall("shell", {"command": COMMAND})],
        5: [Reasoning("That is ", "all."), Text("It is ", "done.")],
    }


_ANSWERS: dict[str, Callable[[str], dict[int, Answer]]] = {
    TASK: _task,
    FOLLOW_UP: lambda _: {0: [Reasoning("Nothing."), Text("Nothing ", "more.")]},
    SECOND: lambda _: {0: [Text("Again."), ToolCall("glob", {"pattern": "*.py"})], 1: "Seen."},
    GO_ON: lambda _: {
        0: [Reasoning("Where was I?"), ToolCall("read_file", {"file_path": "closed.txt"})],
        1: "I went on.",
    },
}


@dataclass
class Played:
    """The client's view of a session, and the texts in its editor; the server may be dead."""

    session_id: str
    folder: Path
    shown: str = ""
    messages: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def recorded(self) -> list[dict[str, Any]]:
        return [event for event in self.events if "seq" in event]

    def streamed(self, part_id: str) -> str:
        """Return the text of a part as the sum of its deltas."""
        return "".join(
            event["data"]["text"]
            for event in self.events
            if "seq" not in event and event.get("partId") == part_id
        )


class Story:
    def __init__(self, editor: Editor, server: ServerProcess, provider: str) -> None:
        self._editor = editor
        self._client = editor.client
        self._server = server
        self._provider = provider

    async def play(self, folder: Path, kill_at: int = 0) -> Played:
        """Run one session in `folder` to its end, or until its Nth message (event, delta, edit) kills the server."""
        await anyio.to_thread.run_sync(_make_project, folder)
        shown = folder / "open.py"
        await self._editor.open(shown, SHOWN)
        cursor = len(self._client.received)
        session_id = await self._editor.new_session(provider=self._provider, workspaceFolder=folder.as_uri())
        played = Played(session_id, folder)
        await self._send("agent/submit", session_id, input=text_input(TASK))
        turns = 0
        while turns < 2:
            message = await self._client.wait_for(lambda m: "method" in m, after=cursor)
            cursor = self._client.received.index(message, cursor) + 1
            event = message["params"] if message["method"] == "agent/event" else {}
            played.messages += 1
            if played.messages == kill_at:
                self._server.process.send_signal(signal.SIGKILL)
                with anyio.fail_after(DEADLINE_S):
                    await self._client.ended.wait()
                break
            turns += event.get("kind") == "processing_end"
            await self._react(session_id, event, turns)
        played.events = [event for event in self._client.events if event["sessionId"] == session_id]
        played.shown = self._editor.documents[shown.as_uri()].source
        return played

    async def _react(self, session_id: str, event: dict[str, Any], turns: int) -> None:
        data = event.get("data", {})
        match event.get("kind"):
            case "tool_call_start" if data["index"] == 0 and data["name"] == "read_file" and not turns:
                await self._send("agent/followUp", session_id, input=text_input(FOLLOW_UP))
            case "approval_requested":
                if data["tool"] == "shell":
                    await self._send("agent/steer", session_id, input=text_input(STEER))
                await self._send(
                    "agent/approve", session_id, requestId=data["requestId"], decision="allow", scope="once"
                )
            case "client_request":
                await self._send("agent/clientAnswer", session_id, requestId=data["requestId"], result={})
            case "processing_end" if turns == 1:
                await self._send("agent/submit", session_id, input=text_input(SECOND))
            case _:
                pass

    async def _send(self, method: str, session_id: str, **params: Any) -> None:
        """Send a request without waiting for the answer, because the server may die before that."""
        await self._client.start(method, {"sessionId": session_id, "clientKey": new_key(), **params})

    # --- after the kill

    async def resume(self, played: Played, store: SessionStore) -> None:
        """Open the session of a killed server here, check it, continue it, and undo all its changes."""
        stored = await anyio.to_thread.run_sync(store.read, played.session_id)
        assert all("torn" in problem for problem in stored.problems), stored.problems
        await self._editor.open(played.folder / "open.py", played.shown)
        resumed = await self._editor.subscribe(played.session_id)
        waiting = resumed["pending"]["approvals"]
        assert (resumed["session"]["state"] == "AWAITING_INPUT") == bool(waiting)
        if waiting:
            await self._answer(played, waiting)
            resumed = await self._editor.subscribe(played.session_id)
        events = resumed["events"]
        _check_resumed(played, resumed, was_cut=bool(stored.state.turn_id) and not waiting)
        await self._go_on(played, resumed["lastSeq"])
        await self._take_back(played)
        codes = [event["data"].get("code") for event in events if event["kind"] == "warning"]
        assert "unsettled_change" not in codes

    async def _answer(self, played: Played, waiting: list[dict[str, Any]]) -> None:
        """Allow the requests that were pending when the server died, and all later ones up to the end of the turn."""
        cursor = len(self._client.received)
        for request in waiting:
            await self._react(played.session_id, {"kind": "approval_requested", "data": request}, 0)
        event: dict[str, Any] = {}
        while event.get("kind") != "processing_end":
            message = await self._client.wait_for(lambda m: "method" in m, after=cursor)
            cursor = self._client.received.index(message, cursor) + 1
            event = message["params"] if message["method"] == "agent/event" else {}
            await self._react(played.session_id, event, 2)

    async def _go_on(self, played: Played, last_seq: int) -> None:
        await self._editor.submit(played.session_id, GO_ON)

        def has_ended(message: dict[str, Any]) -> bool:
            event = message.get("params") or {}
            return event.get("kind") == "processing_end" and event["seq"] > last_seq

        ended = (await self._client.wait_for(has_ended))["params"]
        assert ended["data"]["reason"] == "completed"
        said = [
            event["data"]["text"] for event in self._client.events if event["kind"] == "assistant_text_end"
        ]
        assert "I went on." in said

    async def _take_back(self, played: Played) -> None:
        """Undo all hunks, and check that all files are as before, because every change of the agent must be a hunk."""
        undo = {"clientKey": new_key(), "sessionId": played.session_id, "verdict": "undo"}
        answer = await self._client.request("agent/review", undo)
        assert not answer.get("refused")
        shown = self._editor.documents[(played.folder / "open.py").as_uri()].source
        assert shown == SHOWN
        assert await anyio.Path(played.folder / "closed.txt").read_text() == CLOSED
        assert await anyio.Path(played.folder / "open.py").read_text() == ON_DISK


def _check_resumed(played: Played, resumed: dict[str, Any], *, was_cut: bool) -> None:
    events = resumed["events"]
    assert [event["seq"] for event in events] == list(range(1, resumed["lastSeq"] + 1))
    by_seq = {event["seq"]: event for event in events}
    for event in played.recorded:
        assert by_seq[event["seq"]] == event
    assert resumed["session"]["state"] == "IDLE"
    assert not resumed["openParts"]
    assert not resumed["pending"]["approvals"]
    for start, end, name in _PAIRS:
        assert _names(events, start, name) == _names(events, end, name), (start, end)
    ends = [event["data"]["reason"] for event in events if event["kind"] == "processing_end"]
    assert (ends[-1:] == ["interrupted"]) == was_cut, (ends, was_cut, [(e["seq"], e["kind"]) for e in events])
    for event in events:
        if event["data"].get("interrupted"):
            seen, kept = played.streamed(event["data"]["partId"]), event["data"]["text"]
            assert seen.startswith(kept) or kept.startswith(seen)


_PAIRS = (
    ("assistant_text_start", "assistant_text_end", "partId"),
    ("reasoning_start", "reasoning_end", "partId"),
    ("tool_call_start", "tool_call_end", "callId"),
    ("approval_requested", "approval_resolved", "requestId"),
    ("terminal_open", "terminal_exit", "terminalId"),
)


def _names(events: list[dict[str, Any]], kind: str, name: str) -> list[str]:
    return sorted(event["data"][name] for event in events if event["kind"] == kind)


def _make_project(folder: Path) -> None:
    folder.mkdir()
    (folder / "open.py").write_text(ON_DISK)
    (folder / "closed.txt").write_text(CLOSED)
